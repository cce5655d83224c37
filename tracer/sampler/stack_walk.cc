#include "tracer/sampler/stack_walk.h"

#include <signal.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>

#include "tracer/sampler/frame_rules.h"
#include "tracer/sampler/rule_cache.h"
#include "tracer/sampler/unwind_lookup.h"

extern "C" void* __libc_stack_end;  // glibc's: where the stack of the process begins

namespace refrain::sampler {

namespace {

enum class Step : std::uint8_t { kCaller, kInterrupted, kOutermost, kUnknown, kNoTables };

#if defined(__x86_64__)
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
#else
FrameRegisters registers_of(const ucontext_t& context) noexcept {
  FrameRegisters registers;
  for (unsigned number = 0; number != kStackPointer; ++number)
    registers.set(number, context.uc_mcontext.regs[number]);
  registers.set(kStackPointer, context.uc_mcontext.sp);
  registers.set(kProgramCounter, context.uc_mcontext.pc);
  return registers;
}

// What a signal handler returns to: it has the kernel take back all registers, which lie on the stack.
bool is_signal_return(std::uintptr_t address) noexcept {
  constexpr std::uint32_t kReturn[2] = {0xd2801168, 0xd4000001};  // mov x8, #139; svc #0
  std::uint32_t code[2];
  return StackMemory::read_checked(address, code, sizeof code) && code[0] == kReturn[0] &&
         code[1] == kReturn[1];
}

bool take_interrupted(StackMemory& memory, FrameRegisters& registers) noexcept {
  const std::uint64_t context = registers.values[kStackPointer] + sizeof(siginfo_t);
  const auto read = [&](std::size_t offset, unsigned number) {
    std::uint64_t value = 0;
    if (!memory.read(context + offset, value)) return false;
    registers.set(number, value);
    return true;
  };
  constexpr std::size_t kGeneral = offsetof(ucontext_t, uc_mcontext.regs);
  for (unsigned number = 0; number != kStackPointer; ++number)
    if (!read(kGeneral + number * sizeof(std::uint64_t), number)) return false;
  return read(offsetof(ucontext_t, uc_mcontext.pc), kProgramCounter) &&
         read(offsetof(ucontext_t, uc_mcontext.sp), kStackPointer);
}
#endif

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
#if !defined(__x86_64__)
  // The tables that the kernel has for it know the link register only.
  if (program.signal_frame) return Step::kNoTables;
#endif
  if (!find_rules(program, address, rules)) return Step::kUnknown;
  CompactRule compact;
  if (make_compact(rules, compact)) {
    g_rules.keep(address, object.identity, compact);
    return follow(compact, memory, registers);
  }
  if (rules.registers[kReturnAddress].kind() == RuleKind::kUndefined)
    return Step::kOutermost;
  if (!apply_rules(rules, memory, registers)) return Step::kUnknown;
  return program.signal_frame ? Step::kInterrupted : Step::kCaller;
}

// Nobody calls from before the start of a function: who made this stack put the address there, and
// it is the first of a coroutine.
bool begins_function(std::uintptr_t address) noexcept {
  CodeObject object;
  FrameProgram program;
  return find_object(address, object) && find_frame_program(object, address, program) &&
         program.function_begin == address;
}

// Of the loader's code with which a process begins there are no tables; the stack begins there, too.
bool begins_process(const FrameRegisters& registers) noexcept {
  constexpr std::uint64_t kAligned = 64;  // what the loader leaves out
  const auto end = reinterpret_cast<std::uint64_t>(__libc_stack_end);
  const std::uint64_t pointer = registers.values[kStackPointer];
  return pointer <= end && end - pointer < kAligned;
}

// `exact`: the code was interrupted; else it called something, and the call may be the last
// instruction of its function.
Step step_out(bool exact, bool innermost, StackMemory& memory,
              FrameRegisters& registers) noexcept {
  const std::uintptr_t address = registers.values[kProgramCounter] - (exact ? 0 : 1);
  CodeObject object;
  Step step = Step::kNoTables;
  if (find_object(address, object)) {
    CompactRule rule;
    step = g_rules.find(address, object.identity, rule)
               ? follow(rule, memory, registers)
               : step_slow(address, object, memory, registers);
  }
  if (step != Step::kNoTables) return step;
#if !defined(__x86_64__)
  if (!exact && is_signal_return(address + 1))
    return take_interrupted(memory, registers) ? Step::kInterrupted : Step::kUnknown;
#endif
  if (!exact && (begins_function(address + 1) || begins_process(registers)))
    return Step::kOutermost;
  return guess_caller(innermost, memory, registers) ? Step::kCaller : Step::kUnknown;
}

// Callers lie further out on a stack; only a signal may come from anywhere. An interrupted function may have
// its caller's stack pointer: in longjmp(), and on aarch64 where it needs no stack.
bool further_out(std::uint64_t callers, std::uint64_t stack, bool interrupted,
                 const StackMemory& memory) noexcept {
  return callers > stack || (callers == stack && interrupted) ||
         memory.on_stack(callers) != memory.on_stack(stack);
}

}  // namespace

