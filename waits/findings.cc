#include "waits/findings.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "summary/rank_set.h"

namespace refrain::waits {
namespace {

// Of a call path in a text; Refrain records no more.
constexpr std::size_t kMaxSteps = 256;

// "dir/file.c:12"
bool split_site(const std::string& site, std::string& file, std::uint32_t& line) {
  const std::size_t colon = site.rfind(':');
  if (colon == std::string::npos) return false;
  const char* end = site.data() + site.size();
  const auto [rest, error] = std::from_chars(site.data() + colon + 1, end, line);
  if (error != std::errc() || rest != end) return false;
  file = site.substr(0, colon);
  return true;
}

// The call's, or the region's.
bool own_place(const WaitAnalysis& analysis, const WaitAnalysis::Path& at, Place& place) {
  place = {};
  if (split_site(at.site, place.file, place.line)) return true;
  place = {};
  if (at.region == kNone || at.region >= analysis.regions.size()) return false;
  const WaitAnalysis::Region& region = analysis.regions[at.region];
  if (region.line == 0 || region.file.empty()) return false;
  place = {region.file, region.line};
  return true;
}

Finding make(const WaitAnalysis& analysis, std::uint32_t metric, PathId path,
             const WaitAnalysis::Row& row, double all) {
  Finding finding;
  finding.metric = metric;
  finding.path = path;
  std::map<ProcessId, Ticks> by_process;
  Ticks sum = 0;
  for (const auto& [location, ticks] : row) {
    if (ticks != 0) by_process[analysis.locations[location].process] += ticks;
    sum += ticks;
  }
  finding.seconds = analysis.seconds(static_cast<double>(sum));
  finding.share = all > 0 ? static_cast<double>(sum) / all : 0;
  for (const auto& [process, ticks] : by_process)
    finding.ranks.push_back({process, analysis.seconds(static_cast<double>(ticks))});
  std::ranges::stable_sort(finding.ranks, std::greater(), &Finding::Rank::seconds);
  const Place place = place_of(analysis, path);
  finding.file = place.file;
  finding.line = place.line;
  return finding;
}

// Of the whole run where that is estimated, in ticks.
double whole_of(const WaitAnalysis& analysis, std::uint32_t metric, PathId path,
                Ticks seen) {
  if (!of_whole_run(analysis) || metric >= analysis.estimates.size() ||
      path >= analysis.estimates[metric].paths.size())
    return static_cast<double>(seen);
  return analysis.estimates[metric].paths[path] * analysis.ticks_per_second;
}

Ticks sum_of(const WaitAnalysis::Row& row) {
  Ticks sum = 0;
  for (const auto& [location, ticks] : row) sum += ticks;
  return sum;
}

bool of_idle_threads(const WaitAnalysis& analysis, std::uint32_t metric) {
  for (; metric != kNone; metric = analysis.tree.parents[metric])
    if (metric == kOmpIdleThreads) return true;
  return false;
}

bool starts_or_ends_mpi(const WaitAnalysis& analysis, PathId path) {
  const RegionId region = analysis.paths[path].region;
  if (region >= analysis.regions.size()) return false;
  const std::string& name = analysis.regions[region].name;
  return name == "MPI_Init" || name == "MPI_Init_thread" || name == "MPI_Finalize";
}

// Of the calls of a path, how much of their time was this wait.
double waiting_share(const WaitAnalysis& analysis, const Finding& wait) {
  const std::vector<WaitAnalysis::Row> rows = analysis.inclusive(wait.path);
  const Ticks calls =
      sum_of(rows[kTime]) - sum_of(rows[kOmpIdleThreads]) - sum_of(rows[kSkipped]);
  const double seconds = analysis.seconds(static_cast<double>(calls));
  return seconds > 0 ? std::min(1.0, wait.seconds / seconds) : 0;
}

// Threads that are idle in an MPI call while it waits are no finding of their own but part of that one.
std::vector<Finding> with_idle_threads(const WaitAnalysis& analysis,
                                       std::vector<Finding> found) {
  std::map<std::uint32_t, Finding*> waits;  // by call path, the one with the most time
  for (Finding& each : found) {
    if (of_idle_threads(analysis, each.metric)) continue;
    Finding*& most = waits[each.path];
    if (most == nullptr || most->whole_seconds < each.whole_seconds) most = &each;
  }
  std::vector<bool> joined(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!of_idle_threads(analysis, found[i].metric)) continue;
    const auto wait = waits.find(found[i].path);
    if (wait == waits.end()) continue;
    const double share = waiting_share(analysis, *wait->second);
    wait->second->idle_seconds += share * found[i].seconds;
    wait->second->whole_idle_seconds += share * found[i].whole_seconds;
    joined[i] = true;
  }
  std::vector<Finding> kept;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!joined[i]) kept.push_back(std::move(found[i]));
  return kept;
}

}  // namespace

