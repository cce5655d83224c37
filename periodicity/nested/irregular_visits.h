// IrregularVisits: detects and follows visits of loops whose iterations differ, and reports them.
//
// Place in the flow: inside NestedDetector, which asks it for each event that an exact loop does
// not take. HeaderSearch finds such a loop, IrregularLoops knows what its iterations may do. While
// it is open nothing else is looked for.
// Thread-safety: none. Cost: that of these two, 5 ns an event in a loop, 20 ns in a search; O(1)
// otherwise, but for the iterations reported when a loop is found (HeaderSearch::kMax at most).
// Allocates in the constructor only.
#pragma once

#include <cstdint>

#include "periodicity/nested/body_store.h"
#include "periodicity/nested/header_search.h"
#include "periodicity/nested/irregular_loops.h"
#include "periodicity/nested/loop_reporter.h"

namespace refrain::periodicity {

class IrregularVisits {
 public:
  // None of them is owned, and all outlive this. The event at events.position is the one that
  // is being read. Loops get their numbers from `bodies`. `enabled`: they are looked for.
  IrregularVisits(const ExpectedEvents& events, BodyStore& bodies, LoopReporter& reporter,
                  bool enabled)
      : events_(events), bodies_(bodies), reporter_(reporter), enabled_(enabled) {}

  // No loop has explained the event before this position.
  void unexplained(std::uint64_t position) noexcept {
    if (enabled_) search_.unexplained(position);
  }

  bool is_open() const noexcept { return loops_.is_open(); }
  // Returns true if one is open or something is to be looked for.
  bool active() const noexcept { return loops_.any() || search_.looking(); }

  // To be asked for each event while active and none is open: whether it begins an iteration of
  // a loop that is going on.
  bool look() noexcept;
  // After look(): opens and reports that loop.
  void open(LoopSink& sink) noexcept;

  // Returns true if this event belongs to the open loop; if not, that is left.
  bool follow(LoopSink& sink) noexcept;

  // The stream has ended.
  void finish(LoopSink& sink) noexcept;

  // Forgets all and stops looking. Only while none is open.
  void give_up() noexcept;

 private:
  void note_break() noexcept;
  void leave(bool whole, LoopSink& sink) noexcept;
  void report(LoopEventKind kind, std::uint64_t position, LoopSink& sink) noexcept;

  const ExpectedEvents& events_;
  BodyStore& bodies_;
  LoopReporter& reporter_;
  bool enabled_;
  bool came_back_ = false;  // the loop that look() found is a known one
  HeaderSearch search_{events_.recent};
  IrregularLoops loops_{events_.recent};
  std::uint64_t iterations_ = 0;  // complete ones
  std::uint32_t visit_ = 0;
  std::uint64_t first_ = 0;       // where the visit began,
  std::uint64_t last_begin_ = 0;  // and its latest iteration
};

}  // namespace refrain::periodicity
