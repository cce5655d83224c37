// The control flow of a function: blocks of its instructions, and which may follow which.
//
// Place in the flow: ARCHITECTURE.md, stage 5, from an ELF file (code/elf_image.h) to loops
// (code/program_loops.h).
//
// How: instructions are decoded from the function's begin along all ways: branches, jump tables (code/jump_table.h), and
// from calls to the handlers of their exceptions. A jump out of the function is a tail call; where the
// compiler has moved a part of it away (NAME.cold), that part belongs to it. After a call that
// does not return (never_returns(); a function none of whose ways ends with a return, of a mapped program
// also one of another library) nothing follows. Where the target of a jump through a register is not known, and there are
// instructions that nothing leads to, it is taken to go there: `guessed`.
// Thread-safety: none; one user at a time. Ownership: plain values.
// setjmp() returns again where somebody jumps; that is no edge here (call_flow.h adds them).
// Errors: `whole` is false where bytes are no instructions or jumps were guessed.
// Cost: 0.3 us an instruction; functions that are called are looked into where it
// matters whether they return, each once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "code/code_image.h"
#include "code/disassembler.h"
#include "code/dominators.h"

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

// A jump that leaves the function.
struct LeavingJump {
  std::uint64_t address = 0;
  std::uint64_t target = 0;   // 0: not known; or of a `slot`
  bool through_slot = false;  // `target` is where a word is that holds the address
};

struct BlockGraph {
  std::vector<Block> blocks;                // by address; instructions of two may overlap
  std::vector<std::uint64_t> instructions;  // where they begin, block by block
  Digraph next;
  Node entry = kNoNode;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;  // [begin, end) of its code
  std::vector<std::uint64_t> calls;                            // return addresses, sorted
  std::vector<std::uint64_t> returns_again;                    // those of setjmp()
  std::vector<LeavingJump> leaving;
  std::uint32_t tables = 0;     // jumps through tables that were read
  std::uint32_t guessed = 0;    // jumps whose targets were guessed
  std::uint32_t undecoded = 0;  // places where the bytes are no instructions
  bool cut = false;             // too long to be looked at
  bool whole() const noexcept { return guessed == 0 && undecoded == 0; }

  // The block with this address in it; kNoNode: none.
  Node at(std::uint64_t address) const;
};

class FlowReader {
 public:
  // Of a function of another file, by its name: true if it never comes back.
  using EndsElsewhere = std::function<bool(std::string_view)>;

  FlowReader(CodeImage& image, const Disassembler& disassembler,
             std::size_t most_instructions = ~std::size_t{0},
             EndsElsewhere ends_elsewhere = {})
      : image_(image),
        disassembler_(disassembler),
        most_instructions_(most_instructions),
        ends_elsewhere_(std::move(ends_elsewhere)) {}

  // Empty and `cut` if it is longer than 4 MiB, or than `most_instructions`: these are what is looked at in all, also in functions that
  // are called and jumped to. Of those that are left over nothing is known then: they return, and have no part of this one.
  BlockGraph read(const FunctionRange& function) {
    left_ = most_instructions_;
    return read(function, 0);
  }
  // Returns true if no way through the function that begins there ends with a return, and all of it was seen.
  bool never_comes_back(std::uint64_t function);
  // Where direct jumps of a range lead to, out of it; looked for once. Empty if it is longer than 16 KiB.
  std::span<const std::uint64_t> jumps_out_of(const FunctionRange& range) {
    left_ = most_instructions_;
    return jumps_of(range);
  }
  // The slot that the linker's stub at an address jumps through.
  std::optional<std::uint64_t> slot_of_stub(std::uint64_t address);

 private:
  class Builder;
  BlockGraph read(const FunctionRange& function, unsigned depth);
  std::span<const std::uint64_t> jumps_of(const FunctionRange& range);
  // At an instruction more, or what costs as much as so many; false: there were enough.
  bool may_look(std::size_t more = 1) noexcept {
    left_ -= std::min(left_, more);
    return left_ != 0;
  }
  // Returns true if a call of the function at an address, or through a slot, comes back.
  bool comes_back(std::uint64_t callee, unsigned depth);
  // Empty: not known.
  std::string_view name_of_callee(const Instruction& call, std::uint64_t at);

  CodeImage& image_;
  const Disassembler& disassembler_;
  const std::size_t most_instructions_;
  const EndsElsewhere ends_elsewhere_;
  std::size_t left_ = most_instructions_;  // for this question
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> jumps_out_;
  std::unordered_map<std::uint64_t, bool> comes_back_;
};

// Functions that never return to who calls them, or several times, by the names that they have.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Pure. Cost: logarithmic.

// Of C, C++, Fortran, and what their compilers call; `name` as the linker has it.
bool never_returns(std::string_view name);
// Returns true if the name has a word that such functions of libraries have in theirs: of others it is not worth looking.
bool may_never_return(std::string_view name);
// setjmp and its sisters.
bool returns_again(std::string_view name);

// A function's instructions once they have been followed, and the blocks that are made of them.
//
// Place in the flow: private to this room: FlowReader fills it, make_blocks() is its last step.
// Thread-safety: plain values. Ownership: the bytes are the image's. Cost: some bytes for each byte of the function.

struct FollowedCode {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Instructions have numbers, in the order in which they are found.
  struct Decoded {
    std::uint64_t address;
    Instruction instruction;
    std::uint32_t before = kNone;  // the instruction that runs into it
    std::uint32_t jumper = kNone;  // the first one that jumps to it
    bool ends = false;             // a call that does not come back
    bool again = false;            // a call that may return several times
    bool settled = false;          // a jump through a register whose targets are known

    // Returns true if control goes to the instruction after it.
    bool runs_on() const noexcept;
  };
  struct Part {
    std::uint64_t begin;
    std::span<const std::uint8_t> bytes;
    std::vector<std::uint32_t> numbers;  // of the instruction that begins at each byte
    std::vector<bool> covered;
    std::vector<HandlerEntry> handlers;
  };

  std::vector<Decoded> all;
  std::vector<Part> parts;
  std::vector<std::uint32_t> leaders;  // where blocks begin, as far as that is known
  std::vector<std::uint32_t> leaving;  // jumps to other functions
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      edges;  // but to the next instruction

  Part* part_at(std::uint64_t address);
  std::uint32_t number_at(std::uint64_t address) const;
};

// Blocks, their instructions, what follows what, and the entry: of the function at `begin`. `comes_back`: whether the function at
// an address returns.
void make_blocks(const FollowedCode& code, std::uint64_t begin,
                 const std::function<bool(std::uint64_t)>& comes_back, BlockGraph& out);

}  // namespace refrain::code
