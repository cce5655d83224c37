#include "tools/output/cause_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/texts.h"
#include "summary/rank_set.h"

namespace refrain::tools {
namespace {

using analysis::RootCause;

std::string title_of(const RootCause& cause) {
  std::string text = cause.what;
  if (!cause.ranks.empty())
    text += (cause.ranks.size() == 1 ? ", rank " : ", ranks ") +
            summary::RankSet::of(cause.ranks).text();
  if (cause.thread != RootCause::kNone) text += fmt::format(", thread {}", cause.thread);
  if (!cause.where.empty()) text += ", " + cause.where;
  return base::clean_line(text);
}

std::string amount_text(double seconds, double share) {
  return seconds == 0 ? "-"
                      : fmt::format("{} {:5.1f} %", base::duration_text(seconds * 1e9, 3),
                                    100 * share);
}

}  // namespace

std::vector<ComparedCause> compare_causes(const analysis::Conclusions& a,
                                          const analysis::Conclusions& b) {
  // What is printed of a cause says its kind, place and ranks, but not the account.
  std::map<std::pair<analysis::Account, std::string>, ComparedCause> found;
  const auto add = [&](const analysis::Conclusions& of, double ComparedCause::*seconds,
                       double ComparedCause::*share) {
    for (const RootCause& cause : of.causes) {
      ComparedCause& to = found[{cause.account, title_of(cause)}];
      to.title = title_of(cause);
      to.*seconds += cause.lost_ns / 1e9;
      to.*share += cause.share;
    }
  };
  add(a, &ComparedCause::a_seconds, &ComparedCause::a_share);
  add(b, &ComparedCause::b_seconds, &ComparedCause::b_share);
  std::vector<ComparedCause> out;
  out.reserve(found.size());
  for (auto& [what, cause] : found) out.push_back(std::move(cause));
  std::ranges::stable_sort(out, std::greater(), [](const ComparedCause& each) {
    return std::abs(each.a_seconds - each.b_seconds);
  });
  return out;
}

std::vector<std::string> compared_causes_screen(const std::vector<ComparedCause>& causes) {
  if (causes.empty()) return {};
  std::vector<std::string> lines = {
      fmt::format("Root causes, time and share of all threads; - none {:>28} {:>18} {:>14}",
                  "A", "B", "difference")};
  for (const ComparedCause& each : causes) {
    const double difference = each.b_seconds - each.a_seconds;
    lines.push_back("  " + each.title);
    lines.push_back(fmt::format(
        "{:>80} {:>18} {:>14}", amount_text(each.a_seconds, each.a_share),
        amount_text(each.b_seconds, each.b_share),
        (difference < 0 ? "-" : "+") + base::duration_text(std::abs(difference) * 1e9, 3)));
  }
  return lines;
}

nlohmann::ordered_json compared_causes_value(const std::vector<ComparedCause>& causes) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const ComparedCause& each : causes)
    out.push_back({{"cause", each.title},
                   {"a_seconds", each.a_seconds},
                   {"b_seconds", each.b_seconds},
                   {"a_share", each.a_share},
                   {"b_share", each.b_share}});
  return out;
}

}  // namespace refrain::tools
