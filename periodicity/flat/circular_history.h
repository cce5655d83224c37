// CircularHistory: the latest values of a stream, by position.
//
// Place in the flow: inside the detectors of this directory (the paper's "circular data
// vector", section 3.2).
// Thread-safety: none. Cost: O(1), allocates in the constructor only.
// Shape: the capacity is rounded up to a power of two, so that a position is masked
// rather than divided.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

template <typename T>
class CircularHistory {
  static_assert(std::has_unique_object_representations_v<T>, "compared byte by byte");

 public:
  // Keeps at least the last `capacity` values.
  explicit CircularHistory(std::uint64_t capacity)
      : values_(std::bit_ceil(std::max<std::uint64_t>(capacity, 2))),
        mask_(values_.size() - 1) {}

  // How many values there have been; the position of the next one.
  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t capacity() const noexcept { return mask_ + 1; }

  void push(const T& value) noexcept { values_[size_++ & mask_] = value; }

  // The value at `position`, which must be one of the last capacity() ones.
  const T& operator[](std::uint64_t position) const noexcept {
    return values_[position & mask_];
  }

  // Returns true if the `length` values from `a` on equal those from `b` on.
  bool equal(std::uint64_t a, std::uint64_t b, std::uint64_t length) const noexcept {
    while (length != 0) {
      const std::uint64_t from_a = a & mask_;
      const std::uint64_t from_b = b & mask_;
      const std::uint64_t part =
          std::min(length, capacity() - std::max(from_a, from_b));  // up to either's end
      if (std::memcmp(&values_[from_a], &values_[from_b], part * sizeof(T)) != 0) {
        return false;
      }
      a += part;
      b += part;
      length -= part;
    }
    return true;
  }

 private:
  ZeroedArray<T> values_;
  std::uint64_t mask_;
  std::uint64_t size_ = 0;
};

}  // namespace refrain::periodicity
