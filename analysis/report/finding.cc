#include "analysis/report/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "base/quantity_text.h"

namespace refrain::report {
namespace {

using json = nlohmann::ordered_json;

const char* kind_name(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kWait:
      return "wait";
    case Finding::Kind::kImbalance:
      return "imbalance";
    case Finding::Kind::kOverhead:
      return "overhead";
    case Finding::Kind::kEfficiency:
      return "efficiency";
    case Finding::Kind::kDetection:
      return "detection";
    case Finding::Kind::kLoss:
      return "loss";
  }
  return "";
}

json value_of(const Finding& finding, double all_seconds) {
  const bool costs = finding.seconds && all_seconds > 0;
  return {{"kind", kind_name(finding.kind)},
          {"what", finding.what},
          {"text", finding.text},
          {"hint", finding.hint},
          {"seconds", finding.seconds ? json(*finding.seconds) : json()},
          {"share", costs ? json(*finding.seconds / all_seconds) : json()},
          {"evidence", finding.evidence}};
}

}  // namespace

json ranked(std::vector<Finding> findings, double all_seconds, double least_share,
            std::size_t most) {
  const auto facts = std::ranges::stable_partition(
      findings, [](const Finding& finding) { return finding.seconds.has_value(); });
  const auto costing = std::ranges::subrange(findings.begin(), facts.begin());
  std::ranges::stable_sort(
      costing, [](const Finding& a, const Finding& b) { return *a.seconds > *b.seconds; });
  json out = json::array();
  for (const Finding& finding : costing)
    if (out.size() < most && *finding.seconds >= least_share * all_seconds)
      out.push_back(value_of(finding, all_seconds));
  for (const Finding& finding : facts) out.push_back(value_of(finding, all_seconds));
  return out;
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (percent >= 9.95) return fmt::format("{:.0f} %", percent);
  if (percent >= 0.05) return fmt::format("{:.1f} %", percent);
  return percent > 0 ? "less than 0.1 %" : "0 %";
}

std::string time_text(double ns) { return base::duration_text(ns, 3); }

std::string digits_text(double count) {
  const std::string digits = fmt::format("{:.0f}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0 && digits.size() > 4) text += ' ';
    text += digits[i];
  }
  return text;
}

std::string count_text(double count, const std::string& one, const std::string& more) {
  const std::string digits = digits_text(count);
  return digits + " " + (digits == "1" ? one : more);
}

std::string place_text(const std::string& file, std::uint32_t line) {
  if (file.empty()) return {};
  const std::string name = std::filesystem::path(file).filename().string();
  return line == 0 ? name : name + ":" + std::to_string(line);
}

}  // namespace refrain::report
