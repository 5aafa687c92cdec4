// tests/cuda/fake_runtime.cpp - the functions of the CUDA runtime that the library calls, on host memory.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: order between streams, events, capture, pools and failures behave as documented, so that the
// library's runtime is tested without a GPU. A stream under capture is as touchy as CUDA's: whoever asks how
// far it is, or asks that of an event recorded on it, breaks the capture. Non-goals: kernels do nothing but
// those that a test names; one thread. Rejected: mocking each call by expectation, which would test the calls
// and not the order that they make.
#include "cuda/fake_runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

struct CUstream_st;

namespace {

// What one cudaEventRecord marked; a wait keeps it though the event is recorded anew.
struct Record {
  bool happened = false;
  bool captured = false;  // belongs to a graph: nobody may wait for it
  CUstream_st* stream = nullptr;
};

struct Op {
  std::function<void()> work;
  std::shared_ptr<Record> wait = nullptr;  // blocks until it happened
};

}  // namespace

struct CUgraph_st {
  std::vector<Op> ops;
};
struct CUgraphExec_st {
  std::vector<Op> ops;
};
struct CUevent_st {
  std::shared_ptr<Record> record;
  int device = 0;
};
struct CUstream_st {
  std::deque<Op> queue;
  bool held = false;
  bool destroyed = false;  // its memory stays, so that every later use is noticed
  CUgraph_st* capture = nullptr;
  bool capture_broken = false;
  int device = 0;
};
struct CUmemPoolHandle_st {};

namespace {

cudaError_t last_error = cudaSuccess, next_launch = cudaSuccess, next_sync = cudaSuccess,
            next_graph = cudaSuccess, next_record = cudaSuccess;
uint64_t room = uint64_t(1) << 40;
int device_count = 1, driver = 13000, device = 0, allocations = 0, host_blocks = 0, launches = 0, graphs = 0,
    peer_copies = 0, opened_pools = 0, uses_after_end = 0;
bool peers_refused = false;
struct Block {
  void* data;
  uint64_t bytes;
};
std::vector<Block> blocks;

cudaError_t give(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void pump(CUstream_st& stream, bool force) {
  while (!stream.queue.empty() && (force || !stream.held)) {
    Op& op = stream.queue.front();
    if (op.wait && !op.wait->happened) {
      if (op.wait->stream != &stream) pump(*op.wait->stream, force);
      if (!op.wait->happened) return;
    }
    const Op now = std::move(op);
    stream.queue.pop_front();
    if (now.work) now.work();
  }
}

// False, and noted, for a stream that was destroyed.
bool alive(cudaStream_t stream) {
  uses_after_end += stream->destroyed;
  return !stream->destroyed;
}

cudaError_t break_capture(cudaStream_t stream, cudaError_t error) {
  stream->capture_broken = stream->capture != nullptr;
  return give(error);
}

cudaError_t submit(cudaStream_t stream, Op op) {
  if (!alive(stream)) return give(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    if (stream->capture_broken) return give(cudaErrorStreamCaptureInvalidated);
    stream->capture->ops.push_back(std::move(op));
    return cudaSuccess;
  }
  stream->queue.push_back(std::move(op));
  pump(*stream, false);
  return cudaSuccess;
}

cudaError_t take(void** out, uint64_t bytes) {
  if (bytes > room) return give(cudaErrorMemoryAllocation);
  *out = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(*out, 0, bytes);
  room -= bytes;
  ++allocations;
  blocks.push_back({*out, bytes});
  return cudaSuccess;
}

void drop(void* data) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].data != data) continue;
    room += blocks[i].bytes;
    std::free(data);
    blocks.erase(blocks.begin() + std::ptrdiff_t(i));
    return;
  }
  std::abort();  // freed twice or never allocated
}

CUmemPoolHandle_st the_pool;

// Filled before main: by the address that a launch names.
std::unordered_map<const void*, std::string>& kernel_names() {
  static std::unordered_map<const void*, std::string> names;
  return names;
}
std::vector<std::pair<std::string, fake::Kernel>> kernels;
constexpr int most_shared = 227 << 10;
std::unordered_map<const void*, int> shared_bytes;  // that a kernel was allowed

}  // namespace

