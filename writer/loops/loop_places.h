// Where the loops of a program are: the function that goes round, and the lines of its calls that
// an iteration consists of.
//
// Place in the flow: ARCHITECTURE.md, step 7, from the call chains in the journal (kTextCallers).
//
// How. The chains of a loop's events share their outer frames; where they part is the innermost
// function that all events come through. Whether it is this one that goes round, or one that calls
// it, is in its instructions (writer/symbols/machine_code.h): of the loops there that lie around all
// of the calls, and of those around the call in its callers, the innermost that is not already that of
// an inner loop (or shared with it, where the next one is that of a loop around both). Inlined functions are functions: the jump that closes the loop tells in which it is.
// Frames of runtimes (OpenMP's, MPI's, ours) are passed over.
// Where instructions tell nothing, it is the innermost shared function with calls on several lines.
// Thread-safety: none (names are looked up). Cost: one look at each function on the way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spool/journal.h"
#include "writer/loops/loop_tree.h"
#include "writer/symbols/symbol_resolver.h"

namespace refrain::writer {

struct LoopPlace {
  std::string function;  // empty: not known
  std::string file;
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
  std::string code;  // "module+0x...": of its first instruction; empty: not known

  bool known() const noexcept { return !function.empty(); }
  // "solve tea_solve.f90:120-168"
  std::string text() const;
};

// By the loops' numbers in the journal; those that are not known are left out.
std::map<std::uint32_t, LoopPlace> loop_places(const spool::Journal& journal,
                                               const std::vector<LoopNode>& tree,
                                               SymbolResolver& symbols);

}  // namespace refrain::writer
