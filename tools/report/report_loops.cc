#include "tools/report/report_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/archive_files.h"
#include "code_profile/candidates.h"
#include "code_profile/loop_text.h"
#include "code_profile/samples/sample_file.h"
#include "tools/output/sampled_loops.h"

namespace refrain::tools {
namespace {

using Json = nlohmann::ordered_json;
using code_profile::Candidate;
using code_profile::LoopProfile;

// As `refrain loops --json` has it.
constexpr double kMinShareOfLoops = 0.01;
// A finding is about loops that have this much for certain: the share less two standard errors.
constexpr double kLargeShare = 0.1;
constexpr double kFewSamples = 100;
constexpr std::size_t kNamed = 3;

double share_of(const LoopProfile& profile, const Candidate& candidate) {
  return static_cast<double>(profile.nodes[candidate.node].total[0]) /
         static_cast<double>(std::max<std::uint64_t>(profile.total[0], 1));
}

// Candidates that are large whatever chance did, and of which nothing says that they are others' business.
std::vector<Candidate> certain(const LoopProfile& profile) {
  const double samples =
      static_cast<double>(profile.total[0]) - static_cast<double>(profile.sampling.missed);
  std::vector<Candidate> out;
  if (samples < kFewSamples) return out;
  for (Candidate& candidate : code_profile::candidates(profile, kMinShareOfLoops)) {
    const double share = share_of(profile, candidate);
    const double error = std::sqrt(share * (1 - share) / samples);
    if (share - 2 * error >= kLargeShare && !candidate.doubtful)
      out.push_back(std::move(candidate));
  }
  return out;
}

void add_finding(const LoopProfile& profile, std::vector<report::Finding>& findings) {
  const std::vector<Candidate> large = certain(profile);
  if (large.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(large.size(), kNamed); ++i)
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ",
                        code_profile::title_of(profile.nodes[large[i].node]),
                        report::percent_text(share_of(profile, large[i])));
  const bool one = large.size() == 1;
  findings.push_back(
      {.kind = report::Finding::Kind::kDetection,
       .what = "Large loops without OpenMP",
       .text = fmt::format(
           "{} of the code {} a tenth of the CPU time or more and {} without OpenMP{}: {}.",
           report::count_text(static_cast<double>(large.size()), "loop", "loops"),
           one ? "takes" : "take", one ? "runs" : "run",
           large.size() > kNamed ? "; the largest" : "", list),
       .hint = "A loop whose iterations are independent can run in parallel. Refrain does "
               "not know whether they are; shares count samples.",
       .evidence = {{"view", "loops"}, {"node", large.front().node}}});
}

// The nodes are in order of their totals; what refers to one that is left out goes with it.
void keep_first(Json& value, std::size_t most) {
  const auto kept = [&](const Json& node) {
    return node.is_null() || node.get<std::size_t>() < most;
  };
  const auto only = [](Json& list, auto&& keep) {
    Json out = Json::array();
    for (Json& each : list)
      if (keep(each)) out.push_back(std::move(each));
    list = std::move(out);
  };
  for (const char* nodes : {"loops", "functions", "candidates"})
    only(value[nodes], [&](const Json& each) { return kept(each["node"]); });
  for (Json& loop : value["loops"])
    if (!kept(loop["parent"])) loop["parent"] = Json();
  for (Json& detected : value["detected"])
    only(detected["parts"], [&](const Json& part) { return kept(part["node"]); });
  only(value["edges"],
       [&](const Json& edge) { return kept(edge["from"]) && kept(edge["to"]); });
}

}  // namespace

ReportedLoops reported_loops(const LoopProfile& profile, std::size_t most) {
  ReportedLoops out;
  out.value = code_profile::profile_value(profile, kMinShareOfLoops);
  if (profile.nodes.size() > most) {
    keep_first(out.value, most);
    out.limits.push_back(
        fmt::format("Of {} loops and functions of the code the {} with most samples are "
                    "shown",
                    profile.nodes.size(), most));
  }
  add_finding(profile, out.findings);
  return out;
}

base::Result<ReportedLoops> report_loops(const std::string& archive,
                                         const analysis::ArchiveInfo& info) {
  const auto processes = code_profile::read_sample_files(base::archive_folder(archive));
  if (!processes) return processes.failure();
  if (processes->empty()) return ReportedLoops();
  const auto profile = sampled_loops(*processes, info);
  if (!profile) return profile.failure();
  return reported_loops(*profile);
}

}  // namespace refrain::tools
