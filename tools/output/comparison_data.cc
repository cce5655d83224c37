#include "tools/output/comparison_data.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace refrain::tools {
namespace {

using analysis::Comparison;

using analysis::Section;
using analysis::TraceProfile;
using analysis::Unit;

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kNumber:
      return "number";
    case Unit::kNanoseconds:
      return "ns";
    case Unit::kBytes:
      return "bytes";
    case Unit::kShare:
      return "share";
    case Unit::kEfficiency:
      return "efficiency";
  }
  return "";
}

nlohmann::ordered_json json_of(const TraceProfile& profile, const std::string& archive) {
  return {{"archive", archive},
          {"duration_ns", profile.duration_ns},
          {"processes", profile.processes},
          {"threads", profile.threads},
          {"openmp", profile.openmp},
          {"written_ns", profile.written_ns},
          {"summarized_ns", profile.summarized_ns},
          {"estimated_ns", profile.estimated_ns},
          {"unexplained_ns", profile.unexplained_ns},
          {"unknown_share", profile.efficiencies.unknown},
          {"summaries", profile.summaries},
          {"calls_without_region", profile.other_calls},
          {"ns_without_region", profile.other_ns}};
}

}  // namespace

nlohmann::ordered_json comparison_value(const Comparison& comparison,
                                        const std::string& first, const TraceProfile& a,
                                        const std::string& second, const TraceProfile& b) {
  nlohmann::ordered_json out = {{"a", json_of(a, first)}, {"b", json_of(b, second)}};
  out["rows"] = nlohmann::ordered_json::array();
  for (const Section& section : comparison.sections)
    for (const analysis::Row& row : section.rows) {
      const double difference = row.difference();
      const auto value = [](double number, bool known) {
        return known ? nlohmann::ordered_json(number) : nlohmann::ordered_json();
      };
      out["rows"].push_back(
          {{"section", section.title},
           {"subject", row.subject},
           {"figure", row.figure},
           {"unit", unit_name(row.unit)},
           {"a", value(row.a, row.a_known)},
           {"b", value(row.b, row.b_known)},
           {"a_estimated", row.a_estimated},
           {"b_estimated", row.b_estimated},
           {"difference",
            value(difference, !std::isinf(difference) && row.a_known && row.b_known)}});
    }
  out["only_a"] = comparison.only_a;
  out["only_b"] = comparison.only_b;
  return out;
}

}  // namespace refrain::tools
