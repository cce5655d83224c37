#include "tracer/sampler/rule_cache.h"

#include "tracer/sampler/frame_expression.h"

namespace refrain::sampler {
namespace {

constexpr std::int64_t kSlot = 8;
constexpr std::int64_t kReturnSlot = -kSlot;  // from the canonical frame address
constexpr std::int64_t kFarthest = 127 * kSlot;

bool is_saved_kind(unsigned number) noexcept {
  for (const unsigned saved : CompactRule::kSaved)
    if (saved == number) return true;
  return false;
}

bool fits(std::int64_t offset) noexcept {
  return offset % kSlot == 0 && offset >= -kFarthest && offset <= kFarthest;
}

// Where the canonical frame address comes from.
bool make_base(const FrameRules& rules, CompactRule& compact) noexcept {
  SimpleExpression simple{static_cast<std::uint8_t>(rules.cfa_register), rules.cfa_offset,
                          false};
  if (rules.cfa_expression != nullptr) {
    if (!is_simple(expression_at(rules.cfa_expression), simple)) return false;
    if (simple.in_memory) compact.form = CompactRule::kAlignedStack;
  } else if (rules.cfa_register >= kProgramCounter) {
    return false;
  }
  compact.base = simple.base;
  compact.offset = static_cast<std::int32_t>(simple.offset);
  return compact.offset == simple.offset;
}

bool make_saved(RegisterRule rule, const CompactRule& compact,
                std::int8_t& saved) noexcept {
  std::int64_t offset = rule.operand();
  if (rule.kind() == RuleKind::kSame) return true;
  if (rule.kind() == RuleKind::kAtExpression) {
    SimpleExpression simple;
    const auto* place = reinterpret_cast<const std::uint8_t*>(offset);
    if (compact.form != CompactRule::kAlignedStack ||
        !is_simple(expression_at(place), simple) || simple.in_memory ||
        simple.base != compact.base)
      return false;
    offset = simple.offset;
  } else if (rule.kind() != RuleKind::kAtCfa || compact.form != CompactRule::kFromCfa) {
    return false;
  }
  if (!fits(offset)) return false;
  saved = static_cast<std::int8_t>(offset / kSlot);
  return true;
}

}  // namespace

constinit RuleCache g_rules;

bool make_compact(const FrameRules& rules, CompactRule& compact) noexcept {
  compact = {};
#if !defined(__x86_64__)
  if (rules.registers[kReturnAddress].kind() != RuleKind::kUndefined) return false;
#endif
  const RegisterRule returns = rules.registers[kReturnAddress];
  if (returns.kind() == RuleKind::kUndefined) {
    compact.form = CompactRule::kOutermost;
    return true;
  }
  if (rules.signal_frame || returns.kind() != RuleKind::kAtCfa ||
      returns.operand() != kReturnSlot || !make_base(rules, compact))
    return false;
  for (unsigned number = 0; number != kProgramCounter; ++number)
    if (!is_saved_kind(number) && rules.registers[number].kind() != RuleKind::kSame)
      return false;
  for (unsigned i = 0; i != sizeof CompactRule::kSaved; ++i)
    if (!make_saved(rules.registers[CompactRule::kSaved[i]], compact, compact.saved[i]))
      return false;
  return true;
}

bool apply_compact(const CompactRule& rule, StackMemory& memory,
                   FrameRegisters& registers) noexcept {
  if (!registers.knows(rule.base)) return false;
  const std::uint64_t base = registers.values[rule.base];
  std::uint64_t cfa = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
  if (rule.form == CompactRule::kAlignedStack && !memory.read(cfa, cfa)) return false;
  std::uint64_t caller = 0;
  if (!memory.read(cfa + static_cast<std::uint64_t>(kReturnSlot), caller)) return false;
  const std::uint64_t from = rule.form == CompactRule::kAlignedStack ? base : cfa;
  for (unsigned i = 0; i != sizeof CompactRule::kSaved; ++i) {
    if (rule.saved[i] == CompactRule::kNotSaved) continue;
    std::uint64_t value = 0;
    if (memory.read(from + static_cast<std::uint64_t>(kSlot * rule.saved[i]), value))
      registers.set(CompactRule::kSaved[i], value);
    else
      registers.forget(CompactRule::kSaved[i]);
  }
  registers.set(kStackPointer, cfa);
  registers.set(kProgramCounter, caller);
  return true;
}

}  // namespace refrain::sampler
