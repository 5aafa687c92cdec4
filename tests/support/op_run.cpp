// tests/support/op_run.cpp - guarded buffers and the loop over kernels.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include "support/picks.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

namespace ruda::test {
namespace {

constexpr uint64_t guard = 4096, page = 65536;
constexpr uint8_t guard_byte = 0xA5;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct FloatFormat {
  int mantissa_bits, exponent_bits, bias;
  bool has_infinity;
};

FloatFormat format_of(uint32_t dtype) {
  switch (dtype) {
    case RUDA_F16: return {10, 5, 15, true};
    case RUDA_BF16: return {7, 8, 127, true};
    case RUDA_F8E4M3: return {3, 4, 7, false};
    case RUDA_F8E5M2: return {2, 5, 15, true};
  }
  throw Fatal("no float format");
}

// Rounds to the grid of the format by scaling to integers; ties to even by nearbyint.
uint32_t encode_float(const FloatFormat& f, double value) {
  const uint32_t sign = std::signbit(value) ? 1u << (f.mantissa_bits + f.exponent_bits) : 0;
  const uint32_t top = (1u << f.exponent_bits) - 1;
  if (std::isnan(value))
    return sign | (top << f.mantissa_bits) |
           (f.has_infinity ? 1u << (f.mantissa_bits - 1) : (1u << f.mantissa_bits) - 1);
  double magnitude = std::fabs(value);
  int exponent = 0;
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, 1 - f.bias);
  double steps =
      std::isinf(magnitude) ? magnitude : std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  if (steps >= std::ldexp(2.0, f.mantissa_bits)) {
    steps /= 2;
    ++exponent;
  }
  const uint32_t largest =
      f.has_infinity ? (top << f.mantissa_bits) - 1 : (top << f.mantissa_bits) + (1u << f.mantissa_bits) - 2;
  if (std::isinf(magnitude) || exponent > int(top) - f.bias)
    return sign | (f.has_infinity ? top << f.mantissa_bits : largest);
  const uint32_t whole = uint32_t(steps);
  const uint32_t hidden = 1u << f.mantissa_bits;
  const uint32_t code =
      whole < hidden ? whole : (uint32_t(exponent + f.bias) << f.mantissa_bits) + (whole - hidden);
  return sign | (code > largest ? (f.has_infinity ? top << f.mantissa_bits : largest) : code);
}

double decode_float(const FloatFormat& f, uint32_t code) {
  const uint32_t top = (1u << f.exponent_bits) - 1;
  const uint32_t exponent = (code >> f.mantissa_bits) & top, mantissa = code & ((1u << f.mantissa_bits) - 1);
  const double sign = code >> (f.mantissa_bits + f.exponent_bits) ? -1 : 1;
  if (exponent == top && (f.has_infinity || mantissa == (1u << f.mantissa_bits) - 1))
    return mantissa || !f.has_infinity ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(double(mantissa), 1 - f.bias - f.mantissa_bits);
  return sign *
         std::ldexp(double(mantissa + (1u << f.mantissa_bits)), int(exponent) - f.bias - f.mantissa_bits);
}

template <class T>
void put(uint8_t* to, double value) {
  const T v = T(value);
  std::memcpy(to, &v, sizeof v);
}
template <class T>
double fetch(const uint8_t* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return double(v);
}

}  // namespace

int64_t count_of(const Shape& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

Shape packed_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0; step *= std::max<int64_t>(shape[i], 1)) strides[i] = step;
  return strides;
}

uint32_t size_of(uint32_t dtype) {
  ruda_dtype_info info{};
  info.struct_size = sizeof info;
  MUST(ruda_dtype_get_info(dtype, &info));
  if (info.block_elements != 1) throw Fatal("dtype has no element size");
  return info.block_bytes;
}

double epsilon(uint32_t dtype) {
  switch (dtype) {
    case RUDA_F64: return std::ldexp(1.0, -52);
    case RUDA_F32: return std::ldexp(1.0, -23);
    case RUDA_F16: return std::ldexp(1.0, -10);
    case RUDA_BF16: return std::ldexp(1.0, -7);
    case RUDA_F8E4M3: return std::ldexp(1.0, -3);
    case RUDA_F8E5M2: return std::ldexp(1.0, -2);
  }
  throw Fatal("epsilon of a dtype that is no float");
}

