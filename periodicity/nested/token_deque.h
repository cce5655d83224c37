// TokenDeque: the tokens to be read: put back in front, appended at the end.
//
// Place in the flow: inside NestedDetector.
// Thread-safety: none. Cost: O(1), allocates in the constructor only. The owner keeps the
// size within the capacity.
#pragma once

#include <bit>
#include <cstdint>

#include "periodicity/nested/token.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

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
