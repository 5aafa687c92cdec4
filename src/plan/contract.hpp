// src/plan/contract.hpp - the checks of contracts; only they raise shape and dtype errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/struct_in.hpp"
#include "plan/program.hpp"

#include <initializer_list>

namespace ruda {

// Collects operands slot by slot, checks them, and yields the Problem. Argument 0 of a C entry is the
// context, 1 the descriptor.
class Contract {
 public:
  static constexpr int arg_desc = 1;

  template <class D>
  Contract(const OpDef& op, ruda_context context, const D* desc) {
    begin(op, context);
    D copy = struct_in(desc, arg_desc, "desc");
    read_options(copy.options);
    copy.next = nullptr;
    copy.options = nullptr;
    problem_.options.resize(sizeof(D));
    std::memcpy(problem_.options.data(), &copy, sizeof(D));
  }
  template <class D>
  const D& options() const {
    return problem_.as<D>();
  }
  // The descriptor inside the problem, to clear pointers that do not outlive the call.
  template <class D>
  D& mutable_options() {
    return *reinterpret_cast<D*>(problem_.options.data());
  }

  // Slots are declared in the order of the operator's enum. A NULL descriptor of an optional input leaves it
  // out.
  Contract& in(const char* name, const ruda_tensor_desc* desc);
  Contract& in_optional(const char* name, const ruda_tensor_desc* desc);
  // An output that is given, or inferred: contiguous with this dtype and shape.
  Contract& out(const char* name, const ruda_tensor_desc* desc, uint32_t dtype, const int64_t* shape,
                int rank);
  Contract& out_like(const char* name, const ruda_tensor_desc* desc, uint32_t slot);
  // As out(), but left out of the plan unless `wanted`.
  Contract& out_optional(const char* name, const ruda_tensor_desc* desc, bool wanted, uint32_t dtype,
                         const int64_t* shape, int rank);
  Contract& inout(const char* name, const ruda_tensor_desc* desc);
  Contract& inout_optional(const char* name, const ruda_tensor_desc* desc);
  Contract& handle(const char* name, Kind kind);
  Contract& scalar_f64(const char* name);
  Contract& scalar_i64(const char* name);
  // The output in `slot` may be the very tensor bound to `other`.
  Contract& alias(uint32_t slot, uint32_t other);

  const Operand& operand(uint32_t slot) const { return problem_.operands[slot]; }
  const Operand& operator[](uint32_t slot) const { return problem_.operands[slot]; }
  bool has(uint32_t slot) const { return problem_.operands[slot].present; }

  Contract& dtypes(uint32_t slot, std::initializer_list<uint32_t> allowed);
  template <class... T>
  Contract& dtype(uint32_t slot, Types<T...>) {
    return dtypes(slot, {dtype_of<T>...});
  }
  Contract& same_dtype(uint32_t slot, uint32_t other);
  Contract& rank(uint32_t slot, int low, int high);
  Contract& dim(uint32_t slot, int axis, int64_t want);
  // All axes of `slot` from `begin` (negative counts from the end) to `end` match those of `other`.
  Contract& same_shape(uint32_t slot, uint32_t other);
  Contract& contiguous(uint32_t slot);
  // The last axis has stride 1.
  Contract& dense_rows(uint32_t slot);
  __attribute__((format(printf, 4, 5))) Contract& require(bool condition, ruda_status status,
                                                          const char* format, ...);

  Problem take();

 private:
  void begin(const OpDef& op, ruda_context context);
  void read_options(const ruda_plan_options* options);
  Operand& add(const char* name, Role role);
  void set_layout(Operand& operand, const ruda_tensor_desc* desc);
  const char* op_name() const { return problem_.op->name; }
  Problem problem_;
};

}  // namespace ruda
