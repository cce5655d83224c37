#include "tools/report/report_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analysis/comparison/comparison.h"
#include "analysis/report/finding.h"
#include "tools/output/comparison_data.h"

namespace refrain::tools {
namespace {

using analysis::Row;
using analysis::Unit;
using Json = nlohmann::ordered_json;

constexpr double kMinShareCompared =
    0.01;  // of regions and loops, as `refrain compare` has it

// What a difference is in time of all threads; 0: it is none of time.
double weight_of(const Row& row, double thread_ns) {
  switch (row.unit) {
    case Unit::kNanoseconds:
      return std::abs(row.b - row.a);
    case Unit::kShare:
    case Unit::kEfficiency:
      return std::abs(row.b - row.a) * thread_ns;
    default:
      return 0;
  }
}

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return report::time_text(value);
    case Unit::kShare:
    case Unit::kEfficiency:
      return report::percent_text(value);
    case Unit::kBytes:
      return report::count_text(value, "byte", "bytes");
    case Unit::kNumber:
      break;
  }
  return fmt::format("{:.6g}", value);
}

std::string change_text(const Row& row) {
  const double change = row.difference();
  if (std::isinf(change)) return "only in B";
  if (row.unit == Unit::kEfficiency || row.unit == Unit::kShare)
    return fmt::format("{:+.1f} points", 100 * (row.b - row.a));
  return fmt::format("{:+.1f} %", 100 * change);
}

Json difference_value(const Row& row, const Json& unit) {
  const double change = row.difference();
  return {{"text", fmt::format("{}, {}: {} in A, {} in B ({})", row.subject, row.figure,
                               value_text(row.a, row.unit), value_text(row.b, row.unit),
                               change_text(row))},
          {"subject", row.subject},
          {"figure", row.figure},
          {"a", row.a},
          {"b", row.b},
          {"unit", unit},
          {"change", std::isinf(change) ? Json() : Json(change)}};
}

}  // namespace

base::Result<Json> report_comparison(const std::string& a, const std::string& b,
                                     const reader::Progress& progress) {
  analysis::ProfileOptions options;
  options.progress = progress;
  const auto first = analysis::read_trace_profile(a, options);
  if (!first) return first.failure();
  const auto second = analysis::read_trace_profile(b, options);
  if (!second) return second.failure();
  const analysis::Comparison comparison =
      analysis::compare(*first, *second, kMinShareCompared);
  Json out = comparison_value(comparison, a, *first, b, *second);
  const double thread_ns = std::max(first->thread_ns, second->thread_ns);
  struct Difference {
    const Row* row;
    Json unit;
  };
  std::vector<Difference> rows;
  std::size_t number = 0;
  for (const analysis::Section& section : comparison.sections)
    for (const Row& row : section.rows) {
      const Json unit = out["rows"][number++]["unit"];
      if (row.a != row.b) rows.push_back({&row, unit});
    }
  std::ranges::stable_sort(rows, [&](const Difference& x, const Difference& y) {
    const double wx = weight_of(*x.row, thread_ns), wy = weight_of(*y.row, thread_ns);
    if (wx != wy) return wx > wy;
    return std::abs(x.row->difference()) > std::abs(y.row->difference());
  });
  Json& list = out["differences"] = Json::array();
  for (const Difference& each : rows)
    list.push_back(difference_value(*each.row, each.unit));
  return out;
}

}  // namespace refrain::tools