void encode(uint32_t dtype, double value, uint8_t* to) {
  switch (dtype) {
    case RUDA_F64: return put<double>(to, value);
    case RUDA_F32: return put<float>(to, value);
    case RUDA_F16:
    case RUDA_BF16: return put<uint16_t>(to, encode_float(format_of(dtype), value));
    case RUDA_F8E4M3:
    case RUDA_F8E5M2: return put<uint8_t>(to, encode_float(format_of(dtype), value));
    case RUDA_I8: return put<int8_t>(to, value);
    case RUDA_U8: return put<uint8_t>(to, value);
    case RUDA_I16: return put<int16_t>(to, value);
    case RUDA_U16: return put<uint16_t>(to, value);
    case RUDA_I32: return put<int32_t>(to, value);
    case RUDA_U32: return put<uint32_t>(to, value);
    case RUDA_I64: return put<int64_t>(to, value);
    case RUDA_U64: return put<uint64_t>(to, value);
    case RUDA_BOOL: return put<uint8_t>(to, value != 0);
  }
  throw Fatal("encode of a dtype that has no element");
}

double decode(uint32_t dtype, const uint8_t* from) {
  switch (dtype) {
    case RUDA_F64: return fetch<double>(from);
    case RUDA_F32: return fetch<float>(from);
    case RUDA_F16:
    case RUDA_BF16: return decode_float(format_of(dtype), uint32_t(fetch<uint16_t>(from)));
    case RUDA_F8E4M3:
    case RUDA_F8E5M2: return decode_float(format_of(dtype), uint32_t(fetch<uint8_t>(from)));
    case RUDA_I8: return fetch<int8_t>(from);
    case RUDA_U8:
    case RUDA_BOOL: return fetch<uint8_t>(from);
    case RUDA_I16: return fetch<int16_t>(from);
    case RUDA_U16: return fetch<uint16_t>(from);
    case RUDA_I32: return fetch<int32_t>(from);
    case RUDA_U32: return fetch<uint32_t>(from);
    case RUDA_I64: return fetch<int64_t>(from);
    case RUDA_U64: return fetch<uint64_t>(from);
  }
  throw Fatal("decode of a dtype that has no element");
}

Buffer::Buffer(Env& env, uint32_t dtype, Shape given, Shape given_strides, uint64_t alignment)
    : shape(std::move(given)), strides(std::move(given_strides)), dtype(dtype), env_(env) {
  if (strides.empty()) strides = packed_strides(shape);
  uint64_t span = count_of(shape) ? size_of(dtype) : 0;
  for (size_t i = 0; i < shape.size() && span; ++i)
    span += uint64_t(strides[i] * (shape[i] - 1)) * size_of(dtype);
  make(span, alignment);
}

Buffer::Buffer(Env& env, uint32_t dtype, Shape given, std::vector<uint8_t> packed)
    : shape(std::move(given)), strides(packed_strides(shape)), dtype(dtype), env_(env) {
  make(packed.size(), 1);
  std::copy(packed.begin(), packed.end(), image_.begin() + guard);
  upload();
}

void Buffer::make(uint64_t span, uint64_t alignment) {
  span_ = span;
  const bool on_cpu = env_.settings.backend == RUDA_BACKEND_CPU;
  behind_ = on_cpu ? (alignment - span % alignment) % alignment : guard;
  image_.assign(guard + span + behind_, guard_byte);
  const int64_t bytes = int64_t(image_.size());
  ruda_tensor_desc base_desc = RUDA_TENSOR_DESC_INIT;
  base_desc.dtype = RUDA_U8;
  base_desc.rank = 1;
  base_desc.shape = &bytes;
  if (on_cpu) {
    const uint64_t open = (image_.size() + page - 1) / page * page;
    mapping_bytes_ = open + page;
    mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw Fatal("no memory for a buffer");
    uint8_t* const end = static_cast<uint8_t*>(mapping_) + open;
    if (mprotect(end, page, PROT_NONE)) throw Fatal("no guard page behind a buffer");
    MUST(ruda_tensor_wrap(env_.context, &base_desc, end - bytes, uint64_t(bytes), nullptr, nullptr, &base_));
  } else {
    MUST(ruda_tensor_create(env_.context, &base_desc, &base_));
  }
  desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = dtype;
  desc.rank = uint32_t(shape.size());
  desc.shape = shape.data();
  desc.strides = strides.data();
  void* data = nullptr;
  MUST(ruda_tensor_get_data(base_, &data, nullptr));
  MUST(ruda_tensor_wrap(env_.context, &desc, static_cast<uint8_t*>(data) + guard, span, nullptr, nullptr,
                        &tensor));
  upload();
}

