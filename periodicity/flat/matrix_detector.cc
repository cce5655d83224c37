#include "periodicity/flat/matrix_detector.h"

#include <algorithm>
#include <cstddef>

namespace refrain::periodicity {

MatrixDetector::MatrixDetector(PeriodSettings settings)
    : PeriodDetector(settings),
      samples_(max_period()),
      distance_(static_cast<std::size_t>(max_period()) * window(), 1),
      row_sum_(max_period(), window()) {}

std::uint32_t MatrixDetector::push(Symbol symbol) noexcept {
  const std::uint32_t lags = max_period();
  std::uint8_t* column = &distance_[static_cast<std::size_t>(oldest_column_) * lags];
  std::uint32_t period = 0;
  std::uint32_t sample = newest_sample_;
  for (std::uint32_t m = 1; m <= lags; ++m) {
    const std::uint8_t distance = m > count_ || samples_[sample] != symbol ? 1 : 0;
    sample = sample == 0 ? lags - 1 : sample - 1;
    row_sum_[m - 1] += distance;
    row_sum_[m - 1] -= column[m - 1];
    column[m - 1] = distance;
    if (period == 0 && row_sum_[m - 1] == 0) period = m;
  }
  oldest_column_ = oldest_column_ + 1 == window() ? 0 : oldest_column_ + 1;
  newest_sample_ = newest_sample_ + 1 == lags ? 0 : newest_sample_ + 1;
  samples_[newest_sample_] = symbol;
  ++count_;
  return period;
}

}  // namespace refrain::periodicity
