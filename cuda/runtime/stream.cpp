// cuda/runtime/stream.cpp - order between streams, capture, and the reports of kernels.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.hpp"

#include "core/error.hpp"
#include "runtime/device.hpp"
#include "runtime/steps.hpp"

#include <algorithm>

namespace ruda::cuda {

CudaEvent::CudaEvent(CudaDevice& device) : device_(device) {
  const DeviceScope scope(device_);
  check_cuda(cudaEventCreate(&native_), "event");
}

CudaEvent::~CudaEvent() {
  if (!device_.forked()) quiet(cudaEventDestroy(native_));
}

void CudaEvent::sync() {
  device_.check_usable();
  check_cuda(cudaEventSynchronize(native_), "event");
}

double CudaEvent::since(const DeviceEvent& earlier) const {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(earlier).native_, native_),
             "event");
  return double(milliseconds) * 1e-3;
}

CudaStream::CudaStream(CudaDevice& device, cudaStream_t native, bool owned)
    : device_(device), native_(native), owned_(owned) {
  words_.push_back(device_.make_index_word());
  device_.allocator().add_stream(*this);
}

CudaStream::~CudaStream() { close(); }

void CudaStream::close() noexcept {
  if (closed_.load(std::memory_order_acquire)) return;
  if (device_.forked()) {
    closed_.store(true, std::memory_order_release);
    return;
  }
  const DeviceScope scope(device_);
  if (capturing()) {
    cudaError_t error = cudaSuccess;
    if (cudaGraph_t graph = stop_capture(error)) quiet(cudaGraphDestroy(graph));
    device_.allocator().drop_graph(*graph_memory_, {}, {});
  }
  Mark last;
  {
    const std::lock_guard lock(native_mutex_);
    try {
      last = record_mark();
    } catch (...) {
      quiet(cudaStreamSynchronize(native_));
    }
    last_ = last;
    closed_.store(true, std::memory_order_release);
  }
  device_.allocator().drop_stream(*this, std::move(last), [words = std::move(words_)] {});
  if (owned_) quiet(cudaStreamDestroy(native_));
}

void CudaStream::check_not_capturing(const char* what) const {
  RUDA_CHECK(
      !capturing(), RUDA_E_CAPTURE_UNSAFE, -1,
      "%s: waits, allocates or leaves the stream, which a stream under capture does not allow; end the "
      "capture first",
      what);
}

void CudaStream::sync() {
  device_.check_usable();
  check_not_capturing("ruda_stream_sync");
  const DeviceScope scope(device_);
  check_cuda(cudaStreamSynchronize(native_), "stream");
  device_.allocator().poll();
  check_index();
}

bool CudaStream::done() {
  device_.check_usable();
  const DeviceScope scope(device_);
  cudaError_t error;
  {
    const std::lock_guard lock(native_mutex_);
    check_not_capturing("ruda_stream_query");
    error = cudaStreamQuery(native_);
  }
  if (not_ready(error)) return false;
  check_cuda(error, "stream");
  return true;
}

void CudaStream::record(DeviceEvent& event) {
  device_.check_usable();
  const DeviceScope scope(device_);
  const std::lock_guard lock(native_mutex_);
  check_not_capturing("ruda_event_record");
  check_cuda(cudaEventRecord(static_cast<CudaEvent&>(event).native(), native_), "event");
}

void CudaStream::wait(DeviceEvent& event) {
  device_.check_usable();
  const DeviceScope scope(device_);
  const std::lock_guard lock(native_mutex_);
  check_not_capturing("ruda_stream_wait");
  check_cuda(cudaStreamWaitEvent(native_, static_cast<CudaEvent&>(event).native(), 0), "event");
}

Mark CudaStream::record_mark() {
  const DeviceScope scope(device_);  // an event belongs to the device that is current when it is made
  Mark mark = device_.events().take();
  check_cuda(cudaEventRecord(mark.get(), native_), "event");
  return mark;
}

Mark CudaStream::mark() {
  const std::lock_guard lock(native_mutex_);
  if (closed_.load(std::memory_order_relaxed)) return last_;  // device_ may be gone
  return capturing() ? before_capture_ : record_mark();
}

void CudaStream::drain() noexcept {
  Mark last;
  {
    const std::lock_guard lock(native_mutex_);
    const bool closed = closed_.load(std::memory_order_relaxed);
    if (!closed && !capturing()) return quiet(cudaStreamSynchronize(native_));
    last = closed ? last_ : before_capture_;
  }
  if (last) quiet(cudaEventSynchronize(last.get()));
}

