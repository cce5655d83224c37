// ReportedVisits: where the outermost loops reported last began and ended.
//
// Place in the flow: inside LoopReporter. A loop that is known only by its header is detected
// after other loops have been reported where its iterations are. So that visits never cross,
// an iteration that would begin inside of one of these is reported as part of the one before. Thread-safety: none. Cost: O(1) to note, O(kSize) to ask
// for all; fixed memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace refrain::periodicity {

class ReportedVisits {
 public:
  // The complete iterations of an inner loop, reported as such, end here.
  void note_inner(std::uint64_t end) noexcept { end_ = std::max(end_, end); }

  // Those of an outermost loop began and ended here. What was reported inside the iteration in
  // which it broke comes after `end` and counts as part of the visit.
  void note(std::uint64_t begin, std::uint64_t end) noexcept {
    note_inner(end);
    if (begin >= end_) return;
    Visit& oldest = visits_[count_++ % kSize];
    forgotten_ = oldest.end;
    oldest = {begin, end_};
  }

  // Of all reported so far.
  std::uint64_t end() const noexcept { return end_; }

  // Returns true if it is inside of a visit, as far as known.
  bool inside(std::uint64_t position) const noexcept {
    if (position < forgotten_) return true;
    std::uint64_t visit = count_;
    for (std::uint64_t left = std::min(count_, kSize); left != 0; --left) {
      const Visit& last = at(--visit);
      if (last.begin < position) return last.end > position;
    }
    return false;
  }

  // Removes the positions inside of a visit from `positions`, which begin with the latest;
  // gives how many are left.
  std::uint32_t take_out_inside(std::span<std::uint64_t> positions) const noexcept {
    std::uint64_t visit = count_;  // the one before it is looked at
    std::uint64_t left = std::min(count_, kSize);
    std::uint32_t kept = 0;
    for (const std::uint64_t position : positions) {
      while (left != 0 && at(visit - 1).begin >= position) --visit, --left;
      const bool inside = left != 0 && at(visit - 1).end > position;
      if (!inside && position >= forgotten_) positions[kept++] = position;
    }
    return kept;
  }

 private:
  static constexpr std::uint64_t kSize = 512;
  struct Visit {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // not before that of the visit noted before
  };
  const Visit& at(std::uint64_t number) const noexcept { return visits_[number % kSize]; }

  std::array<Visit, kSize> visits_{};
  std::uint64_t count_ = 0;
  std::uint64_t end_ = 0;        // of all reported so far
  std::uint64_t forgotten_ = 0;  // end of the latest visit no longer known
};

}  // namespace refrain::periodicity
