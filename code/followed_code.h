// A function's instructions once they have been followed, and the blocks that are made of them.
//
// Place in the flow: private to block_graph.h: FlowReader fills it, make_blocks() is its last step.
// Thread-safety: plain values. Ownership: the bytes are the image's. Cost: some bytes for each byte of the function.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "code/block_graph.h"
#include "code/code_image.h"
#include "code/disassembler.h"

namespace refrain::code {

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
