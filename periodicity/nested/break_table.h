// BreakTable: where a loop has been left before at the same place for the same event.
//
// Place in the flow: inside LoopReporter, which reports it with kLeft: a break that is not
// the first of its kind shows nothing new.
// Thread-safety: none. Cost: O(1), fixed memory. Of two kinds of break that share a slot
// the latest is kept; the other one counts as new when it comes again.
#pragma once

#include <array>
#include <cstdint>

#include "periodicity/symbol_hash.h"

namespace refrain::periodicity {

class BreakTable {
 public:
  struct Earlier {
    std::uint32_t times = 0;     // that the loop was left like this
    std::uint64_t position = 0;  // the latest
  };

  // The loop is left at `position`, at `place` of its body, because `next` came; gives
  // what is known of earlier breaks of this kind.
  Earlier note(std::uint32_t loop, std::uint64_t place, std::uint64_t next,
               std::uint64_t position) noexcept {
    const std::uint64_t key = mix(mix(mix(loop + 1) + place) + next) | 1;
    Break& kind = kinds_[key >> (64 - kBits)];
    const Earlier before = kind.key == key ? kind.last : Earlier{};
    kind = {key, {before.times + 1, position}};
    return before;
  }

 private:
  static constexpr int kBits = 10;
  struct Break {
    std::uint64_t key = 0;
    Earlier last;
  };
  std::array<Break, std::size_t{1} << kBits> kinds_{};
};

}  // namespace refrain::periodicity