namespace fake {

void hold(void* stream, bool held) {
  static_cast<CUstream_st*>(stream)->held = held;
  pump(*static_cast<CUstream_st*>(stream), false);
}
void set_room(uint64_t bytes) { room = bytes; }
int device_allocations() { return allocations; }
int host_allocations() { return host_blocks; }
void fail_next_launch(cudaError_t error) { next_launch = error; }
void fail_next_sync(cudaError_t error) { next_sync = error; }
void fail_next_graph(cudaError_t error) { next_graph = error; }
void fail_next_record(cudaError_t error) { next_record = error; }
int shared_allowed(const char* name) {
  int least = -1;
  for (const auto& [function, bytes] : shared_bytes)
    if (kernel_names()[function].find(name) != std::string::npos && (least < 0 || bytes < least))
      least = bytes;
  return least;
}
int kernel_launches() { return launches; }
int copies_between_devices() { return peer_copies; }
void refuse_peers(bool refused) { peers_refused = refused; }
int pools_opened() { return opened_pools; }
int graph_launches() { return graphs; }
void set_kernel(const char* name, Kernel kernel) {
  std::erase_if(kernels, [&](const auto& entry) { return entry.first == name; });
  if (kernel) kernels.emplace_back(name, std::move(kernel));
}
int uses_of_destroyed_streams() { return uses_after_end; }
int live_blocks() { return int(blocks.size()); }
void set_devices(int count, int version) { device_count = count, driver = version; }

}  // namespace fake

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) { return "an error of the fake runtime"; }

cudaError_t cudaGetDeviceCount(int* out) {
  *out = device_count;
  if (driver < 13000) return give(cudaErrorInsufficientDriver);
  return device_count ? cudaSuccess : give(cudaErrorNoDevice);
}
cudaError_t cudaDriverGetVersion(int* out) { return *out = driver, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* out) { return *out = 13000, cudaSuccess; }
cudaError_t cudaGetDevice(int* out) { return *out = device, cudaSuccess; }
cudaError_t cudaSetDevice(int wanted) {
  if (wanted < 0 || wanted >= device_count) return give(cudaErrorInvalidDevice);
  device = wanted;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** out, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *out = nullptr;
  *result = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int) {
  std::memset(out, 0, sizeof *out);
  std::strcpy(out->name, "fake GPU");
  out->major = 9;
  out->multiProcessorCount = 132;
  out->maxThreadsPerMultiProcessor = 2048;
  out->l2CacheSize = 60 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr which, int) {
  *out = which == cudaDevAttrMemoryPoolsSupported ? 1 : most_shared;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void*) {
  std::memset(out, 0, sizeof *out);
  out->ptxVersion = out->binaryVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute which, int value) {
  if (which != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > most_shared) return give(cudaErrorInvalidValue);
  shared_bytes[function] = value;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
  *out = new CUevent_st;
  (*out)->device = device;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!alive(stream) || event->device != stream->device) return give(cudaErrorInvalidResourceHandle);
  if (next_record != cudaSuccess) return give(std::exchange(next_record, cudaSuccess));
  auto record = std::make_shared<Record>();
  record->stream = stream;
  record->captured = stream->capture != nullptr;
  event->record = record;
  return submit(stream, {[record] { record->happened = true; }});
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event->record && event->record->captured)
    return break_capture(event->record->stream, cudaErrorCapturedEvent);
  if (!event->record || event->record->happened) return cudaSuccess;
  pump(*event->record->stream, false);
  return event->record->happened ? cudaSuccess : give(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->record && event->record->captured)
    return break_capture(event->record->stream, cudaErrorCapturedEvent);
  if (event->record && !event->record->happened) pump(*event->record->stream, true);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t, cudaEvent_t) { return *out = 0.5f, cudaSuccess; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) {
  *out = new CUstream_st;
  (*out)->device = device;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  static std::deque<std::unique_ptr<CUstream_st>> graveyard;
  if (!alive(stream)) return give(cudaErrorInvalidResourceHandle);
  pump(*stream, true);
  delete std::exchange(stream->capture, nullptr);
  stream->destroyed = true;
  graveyard.emplace_back(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (!alive(stream)) return give(cudaErrorInvalidResourceHandle);
  if (stream->capture) return break_capture(stream, cudaErrorStreamCaptureUnsupported);
  pump(*stream, true);
  return give(std::exchange(next_sync, cudaSuccess));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (!alive(stream)) return give(cudaErrorInvalidResourceHandle);
  if (stream->capture) return break_capture(stream, cudaErrorStreamCaptureUnsupported);
  pump(*stream, false);
  return stream->queue.empty() ? cudaSuccess : give(cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (!event->record) return cudaSuccess;
  // The library orders no recorded work after other streams, and no other stream after recorded work.
  if (event->record->captured) return break_capture(event->record->stream, cudaErrorStreamCaptureIsolation);
  if (stream->capture) return break_capture(stream, cudaErrorStreamCaptureIsolation);
  return submit(stream, {{}, event->record});
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* out) { return *out = stream->device, cudaSuccess; }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!alive(stream)) return give(cudaErrorInvalidResourceHandle);
  if (stream->capture) return give(cudaErrorIllegalState);
  stream->capture = new CUgraph_st;
  stream->capture_broken = false;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  *out = std::exchange(stream->capture, nullptr);
  if (!*out) return give(cudaErrorIllegalState);
  if (!stream->capture_broken) return cudaSuccess;
  delete std::exchange(*out, nullptr);
  return give(cudaErrorStreamCaptureInvalidated);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  return *out = new CUgraphExec_st{graph->ops}, cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  return *count = graph->ops.size(), cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  ++graphs;
  if (next_graph != cudaSuccess) return give(std::exchange(next_graph, cudaSuccess));
  for (const Op& op : exec->ops)
    if (const cudaError_t error = submit(stream, op); error != cudaSuccess) return error;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  ++host_blocks;
  return *out = std::calloc(1, bytes), cudaSuccess;
}
cudaError_t cudaMalloc(void** out, size_t bytes) { return take(out, bytes); }
cudaError_t cudaFree(void* data) { return drop(data), cudaSuccess; }
cudaError_t cudaMallocFromPoolAsync(void** out, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return take(out, bytes);
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  return submit(stream, {[data] { drop(data); }});
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* out, const cudaMemPoolProps*) {
  return *out = &the_pool, cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* out, int, int) { return *out = !peers_refused, cudaSuccess; }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc* list, size_t count) {
  if (count != 1 || list->location.id < 0 || list->location.id >= device_count)
    return give(cudaErrorInvalidDevice);
  ++opened_pools;
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *free_bytes = room;
  *total = room;
  for (const Block& block : blocks) *total += block.bytes;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return submit(stream, {[=] { std::memcpy(to, from, bytes); }});
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  if (peers_refused) return give(cudaErrorInvalidValue);
  ++peer_copies;
  return submit(stream, {[=] { std::memcpy(to, from, bytes); }});
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return submit(stream, {[=] { std::memset(to, value, bytes); }});
}

