// The control flow of a function: blocks of its instructions, and which may follow which.
//
// Place in the flow: ARCHITECTURE.md, stage 5, from an ELF file (code/elf_image.h) to loops
// (code/program_loops.h).
//
// How: instructions are decoded from the function's begin along all ways: branches, jump tables (code/jump_table.h), and
// from calls to the handlers of their exceptions. A jump out of the function is a tail call; where the
// compiler has moved a part of it away (NAME.cold), that part belongs to it. After a call that
// does not return (code/block_graph.cc; a function of the program none of whose ways ends with a return)
// nothing follows. Where the target of a jump through a register is not known, and there are
// instructions that nothing leads to, it is taken to go there: `guessed`.
// Thread-safety: none; one user at a time. Ownership: plain values.
// Errors: `whole` is false where bytes are no instructions or jumps were guessed.
// Cost: a microsecond an instruction; functions that are called are looked into where it
// matters whether they return, each once.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "code/disassembler.h"
#include "code/dominators.h"
#include "code/elf_image.h"

namespace refrain::code {

struct Block {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t last = 0;   // its last instruction
  bool branches = false;    // the last one goes here or there, by a condition
  bool leaves = false;      // it returns, or goes to another function
  std::uint32_t first = 0;  // its first one, in BlockGraph::instructions
  std::uint32_t count = 0;  // of its instructions
};

struct BlockGraph {
  std::vector<Block> blocks;                // by address; instructions of two may overlap
  std::vector<std::uint64_t> instructions;  // where they begin, block by block
  Digraph next;
  Node entry = kNoNode;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;  // [begin, end) of its code
  std::uint32_t tables = 0;     // jumps through tables that were read
  std::uint32_t guessed = 0;    // jumps whose targets were guessed
  std::uint32_t undecoded = 0;  // places where the bytes are no instructions
  bool whole() const noexcept { return guessed == 0 && undecoded == 0; }

  // The block with this address in it; kNoNode: none.
  Node at(std::uint64_t address) const;
};

class FlowReader {
 public:
  FlowReader(ElfImage& image, const Disassembler& disassembler)
      : image_(image), disassembler_(disassembler) {}

  // Empty if it is longer than 4 MiB.
  BlockGraph read(const FunctionRange& function) { return read(function, 0); }

 private:
  class Builder;
  BlockGraph read(const FunctionRange& function, unsigned depth);
  // Whether a call of the function at an address, or through a slot, comes back.
  bool comes_back(std::uint64_t callee, unsigned depth);
  std::optional<std::uint64_t> slot_of_stub(std::uint64_t address);
  bool known_not_to_return(const Instruction& call, std::uint64_t at);

  ElfImage& image_;
  const Disassembler& disassembler_;
  std::unordered_map<std::uint64_t, bool> comes_back_;
};

}  // namespace refrain::code
