#include "periodicity/flat/exact_detector.h"

#include <bit>

#include "periodicity/symbol.h"

namespace refrain::periodicity {

ExactDetector::ExactDetector(PeriodSettings settings)
    : PeriodDetector(settings),
      symbols_(std::uint64_t{window()} + max_period() + 1),
      grams_(std::bit_ceil(std::uint64_t{max_period()} + 1)),
      gram_mask_(grams_.size() - 1),
      newest_end_(grams_.size() * 2),
      shift_(64 - std::countr_zero(newest_end_.size())),
      oldest_factor_(hash_power(window())) {}

std::uint32_t ExactDetector::push(Symbol symbol) noexcept {
  const std::uint64_t end = symbols_.size();
  if (period_ == 0 || symbols_[end - period_] != symbol) return push_unlocked(symbol);
  symbols_.push(symbol);
  const std::uint64_t twin = end - period_;
  const Gram& same = grams_[twin & gram_mask_];
  std::uint64_t& newest = bucket(same.hash);
  // The twin is not needed in the chain if nothing is in between: keeps chains short.
  const std::uint64_t older = newest == twin + 1 ? same.older_end : newest;
  grams_[end & gram_mask_] = {same.hash, older};
  newest = end + 1;
  return period_;
}

std::uint32_t ExactDetector::push_unlocked(Symbol symbol) noexcept {
  const std::uint64_t end = symbols_.size();
  if (period_ != 0) {
    period_ = 0;
    hash_ = grams_[(end - 1) & gram_mask_].hash;
  }
  hash_ = append_hash(hash_, symbol);
  if (end >= window()) hash_ -= oldest_factor_ * mix(symbols_[end - window()]);
  symbols_.push(symbol);
  if (end + 1 < window()) return 0;
  period_ = find_period(end);
  std::uint64_t& newest = bucket(hash_);
  grams_[end & gram_mask_] = {hash_, newest};
  newest = end + 1;
  return period_;
}

std::uint32_t ExactDetector::find_period(std::uint64_t end) const noexcept {
  const std::uint64_t oldest_end = end > max_period() ? end - max_period() + 1 : 1;
  std::uint64_t older = newest_end_[hash_ >> shift_];
  while (older >= oldest_end) {
    const Gram& gram = grams_[(older - 1) & gram_mask_];
    const std::uint64_t lag = end + 1 - older;
    if (gram.hash == hash_ &&
        symbols_.equal(end + 1 - window(), end + 1 - window() - lag, window())) {
      return static_cast<std::uint32_t>(lag);
    }
    older = gram.older_end;
  }
  return 0;
}

}  // namespace refrain::periodicity
