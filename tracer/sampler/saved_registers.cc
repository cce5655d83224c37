#include "tracer/sampler/saved_registers.h"

#include "tracer/sampler/frame_expression.h"
#include "tracer/sampler/frame_rules.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::sampler {

#if defined(__x86_64__)
__attribute__((noinline)) unsigned saved_registers(StackBounds bounds, SavedFrame* frames,
                                                   unsigned most) noexcept {
  constexpr unsigned kNumbers[kKeptRegisters] = {kRbx, kFramePointer, 12, 13, 14, 15};
  const auto* const own = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  const auto own_frame = reinterpret_cast<std::uintptr_t>(own);
  FrameRegisters registers;
  registers.set(kProgramCounter,
                reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
  registers.set(kStackPointer, reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()));
  registers.set(kFramePointer, *own);
  StackMemory memory(bounds, own_frame, own_frame);
  std::array<std::uint64_t, kKeptRegisters> at{};
  unsigned count = 0;
  while (count != most) {
    const std::uint64_t call = registers.values[kProgramCounter] - 1;
    CodeObject object;
    FrameProgram program;
    FrameRules rules;
    if (!find_object(call, object) || !find_frame_program(object, call, program) ||
        !find_rules(program, call, rules) || rules.signal_frame)
      break;
    FrameRegisters callers = registers;
    if (!apply_rules(rules, memory, callers)) break;
    const std::uint64_t cfa = callers.values[kStackPointer];
    frames[count++] = {cfa - sizeof(std::uint64_t), at};
    for (unsigned i = 0; i != kKeptRegisters; ++i) {
      const RegisterRule rule = rules.registers[kNumbers[i]];
      if (rule.kind() == RuleKind::kSame) continue;
      at[i] = 0;
      if (rule.kind() == RuleKind::kAtCfa)
        at[i] = cfa + static_cast<std::uint64_t>(rule.operand());
      else if (rule.kind() != RuleKind::kAtExpression ||
               !evaluate(
                   expression_at(reinterpret_cast<const std::uint8_t*>(rule.operand())),
                   registers, memory, true, cfa, at[i]))
        at[i] = 0;
    }
    registers = callers;
  }
  return count;
}
#else
unsigned saved_registers(StackBounds, SavedFrame*, unsigned) noexcept { return 0; }
#endif

}  // namespace refrain::sampler