Buffer::~Buffer() {
  ruda_stream_sync(env_.stream);
  ruda_release(tensor);
  ruda_release(base_);
  if (mapping_) munmap(mapping_, mapping_bytes_);
}

void Buffer::upload() { MUST(ruda_tensor_write(env_.stream, base_, image_.data(), image_.size())); }

std::vector<uint8_t> Buffer::download() {
  std::vector<uint8_t> image(image_.size());
  MUST(ruda_stream_sync(env_.stream));
  MUST(ruda_tensor_read(env_.stream, base_, image.data(), image.size()));
  return image;
}

template <class F>
void Buffer::each(F&& f) const {
  const int64_t count = count_of(shape), size = size_of(dtype);
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) offset += index[axis] * strides[axis];
    f(size_t(i), guard + uint64_t(offset * size));
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

void Buffer::set(const std::vector<double>& values) {
  if (int64_t(values.size()) != count_of(shape)) throw Fatal("count of values differs from the shape");
  each([&](size_t i, uint64_t at) { encode(dtype, values[i], &image_[at]); });
  upload();
}

void Buffer::poison() {
  std::memset(image_.data() + guard, 0xFF, span_);
  upload();
}

std::vector<double> Buffer::read() {
  const auto image = download();
  std::vector<double> values(size_t(count_of(shape)));
  each([&](size_t i, uint64_t at) { values[i] = decode(dtype, &image[at]); });
  return values;
}

std::vector<uint8_t> Buffer::bytes() {
  const auto image = download();
  return {image.begin() + guard, image.end() - int64_t(behind_)};
}

void Buffer::check_untouched(const char* name, bool elements_too) {
  const auto image = download();
  std::vector<bool> element(image.size(), false);
  if (!elements_too)
    each([&](size_t, uint64_t at) { std::fill_n(element.begin() + int64_t(at), size_of(dtype), true); });
  for (size_t i = 0; i < image.size(); ++i) {
    if (element[i] || image[i] == image_[i]) continue;
    failure(__FILE__, __LINE__, "%s: byte %lld of %llu changed from %02x to %02x", name,
            (long long)i - (long long)guard, (unsigned long long)span_, image_[i], image[i]);
    return;
  }
}

std::vector<double> OpRun::input(uint32_t slot, uint32_t dtype, Shape shape,
                                 const std::vector<double>& values, Shape strides) {
  auto& buffer = buffers_[slot] = std::make_unique<Buffer>(env_, dtype, std::move(shape), std::move(strides));
  buffer->set(values);
  return buffer->read();
}

std::vector<double> OpRun::random_input(uint32_t slot, uint32_t dtype, Shape shape, double scale,
                                        Shape strides) {
  const auto values = env_.normal(count_of(shape), scale);
  return input(slot, dtype, std::move(shape), values, std::move(strides));
}

void OpRun::input_bytes(uint32_t slot, uint32_t dtype, Shape shape, std::vector<uint8_t> packed) {
  buffers_[slot] = std::make_unique<Buffer>(env_, dtype, std::move(shape), std::move(packed));
}

std::vector<double> OpRun::inout(uint32_t slot, uint32_t dtype, Shape shape,
                                 const std::vector<double>& values) {
  is_inout_[slot] = true;
  initial_[slot] = values;
  return input(slot, dtype, std::move(shape), values);
}

