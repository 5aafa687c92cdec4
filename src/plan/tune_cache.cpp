// src/plan/tune_cache.cpp - times of autotuning in memory and in a file that is not trusted.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "core/text.hpp"
#include "plan/op.hpp"
#include "plan/tune.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

// The file is text: a line "ruda-tune 1 <build>", then a line a problem:
//   <key, 32 hex digits> <kernel> <nanoseconds> <kernel> <nanoseconds> ...     the kept kernel first

namespace ruda {
namespace {

constexpr char magic[] = "ruda-tune 1 ";

Once<std::string> build;
Lasting<TuneCache> cache;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

uint64_t hash(std::string_view text, uint64_t state) noexcept {
  for (const char c : text) state = (state ^ uint8_t(c)) * 0x100000001b3;
  return state ^ state >> 32;
}

// Takes what stands before the next blank.
std::string_view word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view found = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return found;
}

template <class T, class... Base>
bool number(std::string_view text, T& out, Base... base) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out, base...);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool kernel_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '/';
  });
}

// nullptr, or why the line is refused.
const char* read_line(std::string_view line, TuneTable& table) {
  const std::string_view key = word(line);
  TuneKey at{};
  if (key.size() != 32 || !number(key.substr(0, 16), at.high, 16) || !number(key.substr(16), at.low, 16))
    return "a key is not 32 hexadecimal digits";
  TuneEntry entry;
  while (!line.empty()) {
    const std::string_view kernel = word(line), time = word(line);
    uint64_t nanoseconds = 0;
    if (!kernel_name(kernel)) return "a kernel's name is malformed";
    if (!number(time, nanoseconds) || nanoseconds == 0 || nanoseconds > uint64_t(1) << 50)
      return "a time is not a number of nanoseconds";
    if (entry.size() == most_tune_kernels) return "a problem has too many kernels";
    for (const TuneTime& other : entry)
      if (other.kernel == kernel) return "a problem has a kernel twice";
    entry.push_back({std::string(kernel), double(nanoseconds) * 1e-9});
  }
  if (entry.empty()) return "a problem has no kernel";
  if (table.size() == most_tune_entries) return "there are too many problems";
  if (!table.try_emplace(at, std::move(entry)).second) return "a problem is there twice";
  return nullptr;
}

constexpr char another_build[] = "it is of another build of the library";

// nullptr, or why the text is refused.
const char* read_text(std::string_view text, TuneTable& table) {
  if (text.substr(0, sizeof magic - 1) != magic) return "it is no tune file of this format";
  bool first = true;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) return "the last line has no end";
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (std::exchange(first, false)) {
      if (line.substr(sizeof magic - 1) != tune_build()) return another_build;
    } else if (const char* why = read_line(line, table)) {
      return why;
    }
  }
  return nullptr;
}

// What the path leads to, and its mode in `mode`; a new file gets what the process's mask leaves of 0644.
// Throws a text.
std::string target_of(const char* path, mode_t& mode) {
  struct stat facts {};
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path, nullptr), std::free);
  if (!real) {
    const int why = errno;
    if (why != ENOENT) throw std::strerror(why);
    if (::lstat(path, &facts) == 0) throw "it is a link that leads nowhere";
    mode = 0;
    return path;
  }
  if (::stat(real.get(), &facts) != 0) throw std::strerror(errno);
  if (!S_ISREG(facts.st_mode)) throw "it is no regular file";
  mode = facts.st_mode & 0777;
  return real.get();
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(size_t(n));
  }
  return true;
}

// Throws a text.
void replace_file(const char* path, std::string_view text) {
  mode_t mode = 0;
  const std::string target = target_of(path, mode);
  // A name that is there already is of another process, or left by one.
  for (unsigned i = 0; i < 100; ++i) {
    const std::string beside = target + format(".%d-%u", int(::getpid()), i);
    const File file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.get() < 0 && errno == EEXIST) continue;
    if (file.get() < 0) throw std::strerror(errno);
    if ((!mode || ::fchmod(file.get(), mode) == 0) && write_all(file.get(), text) &&
        ::rename(beside.c_str(), target.c_str()) == 0)
      return;
    const int why = errno;
    ::unlink(beside.c_str());
    throw std::strerror(why);
  }
  throw std::strerror(EEXIST);
}

}  // namespace

TuneKey tune_key_of(std::string_view text) noexcept {
  return {hash(text, 0xcbf29ce484222325), hash(text, 0x9ae16a3b2f90404f)};
}

