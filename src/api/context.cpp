// src/api/context.cpp - C entries of contexts, streams, events, logging and backends.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "tensor/context.hpp"

#include <ruda/context.h>

using namespace ruda;

namespace {

const Backend& need_backend(uint32_t id, int arg) {
  RUDA_CHECK(id == RUDA_BACKEND_CPU || id == RUDA_BACKEND_CUDA, RUDA_E_ARGUMENT, arg,
             "backend is %u, expected 1 (CPU) or 2 (CUDA)", id);
  const Backend* backend = find_backend(id);
  RUDA_CHECK(backend, RUDA_E_NOT_BUILT, arg, "backend CUDA is not part of this build of the library");
  return *backend;
}

const Backend& choose_backend(uint32_t id) {
  if (id != RUDA_BACKEND_AUTO) return need_backend(id, 0);
  std::string why;
  const Backend* cuda = find_backend(RUDA_BACKEND_CUDA);
  if (cuda && cuda->probe(why) > 0) return *cuda;
  return need_backend(RUDA_BACKEND_CPU, 0);
}

Ref<Stream> make_stream(Context& context, std::unique_ptr<DeviceStream> queue) {
  return make<Stream>(context.cell(), context, std::move(queue));
}

}  // namespace

extern "C" {

uint32_t ruda_api_level(void) noexcept { return RUDA_API_LEVEL; }

const char* ruda_version(void) noexcept { return RUDA_VERSION; }

ruda_status ruda_backend_probe(uint32_t backend, uint32_t* out_device_count) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out_device_count, RUDA_E_NULL, 1, "out_device_count is NULL");
    *out_device_count = 0;
    const Backend& found = need_backend(backend, 0);
    std::string why;
    const int count = found.probe(why);
    RUDA_CHECK(count > 0, RUDA_E_BACKEND_MISSING, 0, "backend %s: %s", found.name, why.c_str());
    *out_device_count = uint32_t(count);
  });
}

ruda_status ruda_backend_report(char* text, uint64_t capacity, uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    std::string report = std::string("libruda ") + RUDA_VERSION + "\n";
    for (uint32_t id : {uint32_t(RUDA_BACKEND_CPU), uint32_t(RUDA_BACKEND_CUDA)}) {
      const Backend* backend = find_backend(id);
      if (backend)
        backend->report(report);
      else
        report += "CUDA: not part of this build\n";
    }
    text_out(report, text, capacity, out_needed, 0);
  });
}

ruda_status ruda_context_create(const ruda_context_desc* desc, ruda_context* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = nullptr;
    const ruda_context_desc d = struct_in(desc, 0, "desc");
    RUDA_CHECK(d.log_level <= RUDA_LOG_DEBUG, RUDA_E_ARGUMENT, 0, "desc.log_level is %u, expected 0..%d",
               d.log_level, RUDA_LOG_DEBUG);
    const Backend& backend = choose_backend(d.backend);
    auto context = make<Context>(nullptr, d, backend.open(d));
    context->log().write(RUDA_LOG_INFO, "context", "%s, %u host threads", context->device().name(),
                         context->device().host_threads());
    *out = context.detach<ruda_context>();
  });
}

ruda_status ruda_context_get_info(ruda_context context, ruda_context_info* inout) noexcept {
  return guard(__func__, [&] {
    Context& c = get_context(context);
    ruda_context_info info{};
    info.backend = c.backend();
    info.device = c.device().index();
    info.host_threads = c.device().host_threads();
    info.device_name = c.device().name();
    c.device().memory(info);
    struct_out(inout, info, 1, "inout");
  });
}

ruda_status ruda_context_live_objects(ruda_context context, uint64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = 0;
    *out = live_objects(*get_context(context).cell());
  });
}

ruda_status ruda_context_trim(ruda_context context) noexcept {
  return guard(__func__, [&] { get_context(context).trim(); });
}

ruda_status ruda_log_set(ruda_context context, ruda_log_fn log, void* user, uint32_t level) noexcept {
  return guard(__func__, [&] {
    Context& c = get_context(context);
    RUDA_CHECK(level <= RUDA_LOG_DEBUG, RUDA_E_ARGUMENT, 3, "level is %u, expected 0..%d", level,
               RUDA_LOG_DEBUG);
    c.log().set(log, user, level);
  });
}

ruda_status ruda_log_drain(ruda_context context, char* text, uint64_t capacity, uint64_t* out_used) noexcept {
  return guard(__func__, [&] {
    if (out_used) *out_used = 0;
    Context& c = get_context(context);
    RUDA_CHECK(text, RUDA_E_NULL, 1, "text is NULL");
    RUDA_CHECK(capacity >= 1024, RUDA_E_ARGUMENT, 2, "capacity is %llu, expected at least 1024",
               (unsigned long long)capacity);
    const uint64_t used = c.log().drain(text, capacity);
    if (out_used) *out_used = used;
  });
}

