// Where the loops of a program are: the function that contains the loop, the line of its
// `for`, and that of the last call in an iteration.
//
// Place in the flow: ARCHITECTURE.md, stage 5, from what the journal has of the code:
// loops (kTextLoopCode) or call chains (kTextCallers).
//
// How. A loop that was found by its code (kTextLoopCode) is there, from its line to that of the last call in it. Of a loop of
// interpreted code the journal says that itself (kTextLoopSource). Of others, the chains of
// a loop's events share their outer frames; the last shared frame is the
// innermost function through which all events come. Whether the loop is in this function,
// or in one that calls it, follows from the loops of the machine code (code/program_loops.h):
// of those that lie around all of the calls, and of those around the
// call in its callers, it is the innermost that does not already belong to an inner loop
// (or is shared with it, where the next one belongs to a loop around both). The loop's line
// and function, inlined or not, are those of code/loop_lines.h. Frames of
// runtimes (OpenMP's, MPI's, Refrain's) are skipped.
// Where the instructions do not decide, it is the innermost shared function with calls on
// several lines.
// Thread-safety: none (names are looked up). Cost: one look-up for each function on the
// way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "addresses/resolver.h"
#include "spool/journal.h"

namespace refrain::writer {

// --- How the loops of a process are nested, in the order in which they are numbered.
//
// Place in the flow: ARCHITECTURE.md, stage 5, from the journal; for loop_places.h,
// loop_numbers.h and loop_summaries.h.
// A loop's parent is the loop around most of its visits. Order: outer loops before inner
// ones, then by their first begin in the run, so that it does not depend on the order of
// detection.
// Pure. Cost: linear in the visits.

struct LoopNode {
  static constexpr std::size_t kNoParent = ~std::size_t{0};
  std::uint32_t loop = 0;          // as in the journal
  std::size_t parent = kNoParent;  // index; always before this one
  std::uint16_t level = 0;
  std::uint64_t first_ticks = 0;
};

std::vector<LoopNode> loop_tree(const spool::Journal& journal);

struct LoopPlace {
  std::string function;  // empty: not known
  std::string file;
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
  std::string
      code;  // "module+0x...", "file:function+0x...": of its first instruction; empty: not known

  bool known() const noexcept { return !function.empty(); }
  // "solve tea_solve.f90:120-168"
  std::string text() const;
};

// By the loops' numbers in the journal; unknown ones are left out.
std::map<std::uint32_t, LoopPlace> loop_places(const spool::Journal& journal,
                                               const std::vector<LoopNode>& tree,
                                               addresses::Resolver& resolver);

}  // namespace refrain::writer