Place place_of(const WaitAnalysis& analysis, PathId path) {
  Place place;
  while (path != kNone && path != 0 && !own_place(analysis, analysis.paths[path], place))
    path = analysis.paths[path].parent;
  return place;
}

std::vector<Place> places_of(const WaitAnalysis& analysis) {
  std::vector<Place> places;
  places.reserve(analysis.paths.size());
  for (const WaitAnalysis::Path& at : analysis.paths) {
    Place& place = places.emplace_back();
    if (at.parent == kNone || own_place(analysis, at, place)) continue;
    place = at.parent < places.size() ? places[at.parent] : Place();
  }
  return places;
}

bool of_whole_run(const WaitAnalysis& analysis) {
  return analysis.problems.gaps != 0 && !analysis.estimates.empty();
}

std::vector<Finding> findings_of(const WaitAnalysis& analysis, double least_share) {
  std::vector<Finding> found;
  const double all = analysis.total(kTime);
  const auto metrics = static_cast<std::uint32_t>(analysis.tree.metrics.size());
  for (PathId path{}; path < analysis.paths.size(); ++path) {
    const std::vector<WaitAnalysis::Row> rows = analysis.inclusive(path);
    std::vector<double> sums(metrics);  // of the whole run
    for (std::uint32_t metric = 0; metric < metrics; ++metric) {
      if (analysis.tree.metrics[metric].cause.empty()) continue;
      const Ticks seen = sum_of(rows[metric]);
      if (seen != 0) sums[metric] = whole_of(analysis, metric, path, seen);
    }
    for (std::uint32_t metric = 0; metric < metrics; ++metric) {
      if (sums[metric] == 0 || sums[metric] < least_share * all) continue;
      // What a special case explains to more than a half is said by it; its parent is not said again.
      const auto explained = [&](std::uint32_t other) {
        return analysis.tree.parents[other] == metric && 2 * sums[other] > sums[metric];
      };
      bool special = false;
      for (std::uint32_t other = metric + 1; other < metrics; ++other)
        special = special || explained(other);
      const std::uint32_t parent = analysis.tree.parents[metric];
      const bool small_part =
          parent != kNone && sums[parent] != 0 && 2 * sums[metric] <= sums[parent];
      if (special || small_part) continue;
      Finding finding = make(analysis, metric, path, rows[metric], all);
      finding.whole_seconds = analysis.seconds(sums[metric]);
      finding.whole_share = all > 0 ? sums[metric] / all : 0;
      // Threads cannot work while MPI starts or ends, and that is not the program's doing.
      if (of_idle_threads(analysis, metric) && starts_or_ends_mpi(analysis, path)) continue;
      found.push_back(std::move(finding));
    }
  }
  found = with_idle_threads(analysis, std::move(found));
  std::ranges::stable_sort(found, std::greater(), &Finding::whole_seconds);
  return found;
}

std::string path_text(const WaitAnalysis& analysis, PathId path) {
  std::vector<PathId> steps;
  for (; path != kNone && path != 0; path = analysis.paths[path].parent)
    steps.push_back(path);
  if (steps.empty()) return name_of(analysis, PathId());
  std::ranges::reverse(steps);
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!text.empty()) text += " > ";
    if (steps.size() > kMaxSteps && i == kMaxSteps / 2) {
      i = steps.size() - kMaxSteps / 2;
      text += "... " + std::to_string(i - kMaxSteps / 2) + " more > ";
    }
    const WaitAnalysis::Path& at = analysis.paths[steps[i]];
    text += name_of(analysis, steps[i]);
    if (!at.site.empty()) text += " (" + at.site + ")";
  }
  return text;
}