void OpRun::output(uint32_t slot, uint32_t dtype, Shape shape, Shape strides) {
  buffers_[slot] = std::make_unique<Buffer>(env_, dtype, std::move(shape), std::move(strides));
  is_output_[slot] = true;
}

void OpRun::bind_handle(uint32_t slot, void* handle) {
  ruda_binding& b = others_[slot] = ruda_binding{};
  b.slot = slot;
  b.kind = RUDA_BIND_HANDLE;
  b.v.handle = handle;
}

void OpRun::bind_f64(uint32_t slot, double value) {
  ruda_binding& b = others_[slot] = ruda_binding{};
  b.slot = slot;
  b.kind = RUDA_BIND_F64;
  b.v.f64 = value;
}

void OpRun::bind_i64(uint32_t slot, int64_t value) {
  ruda_binding& b = others_[slot] = ruda_binding{};
  b.slot = slot;
  b.kind = RUDA_BIND_I64;
  b.v.i64 = value;
}

void OpRun::bind_same(uint32_t slot, uint32_t other) {
  ruda_binding& b = others_[slot] = ruda_binding{};
  b.slot = slot;
  b.kind = RUDA_BIND_TENSOR;
  b.v.handle = tensor(other);
}

const ruda_tensor_desc* OpRun::desc(uint32_t slot) const { return &buffers_.at(slot)->desc; }
ruda_tensor OpRun::tensor(uint32_t slot) const { return buffers_.at(slot)->tensor; }
std::vector<double> OpRun::read(uint32_t slot) const { return buffers_.at(slot)->read(); }
std::vector<uint8_t> OpRun::read_bytes(uint32_t slot) const { return buffers_.at(slot)->bytes(); }

std::vector<ruda_binding> OpRun::bindings() const {
  std::vector<ruda_binding> list;
  for (const auto& [slot, buffer] : buffers_) {
    ruda_binding b{};
    b.slot = slot;
    b.kind = RUDA_BIND_TENSOR;
    b.v.handle = buffer->tensor;
    list.push_back(b);
  }
  for (const auto& [slot, b] : others_) list.push_back(b);
  return list;
}

ruda_status OpRun::execute(ruda_plan plan) const {
  const auto bound = bindings();
  return ruda_plan_execute(plan, env_.stream, nullptr, bound.data(), uint32_t(bound.size()), nullptr);
}

std::vector<std::string> OpRun::kernels() const {
  if (!env_.settings.kernel.empty()) return {env_.settings.kernel};
  char text[4096];
  MUST(ruda_op_kernels(op_.c_str(), env_.settings.backend, text, sizeof text, nullptr));
  std::vector<std::string> names;
  for (const char* at = text; *at;) {
    const char* end = std::strchr(at, '\n');
    names.emplace_back(at, end);
    at = end + 1;
  }
  return names;
}

uint64_t OpRun::operand_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [slot, buffer] : buffers_) bytes += buffer->span();
  return bytes;
}

// Dtypes of the operands and what the plan says of its kernel, as one word.
std::string OpRun::code_of(ruda_plan plan) const {
  std::string word;
  for (const auto& [slot, buffer] : buffers_)
    word += std::to_string(slot) + ":" + std::to_string(buffer->dtype) + ",";
  char text[4096];
  MUST(ruda_plan_explain(plan, text, sizeof text, nullptr));
  word.append(text, std::strcspn(text, "\n"));
  std::replace(word.begin(), word.end(), ' ', '_');
  return word;
}

