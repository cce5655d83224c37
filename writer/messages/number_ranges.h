// A set of numbers as ranges: messages of a channel, collectives of a communicator or
// iterations of a loop. Numbers are mostly added in order, so the ranges are few.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for message_plan.h and rank_cuts.h.
// Thread-safety: const access from any number of threads. Pure.
// Cost: add() O(1) in order, else O(ranges) now and then; contains() O(log ranges); memory
// 16 bytes a range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/bytes.h"

namespace refrain::writer {

class NumberRanges {
 public:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // one past the last
    bool operator==(const Range&) const = default;
  };

  NumberRanges() = default;
  NumberRanges(std::initializer_list<Range> ranges) {
    for (const Range& range : ranges) add(range.begin, range.end);
    normalize();
  }

  void add(std::uint64_t number) { add(number, number + 1); }
  void add(std::uint64_t begin, std::uint64_t end);
  // Must be called after add(), before any other function.
  void normalize();

  bool contains(std::uint64_t number) const noexcept;
  bool empty() const noexcept { return ranges_.empty(); }
  std::uint64_t count() const noexcept;
  const std::vector<Range>& ranges() const noexcept { return ranges_; }
  bool operator==(const NumberRanges& other) const noexcept {
    return ranges_ == other.ranges_;
  }

 private:
  std::vector<Range> ranges_;
  std::size_t compact_at_ = 64;
};

NumberRanges unite(const NumberRanges& a, const NumberRanges& b);
NumberRanges intersect(const NumberRanges& a, const NumberRanges& b);
// The part of [begin, end) that is not in `of`.
NumberRanges complement(const NumberRanges& of, std::uint64_t begin, std::uint64_t end);

void put(exchange::ByteWriter& out, const NumberRanges& ranges);
void take(exchange::ByteReader& in, NumberRanges& ranges);

}  // namespace refrain::writer
