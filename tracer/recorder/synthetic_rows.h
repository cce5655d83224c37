// Rows of iterations with a call tree, for tests. Thread-safety: one thread. Ownership: its own memory.
#pragma once

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spool/summary_areas.h"
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/summary_memory.h"
#include "tracer/recorder/thread_rows.h"

namespace refrain::recorder {

// For tests: an area of a summary, whose pages cannot be written before they were made.
//
// Thread-safety: none. Ownership: of the area. Units: bytes.

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

namespace refrain::recorder::synthetic_rows {

using Kind = IterationStep::Kind;
using spool::CallKey;

inline constexpr std::uint64_t kBegin = 1'000'000'000;

struct Area {
  explicit Area(std::uint64_t rows, unsigned counters = 0)
      : Area(rows, counters, 16 << 20) {}
  Area(std::uint64_t rows, unsigned counters, std::uint64_t memory)
      : area(spool::row_offset(rows, counters), memory), tree_area(1 << 20) {
    REQUIRE(rows_.open(area.begin(), area.size(), rows, counters, kBegin, area.memory()));
    REQUIRE(
        tree.open(tree_area.begin(), tree_area.size(), tree_area.memory(), rows_.times()));
  }
  IterationRows::Now now(std::uint64_t ticks) const {
    return {ticks, tree.class_since(), tree.current_class(), nullptr};
  }
  spool::IterationRows read(std::uint64_t end) const {
    return spool::read_iteration_rows(area.bytes(),
                                      spool::read_call_tree(tree_area.bytes()), end, end);
  }

  SummaryArea area, tree_area;
  IterationRows rows_;
  CallTree tree;
};

inline CallKey key_of(unsigned which) {
  constexpr std::uint8_t kImplicitBarrier = 9, kExplicitBarrier = 3;
  switch (which) {
    case 0:
      return CallKey::make(spool::kWorkBegin, 1, 7);
    case 1:
      return CallKey::make(spool::kSyncRegionBegin, kExplicitBarrier, 8);
    case 2:
      return CallKey::make(spool::kSyncRegionBegin, kImplicitBarrier, 9);
    case 3:
      return CallKey::make(spool::kParallelBegin, 0, 10);
    default:
      return CallKey::make(spool::kMpiEnter, 0, 11);
  }
}

}  // namespace refrain::recorder::synthetic_rows