const std::string& tune_build() {
  return build.get([] {
    uint64_t kernels = 0xcbf29ce484222325;
    for (const OpDef* op : all_ops())
      for (const Kernels* list : {op->cpu, op->cuda})
        if (list)
          for (const Kernel& kernel : *list) kernels = hash(kernel.name, kernels);
    return format("%s-%016llx", RUDA_VERSION, (unsigned long long)kernels);
  });
}

TuneTable read_tune_file(const char* path, std::string& said, bool& replaceable) {
  replaceable = false;
  // Not blocking: a pipe that nobody writes to must not hold the caller.
  const File file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    replaceable = errno == ENOENT;
    if (!replaceable) said = format("%s is not used: %s", in_quotes(path).c_str(), std::strerror(errno));
    return {};
  }
  struct stat facts {};
  const char* why = nullptr;
  std::string text;
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    why = "it is no regular file";
  } else if (uint64_t(facts.st_size) > most_tune_bytes) {
    why = "it is too large";
  } else {
    text.resize(size_t(facts.st_size));
    size_t got = 0;
    while (got < text.size()) {
      const ssize_t n = ::read(file.get(), text.data() + got, text.size() - got);
      if (n <= 0) break;
      got += size_t(n);
    }
    if (got != text.size()) why = "it could not be read";
  }
  TuneTable table;
  if (!why) why = read_text(text, table);
  replaceable = !why || why == another_build;
  if (!why) return table;
  said = format("%s is not used: %s", in_quotes(path).c_str(), why);
  return {};
}

void write_tune_file(const char* path, const TuneTable& table, std::string& said) {
  try {
    std::string text = magic + tune_build() + '\n';
    for (const auto& [key, entry] : table) {
      text += format("%016llx%016llx", (unsigned long long)key.high, (unsigned long long)key.low);
      for (const TuneTime& time : entry)
        text += format(" %s %llu", time.kernel.c_str(),
                       (unsigned long long)std::max(1.0, time.seconds * 1e9 + 0.5));
      text += '\n';
    }
    replace_file(path, text);
  } catch (const char* why) {
    said = format("%s is not written: %s", in_quotes(path).c_str(), why);
  }
}

TuneCache& TuneCache::instance() { return *cache; }

int TuneCache::look(const TuneKey& key, const std::string& path, TuneEntry& out) {
  const std::lock_guard lock(mutex_);
  const auto table = tables_.find(path);
  if (table == tables_.end()) return -1;
  const auto found = table->second.find(key);
  if (found == table->second.end()) return 0;
  out = found->second;
  return 1;
}

bool TuneCache::find(const TuneKey& key, const std::string& path, Log& log, TuneEntry& out) {
  int answer = look(key, path, out);
  if (answer >= 0 || path.empty()) return answer > 0;
  std::string said;
  {
    const Turn::Hold turn(files_);
    answer = look(key, path, out);  // another thread may have read the file meanwhile
    if (answer < 0) {
      bool replaceable = false;
      TuneTable table = read_tune_file(path.c_str(), said, replaceable);
      {
        const std::lock_guard lock(mutex_);
        tables_.try_emplace(path, std::move(table));
      }
      answer = look(key, path, out);
    }
  }
  if (!said.empty()) log.write(RUDA_LOG_WARNING, "tune", "%s", said.c_str());
  return answer > 0;
}

void TuneCache::keep(const TuneKey& key, const std::string& path, Log& log, TuneEntry entry) {
  const auto add = [&](TuneTable&& others) {
    const std::lock_guard lock(mutex_);
    TuneTable& table = tables_[path];
    for (auto& [other, times] : others)
      if (table.size() < most_tune_entries) table.try_emplace(other, std::move(times));
    if (table.size() >= most_tune_entries) table.erase(table.begin());
    table[key] = std::move(entry);
    return path.empty() ? TuneTable() : table;
  };
  if (path.empty()) return void(add({}));
  std::string read, written;
  {
    const Turn::Hold turn(files_);
    bool replaceable = false;
    TuneTable others = read_tune_file(path.c_str(), read, replaceable);  // of another process
    const TuneTable whole = add(std::move(others));
    if (replaceable)
      write_tune_file(path.c_str(), whole, written);
    else
      written = in_quotes(path) + " is not written: it is no file of autotuning";
  }
  for (const std::string& said : {read, written})
    if (!said.empty()) log.write(RUDA_LOG_WARNING, "tune", "%s", said.c_str());
}

}  // namespace ruda
