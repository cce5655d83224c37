// OwnEntries: what a summary knows of its entries and believes, in memory of this process alone. Who writes to the
// spool file, which other processes may map, can falsify counts and times, and nothing else.
//
// Place in the flow: ARCHITECTURE.md, stage 3; part of CallTree and FlowGraph.
// Thread-safety: one owner. Ownership: OwnMemory's, of the mapping, until close(). Its bytes are zeros.
// Errors: false: no memory. Cost: one mapping; pages are made as they are touched, and counted by SummaryMemory, but for the
// first of each table.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "tracer/recorder/slow_path.h"
#include "tracer/recorder/summary_memory.h"

namespace refrain::recorder {

class OwnMemory {
 public:
  OwnMemory() = default;
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  ~OwnMemory() { close(); }

  static constexpr std::uint64_t pages(std::uint64_t bytes) noexcept {
    return (bytes + kSummaryPage - 1) / kSummaryPage * kSummaryPage;
  }
  bool open(std::uint64_t bytes) noexcept {
    const SlowPath slow_path;
    void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    begin_ = static_cast<std::byte*>(made);
    bytes_ = bytes;
    return true;
  }
  void close() noexcept {
    if (begin_ != nullptr) munmap(begin_, bytes_);
    begin_ = nullptr;
  }
  std::byte* begin() const noexcept { return begin_; }

 private:
  std::byte* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// A table of `capacity` entries in it, from a page on.
template <typename Entry>
class OwnEntries {
 public:
  static constexpr std::uint64_t bytes(std::uint64_t capacity) noexcept {
    return OwnMemory::pages(capacity * sizeof(Entry));
  }
  Entry* open(std::byte* begin, std::uint32_t capacity) noexcept {
    capacity_ = capacity;
    taken_ = kSummaryPage;
    return reinterpret_cast<Entry*>(begin);
  }
  // True if the entries up to `index` may be touched.
  bool reach(std::uint32_t index, SummaryMemory& memory,
             MemoryFor what = MemoryFor::kAnything) noexcept {
    const std::uint64_t end = (std::uint64_t{index} + 1) * sizeof(Entry);
    if (end <= taken_) return true;
    const std::uint64_t more = OwnMemory::pages(end - taken_);
    if (index >= capacity_ || !memory.take(more, what)) return false;
    taken_ += more;
    return true;
  }

 private:
  std::uint32_t capacity_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace refrain::recorder
