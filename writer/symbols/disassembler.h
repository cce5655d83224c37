// Decodes the instructions of a function, as far as where control goes after each of them.
//
// Place in the flow: ARCHITECTURE.md, step 7, under machine_code.h.
//
// How: by Capstone (x86-64). Its shared library is loaded when the first function is looked
// at, because most runs need none and its tables take a millisecond to relocate.
// Thread-safety: none; one user at a time. Owns Capstone's handle.
// Errors: without the library, or for invalid instructions, `bytes` is 0.
// Cost: 1 ms once; then about a microsecond an instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace refrain::writer {

struct Instruction {
  enum class Flow : std::uint8_t {
    kNext,    // to the next instruction; calls, too
    kJump,    // to `target`
    kBranch,  // to `target` or to the next one
    kEnd,     // it returns or traps
    kUnknown  // to an address in a register or in memory
  };
  std::size_t bytes = 0;  // 0: not understood
  Flow flow = Flow::kNext;
  std::int64_t target = 0;  // of kJump and kBranch: relative to the instruction's begin
};

class Disassembler {
 public:
  Disassembler();
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  bool available() const noexcept { return state_ != nullptr; }

  // The instruction at the begin of `code`.
  Instruction decode(std::span<const std::uint8_t> code) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace refrain::writer
