// PeriodDetector: which period the stream has now.
//
// Place in the flow: below FlatLoopDetector, which turns periods into loop events.
// Thread-safety: none, one thread pushes. Not for signal handlers.
// Cost: stated by each detector; none allocates after its constructor.
// Units: window and periods in symbols ("events").
//
// Source: Freitag, Caubet, Labarta, "A Trace-Scaling Agent for Parallel Application
// Tracing", section 3.1, eq. 1:
//
//     d(m) = sign Σ_{i=0}^{N-1} |x(i) − x(i−m)|,   0 < m < M ≤ N,
//
// summed over the last N samples; the period is the smallest m with d(m) = 0. In words: m
// is the smallest lag by which the last N samples match the N samples m earlier.
//
// Where we deviate, in all detectors alike:
// - M is inclusive here: 0 < m ≤ M ≤ N. A paper's M is our M+1. So (M, N) = (1, 1) is a
//   detector that can find something, and max_period is the longest period.
// - Symbols are names, not magnitudes: their distance is 0 or 1. Under the sign this
//   makes no difference, and the sum cannot overflow.
// - A sample before the first one equals nothing: d(m) = 1 until N + m samples have
//   been seen.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "periodicity/loop_detector.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

struct PeriodSettings {
  std::uint32_t max_period;  // M: the longest period looked for
  std::uint32_t window;      // N: how many samples must match
};

// The settings, changed so that 1 ≤ M ≤ N: N takes precedence over M.
inline PeriodSettings valid(PeriodSettings settings) noexcept {
  settings.window = std::max(settings.window, 1u);
  settings.max_period = std::clamp(settings.max_period, 1u, settings.window);
  return settings;
}

class PeriodDetector {
 public:
  explicit PeriodDetector(PeriodSettings settings) noexcept : settings_(valid(settings)) {}
  virtual ~PeriodDetector() = default;

  // Takes the next symbol; gives the smallest period m of the window that ends with it, 0
  // if there is none.
  //
  // While M ≤ N the answer can change from m only to 0, and from 0 to anything: see the
  // argument in exact_detector.h.
  virtual std::uint32_t push(Symbol symbol) noexcept = 0;

  std::uint32_t window() const noexcept { return settings_.window; }
  std::uint32_t max_period() const noexcept { return settings_.max_period; }

 private:
  PeriodSettings settings_;
};

// CircularHistory: the latest values of a stream, by position.
//
// Place in the flow: inside the detectors of this directory (the paper's "circular data
// vector", section 3.2).
// Thread-safety: none. Cost: O(1), allocates in the constructor only.
// Shape: the capacity is rounded up to a power of two, so that a position is masked
// rather than divided.

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
