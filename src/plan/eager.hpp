// src/plan/eager.hpp - one-shot calls: a cached plan, fresh outputs, pooled workspace.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/fork.hpp"
#include "plan/program.hpp"

#include <list>
#include <string_view>
#include <unordered_map>

namespace ruda {

// Least-recently-used plans of eager calls, one cache a context.
class PlanCache final : public ContextPart {
 public:
  explicit PlanCache(Context& context) : capacity_(context.plan_cache_capacity()) {}
  std::shared_ptr<const Program> find(std::string_view key);
  void insert(std::string_view key, std::shared_ptr<const Program> program);
  void trim() override;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Program> program;
  };
  Mutex mutex_;
  size_t capacity_;
  std::list<Entry> recent_;  // newest first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;
};

// Collects the operands of one call; their layouts and the key bytes name the plan.
class Eager {
 public:
  Eager(const OpDef& op, ruda_stream stream);

  // `arg` is the position in the C function; NULL is legal only when optional.
  void in(uint32_t slot, ruda_tensor tensor, int arg, const char* name, bool optional = false);
  void inout(uint32_t slot, ruda_tensor tensor, int arg, const char* name);
  template <class T>
  T& handle(uint32_t slot, const void* given, int arg, const char* name) {
    T& object = get<T>(given, arg, name);
    RUDA_CHECK(object.cell()->root == context_.cell(), RUDA_E_ARGUMENT, arg, "%s: belongs to another context",
               name);
    slots_[slot].object = &object;
    return object;
  }
  void f64(uint32_t slot, double value) { slots_[slot].f64 = value; }
  void i64(uint32_t slot, int64_t value) { slots_[slot].i64 = value; }

  // Anything else that the contract depends on.
  template <class T>
  void key(const T& value) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
    append(&value, sizeof value);
  }

  ruda_context context_handle() const { return handle_of<ruda_context>(context_); }
  Context& context() const { return context_; }
  // Descriptor of an input for the contract; nullptr when it was left out.
  const ruda_tensor_desc* desc(uint32_t slot) const { return tensors_[slot] ? &descs_[slot] : nullptr; }

  // The plan, from the cache or by `check`, which returns the Problem.
  template <class Check>
  void plan(Check&& check) {
    PlanCache& cache = context_.part<PlanCache>();
    const std::string_view key(key_, key_size_);
    program_ = cache.find(key);
    if (program_) return;
    const FloatMode mode;  // as create_plan, and other threads find the plan too
    try {
      program_ = Program::build(check());
    } catch (Error& error) {
      if (error.arg == arg_desc) error.arg = place_of(error);
      throw;
    }
    cache.insert(key, program_);
  }

  // Runs and gives out the output in `slot`.
  ruda_tensor run(uint32_t slot);
  // Runs and gives out several outputs; a slot that the plan leaves out stays NULL.
  void run(const uint32_t* slots, ruda_tensor* const* outs, uint32_t count);

 private:
  void append(const void* bytes, size_t size);
  // Contracts blame their descriptor: here the operand that the message begins with, or -1.
  int place_of(const Error& error) const;
  void add(uint32_t slot, ruda_tensor tensor, int arg, const char* name);

  static constexpr uint32_t max_slots = 32;
  static constexpr int arg_desc = 1;  // as contracts number it
  const OpDef& op_;
  Stream& stream_;
  Context& context_;
  std::shared_ptr<const Program> program_;
  Bound slots_[max_slots] = {};
  Tensor* tensors_[max_slots] = {};
  bool written_[max_slots] = {};
  struct {
    const char* name;
    int arg;
  } places_[max_slots];  // of the tensors_ that are there
  ruda_tensor_desc descs_[max_slots];
  size_t key_size_ = 0;
  char key_[1024];
};

}  // namespace ruda
