// Where a loop of the machine code is in the source: its function, inlined or not, and the line of
// its `for`, `while` or `do`.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for code/program_loops.h.
//
// The function is the innermost one around the jumps back and the branches out of the loop. The line
// is the first one of these, in this function: in `for` and `while`, the condition and the step are
// there. If instructions of a line before it are in the loop, and statements of that line begin in it, it is a loop that ends with its condition,
// or without one (`do`, `for (;;)`): then it is named by its first line; unless the way
// into the loop comes from the condition's line, or, in Fortran, the jump back does, as in a counted `do`. Lines up to the
// function's declaration do not count. A loop of Fortran with instructions of one line only is
// named by the line of `do` before it, where the way into the loop comes from there.
// Thread-safety: none; uses the scopes. Ownership: plain values.
// Errors: without debug information, the place is not known.
// Cost: a look-up for each instruction of the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/block_graph.h"
#include "code/debug_index.h"
#include "code/natural_loops.h"

namespace refrain::code {

// Which functions of the source an instruction belongs to, and to which of their lines:
// the function whose code it is, and those inlined there.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for code/loop_lines.h. Addresses are those of the file.
// Thread-safety: none; one user at a time. Ownership: texts and modules are libdw's, which
// must live longer.
// Errors: without debug information there are no frames.
// Cost: a function is read once; then logarithmic.
struct SourceFrame {
  const void* scope = nullptr;  // equal for equal instances of a function
  const char* file = nullptr;   // of what follows; null: unknown
  std::uint32_t line = 0;       // 0: unknown
  std::vector<std::uint32_t> begun =
      {};  // lines of which a statement begins at the instruction
};

class SourceScopes {
 public:
  // `bias`: what the module's addresses in libdwfl have more than those of the file.
  SourceScopes(Dwfl_Module* module, std::uint64_t bias);
  ~SourceScopes();
  SourceScopes(const SourceScopes&) = delete;
  SourceScopes& operator=(const SourceScopes&) = delete;

  // Outermost (the function itself) first; the line of a frame is where the next one is
  // called, or the instruction itself.
  std::vector<SourceFrame> at(std::uint64_t address);
  std::string function(const void* scope) const;
  // The line of its declaration; 0: unknown.
  std::uint32_t declared_at(const void* scope) const;
  // Returns true if the line with which a loop begins may be left out of the loop: in Fortran.
  bool loops_begin_outside(const void* scope) const;

 private:
  struct Function;
  Function* function_at(Dwarf_Die* unit, std::uint64_t address);

  Dwfl_Module* module_;
  std::uint64_t bias_;
  UnitIndex units_;
  FunctionIndex functions_;
  std::unordered_map<const void*, std::unique_ptr<Function>> known_;
  std::unordered_map<const void*, Dwarf_Die> scopes_;
};

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
