// Token: what the nested detector reads: one event, or one whole visit of a known loop.
//
// Place in the flow: inside NestedDetector.
#pragma once

#include <bit>
#include <cstdint>

#include "periodicity/loop_detector.h"
#include "periodicity/symbol.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

struct Token {
  // What is compared: the symbol, or a hash of the loop's number. The number of
  // iterations is no part of it: visits with 23 and with 25 are the same token.
  std::uint64_t id = 0;
  std::uint64_t position = 0;  // of its first event
  std::uint64_t events = 1;
  std::uint32_t body = kNoBody;
  std::uint16_t depth = 0;  // the least one inside
};

constexpr std::uint64_t loop_token_id(std::uint32_t loop) noexcept {
  return mix(0xc2b2ae3d27d4eb4fu + loop);
}

// TokenDeque: the tokens to be read: put back in front, appended at the end.
//
// Place in the flow: inside NestedDetector.
// Thread-safety: none. Cost: O(1), allocates in the constructor only. The owner keeps the
// size within the capacity.

class TokenDeque {
 public:
  explicit TokenDeque(std::uint64_t capacity)
      : tokens_(std::bit_ceil(capacity)), mask_(tokens_.size() - 1) {}

  bool empty() const noexcept { return begin_ == end_; }
  std::uint64_t size() const noexcept { return end_ - begin_; }
  std::uint64_t free() const noexcept { return tokens_.size() - size(); }
  void push_front(const Token& token) noexcept { tokens_[--begin_ & mask_] = token; }
  void push_back(const Token& token) noexcept { tokens_[end_++ & mask_] = token; }
  const Token& front() const noexcept { return tokens_[begin_ & mask_]; }
  Token pop_front() noexcept { return tokens_[begin_++ & mask_]; }

 private:
  ZeroedArray<Token> tokens_;  // set before they are read
  std::uint64_t mask_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace refrain::periodicity
