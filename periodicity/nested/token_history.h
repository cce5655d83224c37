// TokenHistory: the tokens that belong to no open loop, and the search for runs in them.
//
// Place in the flow: inside LoopSearch. A token is appended; if the last tokens now
// repeat with some lag, NestedDetector cuts them off and opens a loop in their place.
// Thread-safety: none. Cost: 10–25 ns to append and search; allocates in the constructor
// only. Memory: about 120 bytes a token of capacity.
//
// The search. A run with lag q ends with at least three equal intervals of q
// tokens (so the Thue–Morse word, which has squares of many lengths but no overlap, has
// none) of which the repeated part carries enough bits (Surprise). To find q, tables say
// where k-grams were seen last, for k = 8, 16, 32, …: for the k with q ≤ k < 2q the
// nearest previous occurrence is at q itself, or q would not be the least (Fine and
// Wilf). To be cheap, a k-gram is entered at every a-th token only, and looked up at a
// tokens in a row out of every a·b (baby steps, giant steps), with a·b = k/4: no lag is
// missed, it is found at most k/4 tokens later. A hit counts after all tokens have been
// compared. Small lags between loop tokens are tried directly: such tokens weigh more.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "periodicity/nested/token.h"
#include "periodicity/symbol.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

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

class TokenHistory {
 public:
  struct Settings {
    std::uint32_t capacity;     // tokens, a power of two
    std::uint32_t max_lag;      // at most capacity / 4
    std::uint32_t enough_bits;  // in bits: evidence to believe in a run
  };

  explicit TokenHistory(Settings settings);

  // Indexes count the tokens; end() may go down again when a run is cut off.
  std::uint64_t begin() const noexcept { return begin_; }
  std::uint64_t end() const noexcept { return end_; }
  const Token& operator[](std::uint64_t index) const noexcept {
    return tokens_[index & mask_];
  }

  std::uint32_t max_lag() const noexcept { return max_lag_; }

  void append(const Token& token) noexcept;
  void truncate(std::uint64_t end) noexcept { end_ = end; }
  void clear() noexcept { begin_ = end_; }

  // The lag of the run that ends with the last token; 0 = none.
  std::uint32_t find_run() noexcept;

  // Where the run with this lag begins: leftmost, but not more than 8 lags back.
  std::uint64_t begin_of_run(std::uint32_t lag) const noexcept;

  // Of the tokens [from, from + size).
  std::uint64_t hash(std::uint64_t from, std::uint64_t size) const noexcept {
    return prefix_[(from + size) & mask_] - prefix_[from & mask_] * power_[size];
  }
  // In Surprise's unit.
  std::uint32_t bits(std::uint64_t from, std::uint64_t to) const noexcept {
    return bits_[to & mask_] - bits_[from & mask_];
  }

 private:
  static constexpr std::uint32_t kSmallest =
      8;  // smallest k, and largest lag tried directly

  static constexpr std::uint32_t kSchedule =
      512;  // positions after which a·b of all repeats

  // What is due at a position: a bit for each k, the least one first.
  struct Due {
    std::uint16_t enter = 0;
    std::uint16_t ask = 0;
  };
  struct Seen {
    std::uint32_t tag;
    std::uint32_t index;  // low bits
  };

  bool is_run(std::uint32_t lag) const noexcept;
  bool same(std::uint64_t index, std::uint32_t lag) const noexcept {
    return tokens_[index & mask_].id == tokens_[(index - lag) & mask_].id;
  }

  std::uint64_t mask_;
  std::uint32_t max_lag_;
  std::uint32_t enough_bits_;  // in Surprise's unit
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t last_loop_ = 0;  // index after the last loop token
  // Elements are set before they are read: untouched ones cost nothing.
  ZeroedArray<Token> tokens_;
  ZeroedArray<std::uint64_t> prefix_;  // hash of all tokens before
  ZeroedArray<std::uint32_t> bits_;    // sum of the bits of all tokens before
  ZeroedArray<std::uint64_t> power_;   // of kHashBase: the first powers_
  std::uint64_t powers_ = 1;           // more than the tokens so far, or all
  std::array<Due, kSchedule> due_{};   // by index
  ZeroedArray<Seen> seen_;
  int seen_shift_;
  Surprise surprise_;
};

}  // namespace refrain::periodicity
