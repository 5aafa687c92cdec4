// cuda/runtime/stream.hpp - streams, events and graphs of a CUDA device.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/device.hpp"
#include "runtime/allocator.hpp"
#include "runtime/index_word.hpp"

#include <atomic>
#include <mutex>

namespace ruda::cuda {

class CudaDevice;

class CudaEvent final : public DeviceEvent {
 public:
  explicit CudaEvent(CudaDevice& device);
  ~CudaEvent() override;
  void sync() override;
  double since(const DeviceEvent& earlier) const override;
  cudaEvent_t native() const { return native_; }

 private:
  CudaDevice& device_;
  cudaEvent_t native_ = nullptr;
};

class CudaStream final : public DeviceStream {
 public:
  // Takes over `native` when `owned`, else borrows it.
  CudaStream(CudaDevice& device, cudaStream_t native, bool owned);
  ~CudaStream() override;

  void sync() override;
  bool done() override;
  void record(DeviceEvent& event) override;
  void wait(DeviceEvent& event) override;
  void* native() override { return native_; }
  void follow(DeviceStream& other) override;
  void close() noexcept override;
  void advance(const ScheduleImage& image) override;
  void begin_capture() override;
  std::unique_ptr<DeviceGraph> end_capture() override;
  void launch(DeviceGraph& graph) override;

  CudaDevice& device() const { return device_; }
  cudaStream_t handle() const { return native_; }
  bool capturing() const noexcept override { return capturing_.load(std::memory_order_acquire); }
  // RUDA_E_CAPTURE_UNSAFE while captured; `what` names the call.
  void check_not_capturing(const char* what) const;
  // A mark after all work so far; of a closed stream, after all of its work; under capture, after what was
  // submitted before: what is recorded runs with its graph, which keeps what it uses. Any thread, any time.
  Mark mark();
  // Waits for what mark() would mark, where no mark can be had. Neither breaks a capture nor needs the handle
  // of a closed stream.
  void drain() noexcept;
  // True when all work is done and no capture is under way.
  bool idle() noexcept;
  // Where kernels submitted now report an index outside its range.
  IndexWord* index_word();
  // Throws what kernels reported, once their work has ended.
  void check_index();

 private:
  friend class Allocator;
  cudaGraph_t stop_capture(cudaError_t& error) noexcept;
  Mark record_mark();

  CudaDevice& device_;
  cudaStream_t native_;
  const bool owned_;
  // Held while native_ is used by threads that do not own the stream, and while it is captured or given up:
  // releases come from any thread. Taken after the allocator's lock, never before it.
  std::mutex native_mutex_;
  std::atomic<bool> closed_{false}, capturing_{false};
  Mark last_;                                  // set before closed_
  Mark before_capture_;                        // while capturing
  std::shared_ptr<GraphMemory> graph_memory_;  // while capturing
  std::shared_ptr<IndexWord> graph_word_;      // while capturing
  std::mutex words_mutex_;
  std::vector<std::shared_ptr<IndexWord>> words_;  // [0] the stream's own, then those of graphs launched here
  FreeLists free_;                                 // under the allocator's lock
};

class CudaGraph final : public DeviceGraph {
 public:
  CudaGraph(CudaDevice& device, cudaGraphExec_t exec, std::shared_ptr<GraphMemory> memory,
            std::shared_ptr<IndexWord> word, uint64_t nodes)
      : device_(device), exec_(exec), memory_(std::move(memory)), word_(std::move(word)), nodes_(nodes) {}
  ~CudaGraph() override;
  uint64_t nodes() const override { return nodes_; }

 private:
  friend class CudaStream;
  CudaDevice& device_;
  cudaGraphExec_t exec_;
  std::shared_ptr<GraphMemory> memory_;
  std::shared_ptr<IndexWord> word_;
  uint64_t nodes_;
  // The last one: its launch follows all earlier ones.
  std::shared_ptr<DeviceStream> launched_on_;
};

}  // namespace ruda::cuda
