// InnerMarks: keeps the marks of loops inside skipped iterations until it is known whether
// these are written after all (also because a gap there would be too short); then writes
// them, or sums them up.
//
// Place in the flow: inside IterationGate. Marks come in as the detector reports them; each
// is either written (write_before) or becomes part of one sum a loop
// (sum_before), never both, so that counts and total durations stay exact.
// Thread-safety: none. Memory: fixed at construction; if more marks wait than there is room
// for, the oldest are summed up. Cost: a copy of about 60 bytes a mark, twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "filters/loop_mark.h"
#include "periodicity/loop_detector.h"
#include "periodicity/zeroed_array.h"

namespace refrain::filters {

class InnerMarks {
 public:
  // `capacity`: marks that can wait, a power of two.
  InnerMarks(std::uint64_t capacity, MarkSink& sink);

  // `certain`, of a visit's begin: it is written in any case, after what waits before it.
  void put(periodicity::LoopEventKind kind, const LoopMark& mark,
           bool certain = false) noexcept {
    if (end_ - begin_ == waiting_.size()) [[unlikely]]
      sum_oldest();
    lowest_ = begin_ == end_ ? mark.level : std::min(lowest_, mark.level);
    waiting_[end_++ & mask_] = {kind, certain, mark};
  }
  // Returns true if marks of this level or of others inside it may wait.
  bool waits(std::uint16_t level) const noexcept {
    return begin_ != end_ && level >= lowest_;
  }
  bool any_waits() const noexcept { return begin_ != end_; }

  // Marks before `position` stay skipped: they are summed up.
  void sum_before(std::uint64_t position) noexcept {
    if (begin_ != end_) sum_waiting(position);
  }
  // Marks before `position` are written after all.
  void write_before(std::uint64_t position) noexcept;
  // Reports the sums, one for each loop and loop around it, and begins new ones.
  void report_sums() noexcept;

 private:
  static constexpr std::size_t kMaxLevels = 64;
  static constexpr std::size_t kMaxSums = 64;

  struct Waiting {
    periodicity::LoopEventKind kind;
    bool certain;
    LoopMark mark;
  };
  struct Open {
    bool written = false;  // this visit, else summed up
    bool begun = false;
    std::uint64_t number = 0;
    std::uint64_t ticks = 0;
  };

  void sum_waiting(std::uint64_t position) noexcept;
  bool next_is_before(std::uint64_t position) const noexcept;
  void take_next(bool written) noexcept;
  void sum_oldest() noexcept;
  void sum(const Waiting& waiting) noexcept;
  void write(const Waiting& waiting) noexcept;
  void add(const LoopMark& mark, std::uint64_t duration) noexcept;
  SkippedIterations& sum_of(const LoopMark& mark) noexcept;

  MarkSink& sink_;
  periodicity::ZeroedArray<Waiting> waiting_;  // set before they are read
  std::uint64_t mask_;
  std::uint16_t lowest_ = 0;  // level of those that wait
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::array<Open, kMaxLevels> open_{};
  std::uint64_t open_visits_ = 0;  // begun and not left, of marks that no longer wait
  std::array<SkippedIterations, kMaxSums> sums_{};
  std::size_t sum_count_ = 0;
  std::size_t latest_ = 0;
};

}  // namespace refrain::filters
