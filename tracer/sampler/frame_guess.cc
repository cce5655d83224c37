#include "tracer/sampler/frame_guess.h"

#include <initializer_list>

#include "tracer/sampler/unwind_lookup.h"

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
