#include "tracer/runtime/carried_words.h"

#include <algorithm>

namespace refrain::runtime {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

}  // namespace

bool CarriedWords::any(std::span<const periodicity::PathFrame> frames,
                       code::CallFlow& flow) noexcept {
  for (const periodicity::PathFrame& frame : frames)
    for (std::size_t loop = flow.loops(frame.place).size(); loop-- != 0;)
      if (flow.carried(frame.place, loop).known) return true;
  return false;
}

void CarriedWords::find(std::uint32_t path, unsigned variant, std::uint64_t stack,
                        std::span<const periodicity::PathFrame> frames,
                        periodicity::CodeFacts& facts, code::CallFlow& flow,
                        sampler::StackBounds bounds) noexcept {
  List& list = lists_[path * Paths::kVariants + variant];
  list.made = true;
  list.stack = 0;
  list.count = 0;
  if (list.times == kMaxTimes) return;  // it moves
  ++list.times;
  std::array<periodicity::CarriedWord, periodicity::CodeFacts::kMaxCarried> found;
  std::size_t count = 0;
  std::uint64_t loop = 0;
  unsigned saved = 0;
  // 0: not known.
  const auto address_of = [&](const code::LoopWord& word, std::uint64_t base) {
    using In = code::LoopWord::In;
    constexpr unsigned kRbp = 1;
    if (base == 0) return std::uint64_t{0};
    if (word.in == In::kFrame)
      return base + kWord + static_cast<std::uint64_t>(std::int64_t{word.offset});
    list.stack = stack;
    if (saved == 0) saved = sampler::saved_registers(bounds, saved_.data(), kMaxSaved);
    const auto* const begin = saved_.data();
    const auto* const end = begin + saved;
    const auto* const frame =
        std::find_if(begin, end, [base](const auto& each) { return each.base == base; });
    if (frame == end) return std::uint64_t{0};
    if (word.in == In::kRegister) return frame->at[word.number];
    const std::uint64_t pointer = frame->at[kRbp];
    return pointer == 0 ? 0
                        : sampler::StackMemory::loaded(pointer) +
                              static_cast<std::uint64_t>(std::int64_t{word.offset});
  };
  for (const periodicity::PathFrame& frame : frames) {
    const std::size_t loops = facts.loops(frame.place).size();  // of Python code, too
    for (std::size_t i = 0; i != loops && loop != periodicity::CodeFacts::kMaxCarried;
         ++i, ++loop) {
      const code::CallFlow::Carried carried = flow.carried(frame.place, i);
      if (!carried.known) continue;
      if (const std::uint64_t address = address_of(carried.word, frame.base); address != 0)
        found[count++] = {address, ~std::uint64_t{0} >> (64 - 8 * carried.word.bytes),
                          loop + (carried.late ? periodicity::CodeFacts::kMaxCarried : 0)};
    }
  }
  if (list.room < count) {
    if (kWords - used_ < count) return;
    list.first = used_;
    list.room = static_cast<std::uint16_t>(count);
    used_ += static_cast<std::uint32_t>(count);
  }
  std::copy_n(found.begin(), count, &words_[list.first]);
  list.count = static_cast<std::uint16_t>(count);
}

}  // namespace refrain::runtime
