// src/tensor/context.hpp - contexts, streams and events: the objects that everything else hangs below.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/fork.hpp"
#include "core/handle.hpp"
#include "device/device.hpp"
#include "device/log.hpp"
#include "tensor/layout.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace ruda {

class Storage;

// A part that a higher layer hangs on the context (the plan cache).
class ContextPart {
 public:
  virtual ~ContextPart() = default;
  virtual void trim() = 0;
};

class Context final : public Object {
 public:
  static constexpr Kind kind = Kind::context;
  Context(const ruda_context_desc& desc, std::unique_ptr<Device> opened);
  ~Context() override { delete part_.load(std::memory_order_acquire); }  // before layouts_: it holds layouts

  Device& device() const { return *device_; }
  uint32_t backend() const { return backend_; }
  bool asynchronous() const { return asynchronous_; }
  LayoutTable& layouts() { return layouts_; }
  Log& log() { return log_; }
  uint32_t plan_cache_capacity() const { return plan_cache_capacity_; }
  const std::string& tune_file() const { return tune_file_; }

  // The part, made on first use by `make`.
  template <class P>
  P& part() {
    ContextPart* found = part_.load(std::memory_order_acquire);
    if (!found) [[unlikely]] {
      auto made = std::make_unique<P>(*this);
      if (part_.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) found = made.release();
    }
    return static_cast<P&>(*found);
  }
  void trim();

 private:
  std::unique_ptr<Device> device_;
  uint32_t backend_;
  bool asynchronous_;
  uint32_t plan_cache_capacity_;
  std::string tune_file_;
  LayoutTable layouts_;
  Log log_;
  std::atomic<ContextPart*> part_{nullptr};  // owned
};

// What the host does when a graph is launched whose work changes something that the host mirrors.
struct LaunchStep {
  const void* owner;
  std::function<void()> check;  // may refuse the launch by throwing
  std::function<void()> apply;  // after all checks; does not fail
};

class Stream final : public Object {
 public:
  static constexpr Kind kind = Kind::stream;
  Stream(Context& context, std::unique_ptr<DeviceStream> opened);
  ~Stream() override { queue_->close(); }

  Context& context() const { return context_; }
  Device& device() const { return context_.device(); }
  DeviceStream& queue() const { return *queue_; }
  const std::shared_ptr<DeviceStream>& shared_queue() const { return queue_; }

  // Throws RUDA_E_STREAM_POISONED after an asynchronous failure, RUDA_E_DEVICE in a forked child of a GPU
  // context.
  void check_healthy() const {
    if (poison_.load(std::memory_order_acquire) || forked_since(generation_)) [[unlikely]]
      fail_unhealthy();
  }
  void poison(const Error& error) noexcept;
  void sync();
  // True when all submitted work is done.
  bool query();
  // Between host and device, as those of Device; a fault that they meet poisons the stream.
  void write(void* to, const void* from, uint64_t bytes);
  void read(void* to, const void* from, uint64_t bytes);

  // Capture: objects that recorded work uses are kept for the graph. One thread at a time.
  bool capturing() const { return capturing_.load(std::memory_order_acquire); }
  // RUDA_E_CAPTURE_UNSAFE while the stream is captured; `what` names the call.
  void check_not_capturing(const char* what) const {
    if (capturing()) [[unlikely]]
      fail_capturing(what);
  }
  void begin_capture();
  struct Captured {
    std::unique_ptr<DeviceGraph> graph;
    std::vector<std::shared_ptr<const void>> kept;
    std::unordered_map<Storage*, bool> storages;  // of `kept`; true = written
    std::vector<LaunchStep> steps;
  };
  Captured end_capture();
  // Capturing: adds what the host does at each launch; RUDA_E_STATE for a second step of one owner.
  void before_launch(LaunchStep step);
  void keep(std::shared_ptr<const void> object) { kept_.push_back(std::move(object)); }
  void keep(Storage& storage, bool written);
  void keep_object(const Object& object);

 private:
  void fail_unhealthy() const;
  [[noreturn]] static void fail_capturing(const char* what);
  std::atomic<bool> capturing_{false};
  std::vector<std::shared_ptr<const void>> kept_;
  std::unordered_map<Storage*, bool> kept_storages_;
  std::vector<LaunchStep> steps_;
  const uint32_t generation_ = fork_generation_now();
  Context& context_;  // kept alive by the cell's parent
  std::shared_ptr<DeviceStream> queue_;
  std::atomic<ruda_status> poison_{RUDA_OK};
  std::string poison_text_;  // guarded by one mutex for all streams
};

class Graph final : public Object {
 public:
  static constexpr Kind kind = Kind::graph;
  Graph(Context& context, Stream::Captured captured) : context(context), captured(std::move(captured)) {}
  void launch(Stream& stream);
  Context& context;
  Stream::Captured captured;
};

class Event final : public Object {
 public:
  static constexpr Kind kind = Kind::event;
  Event(Context& context, std::unique_ptr<DeviceEvent> opened) : context(context), event(std::move(opened)) {}
  Context& context;
  std::unique_ptr<DeviceEvent> event;
  std::atomic<bool> recorded{false};
};

inline Context& get_context(ruda_context handle, int arg = 0) { return get<Context>(handle, arg, "context"); }
inline Stream& get_stream(ruda_stream handle, int arg = 0) { return get<Stream>(handle, arg, "stream"); }

}  // namespace ruda
