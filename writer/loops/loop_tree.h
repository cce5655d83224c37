// How the loops of a process are nested, in the order in which they are numbered.
//
// Place in the flow: ARCHITECTURE.md, stage 5, from the journal; for loop_places.h,
// loop_numbers.h and loop_summaries.h.
// A loop's parent is the loop around most of its visits. Order: outer loops before inner
// ones, then by their first begin in the run, so that it does not depend on the order of
// detection.
// Pure. Cost: linear in the visits.
#pragma once

#include <cstdint>
#include <vector>

#include "spool/journal.h"

namespace refrain::writer {

struct LoopNode {
  static constexpr std::size_t kNoParent = ~std::size_t{0};
  std::uint32_t loop = 0;          // as in the journal
  std::size_t parent = kNoParent;  // index; always before this one
  std::uint16_t level = 0;
  std::uint64_t first_ticks = 0;
};

std::vector<LoopNode> loop_tree(const spool::Journal& journal);

}  // namespace refrain::writer
