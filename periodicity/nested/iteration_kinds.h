// IterationKinds: the kinds of the last iterations of a loop, and whether they follow a rule.
//
// Place in the flow: inside HeaderSearch and IrregularLoops.
// Thread-safety: none. Cost: O(1) to add, a few us to ask.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace refrain::periodicity {

class IterationKinds {
 public:
  static constexpr std::uint32_t kSize = 48;

  void clear() noexcept { count_ = 0; }
  void add(std::uint64_t hash) noexcept {
    kinds_[count_++ % kSize] = static_cast<std::uint32_t>(hash >> 32);
  }
  static constexpr std::uint32_t kContext = 8;

  std::uint32_t size() const noexcept { return std::min(count_, kSize); }

  // How many of the later half were not of the expected kind: the one that followed the longest
  // equal context.
  std::uint32_t surprises() const noexcept {
    std::array<std::uint32_t, kSize> kinds;
    const std::uint32_t count = size();
    for (std::uint32_t k = 0; k != count; ++k) {
      kinds[k] = kinds_[(count_ - count + k) % kSize];
    }
    std::uint32_t surprises = 0;
    for (std::uint32_t k = std::max(count / 2, 1u); k < count; ++k) {
      std::uint32_t expected = k;
      std::uint32_t longest = 0;
      for (std::uint32_t j = k - 1; j > longest; --j) {
        std::uint32_t same = 0;
        while (same < j && same < kContext && kinds[j - 1 - same] == kinds[k - 1 - same]) {
          ++same;
        }
        if (same <= longest) continue;
        longest = same;
        expected = j;
      }
      surprises += expected == k || kinds[expected] != kinds[k] ? 1 : 0;
    }
    return surprises;
  }

 private:
  std::array<std::uint32_t, kSize> kinds_{};
  std::uint32_t count_ = 0;
};

}  // namespace refrain::periodicity
