// Goes through the iterations of all loops of a journal in the order of time.
//
// Place in the flow: ARCHITECTURE.md, stage 5; feeds the marks of iterations to the
// timeline of the location whose events the agent was fed with.
// The journal reports a loop's iterations when they are detected, so a loop's records are
// in order among themselves and only there: this merges visit by visit.
// Where skipped iterations have no marks (marks=summary), the last one before a gap ends
// where writing was suspended: the caller gives these times.
// Thread-safety: none; many streams may read one Journal.
// Ownership: the Journal must live longer.
// Cost: amortised one pass over the records of each visit; memory for the loops that are
// open at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "spool/journal.h"

namespace refrain::spool {

inline constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

struct IterationEvent {
  bool left = false;     // the loop is left, or goes on without marks; else: an iteration
                         // begins, and the one of this visit before it ends
  bool goes_on = false;  // left: only the iteration ends, another of the visit may begin
  std::uint64_t ticks = 0;
  std::size_t visit = 0;  // index into Journal::visits
  std::uint64_t number = 0;
  std::uint64_t end_ticks = kNoEnd;  // of a beginning iteration; kNoEnd: not known
  bool complete = false;             // of a beginning iteration
  // Index of the record in the journal that reports it; kNoRecord: none. The values of
  // counters stand before it (iteration_metrics()).
  std::size_t record = kNoRecord;
  static constexpr std::size_t kNoRecord = ~std::size_t{0};
};

// Value of a counter of the thread that feeds the agent, when this happened; no value if it is
// not known.
std::optional<std::uint64_t> iteration_metric(const Journal& journal,
                                              const IterationEvent& event,
                                              std::size_t number);

class IterationStream {
 public:
  // `ends`: in order; must live as long as the stream.
  explicit IterationStream(const Journal& journal,
                           std::span<const std::uint64_t> ends = {});

  // The next event, nullptr at the end. At equal ticks a loop is left before an
  // iteration begins, inner loops are left before and begin after outer ones.
  const IterationEvent* peek() const noexcept { return at_end_ ? nullptr : &current_; }
  void pop();

 private:
  struct Cursor {
    std::size_t visit;
    std::size_t next;      // record to look at next
    std::uint64_t ends;    // if not 0: the iteration ends there, before `next`
    IterationEvent event;  // the next to be returned
  };

  bool advance(Cursor& cursor) const;
  std::size_t find_next(std::size_t from, const LoopVisit& visit) const;
  bool left_at_once(const IterationEvent& event, std::size_t next,
                    const LoopVisit& visit) const;
  bool before(const IterationEvent& a, const IterationEvent& b) const;
  void select();

  const Journal* journal_;
  std::span<const std::uint64_t> ends_;
  std::vector<Cursor> open_;
  std::size_t next_visit_ = 0;
  std::size_t selected_ = 0;
  IterationEvent current_;
  bool at_end_ = false;
};

}  // namespace refrain::spool
