// cuda/runtime/device.cpp - opening a GPU, its memory, and copies between host and device.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.hpp"

#include "core/error.hpp"
#include "runtime/probe.hpp"
#include "runtime/staging.hpp"
#include "runtime/stream.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ruda::cuda {

PoolMemory::PoolMemory(int device) : device_(device) {
  int supported = 0;
  check_cuda(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device), "memory pool");
  if (!supported) return;
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = device;
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "memory pool");
  const cudaError_t error = cudaMemPoolCreate(&pool_, &props);
  if (error == cudaSuccess) return;
  quiet(cudaStreamDestroy(stream_));
  fail_cuda(error, "memory pool");
}

PoolMemory::~PoolMemory() {
  if (!pool_) return;
  // What is still in use goes back to the device when its work has ended.
  quiet(cudaMemPoolDestroy(pool_));
  quiet(cudaStreamDestroy(stream_));
}

void* PoolMemory::take(uint64_t bytes) {
  void* data = nullptr;
  cudaError_t error =
      pool_ ? cudaMallocFromPoolAsync(&data, bytes, pool_, stream_) : cudaMalloc(&data, bytes);
  if (error == cudaSuccess && pool_) error = cudaStreamSynchronize(stream_);
  if (error == cudaErrorMemoryAllocation) {
    quiet(error);
    return nullptr;
  }
  check_cuda(error, "device memory");
  return data;
}

void PoolMemory::give(void* data) noexcept { quiet(pool_ ? cudaFreeAsync(data, stream_) : cudaFree(data)); }

void PoolMemory::after(cudaEvent_t event) noexcept {
  if (pool_) quiet(cudaStreamWaitEvent(stream_, event, 0));
}

void PoolMemory::flush() noexcept {
  if (!pool_) return;
  quiet(cudaStreamSynchronize(stream_));
  quiet(cudaMemPoolTrimTo(pool_, 0));
}

void PoolMemory::room(uint64_t& free_bytes, uint64_t& total_bytes) {
  size_t free_now = 0, total = 0;
  quiet(cudaMemGetInfo(&free_now, &total));
  free_bytes = free_now;
  total_bytes = total;
}

void PoolMemory::open_to(int device) noexcept {
  std::lock_guard lock(opened_mutex_);
  if (!pool_ || std::find(opened_.begin(), opened_.end(), device) != opened_.end()) return;
  try {
    opened_.push_back(device);
  } catch (...) {
    return;
  }
  int can = 0;
  quiet(cudaDeviceCanAccessPeer(&can, device, device_));
  if (!can) return;
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = device;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  quiet(cudaMemPoolSetAccess(pool_, &access, 1));
}

namespace {

// More than one GPU is visible, so that a thread may have another one than the context's.
std::atomic<bool> several_devices{false};

int opened(int index) {
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "device");
  several_devices.store(count > 1, std::memory_order_relaxed);
  check_cuda(cudaInitDevice(index, 0, 0), "device");
  check_cuda(cudaSetDevice(index), "device");
  return index;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "device");
  return value;
}

}  // namespace

CudaDevice::CudaDevice(int index, const ruda_context_desc& desc)
    : index_(opened(index)),
      generation_(fork_generation_now()),
      events_(std::make_shared<EventPool>()),
      memory_(index),
      allocator_(memory_, desc.memory_limit_bytes) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "device");
  name_ = properties.name;
  capability_.arch = properties.major * 10 + properties.minor;
  capability_.multiprocessors = properties.multiProcessorCount;
  capability_.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
  capability_.l2_bytes = properties.l2CacheSize;
  capability_.shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
  capability_.shared_bytes_per_multiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, index);
  const cudaError_t image = probe_image(capability_.code_arch);
  capability_.code_arch = std::min(capability_.code_arch, capability_.arch);
  quiet(image);
  RUDA_CHECK(image != cudaErrorNoKernelImageForDevice && image != cudaErrorInvalidDeviceFunction,
             RUDA_E_UNSUPPORTED, 0,
             "desc.device: %s is sm_%d, this build has code for %s; build with -Dgpu_arch=sm_%d",
             name_.c_str(), capability_.arch, RUDA_GPU_ARCH, capability_.arch);
  check_cuda(image, "device");
}

CudaDevice::~CudaDevice() {
  if (forked()) {
    memory_.forget();
    return;
  }
  const int before = enter();
  parts_.clear();
  fetchers_.clear();
  allocator_.close(index_);
  leave(before);
}

