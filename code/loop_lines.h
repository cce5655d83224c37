// Where a loop of the machine code is in the source: its function, inlined or not, and the line of
// its `for`, `while` or `do`.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for code/program_loops.h.
//
// The function is the innermost one around the jumps back and the branches out of the loop. The line
// is the first one of these, in this function: in `for` and `while`, the condition and the step are
// there. If instructions of the loop come from a line before it, it is a loop that ends with its condition,
// or without one (`do`, `for (;;)`): then it is named by its first line; unless the way
// into the loop comes from the condition's line, or, in Fortran, the jump back does, as in a counted `do`. Lines up to the
// function's declaration do not count. A loop of Fortran with instructions of one line only is
// named by the line of `do` before it, where the way into the loop comes from there.
// Thread-safety: none; uses the scopes. Ownership: plain values.
// Errors: without debug information, the place is not known.
// Cost: a look-up for each instruction of the loop.
#pragma once

#include <cstdint>
#include <string>

#include "code/block_graph.h"
#include "code/natural_loops.h"
#include "code/source_scopes.h"

namespace refrain::code {

struct SourcePlace {
  const void* scope = nullptr;  // the instance of the function (SourceFrame)
  std::uint32_t depth = 0;      // functions around it, into which it was inlined
  std::string function;
  std::string file;        // full path as the compiler knew it
  std::uint32_t line = 0;  // 0: not known
  bool known() const noexcept { return line != 0; }
};

SourcePlace place_of(const BlockGraph& blocks, const LoopForest& forest, std::uint32_t loop,
                     SourceScopes& scopes);

}  // namespace refrain::code
