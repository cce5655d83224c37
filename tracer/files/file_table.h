// The table of the files that a process uses: paths with numbers, in memory or in a file of the spool (spool/file_format.h).
//
// Place in the flow: ARCHITECTURE.md, stage 3: file_calls.h counts in it.
// Thread-safety: any thread, also in signal handlers, but for open() and make(). No lock, no allocation: who finds a slot with the hash
// of its path uses it, complete or not.
// Ownership: the memory is never given back, for a call may be in progress on any thread.
// Errors: what finds no place is counted in slot 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "spool/file_format.h"

namespace refrain::files {

class FileTable {
 public:
  constexpr FileTable() = default;
  FileTable(const FileTable&) = delete;
  FileTable& operator=(const FileTable&) = delete;

  // In memory of the process' own. False: there is none.
  bool make() noexcept;
  // In a file that is made here. Empty, or what is wrong.
  std::string open(const std::string& path);
  bool usable() const noexcept { return header_.load() != nullptr; }
  // Of the process that made it.
  std::uint64_t pid() const noexcept { return header_.load()->pid; }
  void end() noexcept { header_.load()->ended.store(1); }
  // Of one in memory, by the only thread: as if it had just been made.
  void clear() noexcept;

  // The slot of a path.
  std::uint32_t find(std::string_view path) noexcept;
  // The number of its name.
  std::uint32_t name(std::uint32_t slot) const noexcept { return entries_[slot].name; }

  void add(std::uint32_t slot, std::uint64_t base::FileUse::*number,
           std::uint64_t value) noexcept;
  // The slowest call, if it is.
  void note_slowest(std::uint32_t slot, std::uint64_t ticks) noexcept;
  // Takes over what the other one has counted, whose times are ns.
  void drain(FileTable& from, double ticks_per_ns) noexcept;

 private:
  void lay_out(void* memory, bool in_file) noexcept;
  std::uint32_t name_of(std::string_view path, std::uint32_t slot) noexcept;
  void fill(spool::FileEntry& entry, std::string_view path, std::uint32_t slot) noexcept;

  std::atomic<spool::FileHeader*> header_{nullptr};
  spool::FileName* names_ = nullptr;
  spool::FileEntry* entries_ = nullptr;
  char* paths_ = nullptr;
};

}  // namespace refrain::files