void CudaDevice::fail_forked() const {
  fail(RUDA_E_DEVICE, -1,
       "the context was created before fork: make a new one in a process that execs, CUDA does not "
       "survive fork");
}

// Does not throw, because releases pass here even while the process ends; the calls that follow report what
// is wrong.
int CudaDevice::enter() noexcept {
  int before = -1;
  if (!several_devices.load(std::memory_order_relaxed)) return -1;
  if (forked() || cudaGetDevice(&before) != cudaSuccess || before == index_) return -1;
  quiet(cudaSetDevice(index_));
  return before;
}

void CudaDevice::leave(int before) noexcept {
  if (before >= 0) quiet(cudaSetDevice(before));
}

std::unique_ptr<DeviceStream> CudaDevice::open_stream() {
  check_usable();
  const DeviceScope scope(*this);
  cudaStream_t native = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), "stream");
  try {
    return std::make_unique<CudaStream>(*this, native, true);
  } catch (...) {
    quiet(cudaStreamDestroy(native));
    throw;
  }
}

std::unique_ptr<DeviceStream> CudaDevice::wrap_stream(void* native, uint32_t flags) {
  check_usable();
  const DeviceScope scope(*this);
  RUDA_CHECK(native || (flags & 1), RUDA_E_NULL, 1,
             "native is NULL; set bit 0 of flags for the legacy default stream");
  auto* stream = native ? static_cast<cudaStream_t>(native) : cudaStreamLegacy;
  if (stream != cudaStreamLegacy && stream != cudaStreamPerThread) {
    int device = -1;
    check_cuda(cudaStreamGetDevice(stream, &device), "native stream");
    RUDA_CHECK(device == index_, RUDA_E_ARGUMENT, 1,
               "native: is a stream of device %d, the context has device %d", device, index_);
  }
  return std::make_unique<CudaStream>(*this, stream, false);
}

std::unique_ptr<DeviceEvent> CudaDevice::open_event() {
  check_usable();
  return std::make_unique<CudaEvent>(*this);
}

void* CudaDevice::allocate(uint64_t bytes, DeviceStream* stream) {
  check_usable();
  auto* const queue = static_cast<CudaStream*>(stream);
  if (void* data = allocator_.allocate_cached(bytes, queue)) [[likely]]
    return data;
  const DeviceScope scope(*this);
  return allocator_.allocate(bytes, queue);
}

void CudaDevice::release(void* data, uint64_t bytes, DeviceStream* stream) noexcept {
  if (forked()) return;
  auto* const queue = static_cast<CudaStream*>(stream);
  // A stream of another context that read the memory does not keep it.
  if (queue && &queue->device() != this) [[unlikely]] {
    const std::shared_ptr<DeviceStream> reader = queue->shared_from_this();
    return release_after(data, bytes, {&reader, 1});
  }
  allocator_.release(data, bytes, queue);
}

void CudaDevice::trim() {
  check_usable();
  const DeviceScope scope(*this);
  allocator_.trim();
}

std::vector<Mark> CudaDevice::marks_of(std::span<const std::shared_ptr<DeviceStream>> streams) noexcept {
  std::vector<Mark> marks;
  for (const auto& stream : streams) {
    auto& queue = static_cast<CudaStream&>(*stream);
    try {
      if (Mark mark = queue.mark()) marks.push_back(std::move(mark));
    } catch (...) {
      queue.drain();
    }
  }
  return marks;
}

void CudaDevice::release_after(void* data, uint64_t bytes,
                               std::span<const std::shared_ptr<DeviceStream>> streams) noexcept {
  if (forked()) return;
  const DeviceScope scope(*this);
  allocator_.release_after(data, bytes, marks_of(streams));
}

void CudaDevice::retire(std::function<void()> done,
                        std::span<const std::shared_ptr<DeviceStream>> streams) noexcept {
  if (forked()) return;
  const DeviceScope scope(*this);
  allocator_.retire(marks_of(streams), std::move(done));
}

std::shared_ptr<IndexWord> CudaDevice::make_index_word() { return PinnedMemory::get().index_word(); }

