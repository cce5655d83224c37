#include "cube/experiment.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace refrain::cube {

std::uint64_t neutral(Metric::Type type) noexcept {
  if (type != Metric::Type::kMinimum) return 0;
  return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());
}

std::uint64_t& Experiment::at(std::uint32_t metric, std::uint32_t path,
                              std::uint32_t location) {
  values.resize(metrics.size());
  Values& rows = values[metric];
  rows.resize(paths.size());
  Row& row = rows[path];
  if (row.empty()) row.assign(locations.size(), neutral(metrics[metric].type));
  return row[location];
}

void Experiment::add(std::uint32_t metric, std::uint32_t path, std::uint32_t location,
                     std::uint64_t count) {
  if (count != 0) at(metric, path, location) += count;
}

void Experiment::add(std::uint32_t metric, std::uint32_t path, std::uint32_t location,
                     double value) {
  std::uint64_t& bits = at(metric, path, location);
  const auto known = std::bit_cast<double>(bits);
  double now = known + value;
  if (metrics[metric].type == Metric::Type::kMinimum) now = std::min(known, value);
  if (metrics[metric].type == Metric::Type::kMaximum) now = std::max(known, value);
  bits = std::bit_cast<std::uint64_t>(now);
}

}  // namespace refrain::cube
