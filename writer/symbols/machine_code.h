// Finds the loops of a function in its machine code that lie around given calls.
//
// Place in the flow: ARCHITECTURE.md, step 7: a call chain says through which calls an
// event came, not which of the functions contains the loop. Whether a function can get from
// one call to the other and back to the first without returning follows from its
// instructions, whatever was inlined.
//
// How: loops are the nested strongly connected components of the instructions
// (disassembler.h): without the jumps to its entry, a component consists of the loops
// inside it.
// Thread-safety: none needed.
// Errors: code that cannot be decoded (another machine, data among it) has no loops, and
// `whole` is false; also where a jump goes to an address in a register (a switch).
// Cost: linear in the code for each level of the nest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "writer/symbols/disassembler.h"

namespace refrain::writer {

// A loop in the machine code of a function; addresses as the function's.
struct CodeLoop {
  std::uint64_t entry = 0;            // its first instruction
  std::vector<std::uint64_t> closes;  // jumps from inside it to its entry
};

struct CodeLoops {
  bool whole = true;
  std::vector<CodeLoop> loops;  // around all of the calls, innermost first
};

// `begin`: address of the code's first byte. `calls`: addresses inside call instructions
// (or the last byte of one: a return address less one).
CodeLoops loops_around(const Disassembler& disassembler, std::span<const std::uint8_t> code,
                       std::uint64_t begin, std::span<const std::uint64_t> calls);

}  // namespace refrain::writer