std::string name_of(const WaitAnalysis& analysis, PathId path) {
  const RegionId region = analysis.paths[path].region;
  if (path != 0)
    return region < analysis.regions.size() ? analysis.regions[region].name : "?";
  return analysis.program.empty()
             ? "program"
             : analysis.program.substr(analysis.program.rfind('/') + 1);
}

std::string place_text(const WaitAnalysis& analysis, PathId path) {
  const std::string text = path_text(analysis, path);
  const Place place = place_of(analysis, path);
  // "!$omp barrier @work.c:12" and "MPI_Recv (dir/work.c:12)" say it.
  const std::string name = place.file.substr(place.file.rfind('/') + 1);
  const std::string line = name + ":" + std::to_string(place.line);
  const bool said = text.ends_with("@" + line) || text.ends_with(line + ")");
  return place.file.empty() || said
             ? text
             : text + ", " + place.file + ":" + std::to_string(place.line);
}

std::string ranks_text(const WaitAnalysis& analysis, const Finding& finding) {
  std::vector<std::uint32_t> ranks;
  bool mpi = true;
  for (const Finding::Rank& each : finding.ranks) {
    const std::uint32_t rank = analysis.processes[each.process].rank;
    mpi = mpi && rank != kNone;
    ranks.push_back(rank == kNone ? each.process : rank);
  }
  const std::string several = ranks.size() == 1 ? "" : mpi ? "s" : "es";
  return (mpi ? "rank" : "process") + several + " " +
         summary::RankSet::of(std::move(ranks)).text();
}

}  // namespace refrain::waits

namespace refrain::waits {
namespace {

using paths::WaitKind;

bool is_of(const std::string& metric, WaitKind kind) {
  switch (kind) {
    case WaitKind::kLateSender:
      return metric == "mpi_latesender";
    case WaitKind::kLateReceiver:
      return metric == "mpi_latereceiver";
    case WaitKind::kBarrier:
      return metric == "mpi_barrier_wait";
    case WaitKind::kAllToAll:
      return metric == "mpi_wait_nxn";
    case WaitKind::kOneToAll:
      return metric == "mpi_latebroadcast";
    case WaitKind::kAllToOne:
      return metric == "mpi_earlyreduce";
    case WaitKind::kTeamBarrier:
      return metric == "omp_ebarrier_wait" || metric == "omp_ibarrier_wait";
    default:
      return false;
  }
}

}  // namespace

std::vector<Causer> causers_of(const WaitAnalysis& analysis, std::uint32_t metric,
                               PathId path) {
  std::map<std::pair<ProcessId, PathId>, double> sums;
  std::uint32_t whole = metric;  // what it is a special case of, if it is
  for (const WaitAnalysis::Cause& cause : analysis.causes) {
    if (cause.path != path) continue;
    for (std::uint32_t each = metric; each != kNone; each = analysis.tree.parents[each]) {
      if (!is_of(analysis.tree.metrics[each].name, cause.kind)) continue;
      sums[{analysis.locations[cause.causer].process, cause.causer_path}] += cause.ticks;
      whole = each;
      break;
    }
  }
  // Which of all these waits are the special ones is not known: each causer has the same share.
  const auto of_all = static_cast<double>(sum_of(analysis.inclusive(whole, path)));
  const double share =
      whole == metric || of_all <= 0
          ? 1
          : static_cast<double>(sum_of(analysis.inclusive(metric, path))) / of_all;
  std::vector<Causer> causers;
  causers.reserve(sums.size());
  for (const auto& [who, ticks] : sums)
    causers.push_back({who.first, who.second, analysis.seconds(ticks) * share});
  std::ranges::stable_sort(causers, std::greater(), &Causer::seconds);
  return causers;
}

std::string causer_text(const WaitAnalysis& analysis, const Causer& causer) {
  const std::uint32_t rank = analysis.processes[causer.process].rank;
  std::string text = rank == kNone ? "process " + std::to_string(causer.process)
                                   : "rank " + std::to_string(rank);
  text += " in " + place_text(analysis, causer.path);
  return text;
}

}  // namespace refrain::waits
