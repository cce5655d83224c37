#include "cube/algebra.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cube/integration.h"

namespace refrain::cube {
namespace {

using Table = std::vector<std::vector<double>>;  // by call path and location; empty: zeros

double value_of(const Experiment& from, std::uint32_t metric, std::uint64_t bits) {
  if (from.metrics[metric].is_count()) return static_cast<double>(bits);
  if (bits == neutral(from.metrics[metric].type)) return 0;
  return std::bit_cast<double>(bits);
}

// As `inclusive` says, whatever the experiment has.
Table table_of(const Experiment& from, std::uint32_t metric, bool inclusive) {
  Table table(from.paths.size());
  if (metric >= from.values.size()) return table;
  const Experiment::Values& values = from.values[metric];
  for (std::size_t path = 0; path < values.size(); ++path)
    for (const std::uint64_t bits : values[path])
      table[path].push_back(value_of(from, metric, bits));
  const bool has = from.metrics[metric].inclusive;
  if (has == inclusive) return table;
  const auto add = [&](std::uint32_t path, double factor) {
    const std::uint32_t parent = from.paths[path].parent;
    if (parent == kNone || table[path].empty()) return;
    table[parent].resize(from.locations.size());
    for (std::size_t i = 0; i < table[path].size(); ++i)
      table[parent][i] += factor * table[path][i];
  };
  const auto paths = static_cast<std::uint32_t>(from.paths.size());
  // A parent stands before its children. It loses theirs before they lose their children's.
  if (inclusive)
    for (std::uint32_t path = paths; path-- > 0;) add(path, 1);
  else
    for (std::uint32_t path = 0; path < paths; ++path) add(path, -1);
  return table;
}

class Combiner {
 public:
  Combiner(Operation operation, std::span<const Experiment> operands)
      : operation_(operation), operands_(operands), parts_(integrate(operands)) {}

  Experiment take() {
    Experiment& out = parts_.experiment;
    const bool real =
        operation_ == Operation::kDifference || operation_ == Operation::kMean;
    if (real)
      for (Metric& metric : out.metrics) metric.type = Metric::Type::kSeconds;
    out.values.resize(out.metrics.size());
    for (std::uint32_t metric = 0; metric < out.metrics.size(); ++metric) combine(metric);
    return std::move(out);
  }

 private:
  Table placed(std::size_t operand, std::uint32_t metric, std::uint32_t own) const {
    const Experiment& from = operands_[operand];
    const Placed& places = parts_.operands[operand];
    const Table table = table_of(from, own, parts_.experiment.metrics[metric].inclusive);
    Table out(parts_.experiment.paths.size());
    for (std::size_t path = 0; path < table.size(); ++path) {
      if (table[path].empty()) continue;
      std::vector<double>& row = out[places.paths[path]];
      row.resize(parts_.experiment.locations.size());
      for (std::size_t i = 0; i < table[path].size(); ++i)
        row[places.locations[i]] += table[path][i];
    }
    return out;
  }

  void combine(std::uint32_t metric) {
    std::vector<Table> tables;
    std::vector<bool> has;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const auto& metrics = parts_.operands[i].metrics;
      const auto own = std::ranges::find(metrics, metric);
      has.push_back(own != metrics.end());
      tables.push_back(
          has.back() ? placed(i, metric, static_cast<std::uint32_t>(own - metrics.begin()))
                     : Table(parts_.experiment.paths.size()));
    }
    Experiment& out = parts_.experiment;
    for (std::uint32_t path = 0; path < out.paths.size(); ++path)
      for (std::uint32_t location = 0; location < out.locations.size(); ++location) {
        const double value = combined(tables, has, path, location);
        if (value == 0) continue;
        if (out.metrics[metric].is_count())
          out.add(metric, path, location, static_cast<std::uint64_t>(value + 0.5));
        else
          out.add(metric, path, location, value);
      }
  }

  double combined(const std::vector<Table>& tables, const std::vector<bool>& has,
                  std::uint32_t path, std::uint32_t location) const {
    const auto at = [&](std::size_t operand) {
      const std::vector<double>& row = tables[operand][path];
      return row.empty() ? 0 : row[location];
    };
    double value = at(0);
    for (std::size_t i = 1; i < tables.size(); ++i) switch (operation_) {
        case Operation::kDifference:
          value -= at(i);
          break;
        case Operation::kMean:
          value += at(i);
          break;
        case Operation::kLeast:
          value = std::min(value, at(i));
          break;
        case Operation::kGreatest:
          value = std::max(value, at(i));
          break;
        case Operation::kMerge:
          if (has[i]) value = at(i);
          break;
      }
    return operation_ == Operation::kMean ? value / static_cast<double>(tables.size())
                                          : value;
  }

  Operation operation_;
  std::span<const Experiment> operands_;
  Integrated parts_;
};

}  // namespace

Experiment combine(Operation operation, std::span<const Experiment> operands) {
  return Combiner(operation, operands).take();
}

std::vector<double> totals_of(const Experiment& experiment) {
  std::vector<double> totals(experiment.metrics.size());
  for (std::uint32_t metric = 0; metric < experiment.values.size(); ++metric) {
    const Metric& kind = experiment.metrics[metric];
    const Experiment::Values& values = experiment.values[metric];
    bool first = true;
    for (std::size_t path = 0; path < values.size(); ++path) {
      if (kind.inclusive && experiment.paths[path].parent != kNone) continue;
      for (const std::uint64_t bits : values[path]) {
        if (!kind.is_count() && bits == neutral(kind.type)) continue;
        const double value = value_of(experiment, metric, bits);
        double& total = totals[metric];
        if (kind.type == Metric::Type::kMinimum)
          total = first ? value : std::min(total, value);
        else if (kind.type == Metric::Type::kMaximum)
          total = std::max(total, value);
        else
          total += value;
        first = false;
      }
    }
  }
  return totals;
}

}  // namespace refrain::cube
