// For tests: an area of a summary, whose pages cannot be written before they were made.
//
// Thread-safety: none. Ownership: of the area. Units: bytes.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tracer/recorder/summary_memory.h"

namespace refrain::recorder {

class SummaryArea : private PageMaker {
 public:
  // Of the area's bytes so many as `most` can be used; the same as the area has if 0.
  explicit SummaryArea(std::uint64_t bytes, std::uint64_t most = 0)
      : bytes_(bytes), made_(bytes / kSummaryPage + 1) {
    at_ = static_cast<std::byte*>(mmap(nullptr, made_.size() * kSummaryPage, PROT_READ,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memory_.open(most == 0 ? bytes : most, *this);
  }
  ~SummaryArea() { munmap(at_, made_.size() * kSummaryPage); }
  SummaryArea(const SummaryArea&) = delete;
  SummaryArea& operator=(const SummaryArea&) = delete;

  void* begin() const { return at_; }
  std::uint64_t size() const { return bytes_; }
  SummaryMemory& memory() { return memory_; }
  std::span<const std::byte> bytes() const { return {at_, bytes_}; }
  // All of it, to be damaged.
  std::span<std::byte> writable() {
    mprotect(at_, made_.size() * kSummaryPage, PROT_READ | PROT_WRITE);
    return {at_, bytes_};
  }
  // Pages that are in use were not made again, and none outside.
  bool made_once() const { return made_once_; }

 private:
  bool make_pages(std::uintptr_t begin, std::uintptr_t end) noexcept override {
    const auto first = (begin - reinterpret_cast<std::uintptr_t>(at_)) / kSummaryPage;
    const auto last = (end - reinterpret_cast<std::uintptr_t>(at_)) / kSummaryPage;
    for (std::size_t page = first; page < last; ++page) {
      if (page >= made_.size() || made_[page]) return made_once_ = false;
      made_[page] = true;
    }
    return mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) ==
           0;
  }

  std::uint64_t bytes_;
  std::vector<bool> made_;
  bool made_once_ = true;
  std::byte* at_;
  SummaryMemory memory_;
};

}  // namespace refrain::recorder
