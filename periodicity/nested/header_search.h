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
#pragma once

#include <array>
#include <cstdint>

#include "periodicity/nested/iteration_kinds.h"
#include "periodicity/recent_events.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

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

}  // namespace refrain::periodicity
