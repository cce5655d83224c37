// Hashes of symbols and of words (sequences) of symbols.
//
// Place in the flow: inside the detectors of this directory, which use a hash only to find
// candidates and compare the symbols themselves before they accept one.
// A word x(0) … x(n-1) has the hash Σ mix(x(j))·B^(n-1-j) modulo 2^64: it rolls, and the
// hash of a concatenation follows from those of its parts.
#pragma once

#include <cstdint>

#include "periodicity/loop_detector.h"

namespace refrain::periodicity {

inline constexpr std::uint64_t kHashBase = 0xd1342543de82ef95u;  // odd, well mixed bits

// Spreads the few low bits in which symbols differ over all 64.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 32) ^ 0x5bf03635dcd7e2d1u) * 0x9e3779b97f4a7c15u;
  return value ^ (value >> 29);
}

constexpr std::uint64_t append_hash(std::uint64_t hash, Symbol symbol) noexcept {
  return hash * kHashBase + mix(symbol);
}

constexpr std::uint64_t hash_power(std::uint64_t exponent) noexcept {
  std::uint64_t result = 1;
  for (std::uint64_t base = kHashBase; exponent != 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

}  // namespace refrain::periodicity
