// RecentEvents: the events pushed last, by position, whatever became of them.
//
// Place in the flow: inside NestedDetector, which reads them again where iterations differ
// too much to be recognised by comparing them with a body.
// Thread-safety: none. Cost: one store an event; allocates in the constructor only.
#pragma once

#include <cstdint>
#include <vector>

#include "periodicity/symbol.h"

namespace refrain::periodicity {

class RecentEvents {
 public:
  static constexpr std::uint64_t kSize = 1 << 14;

  // Symbol and depth in one word, which is all that is compared. Symbols that differ in
  // their highest 16 bits only would be taken for one.
  using Word = std::uint64_t;

  void note(std::uint64_t position, Symbol symbol, std::uint16_t depth) noexcept {
    words_[position % kSize] = symbol << 16 | depth;
  }
  Word operator[](std::uint64_t position) const noexcept {
    return words_[position % kSize];
  }
  static std::uint16_t depth(Word word) noexcept {
    return static_cast<std::uint16_t>(word);
  }

 private:
  std::vector<Word> words_ = std::vector<Word>(kSize);
};

}  // namespace refrain::periodicity