Walk walk_stack(const ucontext_t& context, StackBounds bounds, std::uint64_t* frames,
                unsigned most) noexcept {
  const int kept_errno = errno;
  FrameRegisters registers = registers_of(context);
  StackMemory memory(bounds, registers.values[kStackPointer],
                     reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  Walk walk;
  frames[walk.count++] = registers.values[kProgramCounter];
  bool exact = true;
  for (bool innermost = true;; innermost = false) {
    const std::uint64_t stack = registers.values[kStackPointer];
    const Step step = step_out(exact, innermost, memory, registers);
    if (step == Step::kUnknown) break;
    if (step == Step::kOutermost || registers.values[kProgramCounter] == 0) {
      walk.end = WalkEnd::kOutermost;
      break;
    }
    if (step == Step::kCaller &&
        !further_out(registers.values[kStackPointer], stack, exact, memory))
      break;
    if (walk.count == most) {
      walk.end = WalkEnd::kTooDeep;
      break;
    }
    frames[walk.count++] = registers.values[kProgramCounter];
    exact = step == Step::kInterrupted;
  }
  errno = kept_errno;
  return walk;
}

__attribute__((noinline)) Walk walk_callers(std::uint64_t returns_to, StackBounds bounds,
                                            std::uint64_t* frames, unsigned most) noexcept {
  ucontext_t context;
#if defined(__x86_64__)
  // What callees keep, and where this is; rules ask for nothing else.
  auto& registers = context.uc_mcontext.gregs;
  for (auto& value : registers) value = 0;
  asm volatile(
      "leaq 0(%%rip), %%rax\n\tmovq %%rax, %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n\t"
      "movq %%rbx, %3\n\tmovq %%r12, %4\n\tmovq %%r13, %5\n\tmovq %%r14, %6\n\t"
      "movq %%r15, %7"
      : "=m"(registers[REG_RIP]), "=m"(registers[REG_RSP]), "=m"(registers[REG_RBP]),
        "=m"(registers[REG_RBX]), "=m"(registers[REG_R12]), "=m"(registers[REG_R13]),
        "=m"(registers[REG_R14]), "=m"(registers[REG_R15])
      :
      : "rax");
#else
  getcontext(&context);
#endif
  std::uint64_t all[kMaxCallers + kOwnFrames];
  const Walk walked = walk_stack(context, bounds, all, most + kOwnFrames);
  unsigned begin = 0;
  while (begin < walked.count && begin <= kOwnFrames && all[begin] != returns_to) ++begin;
  if (begin == walked.count || begin > kOwnFrames) {
    frames[0] = returns_to;
    return {1, WalkEnd::kUnknownCaller};
  }
  Walk walk{0, walked.end};
  while (begin != walked.count && walk.count != most) frames[walk.count++] = all[begin++];
  if (begin != walked.count) walk.end = WalkEnd::kTooDeep;
  return walk;
}

}  // namespace refrain::sampler

