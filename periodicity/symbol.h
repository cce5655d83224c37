// Symbol: identifier of one kind of event of the program, e.g. of a parallel region's call site.
#pragma once

#include <cstddef>
#include <cstdint>

#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

using Symbol = std::uint64_t;

// A bit of symbols of communication with one other process (messages): how many of these come, and in
// which order, may depend on timing and data. Where it does, they do not decide what a loop is
// (NestedDetector).
inline constexpr Symbol kMessageSymbol = Symbol{1} << 40;

// Hashes of symbols and of words (sequences) of symbols.
//
// Place in the flow: inside the detectors of this directory, which use a hash only to find
// candidates and compare the symbols themselves before they accept one.
// A word x(0) … x(n-1) has the hash Σ mix(x(j))·B^(n-1-j) modulo 2^64: it rolls, and the
// hash of a concatenation follows from those of its parts.

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

// SymbolNumbers: numbers symbols in the order of their first appearance.
//
// Place in the flow: in the tracer, before IterationGate and the detector. A symbol contains
// a code address, which differs from run to run and from process to process where addresses
// are randomised. The detectors keep tables of fixed size and find symbols in them by hash:
// a collision is no error, but may delay a detection. With numbers, programs that do the
// same get the same loops, in every run and in every process. Thread-safety:
// none. Cost: a multiplication, a load and a comparison; allocates in the constructor only
// (128 KiB). Symbols after the first kMax keep their values.

class SymbolNumbers {
 public:
  static constexpr std::size_t kMax = 4096;

  // From 1 on.
  Symbol number(Symbol symbol) noexcept {
    std::size_t slot = mix(symbol) % kSlots;
    for (; entries_[slot].number != 0; slot = (slot + 1) % kSlots)
      if (entries_[slot].symbol == symbol) return entries_[slot].number;
    if (count_ == kMax) return symbol;
    entries_[slot] = {symbol, ++count_};
    return count_;
  }

 private:
  static constexpr std::size_t kSlots = 2 * kMax;

  // No AppendOnlyMap: any value is a symbol, so that none can mark a free entry.
  struct Entry {
    Symbol symbol = 0;
    Symbol number = 0;
  };
  ZeroedArray<Entry> entries_{kSlots};
  Symbol count_ = 0;
};

}  // namespace refrain::periodicity
