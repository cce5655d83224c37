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
#include <cstdint>
#include <vector>

#include "periodicity/loop_detector.h"
#include "periodicity/zeroed_array.h"

namespace refrain::filters {

// Marks of loops as the gate reports them: plain values.
//
// Place in the flow: ARCHITECTURE.md, stage 4, from the gate to the journal.
// Units: ticks of the caller's clock; positions in events.

struct LoopMark {
  std::uint32_t loop;
  std::uint16_t level;
  std::uint32_t visit;
  std::uint32_t body_events;
  std::uint64_t position;  // of the marked event; of a loop's body: where it begins
  std::uint64_t number;    // of the iteration; for left(): complete iterations
  std::uint64_t ticks;
  std::uint32_t parent = periodicity::kNoLoop;
};

// Iterations of one loop in one gap that got no marks of their own.
struct SkippedIterations {
  std::uint32_t loop = 0;
  std::uint32_t parent = periodicity::kNoLoop;
  std::uint64_t visits = 0;  // that have no mark either
  std::uint64_t count = 0;
  std::uint64_t total_ticks = 0;
  std::uint64_t least_ticks = 0;
  std::uint64_t greatest_ticks = 0;
};

// An iteration that is written because it took unusually long, or short.
struct SlowIteration {
  std::uint32_t loop = 0;
  std::uint16_t level = 0;
  std::uint64_t number = 0;
  std::uint64_t begin = 0;  // position
  std::uint64_t end = 0;    // position after it
  std::uint64_t begin_ticks = 0;
  std::uint64_t duration_ticks = 0;
  std::uint64_t median_ticks = 0;     // of its loop, before it
  std::uint64_t mad_ticks = 0;        // median absolute deviation
  std::uint64_t deviation_ticks = 0;  // from the median
  bool outermost = false;             // no iteration around it is skipped
  bool communication = false;         // other processes take part
  std::uint64_t previous_begin = 0;   // of the iteration before it
};

class MarkSink {
 public:
  virtual void loop_found(const LoopMark& mark) noexcept = 0;  // ticks: now
  virtual void iteration(const LoopMark& mark) noexcept = 0;   // ticks: its start
  // It has ended, and the next has not begun. Only of phases; ticks: its end.
  virtual void iteration_end(const LoopMark& mark) noexcept = 0;
  virtual void mismatch(const LoopMark& mark) noexcept = 0;
  virtual void loop_left(const LoopMark& mark) noexcept = 0;  // ticks: end of what belongs
  virtual void skipped_summary(const SkippedIterations& skipped) noexcept = 0;

  // The mark of this kind.
  void put(periodicity::LoopEventKind kind, const LoopMark& mark) noexcept {
    using enum periodicity::LoopEventKind;
    switch (kind) {
      case kFound:
        return loop_found(mark);
      case kIteration:
        return iteration(mark);
      case kIterationEnd:
        return iteration_end(mark);
      case kMismatch:
        return mismatch(mark);
      case kLeft:
        return loop_left(mark);
      case kNovel:
        return;  // decides what is written, and has no mark
    }
  }

 protected:
  ~MarkSink() = default;
};

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
  // Between these positions inner loops are skipped in iterations that are written: visits in an
  // iteration that begins there are summed up, others are written.
  void sum_inside(std::uint64_t begin, std::uint64_t end) noexcept;
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
    bool within = false;  // its marks up to the end have not all been taken
    std::uint64_t number = 0;
    std::uint64_t ticks = 0;
    std::uint64_t position = 0;  // of its latest iteration
  };

  __attribute__((hot)) void sum_waiting(std::uint64_t position) noexcept;
  __attribute__((hot)) bool next_is_before(std::uint64_t position) const noexcept;
  __attribute__((hot)) bool next_is_skipped(std::uint64_t from) const noexcept;
  __attribute__((hot)) void take_next(bool written) noexcept;
  void sum_oldest() noexcept;
  __attribute__((hot)) void sum(const Waiting& waiting) noexcept;
  void write(const Waiting& waiting) noexcept;
  __attribute__((hot)) void add(const LoopMark& mark, std::uint64_t duration) noexcept;
  __attribute__((hot)) SkippedIterations& sum_of(const LoopMark& mark) noexcept;

  MarkSink& sink_;
  periodicity::ZeroedArray<Waiting> waiting_;  // set before they are read
  std::uint64_t mask_;
  std::uint16_t lowest_ = 0;  // level of those that wait
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t open_visits_ = 0;  // begun and not left, of marks that no longer wait
  std::size_t sum_count_ = 0;
  std::size_t latest_ = 0;
  std::vector<Open> open_ = std::vector<Open>(kMaxLevels);
  std::vector<SkippedIterations> sums_ = std::vector<SkippedIterations>(kMaxSums);
};

}  // namespace refrain::filters
