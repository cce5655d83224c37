#include "tools/output/ensemble_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/texts.h"
#include "tools/output/info_screen.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

using analysis::Ensemble;
using analysis::EnsembleMember;
using Json = nlohmann::ordered_json;
using Kind = EnsembleMember::Kind;

constexpr std::size_t kMaxMembers = 20;  // on the screen
constexpr std::size_t kIndent = 13;

const char* kind_name(Kind kind) {
  return kind == Kind::kSlow ? "slow" : kind == Kind::kFast ? "fast" : "typical";
}

void wrap(std::vector<std::string>& out, std::string line, const std::string& text,
          std::size_t indent, std::size_t width) {
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && line.size() + 1 + word.size() > width) {
      out.push_back(std::move(line));
      line.assign(indent, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
  }
  out.push_back(std::move(line));
}

std::string size_text(const Ensemble& ensemble) {
  const auto threads =
      fmt::format("{} thread{}", ensemble.threads, ensemble.threads == 1 ? "" : "s");
  return ensemble.mpi ? fmt::format("{} rank{}, {}", ensemble.processes,
                                    ensemble.processes == 1 ? "" : "s", threads)
                      : threads;
}

std::size_t count_of(const Ensemble& ensemble, Kind kind) {
  return static_cast<std::size_t>(
      std::ranges::count(ensemble.members, kind, &EnsembleMember::kind));
}

Json mores(const std::vector<EnsembleMember::More>& all) {
  Json out = Json::array();
  for (const EnsembleMember::More& more : all)
    out.push_back({{"text", more.text}, {"more_thread_seconds", more.ns / 1e9}});
  return out;
}

}  // namespace

std::vector<std::string> ensemble_screen(const Ensemble& ensemble, std::size_t width,
                                         bool all) {
  width = std::clamp<std::size_t>(width, 80, 400);
  std::vector<std::string> out;
  const auto put = [&](const char* label, const std::string& text) {
    wrap(out, fmt::format("{:<{}}", label, kIndent), text, kIndent, width);
  };
  put("Ensemble", fmt::format("{} runs of {}, each on {}", ensemble.members.size(),
                              ensemble.program.empty() ? "a program" : ensemble.program,
                              size_text(ensemble)));
  put("Time",
      fmt::format(
          "median {}; slow or fast: by more than {}, {:.0f} %",
          base::duration_text(ensemble.median_ns, 3),
          base::duration_text(ensemble.margin_ns, 3),
          ensemble.median_ns > 0 ? 100 * ensemble.margin_ns / ensemble.median_ns : 0));
  put("Members",
      fmt::format("{} slow, {} typical, {} fast", count_of(ensemble, Kind::kSlow),
                  count_of(ensemble, Kind::kTypical), count_of(ensemble, Kind::kFast)));
  for (const std::string& note : ensemble.notes) put("Note", note + ".");
  if (!ensemble.findings.empty()) out.emplace_back();
  std::size_t number = 0;
  for (const std::string& finding : ensemble.findings)
    wrap(out, fmt::format("{}. ", ++number), finding, 3, width);
  out.emplace_back();
  constexpr std::size_t kNumber = 11;
  std::size_t longest = 6;
  for (const EnsembleMember& member : ensemble.members)
    longest = std::max(longest, member.name.size());
  const std::size_t room = std::min(longest, width / 3);
  out.push_back(fmt::format("{:<{}}{:>{}}{:>{}}{:>{}}  {}", "Member", room, "Time", kNumber,
                            "To median", kNumber, "Efficiency", kNumber,
                            "First root cause, its share of the time"));
  // Slow ones first; of those that are alike only some.
  for (std::size_t i = 0; i < ensemble.members.size(); ++i) {
    const EnsembleMember& member = ensemble.members[i];
    if (!all && i == kMaxMembers) {
      out.push_back(
          fmt::format("and {} more (--all)", ensemble.members.size() - kMaxMembers));
      break;
    }
    const std::string cause =
        member.causes.empty() ? "-"
                              : fmt::format("{}{}, {:.0f} %", member.causes.front().what,
                                            member.causes.front().where.empty()
                                                ? ""
                                                : " " + member.causes.front().where,
                                            100 * member.causes.front().share);
    std::string line =
        fmt::format("{:<{}}{:>{}}{:>{}}{:>{}}  ", fitted(member.name, room), room,
                    base::duration_text(member.time_ns, 3), kNumber,
                    fmt::format("{:+.1f} %", 100 * (member.ratio - 1)), kNumber,
                    fmt::format("{:.1f} %", 100 * member.parallel), kNumber);
    out.push_back(line + fitted(cause, width - std::min(width - 10, line.size())));
  }
  return out;
}

Json ensemble_value(const Ensemble& ensemble) {
  Json members = Json::array();
  for (const EnsembleMember& member : ensemble.members) {
    Json causes = Json::array();
    for (const analysis::RootCause& cause : member.causes)
      causes.push_back({{"account", analysis::account_name(cause.account)},
                        {"what", cause.what},
                        {"where", cause.where},
                        {"text", cause.text},
                        {"hint", cause.hint},
                        {"lost_seconds", cause.lost_ns / 1e9},
                        {"share", cause.share}});
    members.push_back(
        {{"archive", member.name},
         {"kind", kind_name(member.kind)},
         {"seconds", member.time_ns / 1e9},
         {"to_median", member.ratio},
         {"parallel_efficiency", member.parallel},
         {"no_core_share", member.all_ns > 0 ? member.core_wait_ns / member.all_ns : 0},
         {"causes", std::move(causes)},
         {"more_by_account", mores(member.accounts)},
         {"more_by_call_path", mores(member.places)}});
  }
  return {{"format", "refrain ensemble"},
          {"version", 1},
          {"program", ensemble.program},
          {"processes", ensemble.processes},
          {"threads", ensemble.threads},
          {"median_seconds", ensemble.median_ns / 1e9},
          {"margin_seconds", ensemble.margin_ns / 1e9},
          {"members", std::move(members)},
          {"findings", ensemble.findings},
          {"notes", ensemble.notes}};
}

std::string ensemble_json(const Ensemble& ensemble) {
  return ensemble_value(ensemble).dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string ensemble_csv(const Ensemble& ensemble) {
  std::string out =
      "archive,kind,seconds,to_median,parallel_efficiency,cause,cause_share,more,more_thread_seconds\n";
  for (const EnsembleMember& member : ensemble.members) {
    const bool caused = !member.causes.empty(), more = !member.places.empty();
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_quoted(member.name),
                    kind_name(member.kind), member.time_ns / 1e9, member.ratio,
                    member.parallel, csv_quoted(caused ? member.causes.front().what : ""),
                    caused ? fmt::format("{}", member.causes.front().share) : "",
                    csv_quoted(more ? member.places.front().text : ""),
                    more ? fmt::format("{}", member.places.front().ns / 1e9) : "");
  }
  return out;
}

}  // namespace refrain::tools
