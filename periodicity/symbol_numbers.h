// SymbolNumbers: numbers symbols in the order of their first appearance.
//
// Place in the flow: in the tracer, before IterationGate and the detector. A symbol contains
// a code address, which differs from run to run and from process to process where addresses
// are randomised. The detectors keep tables of fixed size and find symbols in them by hash:
// a collision is no error, but may delay a detection. With numbers, programs that do the
// same get the same loops, in every run and in every process. Thread-safety:
// none. Cost: a multiplication, a load and a comparison; allocates in the constructor only
// (128 KiB). Symbols after the first kMax keep their values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "periodicity/symbol_hash.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

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
