#include "analysis/comparison/iteration_classes.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace refrain::analysis {
namespace {

double median(std::vector<std::uint64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// A rule that sorts samples into classes is useful if it is wrong about at most a quarter of
// those that are not in the largest class.
bool is_of_use(std::size_t wrong, std::size_t all, std::size_t most) {
  return 4 * wrong <= all - most;
}

}  // namespace

void IterationClasses::settle() {
  for (const Sample& sample : samples_) inner_.push_back(sample.inner);
  std::sort(inner_.begin(), inner_.end());
  inner_.erase(std::unique(inner_.begin(), inner_.end()), inner_.end());
  const bool useful = inner_.size() >= 2 && inner_.size() <= kMost;
  if (!useful || (!by_position() && !by_duration())) inner_.clear();
  samples_.clear();
}

// Only visits that can be compared with others count.
bool IterationClasses::by_position() {
  std::map<std::uint64_t, std::array<std::size_t, kMost>> counts;
  for (const Sample& sample : samples_) ++counts[sample.position][of_inner(sample.inner)];
  std::size_t all = 0;
  std::size_t compared = 0;
  std::size_t wrong = 0;
  std::array<std::size_t, kMost> sums{};
  for (const auto& [position, of_class] : counts) {
    const auto most = std::max_element(of_class.begin(), of_class.end());
    std::size_t here = 0;
    for (const std::size_t count : of_class) here += count;
    at_[position] = static_cast<std::uint32_t>(most - of_class.begin());
    all += here;
    if (here < 2) continue;
    compared += here;
    wrong += here - *most;
    for (std::size_t i = 0; i < kMost; ++i) sums[i] += of_class[i];
  }
  const std::size_t most = *std::max_element(sums.begin(), sums.end());
  if (2 * compared > all && is_of_use(wrong, compared, most)) return true;
  at_.clear();
  return false;
}

bool IterationClasses::by_duration() {
  std::map<std::uint64_t, std::vector<std::uint64_t>> durations;
  for (const Sample& sample : samples_)
    if (sample.leading) durations[sample.inner].push_back(sample.ns);
  inner_.clear();
  double before = 0;
  for (auto& [inner, of_class] : durations) {
    const double typical = median(of_class);
    if (!inner_.empty()) end_ns_.push_back(std::sqrt(before * typical));
    inner_.push_back(inner);
    before = typical;
  }
  std::size_t all = 0;
  std::size_t wrong = 0;
  std::size_t most = 0;
  for (const auto& [inner, of_class] : durations) {
    most = std::max(most, of_class.size());
    for (const std::uint64_t ns : of_class) {
      ++all;
      wrong += of_duration(ns) != of_inner(inner) ? 1 : 0;
    }
  }
  if (std::is_sorted(end_ns_.begin(), end_ns_.end()) && is_of_use(wrong, all, most))
    return true;
  end_ns_.clear();
  return false;
}

std::uint32_t IterationClasses::of_inner(std::uint64_t inner) const noexcept {
  if (inner_.empty()) return 0;
  const auto found = std::lower_bound(inner_.begin(), inner_.end(), inner);
  if (found == inner_.end() || *found != inner) return kNoClass;
  return static_cast<std::uint32_t>(found - inner_.begin());
}

std::uint32_t IterationClasses::of_skipped(std::uint64_t position,
                                           std::uint64_t ns) const noexcept {
  if (at_.empty()) return of_duration(ns);
  const auto next = at_.upper_bound(position);
  return next == at_.begin() ? next->second : std::prev(next)->second;
}

std::uint32_t IterationClasses::of_duration(std::uint64_t ns) const noexcept {
  return static_cast<std::uint32_t>(
      std::upper_bound(end_ns_.begin(), end_ns_.end(), static_cast<double>(ns)) -
      end_ns_.begin());
}

}  // namespace refrain::analysis
