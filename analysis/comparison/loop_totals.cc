#include "analysis/comparison/loop_totals.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace refrain::analysis {
namespace {

double number(const nlohmann::json& loop, const char* name) {
  const auto found = loop.find(name);
  if (found == loop.end() || !found->is_number()) return 0;
  const auto value = found->get<double>();
  return std::isfinite(value) && value > 0 ? value : 0;
}

}  // namespace

std::map<std::string, LoopTotals> loop_totals(const reader::TraceDefinitions& definitions) {
  std::map<std::string, LoopTotals> totals;
  const auto property = definitions.properties.find("REFRAIN::LOOPS");
  if (property == definitions.properties.end()) return totals;
  const auto loops = nlohmann::json::parse(property->second, nullptr, false);
  if (!loops.is_array()) return totals;
  for (const auto& loop : loops) {
    if (!loop.is_object() || !loop.contains("name") || !loop["name"].is_string()) continue;
    LoopTotals& sum = totals[loop["name"].get<std::string>()];
    sum.iterations += number(loop, "iterations");
    sum.total_ns += number(loop, "total_ns");
  }
  return totals;
}

}  // namespace refrain::analysis
