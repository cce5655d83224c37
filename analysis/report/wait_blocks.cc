#include "analysis/report/wait_blocks.h"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "waits/findings.h"

namespace refrain::report {
namespace {

using analysis::RunProfile;
using waits::WaitAnalysis;

std::vector<std::uint32_t> paths_in(const WaitAnalysis& analysis,
                                    const RunProfile& profile) {
  // By name, file and line: functions of one name may be several.
  using Key =
      std::tuple<std::uint32_t, std::string, std::string, std::uint32_t, std::string>;
  std::map<Key, std::uint32_t> known;
  for (std::uint32_t i = 0; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    if (path.region == RunProfile::kNone) continue;
    const RunProfile::Region& region = profile.regions[path.region];
    known.try_emplace({path.parent, region.name, region.file, region.line, path.site}, i);
  }
  std::vector<std::uint32_t> out(analysis.paths.size(), RunProfile::kNone);
  for (std::uint32_t i = 1; i < analysis.paths.size(); ++i) {
    const WaitAnalysis::Path& path = analysis.paths[i];
    if (path.region >= analysis.regions.size() || path.parent >= i) continue;
    // The program itself is no path of the profile.
    const std::uint32_t parent = path.parent == 0 ? RunProfile::kNone : out[path.parent];
    if (path.parent != 0 && parent == RunProfile::kNone) continue;
    const auto& region = analysis.regions[path.region];
    const auto found =
        known.find({parent, region.name, region.file, region.line, path.site});
    if (found != known.end()) out[i] = found->second;
  }
  return out;
}

}  // namespace

WaitPlaces places_in(const WaitAnalysis& analysis, const RunProfile& profile) {
  WaitPlaces places;
  places.paths = paths_in(analysis, profile);
  // Processes by rank; without ranks they are in the same order.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  for (LocationId i; i < profile.locations.size(); ++i) {
    const RunProfile::Location& location = profile.locations[i];
    const std::uint32_t rank = profile.process_of(i).rank;
    known.try_emplace(
        {rank == RunProfile::kNone ? location.process : rank, location.thread}, i);
  }
  for (const WaitAnalysis::Location& location : analysis.locations) {
    const std::uint32_t rank = analysis.processes[location.process].rank;
    const auto found =
        known.find({rank == waits::kNone ? location.process : rank, location.number});
    places.locations.push_back(found == known.end() ? RunProfile::kNone : found->second);
  }
  return places;
}

void add_wait_values(Blocks& blocks, const std::string& key, const WaitAnalysis& analysis) {
  std::vector<double> values;
  for (std::size_t metric = 0; metric < analysis.values.size(); ++metric)
    for (std::size_t path = 0; path < analysis.paths.size(); ++path)
      for (const auto& [location, ticks] : analysis.values[metric][path])
        if (ticks != 0)
          values.insert(values.end(),
                        {static_cast<double>(metric), static_cast<double>(path),
                         static_cast<double>(location),
                         analysis.seconds(static_cast<double>(ticks))});
  blocks.add(key + "analyze/values", values, {values.size() / 4, 4});
}

nlohmann::json wait_paths_value(const WaitAnalysis& analysis, const WaitPlaces& places) {
  using nlohmann::json;
  const auto or_null = [](std::uint32_t index) {
    return index == RunProfile::kNone ? json() : json(index);
  };
  const std::vector<waits::Place> sources = waits::places_of(analysis);
  json out = json::array();
  for (PathId i; i < analysis.paths.size(); ++i) {
    const WaitAnalysis::Path& path = analysis.paths[i];
    out.push_back({{"parent", or_null(path.parent)},
                   {"name", waits::name_of(analysis, i)},
                   {"site", path.site},
                   {"file", sources[i].file},
                   {"line", sources[i].line},
                   {"profile", or_null(places.paths[i])}});
  }
  return out;
}

}  // namespace refrain::report

