// MatrixDetector: the paper's detector as written there; the reference for others.
//
// Place in the flow: a PeriodDetector (see there for the equation and the deviations).
// Thread-safety: none. Cost: O(M) a push, M·N bytes of matrix; does not allocate after
// the constructor.
//
// Source: Freitag, Caubet, Labarta, section 3.2: a circular data vector of the last M
// samples, a circular M×N matrix of the distances computed before, and the sum of each
// row, which is d(m) before the sign. A push overwrites the oldest column:
//
//              oldest column, replaced by |x(i) − x(i−m)|
//                    ▼
//     m=1   [ 0 0 1  0  0 … ]  row sum ─► 0 = period
//     m=2   [ 0 1 1  0  1 … ]  row sum
//      …                         …
//     m=M   [ 1 0 0  1  0 … ]  row sum
//
// The matrix is stored column by column, so that one push writes one contiguous range.
#pragma once

#include <cstdint>
#include <vector>

#include "periodicity/flat/period_detector.h"

namespace refrain::periodicity {

class MatrixDetector final : public PeriodDetector {
 public:
  explicit MatrixDetector(PeriodSettings settings);

  std::uint32_t push(Symbol symbol) noexcept override;

 private:
  std::vector<Symbol> samples_;         // circular, last M samples
  std::vector<std::uint8_t> distance_;  // [column * M + m - 1]
  std::vector<std::uint32_t> row_sum_;  // [m - 1]
  std::uint32_t newest_sample_ = 0;     // index of x(i-1) in samples_
  std::uint32_t oldest_column_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace refrain::periodicity