int OpRun::each_kernel(const Create& create, const std::function<void(const std::string&)>& verify) {
  int ran = 0;
  const auto bound = bindings();
  const int number = picks::begin_case();
  for (const std::string& kernel : kernels()) {
    if (!picks::wants_case(number, kernel)) continue;
    ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
    options.kernel = kernel.c_str();
    ruda_plan plan = nullptr;
    const ruda_status status = create(&options, &plan);
    if (status == RUDA_E_UNSUPPORTED) continue;
    if (status != RUDA_OK) throw Fatal(kernel + ": " + ruda_status_name(status) + ": " + last_message());
    ruda_plan_info info = RUDA_PLAN_INFO_INIT;
    MUST(ruda_plan_query(plan, &info));
    CHECK(kernel == info.kernel, "%s was forced, %s was taken", kernel.c_str(), info.kernel);

    Buffer workspace_memory(env_, RUDA_U8, {int64_t(info.workspace_bytes)}, Shape{}, 256);
    ruda_workspace workspace = nullptr;
    void* workspace_data = nullptr;
    MUST(ruda_tensor_get_data(workspace_memory.tensor, &workspace_data, nullptr));
    MUST(ruda_workspace_wrap(env_.context, workspace_data, info.workspace_bytes, &workspace));

    std::map<uint32_t, std::vector<uint8_t>> first;
    double seconds = 0;
    for (int round = 0; round < 2; ++round) {
      workspace_memory.poison();
      for (const auto& [slot, yes] : is_output_)
        if (yes) buffers_[slot]->poison();
      for (const auto& [slot, values] : initial_) buffers_[slot]->set(values);
      MUST(ruda_stream_sync(env_.stream));
      const auto start = std::chrono::steady_clock::now();
      MUST(ruda_plan_execute(plan, env_.stream, workspace, bound.data(), uint32_t(bound.size()), nullptr));
      MUST(ruda_stream_sync(env_.stream));
      seconds = seconds_since(start);
      for (const auto& [slot, buffer] : buffers_) {
        const bool written = is_output_.count(slot) || is_inout_.count(slot);
        bool shared = false;
        for (const auto& [other, b] : others_) shared |= b.v.handle == buffer->tensor;
        buffer->check_untouched((kernel + ": slot " + std::to_string(slot)).c_str(), !written && !shared);
        if (!written) continue;
        auto bytes = buffer->bytes();
        if (round == 0)
          first[slot] = std::move(bytes);
        else if (info.deterministic)
          CHECK(first[slot] == bytes, "%s: slot %u differs between two runs", kernel.c_str(), slot);
      }
      workspace_memory.check_untouched((kernel + ": workspace").c_str(), false);
    }
    verify(kernel);
    picks::note_case(number, kernel, operand_bytes() + info.workspace_bytes, seconds, code_of(plan));
    ruda_release(workspace);
    ruda_release(plan);
    ++ran;
  }
  CHECK(ran > 0 || !env_.settings.kernel.empty() || picks::picking(), "%s: no kernel takes the case: %s",
        op_.c_str(), last_message().c_str());
  return ran;
}

namespace {

struct Timing {
  double best = 0, median = 0;
  double host = 0, graph = 0;  // GPU only: cost of a call to the host, and of a run inside a replayed graph
};

Timing summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

// Batches long enough that the clock and the wait do not show.
Timing time_calls(Env& env, const std::function<void()>& run) {
  int batch = 1;
  for (;; batch *= 2) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) run();
    MUST(ruda_stream_sync(env.stream));
    if (seconds_since(start) > 2e-3 || batch > 1 << 20) break;
  }
  std::vector<double> times;
  const auto begin = std::chrono::steady_clock::now();
  while (seconds_since(begin) < 0.6 || times.size() < 5) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) run();
    MUST(ruda_stream_sync(env.stream));
    times.push_back(seconds_since(start) / batch);
  }
  return summary(std::move(times));
}