bool CudaStream::idle() noexcept {
  const std::lock_guard lock(native_mutex_);
  if (closed_.load(std::memory_order_relaxed) || capturing()) return false;
  const cudaError_t error = cudaStreamQuery(native_);
  if (not_ready(error)) return false;
  quiet(error);  // a device that faulted has ended its work too
  return true;
}

void CudaStream::follow(DeviceStream& other) {
  if (&other == this) return;
  device_.check_usable();
  check_not_capturing("ruda_tensor_fence");
  const DeviceScope scope(device_);
  if (const Mark mark = static_cast<CudaStream&>(other).mark())
    check_cuda(cudaStreamWaitEvent(native_, mark.get(), 0), "event");
}

IndexWord* CudaStream::index_word() { return capturing() ? graph_word_.get() : words_[0].get(); }

void CudaStream::check_index() {
  std::lock_guard lock(words_mutex_);
  std::string text;
  for (size_t i = 0; i < words_.size(); ++i) {
    IndexWord& word = *words_[i];
    if (!__atomic_load_n(&word.taken, __ATOMIC_ACQUIRE)) continue;
    if (text.empty()) text = index_text(word);
    word = {};
  }
  words_.resize(1);
  RUDA_CHECK(text.empty(), RUDA_E_INDEX, -1, "%s", text.c_str());
}

void CudaStream::advance(const ScheduleImage& image) {
  check_cuda(launch_advance(image, native_), "schedule");
}

void CudaStream::begin_capture() {
  device_.check_usable();
  const DeviceScope scope(device_);
  auto memory = std::make_shared<GraphMemory>();
  auto word = device_.make_index_word();
  const std::lock_guard lock(native_mutex_);
  Mark before = record_mark();
  // Relaxed: what this library must not do meanwhile it refuses itself, and other threads are left alone.
  check_cuda(cudaStreamBeginCapture(native_, cudaStreamCaptureModeRelaxed), "capture");
  graph_memory_ = std::move(memory);
  graph_word_ = std::move(word);
  before_capture_ = std::move(before);
  capturing_.store(true, std::memory_order_release);
}

cudaGraph_t CudaStream::stop_capture(cudaError_t& error) noexcept {
  cudaGraph_t graph = nullptr;
  {
    const std::lock_guard lock(native_mutex_);
    error = cudaStreamEndCapture(native_, &graph);
    capturing_.store(false, std::memory_order_release);
    before_capture_ = nullptr;
  }
  device_.allocator().end_capture(*graph_memory_);
  return graph;
}

std::unique_ptr<DeviceGraph> CudaStream::end_capture() {
  device_.check_usable();
  const DeviceScope scope(device_);
  cudaError_t error = cudaSuccess;
  cudaGraph_t graph = stop_capture(error);
  cudaGraphExec_t exec = nullptr;
  size_t nodes = 0;
  if (error == cudaSuccess) error = cudaGraphGetNodes(graph, nullptr, &nodes);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph, 0);
  if (graph) quiet(cudaGraphDestroy(graph));
  const auto memory = std::exchange(graph_memory_, nullptr);
  const auto word = std::exchange(graph_word_, nullptr);
  std::unique_ptr<CudaGraph> made;
  try {
    check_cuda(error, "capture");
    made = std::make_unique<CudaGraph>(device_, exec, memory, word, nodes);
  } catch (...) {
    if (exec) quiet(cudaGraphExecDestroy(exec));
    device_.allocator().drop_graph(*memory, {}, {});
    throw;
  }
  check_cuda(cudaGraphUpload(exec, native_), "capture");
  return made;
}

void CudaStream::launch(DeviceGraph& given) {
  auto& graph = static_cast<CudaGraph&>(given);
  if (graph.launched_on_.get() != this) {
    if (graph.launched_on_) follow(*graph.launched_on_);
    graph.launched_on_ = shared_from_this();
  }
  {
    std::lock_guard lock(words_mutex_);
    if (std::find(words_.begin(), words_.end(), graph.word_) == words_.end()) words_.push_back(graph.word_);
  }
  check_cuda(cudaGraphLaunch(graph.exec_, native_), "graph");
}

CudaGraph::~CudaGraph() {
  if (device_.forked()) return;
  const DeviceScope scope(device_);
  std::vector<Mark> marks;
  if (launched_on_) marks = CudaDevice::marks_of({&launched_on_, 1});
  quiet(cudaGraphExecDestroy(exec_));
  device_.allocator().drop_graph(*memory_, std::move(marks), [word = word_] {});
}

}  // namespace ruda::cuda
