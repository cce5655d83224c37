// Adds up the marks of iterations as the events of a location are read.
//
// Place in the flow: behind archive_definitions.h, a part of archive_info.h.
// Thread-safety: none. Ownership: refers to the definitions.
// Units: ticks of the location's clock.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/archive_definitions.h"

namespace refrain::analysis {

// What the marks of a loop's iterations on one location add up to.
struct MarkSums {
  std::uint64_t begun = 0;
  std::uint64_t iterations = 0;
  std::uint64_t written = 0;
  std::uint64_t partly = 0;
  double total = 0;
  double squares = 0;
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;

  void add(std::uint64_t ticks, std::uint8_t kept) {
    least = iterations == 0 ? ticks : std::min(least, ticks);
    greatest = std::max(greatest, ticks);
    ++iterations;
    written += kept == 1;
    partly += kept == 2;
    const auto value = static_cast<double>(ticks);
    total += value;
    squares += value * value;
  }
};

struct MarkReader {
  struct Open {
    OTF2_RegionRef region;
    std::uint64_t ticks;
    std::uint8_t kept;
    bool complete;
  };
  const ArchiveDefinitions& definitions;
  OTF2_AttributeRef written;
  OTF2_AttributeRef complete;
  std::vector<Open> open;
  std::map<OTF2_RegionRef, MarkSums> sums;

  bool is_phase(OTF2_RegionRef region) const {
    const auto found = definitions.regions.find(region);
    return found != definitions.regions.end() && found->second.phase;
  }
};

// For a reader of events whose user data is a MarkReader.
void set_mark_callbacks(OTF2_EvtReaderCallbacks* callbacks);

}  // namespace refrain::analysis