// What nvcc's host code calls.
cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void** args, size_t shared,
                             cudaStream_t stream) {
  ++launches;
  const auto allowed = shared_bytes.find(function);
  if (shared > 48 << 10 && (allowed == shared_bytes.end() || shared > size_t(allowed->second)))
    return give(cudaErrorInvalidValue);
  if (next_launch != cudaSuccess) return give(std::exchange(next_launch, cudaSuccess));
  const auto name = kernel_names().find(function);
  for (const auto& [part, kernel] : kernels)
    if (name != kernel_names().end() && name->second.find(part) != std::string::npos)
      return submit(stream, {kernel(args)});
  return submit(stream, {[] {}});
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** args) {
  return cudaLaunchKernel(function, config->gridDim, config->blockDim, args, config->dynamicSmemBytes,
                          config->stream);
}
cudaError_t __cudaGetKernel(cudaKernel_t* out, const void* symbol) {
  return *out = static_cast<cudaKernel_t>(const_cast<void*>(symbol)), cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*, void*, void*,
                            void*, int*) {
  kernel_names()[function] = name;
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

static dim3 pushed_grid, pushed_block;
static size_t pushed_shared;
static void* pushed_stream;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  pushed_grid = grid, pushed_block = block, pushed_shared = shared, pushed_stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = pushed_grid, *block = pushed_block, *shared = pushed_shared;
  *static_cast<void**>(stream) = pushed_stream;
  return cudaSuccess;
}

}  // extern "C"
