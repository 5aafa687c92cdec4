// src/plan/op.hpp - the vocabulary between contracts and kernels: operands, problems, kernels, launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/handle.hpp"
#include "tensor/tensor.hpp"

#include <ruda/plan.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace ruda {

struct OpDef;

enum class Role : uint8_t { input, output, inout, handle, scalar_f64, scalar_i64 };

// One slot of a plan, in the order of the operator's slot enum.
struct Operand {
  const char* name = "";
  Role role = Role::input;
  LayoutRef layout;        // tensors only; empty when the slot is left out of this plan
  Kind kind = Kind::free;  // handles only
  uint8_t align_log2 = 0;  // the address alignment that a bound tensor must have
  bool optional = false;   // may stay unbound at execute
  bool present = true;     // part of this plan
  uint32_t may_alias = 0;  // bit s: this output may be the same memory as slot s

  bool is_tensor() const { return role <= Role::inout; }
  uint32_t bind_kind() const {
    constexpr uint8_t kinds[] = {RUDA_BIND_TENSOR, RUDA_BIND_TENSOR, RUDA_BIND_TENSOR,
                                 RUDA_BIND_HANDLE, RUDA_BIND_F64,    RUDA_BIND_I64};
    return kinds[uint8_t(role)];
  }
  bool is_output() const { return role == Role::output || role == Role::inout; }
  uint32_t dtype() const { return layout->dtype; }
  int rank() const { return layout->rank; }
  int64_t dim(int axis) const { return layout->dim(axis); }
  int64_t stride(int axis) const { return layout->stride(axis); }
  // Product of the extents of all axes but the last `keep`.
  int64_t outer(int keep = 1) const {
    int64_t n = 1;
    for (int i = 0; i + keep < layout->rank; ++i) n *= layout->shape[i];
    return n;
  }
};

// A checked call: what a contract hands to the kernels.
struct Problem {
  const OpDef* op = nullptr;
  Context* context = nullptr;
  std::vector<Operand> operands;
  std::vector<std::byte> options;  // the operator's descriptor, with its pointers cleared
  uint32_t strategy = RUDA_STRATEGY_AUTO, math = RUDA_MATH_DEFAULT, determinism = RUDA_DETERMINISM_DEFAULT;
  uint64_t workspace_limit = 0;
  std::string forced_kernel;
  bool autotune = false;

  template <class D>
  const D& as() const {
    return *reinterpret_cast<const D*>(options.data());
  }
  const Operand& operator[](uint32_t slot) const { return operands[slot]; }
  Device& device() const { return context->device(); }
};

// A piece of the workspace; the same booking gives its size and its address.
struct WorkspaceSlot {
  uint64_t offset = 0;
};

// Books workspace and keeps what a kernel decided, once a plan.
class Prepare {
 public:
  template <class T>
  WorkspaceSlot book(int64_t count) {
    bytes_ = (bytes_ + 255) & ~uint64_t(255);
    const WorkspaceSlot slot{bytes_};
    bytes_ += uint64_t(count) * sizeof(T);
    return slot;
  }
  // Plain state that run() reads back.
  template <class S>
  S& state() {
    static_assert(std::is_trivially_copyable_v<S>);
    blob_.assign((sizeof(S) + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t), std::max_align_t{});
    return *new (blob_.data()) S{};
  }
  // State with a destructor: library handles, packed constants.
  template <class T>
  T& own(std::unique_ptr<T> object) {
    owned_.push_back(std::shared_ptr<T>(std::move(object)));
    return *static_cast<T*>(owned_.back().get());
  }
  void not_capturable() { capturable_ = false; }
  void not_deterministic() { deterministic_ = false; }
  // A short fact that `explain` shows, such as the tile chosen.
  void note(std::string text) { note_ = std::move(text); }

 private:
  friend class Program;
  uint64_t bytes_ = 0;
  std::vector<std::max_align_t> blob_;
  std::vector<std::shared_ptr<void>> owned_;
  bool capturable_ = true, deterministic_ = true;
  std::string note_;
};

// Raised from another thread; polled between tiles and launches.
class Cancel final : public Object {
 public:
  static constexpr Kind kind = Kind::cancel;
  std::atomic<bool> raised{false};
};

// What stops a call early.
struct StopSign {
  const Cancel* cancel = nullptr;
  std::chrono::steady_clock::time_point deadline{};  // epoch = none

  bool armed() const { return cancel || deadline.time_since_epoch().count(); }
  // Throws RUDA_E_CANCELLED or RUDA_E_TIMEOUT.
  void check() const {
    if (armed()) [[unlikely]]
      check_armed();
  }
  bool raised() const noexcept;

 private:
  void check_armed() const;
};

// One bound value.
union Bound {
  void* data;
  Object* object;
  double f64;
  int64_t i64;
};

// One execution: what run() sees.
struct Launch {
  const Problem& problem;
  const void* blob;
  const Bound* slots;
  std::byte* workspace;
  Stream& stream;
  const StopSign& stop;

  // Address of a tensor slot; nullptr when the slot is not bound.
  template <class T>
  T* ptr(uint32_t slot) const {
    return static_cast<T*>(slots[slot].data);
  }
  template <class T>
  T& object(uint32_t slot) const {
    return static_cast<T&>(*slots[slot].object);
  }
  double f64(uint32_t slot) const { return slots[slot].f64; }
  int64_t i64(uint32_t slot) const { return slots[slot].i64; }
  template <class T>
  T* at(WorkspaceSlot slot) const {
    return reinterpret_cast<T*>(workspace + slot.offset);
  }
  template <class S>
  const S& state() const {
    return *static_cast<const S*>(blob);
  }
};

// nullptr = the kernel takes the problem; otherwise a short reason to decline.
using Verdict = const char*;

struct Kernel {
  const char* name;  // "<backend>/<op>/<variant>"
  Verdict (*prepare)(const Problem&, Prepare&);
  void (*run)(const Launch&);
  // Several launches, none of which reads what another writes, at once: for work too small to fill the
  // device. Null: run() takes them one by one.
  void (*run_all)(const Launch* launches, int count) = nullptr;
};

using Kernels = std::span<const Kernel>;

struct OpDef {
  const char* name;
  const Kernels* cpu;
  const Kernels* cuda;           // nullptr when this build has no CUDA
  const char* cpu_only_because;  // set where the operator has no CUDA kernel by intention
};

// Every operator of this build in alphabetical order; generated.
std::span<const OpDef* const> all_ops();
// Offsets of the pointers in the operator's descriptor; generated.
std::span<const uint16_t> option_pointers(const OpDef& op);

#if RUDA_WITH_CUDA
#define RUDA_CUDA_KERNELS(op) &::ruda::cuda::op
#else
#define RUDA_CUDA_KERNELS(op) nullptr
#endif
// A contract names its kernels with these; nothing else links an operator to a backend.
#define RUDA_DECLARE_KERNELS(op) \
  namespace ruda::cpu {          \
  extern const Kernels op;       \
  }                              \
  namespace ruda::cuda {         \
  extern const Kernels op;       \
  }
#define RUDA_KERNELS(op) &::ruda::cpu::op, RUDA_CUDA_KERNELS(op), nullptr
#define RUDA_CPU_ONLY(op, why) &::ruda::cpu::op, nullptr, why

}  // namespace ruda
