// What the source keeps with a parallel region and a task, in the one word that OMPT has for each.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Pure encodings, no state.
//
// A region's word (ompt_data_t of parallel_data): site << 48 | league << 47 | instance << 5 | kTeam* flags + a bit
// that says "set", so that 0 means that the region is unknown to us. The instance of an
// outermost region of the primary thread is its epoch; of any other a number of the
// session. A site is the number of a place in the code (task_sites.h). The region of
// the runtime's helper threads has kHelpers alone. A task's word: number << 32 | site << 16 | location, 0 for implicit tasks.
#pragma once

#include <cstdint>

#include "spool/format.h"

namespace refrain::ompt {

struct TeamWord {
  std::uint64_t instance = 0;
  std::uint8_t flags = 0;
  std::uint16_t site = 0;
  bool league = false;

  static TeamWord unpack(std::uint64_t word) noexcept {
    return {word >> 5 & kMostInstances, static_cast<std::uint8_t>(word >> 1 & 15),
            static_cast<std::uint16_t>(word >> 48), (word >> 47 & 1) != 0};
  }
  std::uint64_t pack() const noexcept {
    return std::uint64_t{site} << 48 | std::uint64_t{league} << 47 |
           (instance & kMostInstances) << 5 | std::uint64_t{flags} << 1 | 1;
  }
  static constexpr std::uint64_t kMostInstances = (std::uint64_t{1} << 42) - 1;
  static constexpr std::uint8_t kHelpers = spool::kTeamInitial;  // no other region has that
  bool of_helpers() const noexcept { return flags == kHelpers; }
  // Whether barriers of this team are epochs of the recording.
  bool counts_epochs() const noexcept { return flags == 0; }
};

struct TaskWord {
  std::uint32_t number;
  std::uint16_t site;
  std::uint16_t location;

  static TaskWord unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
            static_cast<std::uint16_t>(word)};
  }
  std::uint64_t pack() const noexcept {
    return std::uint64_t{number} << 32 | std::uint64_t{site} << 16 | location;
  }
  std::uint64_t id() const noexcept { return std::uint64_t{location} << 32 | number; }
};

}  // namespace refrain::ompt
