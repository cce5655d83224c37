// The registers of one frame: what is known of them while a stack is walked.
//
// Place in the flow: under stack_walk.h. Numbers are DWARF's (psABI, figure 3.36).
// Thread-safety: a plain value.
#pragma once

#include <cstdint>

namespace refrain::sampler {

inline constexpr unsigned kRbx = 3;
inline constexpr unsigned kRbp = 6;
inline constexpr unsigned kRsp = 7;
inline constexpr unsigned kRip = 16;
inline constexpr unsigned kRegisters = 17;

struct FrameRegisters {
  std::uint64_t values[kRegisters];
  std::uint32_t known = 0;  // one bit each

  bool knows(std::uint64_t number) const noexcept {
    return number < kRegisters && (known >> number & 1) != 0;
  }
  void set(unsigned number, std::uint64_t value) noexcept {
    values[number] = value;
    known |= std::uint32_t{1} << number;
  }
  void forget(unsigned number) noexcept { known &= ~(std::uint32_t{1} << number); }
};

}  // namespace refrain::sampler
