// src/device/device.hpp - what a backend must offer: devices, streams, events, memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/plan.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace ruda {

class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  virtual void sync() = 0;
  // Seconds from `earlier` to this event; both were recorded.
  virtual double since(const DeviceEvent& earlier) const = 0;
};

// Recorded work that can be submitted again and again.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // Kernels and copies of one launch; 0 where the backend does not count.
  virtual uint64_t nodes() const { return 0; }
};

// Where the arrays of a paged schedule lie in its image on the device, in words from `words`.
struct ScheduleImage {
  uint32_t* words;  // [queries, sequences, ...]
  uint64_t ids_word, positions_word, lengths_word;
};

// A backend's side of an ordered queue. Calls come from any thread.
class DeviceStream : public std::enable_shared_from_this<DeviceStream> {
 public:
  virtual ~DeviceStream() = default;
  virtual void sync() = 0;
  virtual bool done() = 0;
  virtual void record(DeviceEvent& event) = 0;
  virtual void wait(DeviceEvent& event) = 0;
  virtual void* native() { return nullptr; }
  // Later work of this stream waits for all that was submitted to `other` so far, which what a capture
  // records is not; `other` may be closed.
  virtual void follow(DeviceStream&) {}
  // The handle is gone: storages may still name the stream, its native side may end.
  virtual void close() noexcept {}

  // Submits the step of a paged schedule's image: each sequence with tokens grows by one, which becomes its
  // query. The host has checked that it can.
  virtual void advance(const ScheduleImage& image);

  // Between begin and end, submitted work is recorded; memory drawn on the stream belongs to the graph.
  virtual bool capturing() const noexcept { return false; }
  virtual void begin_capture();
  virtual std::unique_ptr<DeviceGraph> end_capture();
  virtual void launch(DeviceGraph& graph);
};

// Hands 32-bit words from a stream's work to the host while later work goes on.
class DeviceRing {
 public:
  static constexpr uint64_t slots = 64;
  virtual ~DeviceRing() = default;
  // Submits: the word at `from` on the device becomes the next one. Capturable. One stream only.
  virtual void post(DeviceStream& stream, const void* from) = 0;
  // The n-th word posted, from 0, when it has arrived; at most `slots` words back.
  virtual bool read(uint64_t n, uint32_t& word) const noexcept = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual uint32_t backend() const = 0;
  virtual int index() const = 0;
  virtual const char* name() const = 0;
  virtual uint32_t host_threads() const { return 1; }
  // True when work may still run after a call returned, so that order between streams matters.
  virtual bool asynchronous() const = 0;
  // Throws RUDA_E_DEVICE in a process that forked after the device was opened.
  virtual void check_usable() const {}

  virtual std::unique_ptr<DeviceStream> open_stream() = 0;
  virtual std::unique_ptr<DeviceStream> wrap_stream(void* native, uint32_t flags) = 0;
  virtual std::unique_ptr<DeviceEvent> open_event() = 0;
  // Asynchronous devices only; `stream` is the one that will post.
  virtual std::unique_ptr<DeviceRing> open_ring(DeviceStream& stream);

  // Memory aligned to 256 bytes. `stream` null: usable at once on every stream.
  virtual void* allocate(uint64_t bytes, DeviceStream* stream) = 0;
  virtual void release(void* data, uint64_t bytes, DeviceStream* stream) noexcept = 0;
  // As release(), once the work submitted so far to `streams` has ended. Never waits. They may be closed, or
  // be captured by another thread meanwhile.
  virtual void release_after(void* data, uint64_t bytes,
                             std::span<const std::shared_ptr<DeviceStream>> streams) noexcept;
  virtual void trim() = 0;
  // Calls `done` once the work submitted so far to `streams` has ended. Never waits.
  virtual void retire(std::function<void()> done,
                      std::span<const std::shared_ptr<DeviceStream>> streams) noexcept;
  virtual void memory(ruda_context_info& info) const = 0;

  // Around every call that submits work: makes the device current for the thread and restores what was
  // before.
  virtual int enter() noexcept { return -1; }
  virtual void leave(int) noexcept {}

  // Between host and device, contiguous. read() returns when the bytes have arrived.
  virtual void write(DeviceStream& stream, void* to, const void* from, uint64_t bytes) = 0;
  virtual void read(DeviceStream& stream, void* to, const void* from, uint64_t bytes) = 0;
  // Asynchronous devices only: as read(), after the work submitted to `writer`, which may be null or closed.
  // What its kernels report stays with it.
  virtual void fetch(DeviceStream* writer, void* to, const void* from, uint64_t bytes);
  // Submits a copy from memory that `owner`, another context's device, holds; the stream is ordered after its
  // writers. False when the two have no way but through the host.
  virtual bool copy_from(DeviceStream& stream, void* to, Device& owner, const void* from, uint64_t bytes);
};

// Makes a device current while it lives.
class DeviceScope {
 public:
  explicit DeviceScope(Device& device) : device_(device), before_(device.enter()) {}
  ~DeviceScope() { device_.leave(before_); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Device& device_;
  int before_;
};

struct Backend {
  uint32_t id;
  const char* name;
  // Number of devices; when 0, `why` says the reason.
  int (*probe)(std::string& why);
  std::unique_ptr<Device> (*open)(const ruda_context_desc& desc);
  void (*report)(std::string& text);
};

// nullptr when this build leaves the backend out.
const Backend* find_backend(uint32_t id) noexcept;

}  // namespace ruda
