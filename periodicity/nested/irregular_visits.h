// IrregularVisits: detects and follows visits of loops whose iterations differ, and reports them.
//
// Place in the flow: inside NestedDetector, which asks it for each event that an exact loop does
// not take. HeaderSearch finds such a loop, IrregularLoops knows what its iterations may do. While
// it is open nothing else is looked for.
// Thread-safety: none. Cost: that of these two, 5 ns an event in a loop, 20 ns in a search; O(1)
// otherwise, but for the iterations reported when a loop is found (HeaderSearch::kMax at most).
// Allocates in the constructor only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "periodicity/nested/body_store.h"
#include "periodicity/nested/loop_reporter.h"
#include "periodicity/recent_events.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

// IterationKinds: the kinds of the last iterations of a loop, and whether they follow a rule.
//
// Place in the flow: inside HeaderSearch and IrregularLoops.
// Thread-safety: none. Cost: O(1) to add, a few us to ask.

class IterationKinds {
 public:
  static constexpr std::uint32_t kSize = 48;

  void clear() noexcept { count_ = 0; }
  void add(std::uint64_t hash) noexcept {
    kinds_[count_++ % kSize] = static_cast<std::uint32_t>(hash >> 32);
  }
  static constexpr std::uint32_t kContext = 8;

  std::uint32_t size() const noexcept { return std::min(count_, kSize); }

  // How many of the later half were not of the expected kind: the one that followed the longest
  // equal context.
  std::uint32_t surprises() const noexcept {
    std::array<std::uint32_t, kSize> kinds;
    const std::uint32_t count = size();
    for (std::uint32_t k = 0; k != count; ++k) {
      kinds[k] = kinds_[(count_ - count + k) % kSize];
    }
    std::uint32_t surprises = 0;
    for (std::uint32_t k = std::max(count / 2, 1u); k < count; ++k) {
      std::uint32_t expected = k;
      std::uint32_t longest = 0;
      for (std::uint32_t j = k - 1; j > longest; --j) {
        std::uint32_t same = 0;
        while (same < j && same < kContext && kinds[j - 1 - same] == kinds[k - 1 - same]) {
          ++same;
        }
        if (same <= longest) continue;
        longest = same;
        expected = j;
      }
      surprises += expected == k || kinds[expected] != kinds[k] ? 1 : 0;
    }
    return surprises;
  }

 private:
  std::array<std::uint32_t, kSize> kinds_{};
  std::uint32_t count_ = 0;
};

// HeaderSearch: finds loops whose iterations differ: the event that begins each of them.
//
// Place in the flow: inside IrregularVisits. TokenHistory finds exact repetition. Where that
// finds little, because events come in random order or inner loops have few iterations, an
// iteration is what is between two occurrences of an event, its *header*.
// Thread-safety: none. Cost: about 20 ns an event while it looks; it does so when much
// is unexplained, and less and less often while it finds nothing. No call looks
// at more than kSlice events, or one iteration. Allocates in the constructor only.
//
// What makes an event a header:
// - its last kIterations occurrences had at least two events in common, in the places
//   next to it, each of them at most a third of all events. In noise they never have;
// - the kind of what came between them does not follow from the kinds before: else the loop
//   repeats exactly with a longer body, or the order is not periodic but follows a rule
//   (Thue–Morse and the like) and is no loop;
// - no event between them has less depth.
// Of several, the one of minimum depth that came first is the header: where the loop begins.

class HeaderSearch {
 public:
  static constexpr std::uint32_t kIterations = 16;
  static constexpr std::uint64_t kLongest = 1024;  // events of an iteration

  explicit HeaderSearch(const RecentEvents& recent);

  // No loop explained the event at `position`.
  void unexplained(std::uint64_t position) noexcept;

  bool looking() const noexcept { return looking_; }

  // Looks at some of the events before `end`. True if the last of them is the header of an
  // irregular loop that is going on.
  bool look(std::uint64_t end) noexcept;

  // The positions of that header, the latest first: all of the loop or the last ones.
  static constexpr std::uint32_t kMax = 512;
  std::uint32_t iterations(std::array<std::uint64_t, kMax>& positions) const noexcept;

  // Ends the search; the next one begins when much is unexplained again.
  void stop(std::uint64_t position) noexcept;

 private:
  static constexpr std::uint64_t kSlice = 32;
  static constexpr std::uint64_t kBack = 4096;       // events before its start
  static constexpr std::uint64_t kSpan = 12288;      // events of a search, at most
  static constexpr std::uint32_t kTrouble = 16;      // unexplained events in
  static constexpr std::uint64_t kTroubleIn = 2048;  // so many
  // A nest of exact loops is known after three iterations of the outermost one. Until then
  // its inner loops may look irregular.
  static constexpr std::uint32_t kMany = IterationKinds::kSize;
  static constexpr std::uint64_t kLong = 8000;
  static constexpr std::uint32_t kPromise = 8;  // a streak worth looking on for
  static constexpr std::uint64_t kPause = 2048;
  static constexpr std::uint64_t kLongestPause = 1 << 16;

  // What is known of the occurrences of one word.
  struct Entry {
    RecentEvents::Word word = 0;
    std::uint32_t search = 0;  // valid in the search with this number
    std::uint32_t count = 0;   // occurrences
    std::uint32_t streak = 0;  // of them, the last ones with events in common
    std::uint64_t first = 0;   // where the streak began
    std::uint64_t last = 0;
    std::uint64_t before_last = 0;
    std::uint64_t hash = 0;   // of all before the last occurrence
    std::uint64_t scale = 0;  // makes differences of hashes independent of position
    IterationKinds kinds;     // of what came in between
  };

  void begin(std::uint64_t position) noexcept;
  void look_at(std::uint64_t position) noexcept;
  bool common(std::uint64_t a, std::uint64_t b) const noexcept;
  bool rare(RecentEvents::Word word) const noexcept;
  bool enough(const Entry& entry, std::uint64_t position) const noexcept;
  bool irregular(const Entry& entry) const noexcept;
  bool choose(const Entry& entry, std::uint64_t position) noexcept;
  const Entry& entry_of(RecentEvents::Word word) const noexcept;
  Entry& entry_of(RecentEvents::Word word) noexcept;

  const RecentEvents& recent_;
  ZeroedArray<Entry> entries_;
  std::array<std::uint64_t, kTrouble> trouble_{};  // where the last ones were
  std::uint64_t troubles_ = 0;
  std::uint64_t last_trouble_ = 0;
  std::uint64_t calm_until_ = 0;
  std::uint32_t longest_streak_ = 0;
  std::uint64_t next_search_ = 0;
  std::uint64_t pause_ = kPause;
  bool looking_ = false;
  std::uint32_t search_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t looked_ = 0;
  std::uint64_t hash_ = 0;
  std::uint64_t power_ = 1;
  std::uint64_t inverse_ = 1;
  std::uint64_t next_choice_ = 0;
  bool known_ = false;
  RecentEvents::Word header_ = 0;
};

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
