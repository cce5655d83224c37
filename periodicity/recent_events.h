// RecentEvents: the latest events, by position, whether they were explained or not.
//
// Place in the flow: inside NestedDetector, which reads them again where iterations differ
// too much to compare them with a body.
// Thread-safety: none. Cost: one store an event; allocates in the constructor only.
#pragma once

#include <cstdint>
#include <vector>

#include "periodicity/symbol.h"

namespace refrain::periodicity {

class RecentEvents {
 public:
  static constexpr std::uint64_t kSize = 1 << 14;

  // Symbol and depth in one word, which is all that is compared: symbols that differ only in
  // their highest 16 bits count as the same.
  using Word = std::uint64_t;

  void note(std::uint64_t position, Symbol symbol, std::uint16_t depth) noexcept {
    words_[position % kSize] = symbol << 16 | depth;
  }
  Word operator[](std::uint64_t position) const noexcept {
    return words_[position % kSize];
  }
  static constexpr std::uint16_t depth(Word word) noexcept {
    return static_cast<std::uint16_t>(word);
  }
  static constexpr Symbol symbol(Word word) noexcept { return word >> 16; }
  // The bits of a symbol that a word has.
  static constexpr Symbol compared(Symbol symbol) noexcept { return (symbol << 16) >> 16; }

 private:
  std::vector<Word> words_ = std::vector<Word>(kSize);
};

}  // namespace refrain::periodicity
