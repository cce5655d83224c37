#include "writer/messages/number_ranges.h"

#include <algorithm>

namespace refrain::writer {

void NumberRanges::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
    return;
  }
  ranges_.push_back({begin, end});
  if (ranges_.size() < compact_at_) return;
  normalize();
  compact_at_ = std::max<std::size_t>(64, 2 * ranges_.size());
}

void NumberRanges::normalize() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (kept != 0 && ranges_[i].begin <= ranges_[kept - 1].end) {
      ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, ranges_[i].end);
    } else {
      ranges_[kept++] = ranges_[i];
    }
  }
  ranges_.resize(kept);
}

bool NumberRanges::contains(std::uint64_t number) const noexcept {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), number,
      [](std::uint64_t value, const Range& range) { return value < range.begin; });
  return after != ranges_.begin() && number < (after - 1)->end;
}

std::uint64_t NumberRanges::count() const noexcept {
  std::uint64_t count = 0;
  for (const Range& range : ranges_) count += range.end - range.begin;
  return count;
}

NumberRanges unite(const NumberRanges& a, const NumberRanges& b) {
  if (b.empty()) return a;
  if (a.empty()) return b;
  NumberRanges out = a;
  for (const auto& range : b.ranges()) out.add(range.begin, range.end);
  out.normalize();
  return out;
}

NumberRanges intersect(const NumberRanges& a, const NumberRanges& b) {
  NumberRanges out;
  auto left = a.ranges().begin();
  auto right = b.ranges().begin();
  while (left != a.ranges().end() && right != b.ranges().end()) {
    out.add(std::max(left->begin, right->begin), std::min(left->end, right->end));
    if (left->end < right->end) {
      ++left;
    } else {
      ++right;
    }
  }
  return out;
}

NumberRanges complement(const NumberRanges& of, std::uint64_t begin, std::uint64_t end) {
  NumberRanges out;
  for (const auto& range : of.ranges()) {
    out.add(begin, std::min(range.begin, end));
    begin = std::max(begin, range.end);
  }
  out.add(begin, end);
  return out;
}

// Each range by its distance from the one before, and its length.
void put(exchange::ByteWriter& out, const NumberRanges& ranges) {
  out.number(ranges.ranges().size());
  std::uint64_t end = 0;
  for (const auto& range : ranges.ranges()) {
    out.number(range.begin - end);
    out.number(range.end - range.begin);
    end = range.end;
  }
}

void take(exchange::ByteReader& in, NumberRanges& ranges) {
  std::uint64_t end = 0;
  const std::size_t count = in.count();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const std::uint64_t hole = in.number_to(UINT64_MAX - end);
    const std::uint64_t begin = end + hole;
    const std::uint64_t length = in.number_to(UINT64_MAX - begin);
    if (length == 0 || (i != 0 && hole == 0)) in.fail();
    end = begin + length;
    if (in.ok()) ranges.add(begin, end);
  }
}

}  // namespace refrain::writer