// Each run alone between two events, with the cache flushed before.
Timing time_on_device(Env& env, const std::function<void()>& run, bool capturable) {
  const int64_t flush_bytes = 256 << 20;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = RUDA_U8;
  desc.rank = 1;
  desc.shape = &flush_bytes;
  ruda_tensor from = nullptr, to = nullptr;
  MUST(ruda_tensor_create(env.context, &desc, &from));
  MUST(ruda_tensor_create(env.context, &desc, &to));
  ruda_event before = nullptr, after = nullptr;
  MUST(ruda_event_create(env.context, &before));
  MUST(ruda_event_create(env.context, &after));
  std::vector<double> times;
  for (int i = 0; i < 30; ++i) {
    MUST(ruda_tensor_copy(env.stream, from, to));
    MUST(ruda_event_record(before, env.stream));
    run();
    MUST(ruda_event_record(after, env.stream));
    double seconds = 0;
    MUST(ruda_event_elapsed(before, after, &seconds));
    times.push_back(seconds);
  }
  Timing timing = summary(std::move(times));
  std::vector<double> host;
  for (int i = 0; i < 20; ++i) {
    MUST(ruda_stream_sync(env.stream));
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < 50; ++k) run();
    host.push_back(seconds_since(start) / 50);
  }
  timing.host = summary(std::move(host)).median;
  MUST(ruda_stream_sync(env.stream));
  if (capturable) {
    constexpr int runs = 50;
    ruda_graph graph = nullptr;
    MUST(ruda_capture_begin(env.stream));
    for (int k = 0; k < runs; ++k) run();
    MUST(ruda_capture_end(env.stream, &graph));
    std::vector<double> replays;
    for (int i = 0; i < 12; ++i) {
      MUST(ruda_event_record(before, env.stream));
      MUST(ruda_graph_launch(graph, env.stream));
      MUST(ruda_event_record(after, env.stream));
      double seconds = 0;
      MUST(ruda_event_elapsed(before, after, &seconds));
      replays.push_back(seconds / runs);
    }
    timing.graph = summary(std::move(replays)).median;
    ruda_release(graph);
  }
  for (void* handle : {static_cast<void*>(before), static_cast<void*>(after), static_cast<void*>(from),
                       static_cast<void*>(to)})
    ruda_release(handle);
  return timing;
}

}  // namespace

void OpRun::bench(const std::string& name, double bytes, double flops, const Create& create) {
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  if (!env_.settings.kernel.empty()) options.kernel = env_.settings.kernel.c_str();
  ruda_plan plan = nullptr;
  MUST(create(&options, &plan));
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  MUST(ruda_plan_query(plan, &info));
  ruda_workspace workspace = nullptr;
  MUST(ruda_workspace_create(env_.context, info.workspace_bytes, &workspace));
  const auto bound = bindings();
  const auto run = [&] {
    MUST(ruda_plan_execute(plan, env_.stream, workspace, bound.data(), uint32_t(bound.size()), nullptr));
  };
  run();
  MUST(ruda_stream_sync(env_.stream));
  const bool on_gpu = env_.settings.backend == RUDA_BACKEND_CUDA;
  const Timing t = on_gpu ? time_on_device(env_, run, info.capturable) : time_calls(env_, run);
  std::printf("%-44s %-28s min %10.2f us  median %10.2f us %8.1f GB/s %9.1f GFLOP/s", name.c_str(),
              info.kernel, t.best * 1e6, t.median * 1e6, bytes / t.best / 1e9, flops / t.best / 1e9);
  if (on_gpu) std::printf("  host %6.2f us  in a graph %8.2f us", t.host * 1e6, t.graph * 1e6);
  std::printf("\n");
  std::fflush(stdout);
  if (!env_.settings.json.empty()) {
    if (std::FILE* file = std::fopen(env_.settings.json.c_str(), "a")) {
      std::fprintf(
          file,
          "{\"name\": \"%s\", \"kernel\": \"%s\", \"min_s\": %.9g, \"median_s\": %.9g, \"bytes\": %.9g, "
          "\"flops\": %.9g, \"host_s\": %.9g, \"graph_s\": %.9g}\n",
          name.c_str(), info.kernel, t.best, t.median, bytes, flops, t.host, t.graph);
      std::fclose(file);
    }
  }
  ruda_release(workspace);
  ruda_release(plan);
}

void check_close(const char* name, const std::vector<double>& actual, const std::vector<double>& expected,
                 const std::function<double(size_t)>& bound) {
  if (actual.size() != expected.size()) {
    failure(__FILE__, __LINE__, "%s: %zu values, expected %zu", name, actual.size(), expected.size());
    return;
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const double a = actual[i], e = expected[i];
    if (std::isnan(a) && std::isnan(e)) continue;
    if (a == e) continue;
    const double limit = bound(i);
    if (std::fabs(a - e) <= limit) continue;
    failure(__FILE__, __LINE__, "%s[%zu] is %.9g, expected %.9g, off by %.3g, bound %.3g", name, i, a, e,
            std::fabs(a - e), limit);
    return;
  }
}

}  // namespace ruda::test
