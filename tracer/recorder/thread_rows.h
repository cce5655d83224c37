// IterationRows: what a location spends its time for, and its counters, iteration by iteration of
// the outermost loop, whether events are written or not.
//
// Place in the flow: ARCHITECTURE.md, stages 3 and 4; part of ThreadRecorder. Layout:
// spool/summary_format.h, which also has the source (Furlinger/Moore, section 3).
//
// CallTree counts the time of each class as it goes (times()); a row is what these sums were when an
// iteration began. The thread that feeds the detector knows when one begins. The others learn it
// from the board, when they pass an epoch: the row begins where they passed the epoch of the
// iteration (they remember the latest ones), or when the iteration began, if they have been in
// no region since.
//
// A loop may come round when inner ones have rows already, as outermost ones: then these rows are noted to lie in its first
// iteration, which has a row of its own up to the first of them. The primary thread knows what the sums were when that began
// (moment()); others have no row there.
//
// When all rows, or all of the memory, are in use every second iteration's is dropped, from then on only those of every
// second, fourth, ... iteration (by its number, so that all threads drop the same) are kept.
// Where that does not help, for there are many short visits, starts and ends of visits are dropped
// likewise. Of meetings of all processes outside of loops there are kMostMeetings at most.
//
// Thread-safety: one owner; others may read the area at any time. Ownership: none of the area.
// Units: ticks. Errors: without an area nothing is kept.
// Cost: of a row a copy of 160 bytes; of an iteration without a row, some stores. Merging is a pass
// over all rows, each time that there are twice as many iterations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "spool/summary_format.h"
#include "tracer/recorder/boards.h"
#include "tracer/recorder/summary_memory.h"

namespace refrain::recorder {

class IterationRows {
 public:
  // What the thread does now.
  struct Now {
    std::uint64_t ticks;
    std::uint64_t since;  // when the class of its time changed last
    std::uint8_t cls;
    const std::uint64_t* counters;
    // Likewise the class before that; of steps that were earlier only.
    std::uint64_t before_since = ~std::uint64_t{0};
    std::uint8_t before_cls = 0;
  };

  // `area`: zeros, aligned to a page; of its bytes so many are used as `memory` has, which lives
  // longer. False: too little. At most `most` rows, with so many counters; time is counted from
  // `begin` on.
  bool open(void* area, std::uint64_t bytes, std::uint64_t most, unsigned counters,
            std::uint64_t begin, SummaryMemory& memory) noexcept;
  // What the sums were at some time.
  struct Sums {
    std::uint64_t ticks;
    spool::ClassSums times;
    std::array<std::uint64_t, spool::kMaxRowCounters> counters;
  };
  struct Moment {
    Sums sums;
    spool::RowUse use;
    std::uint64_t total;
  };

  void close() noexcept { header_ = nullptr; }
  bool is_open() const noexcept { return header_ != nullptr; }

  // The sums by class, which CallTree changes.
  std::uint64_t* times() noexcept { return header_ == nullptr ? nullptr : header_->times; }
  // Latest values of the counters.
  void set_counters(const std::uint64_t* values, unsigned count) noexcept;
  // What the thread has used of the machine so far: of rows that begin from now on.
  void set_use(const spool::RowUse& use) noexcept {
    if (is_open()) header_->use = use;
  }

  // Of the thread that feeds the detector: a step, at now.since at the earliest, or where the class before is known at
  // now.before_since, which becomes the step's time. Returns true if a row has begun, so that others should know.
  __attribute__((hot)) bool step(IterationStep& step, const Now& now) noexcept;
  // One more iteration has begun, or one less, for it broke.
  void set_total(std::uint64_t total) noexcept {
    if (is_open()) header_->total.store(total, std::memory_order_relaxed);
  }

