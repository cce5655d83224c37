// Where the caller's registers are while a function is at a certain instruction.
//
// Place in the flow: under stack_walk.h; made of what unwind_lookup.h finds.
// Thread-safety: pure; safe in signal handlers. No recursion, about 1 KiB of stack.
// Ownership: expressions point into the tables.
// Errors: unknown instructions, nested states deeper than 4: no rules.
// Cost: linear in the instructions up to the address; 0.1 to 0.5 us.
// Source: DWARF 5, section 6.4; Linux Standard Base for DW_CFA_GNU_args_size.
#pragma once

#include <cstdint>

#include "tracer/sampler/frame_registers.h"
#include "tracer/sampler/stack_memory.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::sampler {

enum class RuleKind : std::uint8_t {
  kSame,          // not changed by the function
  kUndefined,     // lost; of the return address: there is no caller
  kAtCfa,         // in memory, at the canonical frame address plus an offset
  kCfaPlus,       // that address plus an offset
  kRegister,      // in another register
  kAtExpression,  // in memory, at an address that an expression computes
  kExpression,    // computed by an expression
};

// Of one register, in one word: a kind, and an offset, a register or the place of an expression.
struct RegisterRule {
  std::int64_t word = 0;

  RegisterRule() = default;
  RegisterRule(RuleKind kind, std::int64_t operand) noexcept
      : word(static_cast<std::int64_t>(static_cast<std::uint64_t>(operand) << 3) |
             static_cast<std::int64_t>(kind)) {}
  RuleKind kind() const noexcept { return static_cast<RuleKind>(word & 7); }
  std::int64_t operand() const noexcept { return word >> 3; }
};

struct FrameRules {
  std::uint64_t cfa_register = kStackPointer;
  std::int64_t cfa_offset = 0;
  const std::uint8_t* cfa_expression =
      nullptr;  // its length first; null: register and offset
  RegisterRule registers[kRegisters];
  bool signal_frame = false;
};

// The block that begins there; those that rules refer to were checked against the tables' end.
ByteRange expression_at(const std::uint8_t* place) noexcept;

bool find_rules(const FrameProgram& program, std::uintptr_t address,
                FrameRules& rules) noexcept;

// From a frame to its caller: the registers as they are after the return; kStackPointer is the canonical
// frame address unless the rules say otherwise. False: something needed is unknown or unreadable.
bool apply_rules(const FrameRules& rules, StackMemory& memory,
                 FrameRegisters& registers) noexcept;

}  // namespace refrain::sampler
