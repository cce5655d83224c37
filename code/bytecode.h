// The control flow of a Python function: what call_flow.h answers of machine code, of the bytecode of CPython 3.11.
//
// Place in the flow: next to call_flow.h, for who sees the frames of the interpreter in a traced program.
//
// Instructions are two bytes (a *unit*), with units of cache behind some. The interpreter rewrites them while it runs: what is
// read here are the instructions that the compiler made. A call is two instructions (PRECALL, CALL) of which either may do it: they
// count as one. Each instruction is a node; what may raise an exception also leads to its handler. The jump back with which a
// generator waits for another (`yield from`, `await`) is left out: whoever waits is not in a loop.
// Thread-safety: pure. Ownership: copies what it needs. Errors: units that are not known have no loops and are forward.
// May throw std::bad_alloc. Cost: about a microsecond an instruction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "code/natural_loops.h"

namespace refrain::code {

// The line of a unit, from a table of lines (co_linetable) alone; 0: not known.
std::uint32_t bytecode_line(std::span<const std::uint8_t> lines, std::uint32_t first_line,
                            std::size_t unit) noexcept;

class Bytecode {
 public:
  static constexpr std::size_t kMaxUnits = 100'000;  // of longer ones nothing is known

  struct Parts {
    std::span<const std::uint8_t> code;        // co_code_adaptive
    std::span<const std::uint8_t> lines;       // co_linetable
    std::span<const std::uint8_t> exceptions;  // co_exceptiontable
    std::uint32_t first_line = 0;
  };
  struct Lines {
    std::uint32_t first = 0;  // 0: not known
    std::uint32_t last = 0;   // of the last call
  };

  explicit Bytecode(const Parts& parts);

  // The unit that stands for the instruction that this one is a part of.
  std::uint32_t call(std::uint32_t unit) const noexcept;
  // First units of the loops around an instruction, outermost first.
  std::span<const std::uint32_t> loops(std::uint32_t unit) const noexcept;
  // As CallFlow::forward().
  bool forward(std::uint32_t from, std::uint32_t to) const;
  // Of the loop that begins there.
  Lines lines(std::uint32_t header) const noexcept;
  // Of the code as the compiler made it.
  std::uint64_t hash() const noexcept { return hash_; }

 private:
  Node node_of(std::uint32_t unit) const noexcept {
    return unit < nodes_.size() ? nodes_[unit] : kNoNode;
  }
  void read_lines(const Parts& parts, const std::vector<std::uint8_t>& codes);

  std::vector<Node> nodes_;           // of each unit
  std::vector<std::uint32_t> units_;  // of each node, the first
  std::uint64_t hash_ = 0;
  Digraph next_;
  HeadedLoops loops_;
  std::vector<std::vector<std::uint32_t>> around_;  // first units, of each loop
  std::vector<Lines> lines_;                        // of each loop
};

}  // namespace refrain::code
