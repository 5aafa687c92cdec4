// src/plan/paged_schedule.hpp - the object behind ruda_paged_schedule: page tables and queries of one step.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

#include <cstdlib>

namespace ruda {

// Zeroed memory that costs nothing until it is touched.
class ZeroWords {
 public:
  explicit ZeroWords(uint64_t count) : data_(static_cast<uint32_t*>(std::calloc(count ? count : 1, 4))) {
    if (!data_) throw std::bad_alloc();
  }
  ~ZeroWords() { std::free(data_); }
  ZeroWords(const ZeroWords&) = delete;
  ZeroWords& operator=(const ZeroWords&) = delete;
  uint32_t* get() const { return data_; }
  uint32_t& operator[](uint64_t i) const { return data_[i]; }

 private:
  uint32_t* data_;
};

// The host keeps the whole schedule and checks every change; an asynchronous device has a copy of the same
// layout, which is what its kernels read. Kernels need no checks of pages and positions.
class PagedSchedule final : public Object {
 public:
  static constexpr Kind kind = Kind::paged_schedule;
  static constexpr uint32_t no_page = 0xFFFFFFFF;
  struct Capacity {
    uint32_t page_size, pages, max_sequences, max_queries, max_table_pages;
  };
  PagedSchedule(Context& context, const Capacity& capacity);

  // What a caller hands over.
  struct Given {
    const uint32_t* tables;
    uint32_t table_pages;
    const uint32_t* lengths;
    uint32_t sequences;
    const uint32_t* sequence_ids;
    const uint32_t* positions;
    uint32_t queries;
  };
  void set(Stream& stream, const Given& given);
  // On an asynchronous device the image advances there. Under capture each launch of the graph does it, on
  // the device and here.
  void advance(Stream& stream);

  // Consecutive queries of one sequence.
  struct Run {
    uint32_t first, count, sequence;
  };
  std::span<const Run> runs() const { return {runs_.data(), run_count_}; }

  uint32_t page_size() const { return capacity_.page_size; }
  uint32_t pages() const { return capacity_.pages; }
  uint32_t table_stride() const { return capacity_.max_table_pages; }
  uint32_t queries() const { return words_[0]; }
  uint32_t sequences() const { return words_[1]; }
  uint64_t generation() const { return generation_; }
  const Capacity& capacity() const { return capacity_; }

  static constexpr uint64_t ids_word = 4;
  uint64_t positions_word() const { return ids_word + capacity_.max_queries; }
  uint64_t lengths_word() const { return positions_word() + capacity_.max_queries; }
  uint64_t tables_word() const { return lengths_word() + capacity_.max_sequences; }
  const uint32_t* sequence_ids() const { return words_.get() + ids_word; }
  const uint32_t* positions() const { return words_.get() + positions_word(); }
  const uint32_t* lengths() const { return words_.get() + lengths_word(); }
  const uint32_t* table(uint32_t sequence) const {
    return words_.get() + tables_word() + uint64_t(sequence) * capacity_.max_table_pages;
  }
  // The image that kernels of the device read.
  const uint32_t* device_words() const {
    return device_.get() ? reinterpret_cast<const uint32_t*>(device_->data()) : words_.get();
  }

  // The queries' positions on the device, I32 [count]; empty where the host's words are the image.
  Ref<Tensor> device_positions(int64_t count) const;

  // Throws RUDA_E_ARGUMENT naming `arg` when a cache of this geometry, or `rows` rows, cannot be used with
  // the schedule.
  void check_fits(int64_t page_size, int64_t pages, int64_t rows, int arg, const char* op) const;
  // Throws when this step's rows may not be written.
  void check_appendable(int arg, const char* op) const;
  // Orders the use of the device copy; call before kernels read it.
  void use_on(Stream& stream) const;

 private:
  enum class Conflict : uint8_t { none, position, shared_page, same_slot };
  uint32_t needed_pages(uint32_t length) const {
    return uint32_t((uint64_t(length) + page_size() - 1) / page_size());
  }
  void check(const Given& given);
  void check_advance();
  void apply_advance() noexcept;
  void check_pages_owned() const;
  void count_owners(int change);
  void find_runs();
  void find_conflict();
  void upload(Stream& stream, uint64_t word_count);

  Capacity capacity_;
  uint64_t word_count_;
  ZeroWords words_;
  ZeroWords owners_;  // by page: histories that need it
  ZeroWords marks_;   // by page: the last epoch that saw it
  uint32_t epoch_ = 0;
  uint64_t generation_ = 0;
  std::vector<Run> runs_;
  uint32_t run_count_ = 0;
  std::vector<uint64_t> slots_;  // scratch of find_conflict
  Conflict conflict_ = Conflict::none;
  uint32_t conflict_query_ = 0;
  StorageRef device_;  // asynchronous devices only
};

// The schedule in `slot` of a launch, once it fits the operands `cache` [pages, page_size, ..] and `rows`.
const PagedSchedule& fitting_schedule(const Launch& l, uint32_t slot, uint32_t cache, uint32_t rows);
// The same for a launch that writes the step's rows.
const PagedSchedule& appendable_schedule(const Launch& l, uint32_t slot, uint32_t cache, uint32_t rows);
// The same for a launch that adds one token to each of its sequences, whose numbers ascend.
const PagedSchedule& one_token_schedule(const Launch& l, uint32_t slot, uint32_t cache, uint32_t rows);

}  // namespace ruda
