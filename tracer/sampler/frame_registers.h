// The registers of one frame: what is known of them while a stack is walked.
//
// Place in the flow: under stack_walk.h. Numbers are DWARF's (psABI, figure 3.36; DWARF for the Arm 64-bit Architecture,
// 4.1). aarch64 has none for the program counter of a frame; ours is the one after them.
// Thread-safety: a plain value.
#pragma once

#include <cstdint>

namespace refrain::sampler {

#if defined(__x86_64__)
inline constexpr unsigned kRbx = 3;
inline constexpr unsigned kFramePointer = 6;
inline constexpr unsigned kStackPointer = 7;
inline constexpr unsigned kProgramCounter = 16;
inline constexpr unsigned kReturnAddress = kProgramCounter;  // what tables call so
inline constexpr unsigned kRegisters = 17;
using RegisterSet = std::uint32_t;  // one bit each
#else
inline constexpr unsigned kFramePointer = 29;
inline constexpr unsigned kReturnAddress = 30;
inline constexpr unsigned kStackPointer = 31;
inline constexpr unsigned kProgramCounter = 32;
inline constexpr unsigned kRegisters = 33;
using RegisterSet = std::uint64_t;
#endif

struct FrameRegisters {
  std::uint64_t values[kRegisters];
  RegisterSet known = 0;

  bool knows(std::uint64_t number) const noexcept {
    return number < kRegisters && (known >> number & 1) != 0;
  }
  void set(unsigned number, std::uint64_t value) noexcept {
    values[number] = value;
    known |= RegisterSet{1} << number;
  }
  void forget(unsigned number) noexcept { known &= ~(RegisterSet{1} << number); }
};

#if defined(__aarch64__)
// A return address without the signature that it may have (pointer authentication). The instruction does nothing
// where there are no signatures.
inline std::uint64_t unsigned_address(std::uint64_t address) noexcept {
  register std::uint64_t link asm("x30") = address;
  asm("hint #7" : "+r"(link));  // xpaclri
  return link;
}
#endif

}  // namespace refrain::sampler