namespace refrain::report {
namespace {

using waits::WaitAnalysis;
using json = nlohmann::ordered_json;

constexpr double kMinWaitShare = 0.002;

std::string rank_text(const WaitAnalysis& analysis, std::uint32_t process) {
  const std::uint32_t rank = analysis.processes[process].rank;
  return rank == waits::kNone ? fmt::format("process {}", process)
                              : fmt::format("rank {}", rank);
}

// "MPI_Allreduce at cg.c:74".
std::string where_text(const WaitAnalysis& analysis, std::uint32_t path) {
  const std::uint32_t region = analysis.paths[path].region;
  std::string text = region < analysis.regions.size() ? analysis.regions[region].name
                                                      : waits::name_of(analysis, PathId{});
  if (text.starts_with("!$omp ")) text.erase(0, 6);
  const waits::Place place = waits::place_of(analysis, PathId(path));
  const std::string at = place_text(place.file, place.line);
  return at.empty() || text.ends_with("@" + at) ? text : text + " at " + at;
}

bool is_below(const WaitAnalysis& analysis, std::uint32_t metric, const char* name) {
  for (; metric != waits::kNone; metric = analysis.tree.parents[metric])
    if (analysis.tree.metrics[metric].name == name) return true;
  return false;
}

// Whole run by what was seen; 1 where all was.
double estimated(const WaitAnalysis& analysis, std::uint32_t metric) {
  if (metric >= analysis.estimates.size()) return 1;
  const WaitAnalysis::Estimate& estimate = analysis.estimates[metric];
  return estimate.seen > 0 ? std::max(1.0, estimate.whole / estimate.seen) : 1;
}

std::string because(const WaitAnalysis& analysis, const waits::Finding& finding) {
  const auto causers = waits::causers_of(analysis, finding.metric, finding.path);
  if (causers.empty() || causers.front().seconds < 0.1 * finding.seconds) return {};
  const waits::Causer& most = causers.front();
  std::string text = ", because " + rank_text(analysis, most.process) + " ";
  const std::string longer = longer_text(analysis, most.process, most.path);
  text +=
      longer.empty() ? "arrives later, from " + where_text(analysis, most.path) : longer;
  double others = 0;
  for (std::size_t i = 1; i < causers.size(); ++i) others += causers[i].seconds;
  if (others > most.seconds)
    text += fmt::format(" (the cause of {} of it; other ranks cause the rest)",
                        percent_text(most.seconds / (most.seconds + others)));
  return text;
}

// Time in calls that communicate, of which no pattern says that it was waiting.
void add_transfers(const WaitAnalysis& analysis, const WaitPlaces& places, double all,
                   std::vector<Finding>& out) {
  for (const std::uint32_t metric :
       {waits::kMpiPoint2Point, waits::kMpiCollective, waits::kMpiRmaCommunication})
    for (std::uint32_t path = 0; path < analysis.paths.size(); ++path) {
      double ticks = 0, calls = 0;
      for (const auto& [location, each] : analysis.values[metric][path])
        ticks += static_cast<double>(each);
      for (const auto& [location, each] : analysis.calls[path])
        calls += static_cast<double>(each.visits);
      const double seen = analysis.seconds(ticks);
      if (seen < kMinWaitShare * all) continue;
      const double factor = estimated(analysis, metric);
      const double seconds = std::min(all, seen * factor);
      Finding finding;
      finding.kind = Finding::Kind::kOverhead;
      finding.what = "MPI communication";
      finding.seconds = seconds;
      finding.text = fmt::format(
          "{}{} of the time ({}) is spent in {} itself, not waiting for others: {} in the "
          "archive take {} each.",
          factor > 1.001 ? "About " : "", percent_text(seconds / all),
          time_text(seconds * 1e9), where_text(analysis, path),
          count_text(calls, "call", "calls"), time_text(seen / std::max(1.0, calls) * 1e9));
      finding.hint =
          "Use fewer and larger messages, or overlap communication with computation.";
      finding.evidence = {{"view", "mpi"},
                          {"metric", analysis.tree.metrics[metric].name},
                          {"wait_path", path}};
      if (places.paths[path] != analysis::RunProfile::kNone)
        finding.evidence["path"] = places.paths[path];
      out.push_back(std::move(finding));
    }
}

}  // namespace

std::string longer_text(const WaitAnalysis& analysis, std::uint32_t process,
                        std::uint32_t path) {
  std::map<std::uint32_t, double> own;  // by process, of those that are there
  // A call of MPI may have waited itself, and what it waits for is no cause.
  const auto region = analysis.paths[PathId(path)].region;
  if (region != waits::kNone && analysis.regions[region].paradigm == OTF2_PARADIGM_MPI)
    return {};
  for (const auto& [location, calls] : analysis.calls[path])
    if (calls.own != 0)
      own[analysis.locations[location].process] += static_cast<double>(calls.own);
  if (own.size() < 2 || !own.contains(process)) return {};
  double others = 0;
  for (const auto& [each, ticks] : own)
    if (each != process) others += ticks;
  others /= static_cast<double>(own.size() - 1);
  const double longer = others > 0 ? own[process] / others - 1 : 0;
  if (longer < 0.02) return {};
  // Iterations that are not written may differ.
  const std::string where = where_text(analysis, path) +
                            (waits::of_whole_run(analysis) ? " in what is written" : "");
  return longer < 1 ? fmt::format("takes {} longer in {}", percent_text(longer), where)
                    : fmt::format("takes {:.1f} times as long in {}", longer + 1, where);
}

std::vector<Finding> wait_findings(const WaitAnalysis& analysis, const WaitPlaces& places,
                                   const When& when) {
  std::vector<Finding> out;
  const double all = analysis.seconds(analysis.total(waits::kTime));
  for (const waits::Finding& each : waits::findings_of(analysis, kMinWaitShare)) {
    if (is_below(analysis, each.metric, "omp_ibarrier") ||
        is_below(analysis, each.metric, "omp_management") ||
        is_below(analysis, each.metric, "omp_idle_threads"))
      continue;
    const waits::MetricInfo& metric = analysis.tree.metrics[each.metric];
    const double seconds = std::min(all, each.whole_seconds + each.whole_idle_seconds);
    Finding finding;
    finding.kind = Finding::Kind::kWait;
    finding.what = metric.title;
    finding.seconds = seconds;
    finding.hint = metric.cause;
    // When is known by metric: of the place that has most of it.
    const double of_metric = analysis.seconds(analysis.total(each.metric));
    const bool most = when && each.seconds >= 0.6 * of_metric;
    finding.text = fmt::format(
        "{}{} of the time ({}) is lost in {}: {} wait{}{}{}.",
        waits::of_whole_run(analysis) ? "About " : "", percent_text(seconds / all),
        time_text(seconds * 1e9), where_text(analysis, each.path),
        waits::ranks_text(analysis, each), each.ranks.size() == 1 ? "s" : "",
        because(analysis, each), most ? when(each.metric) : std::string());
    if (each.idle_seconds != 0)
      finding.text += fmt::format(" This includes {} of idle worker threads.",
                                  time_text(each.whole_idle_seconds * 1e9));
    finding.evidence = {{"view", "waits"},
                        {"metric", metric.name},
                        {"wait_path", std::uint32_t{each.path}}};
    const std::uint32_t path = places.paths[each.path];
    if (path != analysis::RunProfile::kNone) finding.evidence["path"] = path;
    out.push_back(std::move(finding));
  }
  add_transfers(analysis, places, all, out);
  return out;
}

}  // namespace refrain::report
