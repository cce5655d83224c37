// Surprise: how many bits of information a token carries, given how common it is.
//
// Place in the flow: inside TokenHistory, so that it finds no loops in noise. If the
// stream is noise (each token drawn by its frequency, independently), the chance that an
// interval repeats by accident is 2^-(sum of the bits of its tokens); so a
// repetition is believed once enough bits have been matched.
// Thread-safety: none. Cost: O(1), fixed memory.
//
// Frequencies are those of the last kWindow tokens that no loop predicted. A token counts
// at least 1 bit, else a program that does only one thing would never be seen to
// repeat it, and at most 4, since frequencies from so few tokens are uncertain.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "periodicity/symbol_hash.h"

namespace refrain::periodicity {

class Surprise {
 public:
  static constexpr std::uint32_t kOneBit = 16;  // unit of the results: 1/16 bit
  static constexpr std::uint32_t kWindow = 256;

  Surprise() noexcept {
    for (std::uint32_t share = 1; share < bits_.size(); ++share) {
      const double bits = -std::log2(static_cast<double>(share) / kWindow);
      bits_[share] = static_cast<std::uint8_t>(std::clamp(bits, 1.0, 4.0) * kOneBit);
    }
    bits_[0] = 4 * kOneBit;
  }

  // Takes the next token; gives its bits.
  std::uint32_t add(std::uint64_t id) noexcept {
    const auto bucket = static_cast<std::uint16_t>(mix(id) >> 54);
    std::uint16_t& oldest = recent_[seen_ % kWindow];
    if (seen_ >= kWindow) --count_[oldest];
    oldest = bucket;
    ++seen_;
    const std::uint32_t count = ++count_[bucket];
    if (seen_ >= kWindow) return bits_[count];
    return bits_[std::size_t{count} * kWindow / seen_];
  }

 private:
  std::array<std::uint16_t, 1024> count_{};
  std::array<std::uint16_t, kWindow> recent_{};
  std::array<std::uint8_t, kWindow + 1> bits_{};
  std::uint64_t seen_ = 0;
};

}  // namespace refrain::periodicity
