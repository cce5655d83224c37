#include "analysis/causes/memory_growth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace refrain::analysis {
namespace {

constexpr std::size_t kMinMemorySamples = 12;
constexpr std::size_t kMinRisen = 8;  // of them, behind the break
constexpr double kMinGrownBytes = 1 << 20;
constexpr double kMinGrowth = 0.05;
constexpr double kMinDeviations = 10;
constexpr double kMinOfQuarter = 0.1;

struct BrokenLine {
  double level = 0, slope = 0;
  double squares = 0;  // sum of the squares of what it misses
};

// bytes = level + slope * max(0, iteration - first)
BrokenLine fit_line(std::span<const MemoryAt> samples, double first) {
  const auto n = static_cast<double>(samples.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const MemoryAt& sample : samples) {
    const double x = std::max(0.0, sample.iteration - first);
    sx += x;
    sy += sample.bytes;
    sxx += x * x;
    sxy += x * sample.bytes;
  }
  BrokenLine line;
  const double divisor = n * sxx - sx * sx;
  line.slope = divisor > 0 ? (n * sxy - sx * sy) / divisor : 0;
  line.level = (sy - line.slope * sx) / n;
  for (const MemoryAt& sample : samples) {
    const double missed =
        sample.bytes - line.level - line.slope * std::max(0.0, sample.iteration - first);
    line.squares += missed * missed;
  }
  return line;
}

// Of what is between two samples, by the medians around them: one sample says little.
double level_at(std::span<const MemoryAt> samples, std::size_t at) {
  const double low = samples[at < 1 ? 0 : at - 1].bytes, middle = samples[at].bytes,
               high = samples[std::min(samples.size() - 1, at + 1)].bytes;
  return std::max(std::min(low, middle), std::min(std::max(low, middle), high));
}

bool is_steady(std::span<const MemoryAt> risen, double all) {
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const std::size_t last = risen.size() - 1;
    const double more =
        level_at(risen, (quarter + 1) * last / 4) - level_at(risen, quarter * last / 4);
    if (more < kMinOfQuarter * all) return false;
  }
  return true;
}

}  // namespace

std::optional<MemoryGrowth> memory_growth(std::span<const MemoryAt> samples) {
  if (samples.size() < kMinMemorySamples) return {};
  std::size_t best = 0;
  BrokenLine line = fit_line(samples, samples[0].iteration);
  for (std::size_t i = 1; i + kMinRisen <= samples.size(); ++i) {
    const BrokenLine next = fit_line(samples, samples[i].iteration);
    if (next.slope <= 0 || next.squares >= line.squares) continue;
    line = next;
    best = i;
  }
  const MemoryGrowth growth{
      .first = samples[best].iteration,
      .last = samples.back().iteration,
      .from_bytes = line.level,
      .to_bytes =
          line.level + line.slope * (samples.back().iteration - samples[best].iteration)};
  const double more = growth.to_bytes - growth.from_bytes;
  if (!(growth.last > growth.first) || more < kMinGrownBytes ||
      more < kMinGrowth * growth.from_bytes)
    return {};
  const double deviation = std::sqrt(line.squares / static_cast<double>(samples.size()));
  if (more < kMinDeviations * deviation || !is_steady(samples.subspan(best), more))
    return {};
  return growth;
}

}  // namespace refrain::analysis