  // Of others: they pass an epoch. An iteration that is found to begin there begins with that for them; `outside` of a team
  // when it truly did, if they were outside then already.
  __attribute__((hot)) void pass(std::uint64_t epoch, const Now& now,
                                 bool outside = false) noexcept;
  // Something ended `late` ticks before `ticks`, when the class of the time was taken to change: so it is in the latest pass, if
  // that is of then.
  void settle(std::uint64_t ticks, std::uint64_t late, std::uint8_t ended,
              std::uint8_t around) noexcept {
    Pass& pass = passes_[(next_pass_ - 1) % kPasses];
    if (!is_open() || pass.since != ticks) return;
    pass.since -= late;
    pass.times[ended % spool::kRowClasses] -= late;
    pass.times[around % spool::kRowClasses] += late;
  }
  // Something was published since.
  bool is_behind(const IterationBoard& board) const noexcept {
    return board.count() != followed_;
  }
  // What was published since, up to this epoch.
  void follow(const IterationBoard& board, std::uint64_t epoch, const Now& now) noexcept {
    if (is_behind(board)) [[unlikely]]
      follow_slow(board, epoch, now);
  }

  // Of the thread that feeds the detector: `ticks`, as step() would take it; false: there are no rows.
  bool moment(std::uint64_t ticks, const Now& now, Moment& out) const noexcept;
  // kCameRound: rows since then lie in the loop's first iteration. `begin`: what was then; null: not known.
  void came_round(const IterationStep& step, const Moment* begin) noexcept;
  // The others follow the latest step; this thread made it.
  void follow_own() noexcept { followed_ += is_open(); }

 private:
  struct Pass {
    std::uint64_t epoch;
    std::uint64_t ticks;
    std::uint64_t since;
    std::uint8_t cls;
    spool::ClassSums times;  // without that of `cls` since `since`
    std::array<std::uint64_t, spool::kMaxRowCounters> counters;
  };
  static constexpr std::size_t kPasses = 16;
  static constexpr unsigned kMaxLevel = 60;
  static constexpr std::uint64_t kMostMeetings = 64;

  spool::IterationRow* row(std::uint64_t index) const noexcept;
  __attribute__((hot)) Sums sums_at(std::uint64_t ticks, const Now& now) const noexcept;
  const Pass* passed(std::uint64_t epoch) const noexcept;
  Sums sums_of(const Pass& pass, std::uint64_t ticks) const noexcept;
  void follow_slow(const IterationBoard& board, std::uint64_t epoch,
                   const Now& now) noexcept;
  __attribute__((hot)) bool take(const IterationStep& step, const Sums& sums) noexcept;
  bool belongs_to_latest(const IterationStep& step) const noexcept;
  bool is_kept(std::uint64_t kind, std::uint64_t place) const noexcept;
  void fold(spool::IterationRow& into, std::uint64_t kind, std::uint64_t place) noexcept;
  void insert(std::uint64_t at, const IterationStep& step, const Moment& begin) noexcept;
  __attribute__((hot)) void add(std::uint64_t kind, std::uint64_t place,
                                std::uint64_t total, const Sums& sums) noexcept;
  bool has_room() noexcept;
  bool make_rows(std::uint64_t rows) noexcept;
  std::uint64_t kept_rows() const noexcept;
  void merge() noexcept;
  void keep_kept() noexcept;

  spool::IterationRowsHeader* header_ = nullptr;
  std::uint64_t rows_ = 0;
  unsigned counters_ = 0;
  unsigned level_ = 0;          // rows begin with each 2^level-th iteration,
  unsigned border_level_ = 0;   // and with each 2^border_level-th begin or end of a visit
  unsigned meeting_level_ = 0;  // likewise with meetings
  std::uint64_t meetings_ = 0;  // rows of them
  std::uint64_t followed_ = 0;
  std::uint64_t ready_ = 0;  // rows whose pages are made
  std::uint64_t most_ = 0;   // for which there is memory, as far as is known
  SummaryMemory* memory_ = nullptr;
  std::size_t next_pass_ = 0;
  std::array<Pass, kPasses> passes_{};
};

}  // namespace refrain::recorder
