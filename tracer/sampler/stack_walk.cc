#include "tracer/sampler/stack_walk.h"

#include <cerrno>

#include "tracer/sampler/frame_guess.h"
#include "tracer/sampler/frame_rules.h"
#include "tracer/sampler/rule_cache.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::sampler {

#if defined(__x86_64__)
namespace {

RuleCache g_rules;

enum class Step : std::uint8_t { kCaller, kInterrupted, kOutermost, kUnknown, kNoTables };

FrameRegisters registers_of(const ucontext_t& context) noexcept {
  constexpr int kPlaces[kRegisters] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  FrameRegisters registers;
  for (unsigned number = 0; number != kRegisters; ++number)
    registers.set(number,
                  static_cast<std::uint64_t>(context.uc_mcontext.gregs[kPlaces[number]]));
  return registers;
}

Step follow(const CompactRule& rule, StackMemory& memory,
            FrameRegisters& registers) noexcept {
  if (rule.form == CompactRule::kOutermost) return Step::kOutermost;
  return apply_compact(rule, memory, registers) ? Step::kCaller : Step::kUnknown;
}

__attribute__((noinline)) Step step_slow(std::uintptr_t address, const CodeObject& object,
                                         StackMemory& memory,
                                         FrameRegisters& registers) noexcept {
  FrameProgram program;
  FrameRules rules;
  if (!find_frame_program(object, address, program)) return Step::kNoTables;
  if (!find_rules(program, address, rules)) return Step::kUnknown;
  CompactRule compact;
  if (make_compact(rules, compact)) {
    g_rules.keep(address, object.identity, compact);
    return follow(compact, memory, registers);
  }
  if (rules.registers[kRip].kind() == RuleKind::kUndefined) return Step::kOutermost;
  if (!apply_rules(rules, memory, registers)) return Step::kUnknown;
  return program.signal_frame ? Step::kInterrupted : Step::kCaller;
}

// Nobody calls from before the begin of a function: who made this stack put the address there, and
// it is the first of a coroutine.
bool begins_function(std::uintptr_t address) noexcept {
  CodeObject object;
  FrameProgram program;
  return find_object(address, object) && find_frame_program(object, address, program) &&
         program.function_begin == address;
}

// `exact`: the code was interrupted; else it called something, and the call may be the last
// instruction of its function.
Step step_out(bool exact, bool innermost, StackMemory& memory,
              FrameRegisters& registers) noexcept {
  const std::uintptr_t address = registers.values[kRip] - (exact ? 0 : 1);
  CodeObject object;
  Step step = Step::kNoTables;
  if (find_object(address, object)) {
    CompactRule rule;
    step = g_rules.find(address, object.identity, rule)
               ? follow(rule, memory, registers)
               : step_slow(address, object, memory, registers);
  }
  if (step != Step::kNoTables) return step;
  if (!exact && begins_function(address + 1)) return Step::kOutermost;
  return guess_caller(innermost, memory, registers) ? Step::kCaller : Step::kUnknown;
}

// Callers lie further out on a stack; only a signal may come from anywhere. In longjmp() the innermost
// frame may have its caller's stack pointer already.
bool further_out(std::uint64_t callers, std::uint64_t stack, bool innermost,
                 const StackMemory& memory) noexcept {
  return callers > stack || (callers == stack && innermost) ||
         memory.on_stack(callers) != memory.on_stack(stack);
}

}  // namespace

Walk walk_stack(const ucontext_t& context, StackBounds bounds, std::uint64_t* frames,
                unsigned most) noexcept {
  const int kept_errno = errno;
  FrameRegisters registers = registers_of(context);
  StackMemory memory(bounds, registers.values[kRsp],
                     reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  Walk walk;
  frames[walk.count++] = registers.values[kRip];
  bool exact = true;
  for (bool innermost = true;; innermost = false) {
    const std::uint64_t stack = registers.values[kRsp];
    const Step step = step_out(exact, innermost, memory, registers);
    if (step == Step::kUnknown) break;
    if (step == Step::kOutermost || registers.values[kRip] == 0) {
      walk.end = WalkEnd::kOutermost;
      break;
    }
    if (step == Step::kCaller &&
        !further_out(registers.values[kRsp], stack, innermost, memory))
      break;
    if (walk.count == most) {
      walk.end = WalkEnd::kTooDeep;
      break;
    }
    frames[walk.count++] = registers.values[kRip];
    exact = step == Step::kInterrupted;
  }
  errno = kept_errno;
  return walk;
}

#else

Walk walk_stack(const ucontext_t&, StackBounds, std::uint64_t*, unsigned) noexcept {
  return {};
}

#endif

}  // namespace refrain::sampler
