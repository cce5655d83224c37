#include "waits/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "summary/rank_set.h"

namespace refrain::waits {
namespace {

using paths::WaitKind;

// A metric of waits, the kind of what caused them, and their long-term costs.
struct WaitsOfKind {
  const char* metric;
  WaitKind kind;
  const char* long_term;
};
constexpr std::array<WaitsOfKind, 6> kWaitKinds = {{
    {"mpi_latesender", WaitKind::kLateSender, "delay_latesender_longterm"},
    {"mpi_latereceiver", WaitKind::kLateReceiver, "delay_latereceiver_longterm"},
    {"mpi_barrier_wait", WaitKind::kBarrier, "delay_barrier_longterm"},
    {"mpi_wait_nxn", WaitKind::kAllToAll, "delay_n2n_longterm"},
    {"mpi_latebroadcast", WaitKind::kOneToAll, "delay_12n_longterm"},
    {"mpi_earlyreduce", WaitKind::kAllToOne, "delay_n21_longterm"},
}};

constexpr double kMostOf = 0.6;       // of the waits, to name who it is
constexpr double kMostlyWaits = 0.3;  // of a call's time, so that its waits matter
constexpr double kOtherOrder = 0.5;   // of the waits, to say that

std::uint32_t metric_of(const WaitAnalysis& analysis, std::string_view name) {
  for (std::uint32_t i = 0; i < analysis.tree.metrics.size(); ++i)
    if (analysis.tree.metrics[i].name == name) return i;
  return kNone;
}

double ticks_of(const WaitAnalysis::Row& row) {
  double sum = 0;
  for (const auto& [location, ticks] : row) sum += static_cast<double>(ticks);
  return sum;
}

bool is_call(const WaitAnalysis& analysis, const WaitAnalysis::Path& path,
             std::string_view call) {
  if (path.region >= analysis.regions.size()) return false;
  const std::string& name = analysis.regions[path.region].name;
  if (path.site.empty()) return call == name;
  return call == name + " @" + path.site.substr(path.site.rfind('/') + 1);
}

using ByCauser = std::map<std::pair<ProcessId, PathId>, double>;

ByCauser long_term_of(const WaitAnalysis& analysis, const WaitsOfKind& kind) {
  ByCauser costs;
  const std::uint32_t metric = metric_of(analysis, kind.long_term);
  if (metric >= analysis.values.size()) return costs;
  for (const auto& [path, row] : analysis.values[metric])
    for (const auto& [location, ticks] : row)
      costs[{analysis.locations[location].process, PathId(path)}] +=
          static_cast<double>(ticks);
  return costs;
}

bool is_mpi(const WaitAnalysis& analysis, PathId path) {
  const RegionId region = analysis.paths[path].region;
  return path != 0 && region < analysis.regions.size() &&
         analysis.regions[region].name.starts_with("MPI_");
}

std::uint32_t rank_of(const WaitAnalysis& analysis, ProcessId process) {
  const std::uint32_t rank = analysis.processes[process].rank;
  return rank == kNone ? std::uint32_t{process} : rank;
}

}  // namespace

Origin origin_of(const WaitAnalysis& analysis, std::string_view call) {
  std::vector<bool> at(analysis.paths.size());
  Origin origin;
  const std::uint32_t other_order = metric_of(analysis, "mpi_latesender_wo");
  std::array<double, kWaitKinds.size()> waited{};
  for (PathId path{}; path < analysis.paths.size(); ++path) {
    at[path] = is_call(analysis, analysis.paths[path], call);
    if (!at[path]) continue;
    const std::vector<WaitAnalysis::Row> rows = analysis.inclusive(path);
    origin.in_call += ticks_of(rows[kTime]);
    if (other_order != kNone) origin.other_order += ticks_of(rows[other_order]);
    for (std::size_t i = 0; i < kWaitKinds.size(); ++i)
      if (const std::uint32_t metric = metric_of(analysis, kWaitKinds[i].metric);
          metric != kNone)
        waited[i] += ticks_of(rows[metric]);
  }
  ByCauser causers;
  for (std::size_t i = 0; i < kWaitKinds.size(); ++i) {
    if (waited[i] <= 0) continue;
    origin.waited += waited[i];
    double left = waited[i];
    for (const WaitAnalysis::Cause& cause : analysis.causes) {
      if (cause.kind != kWaitKinds[i].kind || !at[cause.path]) continue;
      causers[{analysis.locations[cause.causer].process, cause.causer_path}] += cause.ticks;
      left -= cause.ticks;
    }
    const ByCauser further = long_term_of(analysis, kWaitKinds[i]);
    double all = 0;
    for (const auto& [who, ticks] : further) all += ticks;
    for (const auto& [who, ticks] : further)
      if (left > 0) causers[who] += std::min(1.0, left / all) * ticks;
  }
  for (const auto& [who, ticks] : causers)
    origin.causers.push_back({who.first, who.second, analysis.seconds(ticks)});
  std::ranges::stable_sort(origin.causers, std::greater(), &Causer::seconds);
  origin.waited = analysis.seconds(origin.waited);
  origin.in_call = analysis.seconds(origin.in_call);
  origin.other_order = analysis.seconds(origin.other_order);
  return origin;
}

std::string waiting_text(const WaitAnalysis& analysis) {
  const std::uint32_t mpi = metric_of(analysis, "mpi");
  const double all = mpi == kNone ? 0 : analysis.total(mpi);
  double waited = 0;
  for (const WaitsOfKind& kind : kWaitKinds)
    if (const std::uint32_t metric = metric_of(analysis, kind.metric); metric != kNone)
      waited += analysis.total(metric);
  if (all <= 0 || waited < kMostlyWaits * all) return {};
  return fmt::format(
      "In written events, {:.0f} % of the time in MPI is waiting for ranks that come later: more cores save "
      "of that only what these wait for a core.",
      100 * waited / all);
}

std::string origin_text(const WaitAnalysis& analysis, const Origin& origin) {
  if (origin.waited <= 0 || origin.waited < kMostlyWaits * origin.in_call) return {};
  std::map<ProcessId, double> by_process;
  std::map<PathId, double> by_path;
  for (const Causer& each : origin.causers) by_process[each.process] += each.seconds;
  std::vector<std::pair<ProcessId, double>> order(by_process.begin(), by_process.end());
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto& each) { return each.second; });
  std::vector<std::uint32_t> ranks;
  double theirs = 0;
  for (const auto& [process, seconds] : order) {
    if (theirs >= kMostOf * origin.waited) break;
    ranks.push_back(rank_of(analysis, process));
    theirs += seconds;
  }
  std::string text;
  if (origin.other_order >= kOtherOrder * origin.waited)
    text = fmt::format(
        "{:.0f} % are for messages that are received in another order than they were sent",
        100 * origin.other_order / origin.waited);
  if (theirs >= kMostOf * origin.waited) {
    for (const Causer& each : origin.causers)
      if (std::ranges::count(ranks, rank_of(analysis, each.process)) != 0)
        by_path[each.path] += each.seconds;
    const auto most = *std::ranges::max_element(
        by_path, {}, [](const auto& each) { return each.second; });
    const bool named = most.first != 0 && most.second >= kMostOf * theirs;
    const std::string where =
        !named ? std::string("outside of MPI")
               : (is_mpi(analysis, most.first) ? "in " : "outside of MPI, in ") +
                     place_text(analysis, most.first);
    const bool several = ranks.size() > 1;
    text += fmt::format("{}{:.0f} % go back to what rank{} {} do{} {}",
                        text.empty() ? "" : "; ", 100 * theirs / origin.waited,
                        several ? "s" : "", summary::RankSet::of(ranks).text(),
                        several ? "" : "es", where);
    if (several && ranks.size() > order.size() / 2) text += ", one after the other";
  }
  return text.empty() ? text : "Of the waits in written events, " + text + ".";
}

}  // namespace refrain::waits
