// src/plan/eager.cpp - the plan cache and the run of one-shot calls.
// SPDX-License-Identifier: Apache-2.0
#include "plan/eager.hpp"

namespace ruda {

std::shared_ptr<const Program> PlanCache::find(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  if (found->second != recent_.begin()) recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->program;
}

void PlanCache::insert(std::string_view key, std::shared_ptr<const Program> program) {
  std::list<Entry> gone;  // destroyed after the mutex is free
  const std::lock_guard lock(mutex_);
  if (index_.contains(key)) return;
  recent_.push_front({std::string(key), std::move(program)});
  index_.emplace(recent_.front().key, recent_.begin());
  if (recent_.size() > capacity_) {
    index_.erase(recent_.back().key);
    gone.splice(gone.begin(), recent_, std::prev(recent_.end()));
  }
}

void PlanCache::trim() {
  std::list<Entry> gone;  // destroyed after the mutex is free
  const std::lock_guard lock(mutex_);
  index_.clear();
  gone.swap(recent_);
}

Eager::Eager(const OpDef& op, ruda_stream stream)
    : op_(op), stream_(get_stream(stream, 0)), context_(stream_.context()) {
  stream_.check_healthy();
  const OpDef* identity = &op_;
  append(&identity, sizeof identity);
}

void Eager::append(const void* bytes, size_t size) {
  RUDA_CHECK(key_size_ + size <= sizeof key_, RUDA_E_INTERNAL, -1, "%s: key of the call is above %zu bytes",
             op_.name, sizeof key_);
  std::memcpy(key_ + key_size_, bytes, size);
  key_size_ += size;
}

void Eager::add(uint32_t slot, ruda_tensor handle, int arg, const char* name) {
  Tensor& tensor = get_tensor(handle, arg, name);
  RUDA_CHECK(&tensor.context() == &context_, RUDA_E_ARGUMENT, arg,
             "%s: %s belongs to another context than the stream", op_.name, name);
  if (context_.asynchronous()) tensor.storage().check_stream(stream_, false, arg, name);
  tensors_[slot] = &tensor;
  places_[slot] = {name, arg};
  slots_[slot].data = tensor.data();
  const Layout& layout = tensor.layout();
  const struct {
    const Layout* layout;
    uint32_t slot, align;
  } part{&layout, slot, tensor.align_log2()};
  append(&part, sizeof part);
  descs_[slot] = {uint32_t(sizeof(ruda_tensor_desc)),
                  layout.dtype,
                  nullptr,
                  uint32_t(layout.rank),
                  tensor.align_flags(),
                  layout.shape,
                  layout.strides};
}

int Eager::place_of(const Error& error) const {
  std::string_view text = error.text;
  const size_t begin = std::strlen(op_.name) + 2;
  if (!text.starts_with(op_.name) || text.size() < begin) return -1;
  text.remove_prefix(begin);
  text = text.substr(0, text.find_first_of(" :,"));
  for (uint32_t s = 0; s < max_slots; ++s)
    if (tensors_[s] && text == places_[s].name) return places_[s].arg;
  return -1;
}

void Eager::in(uint32_t slot, ruda_tensor tensor, int arg, const char* name, bool optional) {
  if (!tensor && optional) return;
  add(slot, tensor, arg, name);
}

void Eager::inout(uint32_t slot, ruda_tensor tensor, int arg, const char* name) {
  add(slot, tensor, arg, name);
  RUDA_CHECK(!tensors_[slot]->read_only(), RUDA_E_ARGUMENT, arg, "%s: %s is read-only", op_.name, name);
  written_[slot] = true;
  if (context_.asynchronous()) tensors_[slot]->storage().check_stream(stream_, true, arg, name);
}

ruda_tensor Eager::run(uint32_t slot) {
  ruda_tensor out = nullptr;
  ruda_tensor* outs[] = {&out};
  run(&slot, outs, 1);
  return out;
}

void Eager::run(const uint32_t* slots, ruda_tensor* const* outs, uint32_t count) {
  Ref<Tensor> made[max_slots];
  const Problem& problem = program_->problem();
  for (uint32_t i = 0; i < count; ++i) {
    const Operand& operand = problem.operands[slots[i]];
    if (!operand.present) continue;
    made[i] = make_tensor(context_, operand.layout, &stream_);
    slots_[slots[i]].data = made[i]->data();
  }
  const StopSign stop;
  if (program_->workspace_bytes()) {
    Scratch scratch(stream_, program_->workspace_bytes());
    program_->run(slots_, scratch.data(), stream_, stop);
  } else {
    program_->run(slots_, nullptr, stream_, stop);
  }
  if (context_.asynchronous()) {
    const uint32_t slot_count = uint32_t(problem.operands.size());
    for (uint32_t s = 0; s < slot_count; ++s)
      if (tensors_[s]) tensors_[s]->storage().note_use(stream_, written_[s]);
    for (uint32_t i = 0; i < count; ++i)
      if (made[i]) made[i]->storage().note_use(stream_, true);
    if (stream_.capturing()) [[unlikely]] {
      stream_.keep(program_);
      for (uint32_t s = 0; s < slot_count; ++s) {
        if (tensors_[s]) stream_.keep(tensors_[s]->storage(), written_[s]);
        if (problem.operands[s].role == Role::handle && slots_[s].object)
          stream_.keep_object(*slots_[s].object);
      }
      for (uint32_t i = 0; i < count; ++i)
        if (made[i]) stream_.keep(made[i]->storage(), true);
    }
  }
  for (uint32_t i = 0; i < count; ++i)
    if (made[i] && outs[i]) *outs[i] = made[i].detach<ruda_tensor>();
}

}  // namespace ruda
