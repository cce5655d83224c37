// DistinctSymbols: counts how many different symbols there were.
//
// Place in the flow: `refrain detect`. Thread-safety: none. Memory: 16 to 32 bytes for
// each of them (a table with open addressing, at most half full; no AppendOnlyMap, for it grows).
#pragma once

#include <cstdint>
#include <vector>

#include "periodicity/loop_detector.h"

namespace refrain::tools {

class DistinctSymbols {
 public:
  void add(periodicity::Symbol symbol) {
    if (symbol == 0) {
      has_zero_ = true;
      return;
    }
    if (!insert(symbol)) return;
    if (2 * ++count_ > table_.size()) grow();
  }

  std::uint64_t size() const noexcept { return count_ + (has_zero_ ? 1 : 0); }

 private:
  bool insert(periodicity::Symbol symbol) noexcept {
    const std::uint64_t hash = symbol * 0x9e3779b97f4a7c15u;
    std::uint64_t at = (hash ^ (hash >> 32)) & (table_.size() - 1);
    for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
      if (table_[at] == symbol) return false;
    table_[at] = symbol;
    return true;
  }

  void grow() {
    std::vector<periodicity::Symbol> old(2 * table_.size());
    old.swap(table_);
    for (const periodicity::Symbol symbol : old)
      if (symbol != 0) insert(symbol);
  }

  std::vector<periodicity::Symbol> table_ = std::vector<periodicity::Symbol>(64);
  std::uint64_t count_ = 0;
  bool has_zero_ = false;  // 0 marks a free place
};

}  // namespace refrain::tools