namespace refrain::sampler {

namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::uint64_t kLowest = 4096;           // nothing is mapped below
constexpr std::uint64_t kLargestFrame = 1 << 20;  // where the stack is not known
constexpr unsigned kBefore = 8;

#if defined(__x86_64__)
// Length of an instruction of one opcode byte with this operand; `sib`: the byte after.
unsigned call_length(unsigned operand, unsigned sib) noexcept {
  const unsigned mode = operand >> 6;
  const unsigned place = operand & 7;
  if (mode == 3) return 2;
  unsigned length = place == 4 ? 3 : 2;
  if (mode == 1) return length + 1;
  if (mode == 2) return length + 4;
  if (place == 5 || (place == 4 && (sib & 7) == 5)) length += 4;
  return length;
}

#endif

bool is_return_address(std::uint64_t address) noexcept {
  if (address < kLowest) return false;
  unsigned char before[kBefore];
  if (StackMemory::read_checked(address - kBefore, before, kBefore))
    return ends_with_call(before);
  CodeObject object;
  FrameProgram program;
  return !StackMemory::may_check() && find_object(address - 1, object) &&
         find_frame_program(object, address - 1, program);
}

#if defined(__x86_64__)
// Not on another stack: a coroutine's functions may have their creator's frame pointer.
bool may_be_frame(std::uint64_t stack, std::uint64_t frame,
                  const StackMemory& memory) noexcept {
  if (frame < stack || frame % kWord != 0) return false;
  const bool on_stack = memory.on_stack(stack);
  return memory.on_stack(frame) == on_stack && (on_stack || frame - stack <= kLargestFrame);
}

void return_to(std::uint64_t caller, std::uint64_t stack, std::uint64_t frame,
               FrameRegisters& registers) noexcept {
  registers.known = 0;
  registers.set(kProgramCounter, caller);
  registers.set(kStackPointer, stack);
  registers.set(kFramePointer, frame);
}
#endif

}  // namespace

#if defined(__x86_64__)
bool ends_with_call(const unsigned char* before) noexcept {
  constexpr unsigned kNear = 0xe8;      // call with a distance of 4 bytes
  constexpr unsigned kIndirect = 0xff;  // with 2 in the middle of the operand: call
  if (before[kBefore - 5] == kNear) return true;
  for (const unsigned length : {2u, 3u, 4u, 6u, 7u}) {
    const unsigned char* const code = before + kBefore - length;
    if (code[0] == kIndirect && (code[1] >> 3 & 7) == 2 &&
        call_length(code[1], length > 2 ? code[2] : 0) == length)
      return true;
  }
  return false;
}

bool guess_caller(bool innermost, StackMemory& memory, FrameRegisters& registers) noexcept {
  if (!registers.knows(kStackPointer)) return false;
  const std::uint64_t stack = registers.values[kStackPointer];
  const std::uint64_t frame =
      registers.knows(kFramePointer) ? registers.values[kFramePointer] : 0;
  std::uint64_t top = 0;
  std::uint64_t caller = 0;
  if (innermost && memory.read(stack, top)) {
    if (is_return_address(top))
      return return_to(top, stack + kWord, frame, registers), true;
    // The frame pointer has just been saved, or is about to be restored.
    if (top == frame && memory.read(stack + kWord, caller) && is_return_address(caller))
      return return_to(caller, stack + 2 * kWord, frame, registers), true;
  }
  std::uint64_t outer = 0;
  if (!may_be_frame(stack, frame, memory) || !memory.read(frame, outer) ||
      !memory.read(frame + kWord, caller) || !is_return_address(caller))
    return false;
  return return_to(caller, frame + 2 * kWord, outer, registers), true;
}
#else
bool ends_with_call(const unsigned char* before) noexcept {
  std::uint32_t word = 0;
  __builtin_memcpy(&word, before + kBefore - sizeof word, sizeof word);
  const bool to_register =
      (word & 0xfffffc1f) == 0xd63f0000 || (word & 0xfefff800) == 0xd63f0800;
  return (word & 0xfc000000) == 0x94000000 || to_register;  // bl, blr, blraa
}

// The frame pointer leads to return addresses, but not to the stack pointers that other rules need.
// Stubs of the linker, which have no tables, use neither.
bool guess_caller(bool innermost, StackMemory&, FrameRegisters& registers) noexcept {
  if (!innermost || !registers.knows(kReturnAddress)) return false;
  const std::uint64_t caller = unsigned_address(registers.values[kReturnAddress]);
  if (!is_return_address(caller)) return false;
  registers.set(kProgramCounter, caller);
  return true;
}
#endif

}  // namespace refrain::sampler
