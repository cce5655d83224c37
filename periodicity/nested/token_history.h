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
#include <cstdint>

#include "periodicity/nested/surprise.h"
#include "periodicity/nested/token.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

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
