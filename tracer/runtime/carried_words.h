// The words that loops around the program's call carry (code/loop_words.h): where they lie.
//
// Place in the flow: ARCHITECTURE.md, stage 4, for program_facts.h.
// How: a word of a frame lies at a distance from where the function's frame does; registers where the first function further in has saved
// them, the last of which is Refrain's own (REFRAIN_CALL_SITE sees to it). Both are found once for each
// path and the addresses that its frames have.
// Thread-safety: the primary thread's alone. Ownership: fixed memory, 2 MiB of which only what is used is taken.
// Errors: a loop whose word cannot be found is not known.
// Cost: of a path that is new some microseconds.
#pragma once

#include <cstdint>
#include <span>

#include "code/call_flow.h"
#include "periodicity/activation/code_facts.h"
#include "periodicity/zeroed_array.h"
#include "tracer/runtime/paths.h"
#include "tracer/sampler/saved_registers.h"

namespace refrain::runtime {

class CarriedWords {
 public:
  // `stack`: the stack pointer at the path's call.
  bool known(std::uint32_t path, unsigned variant, std::uint64_t stack) const noexcept {
    const List& list = lists_[path * Paths::kVariants + variant];
    return list.made && (list.stack == 0 || list.stack == stack);
  }
  // To be called from the path's call; its frames with the bases that they have now.
  void find(std::uint32_t path, unsigned variant, std::uint64_t stack,
            std::span<const periodicity::PathFrame> frames, periodicity::CodeFacts& facts,
            code::CallFlow& flow, sampler::StackBounds bounds) noexcept;
  // As CodeFacts::carried().
  std::span<const periodicity::CarriedWord> words(std::uint32_t path,
                                                  unsigned variant) const noexcept {
    const List& list = lists_[path * Paths::kVariants + variant];
    return {&words_[list.first], list.count};
  }

  // Returns true if a loop around one of the frames carries anything.
  static bool any(std::span<const periodicity::PathFrame> frames,
                  code::CallFlow& flow) noexcept;

 private:
  struct List {
    std::uint64_t stack;  // the words depend on it; 0: they do not
    std::uint32_t first;
    std::uint16_t count;
    std::uint16_t room;
    std::uint8_t times;  // it was made
    bool made;
  };
  static constexpr std::uint32_t kWords = 1 << 16;
  static constexpr std::uint8_t kMaxTimes = 100;
  static constexpr unsigned kMaxSaved = Paths::kMaxFrames + 32;  // and Refrain's own frames

  std::uint32_t used_ = 0;
  periodicity::ZeroedArray<List> lists_{(Paths::kMax + 1) * Paths::kVariants};
  periodicity::ZeroedArray<periodicity::CarriedWord> words_{kWords};
  std::array<sampler::SavedFrame, kMaxSaved> saved_;
};

}  // namespace refrain::runtime
