#include "waits/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "summary/rank_set.h"

namespace refrain::waits {
namespace {

// A metric of waits, and the long-term costs of what caused them.
struct WaitsOfKind {
  const char* metric;
  const char* long_term;
};
constexpr std::array<WaitsOfKind, 6> kWaitKinds = {{
    {"mpi_latesender", "delay_latesender_longterm"},
    {"mpi_latereceiver", "delay_latereceiver_longterm"},
    {"mpi_barrier_wait", "delay_barrier_longterm"},
    {"mpi_wait_nxn", "delay_n2n_longterm"},
    {"mpi_latebroadcast", "delay_12n_longterm"},
    {"mpi_earlyreduce", "delay_n21_longterm"},
}};

constexpr double kMostOf = 0.6;       // of the waits, to name who it is
constexpr double kMostlyWaits = 0.3;  // of a call's time, so that its waits matter
constexpr double kOtherOrder = 0.5;   // of the waits, to say that

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
  const std::uint32_t metric = analysis.tree.of(kind.long_term);
  if (metric >= analysis.values.size()) return costs;
  for (const auto& [path, row] : analysis.values[metric])
    for (const auto& [location, ticks] : row)
      costs[{analysis.locations[location].process, PathId(path)}] +=
          analysis.seconds(static_cast<double>(ticks));
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
  const std::uint32_t other_order = analysis.tree.of("mpi_latesender_wo");
  std::array<std::uint32_t, kWaitKinds.size()> metrics{};
  for (std::size_t i = 0; i < metrics.size(); ++i)
    metrics[i] = analysis.tree.of(kWaitKinds[i].metric);
  Origin origin;
  std::array<double, kWaitKinds.size()> left{};  // of a kind, that nobody causes directly
  ByCauser causers;
  for (PathId path{}; path < analysis.paths.size(); ++path) {
    if (!is_call(analysis, analysis.paths[path], call)) continue;
    const std::vector<WaitAnalysis::Row> rows = analysis.inclusive(path);
    const auto seconds = [&](std::uint32_t metric) {
      return metric == kNone ? 0 : analysis.seconds(ticks_of(rows[metric]));
    };
    origin.in_call += seconds(kTime);
    origin.other_order += seconds(other_order);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const double waited = seconds(metrics[i]);
      if (waited <= 0) continue;
      origin.waited += waited;
      left[i] += waited;
      for (const Causer& each : causers_of(analysis, metrics[i], path)) {
        causers[{each.process, each.path}] += each.seconds;
        left[i] -= each.seconds;
      }
    }
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (left[i] <= 0) continue;
    const ByCauser further = long_term_of(analysis, kWaitKinds[i]);
    double all = 0;
    for (const auto& [who, seconds] : further) all += seconds;
    for (const auto& [who, seconds] : further)
      causers[who] += std::min(1.0, left[i] / all) * seconds;
  }
  for (const auto& [who, seconds] : causers)
    origin.causers.push_back({who.first, who.second, seconds});
  std::ranges::stable_sort(origin.causers, std::greater(), &Causer::seconds);
  return origin;
}

std::string waiting_text(const WaitAnalysis& analysis) {
  const std::uint32_t mpi = analysis.tree.of("mpi");
  const double all = mpi == kNone ? 0 : analysis.total(mpi);
  double waited = 0;
  for (const WaitsOfKind& kind : kWaitKinds)
    if (const std::uint32_t metric = analysis.tree.of(kind.metric); metric != kNone)
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
