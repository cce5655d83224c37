// SummaryMemory: the memory that the call tree, the event flow graph and the rows of iterations of one
// location have together. Each takes pages as it grows, so that most of it goes where the
// program needs it.
//
// Place in the flow: ARCHITECTURE.md, stage 3; part of SpoolFile.
// Thread-safety: one owner. Ownership: none; of pages it counts how many there are.
// Units: bytes, in whole pages. Errors: false, and nothing has changed: the memory is used up, or
// the system has none. Cost: of use() that of PageMaker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace refrain::recorder {

inline constexpr std::uint64_t kSummaryPage = 4096;

// Makes whole pages of a mapped file before they are touched. False: the disk is full.
class PageMaker {
 public:
  virtual bool make_pages(std::uintptr_t begin, std::uintptr_t end) noexcept = 0;

 protected:
  ~PageMaker() = default;
};

// What memory is for. A sixteenth is kept back for entries that stand for all that found no place.
enum class MemoryFor : std::uint8_t { kAnything, kTheRest };

class SummaryMemory {
 public:
  void open(std::uint64_t bytes, PageMaker& maker) noexcept {
    limit_ = bytes;
    used_ = 0;
    maker_ = &maker;
  }

  // The bytes [begin, end) of an area, directly after those that are in use there. The area begins
  // with a page.
  bool use(const void* begin, const void* end, MemoryFor what) noexcept {
    const std::uintptr_t first = page_after(begin);
    const std::uintptr_t last = page_after(end);
    if (first >= last) return true;  // on a page that is in use
    if (!take(last - first, what)) return false;
    if (maker_->make_pages(first, last)) return true;
    give(last - first);
    return false;
  }

  // Memory that is not part of an area, in whole pages.
  bool take(std::uint64_t bytes, MemoryFor what) noexcept {
    const std::uint64_t kept = what == MemoryFor::kAnything ? limit_ / 16 : 0;
    if (used_ + bytes > limit_ - kept) return false;
    used_ += bytes;
    return true;
  }
  void give(std::uint64_t bytes) noexcept { used_ -= bytes; }

  std::uint64_t used() const noexcept { return used_; }
  // How many bytes to take at once where more will be needed.
  std::uint64_t at_once() const noexcept {
    constexpr std::uint64_t kMax = 4 * kSummaryPage;
    return std::clamp(limit_ / 64 / kSummaryPage * kSummaryPage, kSummaryPage, kMax);
  }

 private:
  static std::uintptr_t page_after(const void* at) noexcept {
    return (reinterpret_cast<std::uintptr_t>(at) + kSummaryPage - 1) & ~(kSummaryPage - 1);
  }

  std::uint64_t limit_ = 0;
  std::uint64_t used_ = 0;
  PageMaker* maker_ = nullptr;
};

// How far the pages of one kind of entries are made, in an area that has room for `capacity`.
template <typename Entry>
class EntryPages {
 public:
  void open(Entry* entries, std::uint32_t capacity) noexcept {
    entries_ = entries;
    capacity_ = capacity;
    ready_ = 0;
  }
  // Returns true if the entries up to `index` may be touched.
  bool reach(std::uint32_t index, SummaryMemory& memory,
             MemoryFor what = MemoryFor::kAnything) noexcept {
    if (index < ready_) return true;
    return grow(index, memory.at_once(), memory, what) ||
           grow(index, sizeof(Entry), memory, what);
  }

 private:
  bool grow(std::uint32_t index, std::uint64_t bytes, SummaryMemory& memory,
            MemoryFor what) noexcept {
    if (index >= capacity_) return false;
    const std::uint64_t more = std::max<std::uint64_t>(bytes / sizeof(Entry), 1);
    const std::uint64_t wanted = std::max<std::uint64_t>(index + 1, ready_ + more);
    const auto ready =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, capacity_));
    if (!memory.use(entries_ + ready_, entries_ + ready, what)) return false;
    ready_ = ready;
    return true;
  }

  Entry* entries_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t ready_ = 0;
};

}  // namespace refrain::recorder
