// What a loop carries: words of a function's frame, or registers that calls keep, which change only when the loop comes round.
//
// Place in the flow: ARCHITECTURE.md, stage 5, from the blocks of a function and its loops, for call_flow.h.
//
// How: a call of the loop is *early* if what writes the word is not reached before it without passing the loop's header, *late* if it is not
// reached after it; a counter that is stepped at the end has early calls only. From an early call to an early one, or a late
// one to a late one, a value that differs proves that the loop has come round, or was left and entered. One that does not
// differ proves nothing.
// Of words in memory only those count that are stepped (that something is added to, or that are replaced by what they lead to), and
// whose own address nobody takes: others could be written through a pointer.
// Frames are followed by the stack pointer, and by the frame pointer where it is one.
// Thread-safety: none. Ownership: refers to the graph and the loops. Errors: what is not understood has no words; aarch64 has none.
// Cost: about a microsecond an instruction, once a function; then for each loop linear in the function's blocks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "code/code_image.h"
#include "code/disassembler.h"
#include "code/natural_loops.h"

namespace refrain::code {

struct LoopWord {
  enum class In : std::uint8_t {
    kRegister,  // rbx, rbp, r12 to r15: `number` 0 to 5
    kFrame,     // in memory, from the canonical frame address
    kPointed    // in memory, from the frame pointer
  };
  In in = In::kRegister;
  std::uint8_t number = 0;
  std::uint8_t bytes = 8;
  std::int32_t offset = 0;
  bool operator==(const LoopWord&) const = default;
};

// Of one loop.
struct CarriedWord {
  enum class Phase : std::uint8_t { kEarly, kLate, kUnknown };
  bool searched = false;
  LoopWord word;
  std::vector<Phase> phases;  // of the call at each node's end; empty: there is no word
};

// A function, cut after its calls.
struct CutCode {
  const Digraph& next;
  std::span<const std::uint64_t> begins;  // of each node
  std::span<const std::uint64_t> ends;
  const std::vector<bool>& calls;  // whether it ends with one
  Node entry;
};

class FrameWrites {
 public:
  FrameWrites(const CutCode& code, const CodeImage& image,
              const Disassembler& disassembler);
  // Of one of its loops.
  CarriedWord find(const CutCode& code, const HeadedLoops& loops, std::uint32_t loop) const;

 private:
  class Reader;
  class Search;
  struct Write {
    Node node;
    bool steps;
  };
  struct StackWrite : Write {
    std::int64_t key;  // see loop_words.cc
    std::uint8_t bytes;
  };
  static constexpr unsigned kRegisters = 6;

  std::array<std::vector<Write>, kRegisters> registers_;
  std::vector<StackWrite> stack_;
  std::vector<std::int64_t> taken_;  // keys of which the address is taken
  bool whole_ = false;
};

}  // namespace refrain::code
