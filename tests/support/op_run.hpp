// tests/support/op_run.hpp - runs a case on every kernel, between guard zones, with poisoned memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/runner.hpp"

#include <map>
#include <memory>

namespace ruda::test {

using Shape = std::vector<int64_t>;

int64_t count_of(const Shape& shape);
Shape packed_strides(const Shape& shape);

// One value as a dtype stores it (round to nearest even), and back; written apart from the library.
void encode(uint32_t dtype, double value, uint8_t* to);
double decode(uint32_t dtype, const uint8_t* from);
uint32_t size_of(uint32_t dtype);
// Distance from 1 to the next value of a float dtype.
double epsilon(uint32_t dtype);

// Device memory of one operand: guard zones on both sides, poison in the gaps of strides. On the CPU
// the operand ends at a page that may not be touched, so that reads behind it fail too.
class Buffer {
 public:
  Buffer(Env& env, uint32_t dtype, Shape shape, Shape strides, uint64_t alignment = 1);
  Buffer(Env& env, uint32_t dtype, Shape shape, std::vector<uint8_t> packed);  // any dtype, contiguous bytes
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void set(const std::vector<double>& values);  // row-major
  void poison();                                // NaN patterns in all elements
  std::vector<double> read();                   // row-major
  std::vector<uint8_t> bytes();                 // the elements as stored, row-major
  // Notes a failure when a byte outside the elements (or, for an input, any byte) changed.
  void check_untouched(const char* name, bool elements_too);

  uint64_t span() const { return span_; }  // bytes

  ruda_tensor tensor = nullptr;
  ruda_tensor_desc desc{};
  Shape shape, strides;
  uint32_t dtype;

 private:
  void make(uint64_t span, uint64_t alignment);
  void upload();
  std::vector<uint8_t> download();
  template <class F>
  void each(F&& f) const;  // f(index, byte offset)
  Env& env_;
  ruda_tensor base_ = nullptr;
  uint64_t span_ = 0, behind_ = 0;  // bytes of the operand; of the guard zone behind it
  void* mapping_ = nullptr;
  uint64_t mapping_bytes_ = 0;
  std::vector<uint8_t> image_;
};

class OpRun {
 public:
  using Create = std::function<ruda_status(const ruda_plan_options* options, ruda_plan* out)>;

  OpRun(Env& env, const char* op) : env_(env), op_(op) {}

  // Each returns the values that the operator sees, after rounding to the dtype.
  std::vector<double> input(uint32_t slot, uint32_t dtype, Shape shape, const std::vector<double>& values,
                            Shape strides = {});
  std::vector<double> random_input(uint32_t slot, uint32_t dtype, Shape shape, double scale = 1.0,
                                   Shape strides = {});
  void input_bytes(uint32_t slot, uint32_t dtype, Shape shape, std::vector<uint8_t> packed);
  std::vector<double> inout(uint32_t slot, uint32_t dtype, Shape shape, const std::vector<double>& values);
  void output(uint32_t slot, uint32_t dtype, Shape shape, Shape strides = {});
  void bind_handle(uint32_t slot, void* handle);
  void bind_f64(uint32_t slot, double value);
  void bind_i64(uint32_t slot, int64_t value);
  // The output in `slot` is the tensor of `other`.
  void bind_same(uint32_t slot, uint32_t other);

  const ruda_tensor_desc* desc(uint32_t slot) const;
  ruda_tensor tensor(uint32_t slot) const;
  std::vector<double> read(uint32_t slot) const;
  std::vector<uint8_t> read_bytes(uint32_t slot) const;

  // One execution with all that is bound.
  ruda_status execute(ruda_plan plan) const;

  // For every kernel of the backend that takes the case: plan, poisoned outputs and workspace, execute twice,
  // same bits, guards whole, inputs unchanged, then verify(kernel). Returns how many kernels ran; at least
  // one must.
  int each_kernel(const Create& create, const std::function<void(const std::string& kernel)>& verify);

  // Times the default plan (or --kernel); prints one line and, with --json, writes a row.
  void bench(const std::string& name, double bytes, double flops, const Create& create);

 private:
  std::vector<ruda_binding> bindings() const;
  std::vector<std::string> kernels() const;
  uint64_t operand_bytes() const;
  std::string code_of(ruda_plan plan) const;
  Env& env_;
  std::string op_;
  std::map<uint32_t, std::unique_ptr<Buffer>> buffers_;
  std::map<uint32_t, bool> is_output_, is_inout_;
  std::map<uint32_t, std::vector<double>> initial_;
  std::map<uint32_t, ruda_binding> others_;
};

// |actual - expected| <= bound(i); NaN only for NaN, infinities equal.
void check_close(const char* name, const std::vector<double>& actual, const std::vector<double>& expected,
                 const std::function<double(size_t)>& bound);

}  // namespace ruda::test
