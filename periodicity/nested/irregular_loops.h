// IrregularLoops: known loops whose iterations differ, and which of them goes on.
//
// Place in the flow: inside IrregularVisits. HeaderSearch finds such a loop; here is what
// it may do: the pairs of events that have followed each other in it, as a flow graph.
// While it takes only known edges it does nothing new, in whatever order. An edge never
// taken before breaks it. A course that broke it becomes known
// - at once if all its events were known, only in another order;
// - with the third iteration that takes it, if it has new events.
// Thread-safety: none. Cost: about 5 ns an event; no call learns more than kMaxLearnt
// edges. Allocates in the constructor only; when the table is full, all is forgotten.
#pragma once

#include <array>
#include <cstdint>

#include "periodicity/nested/iteration_kinds.h"
#include "periodicity/recent_events.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

class IrregularLoops {
 public:
  explicit IrregularLoops(const RecentEvents& recent);

  struct Loop {
    RecentEvents::Word header = 0;
    std::uint32_t number = 0;   // its identity in loop events
    std::uint32_t visits = 0;   // so far reported
    std::uint64_t longest = 0;  // events of an iteration
    std::uint64_t last = 0;     // of the last one
  };

  // The loop with this header goes on since the iteration that began at `first`; another
  // begins at `position`. If it is not known yet it takes `number`; true if it did.
  bool open(std::uint64_t first, std::uint64_t position, std::uint32_t number) noexcept;

  // Looks at some of the events before `end`; true if the last one is the header of a
  // known loop and an iteration of it, which began at came_back(), has just ended.
  bool look(std::uint64_t end) noexcept;
  std::uint64_t came_back() const noexcept { return came_back_; }
  void reopen(std::uint64_t position) noexcept;

  bool any() const noexcept { return count_ != 0; }
  void forget() noexcept {
    count_ = 0;
    open_ = kNone;
  }
  bool is_open() const noexcept { return open_ != kNone; }
  const Loop& current() const noexcept { return loops_[current_]; }  // or the last one
  std::uint32_t count_visit() noexcept { return loops_[current_].visits++; }
  // Returns true if an iteration may end before the event at `position`.
  bool whole(std::uint64_t position) const noexcept;

  // What the event at `position` does to the loop that is open. kOver: it begins another
  // iteration, but the last ones were so regular that they need no such loop.
  enum class Course : std::uint8_t { kGoesOn, kIteration, kBroken, kEnded, kOver };
  Course follow(std::uint64_t position) noexcept;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kMostLoops = 8;
  static constexpr std::uint64_t kMaxLearnt = 1024;
  static constexpr std::uint32_t kCheck = 16;  // iterations
  static constexpr std::uint64_t kSlice = 32;

  void begin(std::uint32_t loop, std::uint64_t position) noexcept;
  bool regular() const noexcept;
  void close(std::uint64_t position, bool broken) noexcept;
  std::uint32_t with_header(RecentEvents::Word header) const noexcept;
  bool learnable(std::uint32_t loop, std::uint64_t from, std::uint64_t to) noexcept;
  void learn(std::uint32_t loop, std::uint64_t from, std::uint64_t to) noexcept;
  bool has(std::uint64_t key) const noexcept;
  void add(std::uint64_t key) noexcept;

  const RecentEvents& recent_;
  std::array<Loop, kMostLoops> loops_{};
  std::uint32_t count_ = 0;
  ZeroedArray<std::uint64_t> table_;  // of edges and events, open addressing; cleared
  std::size_t table_used_ = 0;

  std::uint32_t open_ = kNone;
  std::uint32_t current_ = 0;
  std::uint64_t iteration_begin_ = 0;
  std::uint64_t iteration_hash_ = 0;
  std::uint64_t iterations_ = 0;
  IterationKinds kinds_;

  std::uint64_t looked_ = 0;
  std::uint32_t broken_ = kNone;  // the loop that broke last, until its header comes back
  std::uint64_t broken_begin_ = 0;
  std::uint32_t trial_ = kNone;
  std::uint64_t trial_begin_ = 0;
  std::uint64_t came_back_ = 0;
};

}  // namespace refrain::periodicity
