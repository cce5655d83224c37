#include "filters/duration_band.h"

#include <algorithm>

namespace refrain::filters {
namespace {

std::uint64_t median_of(std::uint64_t* values, std::uint32_t count) noexcept {
  std::nth_element(values, values + count / 2, values + count);
  return values[count / 2];
}

}  // namespace

void DurationBand::look_again(bool leaves, double factor) noexcept {
  median_ = next_median_;
  mad_ = next_mad_;
  if (leaves) {
    in_a_row_ = count_ == last_leave_ + 1 ? in_a_row_ + 1 : 1;
    last_leave_ = count_;
    if (count_ != next_ && count_ < renewed_ + kApart && in_a_row_ != kBelieved) return;
  }
  renewed_ = count_;
  next_ = count_ + kWindow;
  renew(factor);
}

void DurationBand::renew(double factor) noexcept {
  std::uint64_t values[kWindow];
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count_, kWindow));
  std::copy_n(window_.begin(), count, values);
  const std::uint64_t median = median_of(values, count);
  for (std::uint32_t i = 0; i != count; ++i) {
    values[i] = values[i] < median ? median - values[i] : values[i] - median;
  }
  const std::uint64_t mad = std::max(median_of(values, count), median / 40);
  const double half = factor * static_cast<double>(mad);
  low_ = half < static_cast<double>(median) ? median - static_cast<std::uint64_t>(half) : 0;
  high_ = half < 1e18 ? median + static_cast<std::uint64_t>(half) : ~std::uint64_t{0};
  next_median_ = median;
  next_mad_ = mad;
}

}  // namespace refrain::filters