ruda_status ruda_stream_create(ruda_context context, uint32_t flags, ruda_stream* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    RUDA_CHECK(flags == 0, RUDA_E_ARGUMENT, 1, "flags is %u, expected 0", flags);
    c.device().check_usable();
    *out = make_stream(c, c.device().open_stream()).detach<ruda_stream>();
  });
}

ruda_status ruda_stream_wrap(ruda_context context, void* native, uint32_t flags, ruda_stream* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    RUDA_CHECK(flags <= 1, RUDA_E_ARGUMENT, 2, "flags is %u, expected 0 or 1", flags);
    c.device().check_usable();
    *out = make_stream(c, c.device().wrap_stream(native, flags)).detach<ruda_stream>();
  });
}

ruda_status ruda_stream_sync(ruda_stream stream) noexcept {
  return guard(__func__, [&] { get_stream(stream).sync(); });
}

ruda_status ruda_stream_query(ruda_stream stream) noexcept {
  return guard(__func__,
               [&]() -> ruda_status { return get_stream(stream).query() ? RUDA_OK : RUDA_PENDING; });
}

ruda_status ruda_stream_wait(ruda_stream stream, ruda_event event) noexcept {
  return guard(__func__, [&] {
    Stream& s = get_stream(stream);
    Event& e = get<Event>(event, 1, "event");
    RUDA_CHECK(e.context.backend() == s.context().backend(), RUDA_E_ARGUMENT, 1,
               "event: belongs to another backend than the stream");
    if (e.recorded.load(std::memory_order_acquire)) s.queue().wait(*e.event);
  });
}

ruda_status ruda_stream_get_context(ruda_stream stream, ruda_context* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = nullptr;
    *out = Ref<Context>(&get_stream(stream).context()).detach<ruda_context>();
  });
}

ruda_status ruda_capture_begin(ruda_stream stream) noexcept {
  return guard(__func__, [&] { get_stream(stream).begin_capture(); });
}

ruda_status ruda_capture_end(ruda_stream stream, ruda_graph* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = nullptr;
    Stream& s = get_stream(stream);
    *out = make<Graph>(s.context().cell(), s.context(), s.end_capture()).detach<ruda_graph>();
  });
}

ruda_status ruda_graph_launch(ruda_graph graph, ruda_stream stream) noexcept {
  return guard(__func__, [&] {
    Graph& g = get<Graph>(graph, 0, "graph");
    Stream& s = get_stream(stream, 1);
    RUDA_CHECK(&g.context == &s.context(), RUDA_E_ARGUMENT, 1,
               "stream: belongs to another context than the graph");
    g.launch(s);
  });
}

ruda_status ruda_event_create(ruda_context context, ruda_event* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    *out = make<Event>(c.cell(), c, c.device().open_event()).detach<ruda_event>();
  });
}

ruda_status ruda_event_record(ruda_event event, ruda_stream stream) noexcept {
  return guard(__func__, [&] {
    Event& e = get<Event>(event, 0, "event");
    Stream& s = get_stream(stream, 1);
    RUDA_CHECK(&e.context == &s.context(), RUDA_E_ARGUMENT, 1,
               "stream: belongs to another context than the event");
    s.queue().record(*e.event);
    e.recorded.store(true, std::memory_order_release);
  });
}

ruda_status ruda_event_sync(ruda_event event) noexcept {
  return guard(__func__, [&] {
    Event& e = get<Event>(event, 0, "event");
    if (e.recorded.load(std::memory_order_acquire)) e.event->sync();
  });
}

ruda_status ruda_event_elapsed(ruda_event from, ruda_event to, double* out_seconds) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out_seconds, RUDA_E_NULL, 2, "out_seconds is NULL");
    *out_seconds = 0;
    Event& a = get<Event>(from, 0, "from");
    Event& b = get<Event>(to, 1, "to");
    RUDA_CHECK(a.recorded.load(std::memory_order_acquire), RUDA_E_STATE, 0, "from: was not recorded");
    RUDA_CHECK(b.recorded.load(std::memory_order_acquire), RUDA_E_STATE, 1, "to: was not recorded");
    RUDA_CHECK(&a.context == &b.context, RUDA_E_ARGUMENT, 1, "to: belongs to another context than from");
    a.event->sync();
    b.event->sync();
    *out_seconds = b.event->since(*a.event);
  });
}

}  // extern "C"
