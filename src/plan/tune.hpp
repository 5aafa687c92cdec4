// src/plan/tune.hpp - what autotuning found out: kernels and times by problem, device and build.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/fork.hpp"
#include "device/log.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ruda {

// 128 bits of a problem on a device. A clash names a kernel that accepts as well, or one that is not used.
struct TuneKey {
  uint64_t low, high;
  auto operator<=>(const TuneKey&) const = default;
};
TuneKey tune_key_of(std::string_view text) noexcept;

struct TuneTime {
  std::string kernel;
  double seconds;
};

// The times of one problem, the kernel that was kept first.
using TuneEntry = std::vector<TuneTime>;
using TuneTable = std::map<TuneKey, TuneEntry>;

// Names this build: its version and all of its kernels. Times of another build are not used.
const std::string& tune_build();

// The entries of a file that another process may have written, or damaged: all or none are taken. None when
// there is no file; `why` says why one is refused. `replaceable`: there is no file, or it is a whole one of
// ours, of this build or another; any other is somebody else's.
TuneTable read_tune_file(const char* path, std::string& why, bool& replaceable);
// A longer table or entry is no result of ours.
constexpr size_t most_tune_entries = 4096, most_tune_kernels = 64, most_tune_bytes = size_t(1) << 22;

// Writes beside the file that the path leads to, through links, and puts the whole in its place, with the
// mode of what was there; only a regular file is replaced. `why` says what fails.
void write_tune_file(const char* path, const TuneTable& table, std::string& why);

// One for the process, so that contexts and plans share it.
class TuneCache {
 public:
  static TuneCache& instance();
  // `path` is "" or names a file, which is read before the first look-up, and merged and written after each
  // new entry.
  bool find(const TuneKey& key, const std::string& path, Log& log, TuneEntry& out);
  void keep(const TuneKey& key, const std::string& path, Log& log, TuneEntry entry);

 private:
  // 1 = found, 0 = not in the table, -1 = the path's table is not there yet.
  int look(const TuneKey& key, const std::string& path, TuneEntry& out);
  Turn files_;  // of whoever reads or writes one
  Mutex mutex_;
  std::map<std::string, TuneTable> tables_;  // by path
};

}  // namespace ruda