void CudaDevice::write(DeviceStream& stream, void* to, const void* from, uint64_t bytes) {
  auto& queue = static_cast<CudaStream&>(stream);
  check_usable();
  queue.check_not_capturing("ruda_tensor_write");
  const DeviceScope scope(*this);
  PinnedMemory& pinned = PinnedMemory::get();
  for (uint64_t at = 0; at < bytes;) {
    PinnedChunk chunk = pinned.take(bytes > PinnedMemory::small_bytes);
    const uint64_t part = bytes - at < chunk.bytes ? bytes - at : chunk.bytes;
    std::memcpy(chunk.data, static_cast<const std::byte*>(from) + at, part);
    const cudaError_t error = cudaMemcpyAsync(static_cast<std::byte*>(to) + at, chunk.data, part,
                                              cudaMemcpyHostToDevice, queue.handle());
    Mark last;
    try {
      check_cuda(error, "write");
      last = queue.mark();
    } catch (...) {
      queue.drain();
      pinned.give(std::move(chunk), nullptr);
      throw;
    }
    pinned.give(std::move(chunk), std::move(last));
    at += part;
  }
}

void CudaDevice::read(DeviceStream& stream, void* to, const void* from, uint64_t bytes) {
  auto& queue = static_cast<CudaStream&>(stream);
  check_usable();
  queue.check_not_capturing("ruda_tensor_read");
  const DeviceScope scope(*this);
  copy_out(queue, to, from, bytes);
  queue.sync();
}

// On a stream of its own: the writer's may end meanwhile, and its reports are for those who wait for it.
void CudaDevice::fetch(DeviceStream* writer, void* to, const void* from, uint64_t bytes) {
  check_usable();
  const DeviceScope scope(*this);
  std::shared_ptr<DeviceStream> queue;
  {
    const std::lock_guard lock(fetchers_mutex_);
    if (!fetchers_.empty()) {
      queue = std::move(fetchers_.back());
      fetchers_.pop_back();
    }
  }
  if (!queue) queue = open_stream();
  if (writer) queue->follow(*writer);
  copy_out(static_cast<CudaStream&>(*queue), to, from, bytes);
  const std::lock_guard lock(fetchers_mutex_);
  fetchers_.push_back(std::move(queue));
}

// Returns when the bytes have arrived.
void CudaDevice::copy_out(CudaStream& queue, void* to, const void* from, uint64_t bytes) {
  PinnedMemory& pinned = PinnedMemory::get();
  // Two chunks in flight: one is copied out while the next one arrives. After a failure the chunks go back
  // once nothing writes them any more.
  struct Flight {
    PinnedMemory& pinned;
    CudaStream& stream;
    PinnedChunk chunk{};
    Mark mark{};
    uint64_t at = 0, part = 0;
    Flight(PinnedMemory& memory, CudaStream& queue) : pinned(memory), stream(queue) {}
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;
    ~Flight() {
      if (!chunk.data) return;
      stream.drain();
      pinned.give(std::move(chunk), nullptr);
    }
  };
  Flight flights[2] = {{pinned, queue}, {pinned, queue}};
  const auto land = [&](Flight& flight) {
    if (!flight.chunk.data) return;
    const cudaError_t error = cudaEventSynchronize(flight.mark.get());
    if (error == cudaSuccess)
      std::memcpy(static_cast<std::byte*>(to) + flight.at, flight.chunk.data, flight.part);
    pinned.give(std::exchange(flight.chunk, {}), std::exchange(flight.mark, nullptr));
    check_cuda(error, "read");
  };
  int turn = 0;
  for (uint64_t at = 0; at < bytes; turn ^= 1) {
    Flight& flight = flights[turn];
    land(flight);
    flight.chunk = pinned.take(bytes > PinnedMemory::small_bytes);
    flight.at = at;
    flight.part = bytes - at < flight.chunk.bytes ? bytes - at : flight.chunk.bytes;
    check_cuda(cudaMemcpyAsync(flight.chunk.data, static_cast<const std::byte*>(from) + at, flight.part,
                               cudaMemcpyDeviceToHost, queue.handle()),
               "read");
    flight.mark = queue.mark();
    at += flight.part;
  }
  land(flights[turn]);
  land(flights[turn ^ 1]);
}

// Between devices the driver goes directly where both pools are open to the other, else it stages.
bool CudaDevice::copy_from(DeviceStream& stream, void* to, Device& owner, const void* from, uint64_t bytes) {
  auto& queue = static_cast<CudaStream&>(stream);
  check_usable();
  auto& source = static_cast<CudaDevice&>(owner);
  const int other = source.index_;
  if (other != index_) {
    source.memory_.open_to(index_);
    memory_.open_to(other);
  }
  const cudaError_t error = other == index_
                                ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue.handle())
                                : cudaMemcpyPeerAsync(to, index_, from, other, bytes, queue.handle());
  if (error == cudaErrorInvalidValue || error == cudaErrorNotSupported) {
    quiet(error);
    return false;
  }
  check_cuda(error, "copy between devices");
  return true;
}

}  // namespace ruda::cuda
