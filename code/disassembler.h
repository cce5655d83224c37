// Decodes the instructions of x86-64 and aarch64: where control goes after each of them, and, of x86-64,
// for those before a jump through a table, what they compute.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/block_graph.h and code/jump_table.h.
//
// How: x86-64 by common_code.h, and what that does not know by Zydis; aarch64 by aarch64_code.h. Zydis' shared library is
// loaded by the first available(), which must come before other threads may load libraries and wait for this one.
// Thread-safety: any thread. Owns nothing.
// Errors: without the library, or for invalid instructions, `bytes` is 0. Operations of aarch64 are kOther.
// Cost: some 10 ns an instruction, by Zydis some 100.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace refrain::code {

struct Instruction {
  enum class Flow : std::uint8_t {
    kNext,    // to the next instruction
    kCall,    // the same, after a call
    kJump,    // to `target`
    kBranch,  // to `target` or to the next one
    kEnd,     // it returns or traps
    kUnknown  // a jump to an address in a register or in memory
  };
  enum class Condition : std::uint8_t { kOther, kAbove, kAboveEqual, kBelow, kBelowEqual };

  std::uint8_t bytes = 0;  // 0: not understood
  Flow flow = Flow::kNext;
  Condition condition = Condition::kOther;  // of kBranch; unsigned ones only
  bool padding = false;                     // does nothing: nop, int3
  bool returns = false;                     // of kEnd
  // Of kJump, kBranch and direct calls: where to; `slot`, of calls and jumps through a word
  // at a fixed address: where that word is. Relative to the instruction's begin.
  bool direct = false;
  bool through_slot = false;
  std::int64_t target = 0;
  std::int64_t slot = 0;
};

// What an instruction computes, if it is one of those that compilers use to find the target
// of a jump table. Registers have the numbers of the machine (rax 0, ..., r15 15).
struct Operation {
  static constexpr std::int8_t kNone = -1;
  enum class Kind : std::uint8_t {
    kOther,    // something else; `written` says what it overwrites
    kMove,     // to = from, or = constant (from is none)
    kAddress,  // to = base + index * scale + offset
    kLoad,     // to = word of `width` bytes there; also "jmp *(...)" and "call *(...)"
    kStore,    // word there = from
    kAdd,      // to += from, or the constant
    kScale,    // to <<= constant
    kAnd,      // to &= constant
    kCompare,  // a register or word in memory with a constant
    kWiden,    // sign extension of eax to rax
    kJump      // to the address in `from`
  };
  Kind kind = Kind::kOther;
  std::int8_t to = kNone;
  std::int8_t from = kNone;
  std::int8_t base = kNone;
  std::int8_t index = kNone;
  std::uint8_t scale = 1;
  std::uint8_t width = 8;     // bytes read by kLoad and kMove
  bool from_next = false;     // `offset` counts from the end of the instruction (rip)
  std::int64_t offset = 0;    // of the address, or the constant
  std::int64_t limit = 0;     // the constant of kCompare
  std::uint32_t written = 0;  // bits of registers
};

// What an instruction changes: registers (numbers as above), and the word in memory that it names.
struct Effect {
  enum class Kind : std::uint8_t {
    kOther,      // `written` says what
    kMove,       // to = from
    kAdd,        // to += constant; 0: something else
    kAddress,    // to = base + index * scale + offset
    kLoad,       // to = the word there
    kStore,      // the word there = from
    kAddMemory,  // the word there += something
    kPush,
    kPop,  // into `to`; kNone: elsewhere
    kLeave
  };
  std::uint8_t bytes = 0;  // 0: not understood
  Kind kind = Kind::kOther;
  std::int8_t to = Operation::kNone;
  std::int8_t from = Operation::kNone;
  std::int8_t base = Operation::kNone;  // of the word; or not one of these registers
  std::int8_t index = Operation::kNone;
  bool stores = false;     // to the word
  std::uint8_t width = 0;  // of the word, in bytes, if it is stored to; 0: not known
  std::uint16_t written = 0;
  std::int64_t offset = 0;
  std::int64_t constant = 0;
};

class Disassembler {
 public:
  // `machine`: EM_X86_64 or EM_AARCH64 (ElfImage::machine()).
  explicit Disassembler(std::uint16_t machine = EM_X86_64);

  // Returns true if all instructions can be decoded: Zydis is installed.
  bool available() const noexcept;
  bool is_aarch64() const noexcept { return is_aarch64_; }

  // The instruction at the start of `code`.
  Instruction decode(std::span<const std::uint8_t> code) const;
  Operation operation(std::span<const std::uint8_t> code) const;
  // Of x86-64 alone.
  static Effect effect(std::span<const std::uint8_t> code);
  // By Zydis, not by common_code.h.
  static Instruction decode_any(std::span<const std::uint8_t> code);
  static Effect effect_any(std::span<const std::uint8_t> code);

 private:
  bool is_aarch64_;
};

}  // namespace refrain::code
