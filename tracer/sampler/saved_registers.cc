#include "tracer/sampler/saved_registers.h"

#include "tracer/sampler/frame_expression.h"
#include "tracer/sampler/frame_rules.h"
#include "tracer/sampler/rule_cache.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::sampler {

#if defined(__x86_64__)
namespace {

using Places = std::array<std::uint64_t, kKeptRegisters>;
constexpr unsigned kNumbers[kKeptRegisters] = {kRbx, kFramePointer, 12, 13, 14, 15};

// From a frame to its caller's registers, and where this frame has saved them.
bool step_out(const FrameRules& rules, StackMemory& memory, FrameRegisters& registers,
              Places& at) noexcept {
  FrameRegisters callers = registers;
  if (rules.signal_frame || !apply_rules(rules, memory, callers)) return false;
  const std::uint64_t cfa = callers.values[kStackPointer];
  for (unsigned i = 0; i != kKeptRegisters; ++i) {
    const RegisterRule rule = rules.registers[kNumbers[i]];
    if (rule.kind() == RuleKind::kSame) continue;
    at[i] = 0;
    if (rule.kind() == RuleKind::kAtCfa)
      at[i] = cfa + static_cast<std::uint64_t>(rule.operand());
    else if (rule.kind() != RuleKind::kAtExpression ||
             !evaluate(expression_at(reinterpret_cast<const std::uint8_t*>(rule.operand())),
                       registers, memory, true, cfa, at[i]))
      at[i] = 0;
  }
  registers = callers;
  return true;
}

bool step_out(const CompactRule& rule, StackMemory& memory, FrameRegisters& registers,
              Places& at) noexcept {
  const std::uint64_t base = registers.values[rule.base];
  if (rule.form == CompactRule::kOutermost || !apply_compact(rule, memory, registers))
    return false;
  const std::uint64_t from =
      rule.form == CompactRule::kAlignedStack ? base : registers.values[kStackPointer];
  static_assert(sizeof CompactRule::kSaved == kKeptRegisters);
  for (unsigned i = 0; i != kKeptRegisters; ++i)
    if (rule.saved[i] != CompactRule::kNotSaved)
      at[i] = from + static_cast<std::uint64_t>(std::int64_t{8} * rule.saved[i]);
  return true;
}

bool step_out(StackMemory& memory, FrameRegisters& registers, Places& at) noexcept {
  const std::uint64_t call = registers.values[kProgramCounter] - 1;
  CodeObject object;
  FrameProgram program;
  FrameRules rules;
  CompactRule compact;
  if (!find_object(call, object)) return false;
  if (g_rules.find(call, object.identity, compact))
    return step_out(compact, memory, registers, at);
  if (!find_frame_program(object, call, program) || !find_rules(program, call, rules))
    return false;
  if (!make_compact(rules, compact)) return step_out(rules, memory, registers, at);
  g_rules.keep(call, object.identity, compact);
  return step_out(compact, memory, registers, at);
}

}  // namespace

__attribute__((noinline)) unsigned saved_registers(StackBounds bounds, SavedFrame* frames,
                                                   unsigned most) noexcept {
  const auto* const own = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  const auto own_frame = reinterpret_cast<std::uintptr_t>(own);
  FrameRegisters registers;
  registers.set(kProgramCounter,
                reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
  registers.set(kStackPointer, reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()));
  registers.set(kFramePointer, *own);
  StackMemory memory(bounds, registers.values[kStackPointer], own_frame);
  Places at{};
  unsigned count = 0;
  for (Places before; count != most; ++count) {
    before = at;
    if (!step_out(memory, registers, at)) break;
    frames[count] = {registers.values[kStackPointer] - sizeof(std::uint64_t), before};
  }
  return count;
}
#else
unsigned saved_registers(StackBounds, SavedFrame*, unsigned) noexcept { return 0; }
#endif

}  // namespace refrain::sampler
