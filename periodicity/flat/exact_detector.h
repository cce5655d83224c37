// ExactDetector: the answer of the paper's matrix at every sample, in O(1).
//
// Place in the flow: a PeriodDetector (see there for the equation and the deviations).
// Thread-safety: none. Memory: about 8·(M+N) + 32·M bytes, rounded up to powers of two;
// does not allocate after the constructor.
// Cost: a few nanoseconds a push; the push that finds a period compares N symbols.
//
// Why it is equal to the matrix:
// 1. d(m) = 0 at i says that the last N samples, the N-gram ending at i, also ended at
//    i−m. So the smallest such m is the distance to the previous occurrence of the N-gram.
//    A table of the last M N-grams by rolling hash finds it: each bucket is a chain in
//    order of position, newest first, and has every one of them, so none is missed;
//    a hit is believed only after comparing all N symbols, so none is made up.
// 2. While the smallest period is m, it stays m as long as x(i) = x(i−m). If some k < m had
//    d(k) = 0 at i, the last N+k ≥ m+k samples would have both periods and thus, by Fine
//    and Wilf, the period g = gcd(m, k), which divides m; N+k−1 ≥ m of them were there at
//    i−1, so g < m was a period at i−1, and m not the least.
// 3. When x(i) ≠ x(i−m), no lag is left. Let d(k) = 0 at i. The samples up to i−1 that
//    have period k and those that have period m share the last min(N+k−1, N+m) ≥ m+k−1
//    ones: again both have period g, hence x(i) = x(i−k) = x(i−m), a contradiction.
// (2 and 3 need M ≤ N.) Note that 3 does not say that N pushes must pass until the next
// lock: a lag that matched less than m − g samples before i may go on matching.
//
// So a locked push is one comparison. It still enters its N-gram into the table, which
// is cheap, for the N-gram at i equals the one at i−m and so does its hash.
#pragma once

#include <cstdint>
#include <vector>

#include "periodicity/flat/period_detector.h"

namespace refrain::periodicity {

class ExactDetector final : public PeriodDetector {
 public:
  explicit ExactDetector(PeriodSettings settings);

  std::uint32_t push(Symbol symbol) noexcept override;

 private:
  struct Gram {  // the N-gram that ends at some position
    std::uint64_t hash;
    std::uint64_t older_end;  // position + 1 of the next older one in its bucket, or 0
  };

  std::uint32_t push_unlocked(Symbol symbol) noexcept;
  std::uint32_t find_period(std::uint64_t end) const noexcept;
  std::uint64_t& bucket(std::uint64_t hash) noexcept { return newest_end_[hash >> shift_]; }

  CircularHistory<Symbol> symbols_;
  std::vector<Gram> grams_;  // circular, by position
  std::uint64_t gram_mask_;
  std::vector<std::uint64_t> newest_end_;  // bucket -> position + 1, or 0
  int shift_;
  std::uint64_t hash_ = 0;       // of the last N symbols, while unlocked
  std::uint64_t oldest_factor_;  // B^N
  std::uint32_t period_ = 0;
};

}  // namespace refrain::periodicity
