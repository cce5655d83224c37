#include "analysis/report/profile_blocks.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace refrain::report {
namespace {

using analysis::RunEfficiencies;
using analysis::RunProfile;
using json = nlohmann::ordered_json;

json node(const char* key, const char* name, double value, const char* meaning) {
  return {{"name", name},
          {"key", key},
          {"value", value},
          {"meaning", meaning},
          {"children", json::array()}};
}

}  // namespace

std::uint32_t rank_of(const RunProfile::Process& process) {
  return process.rank == RunProfile::kNone ? process.number : process.rank;
}

void add_path_values(Blocks& blocks, const std::string& key, const RunProfile& profile) {
  std::vector<double> values;
  for (std::size_t i = 0; i < profile.paths.size(); ++i)
    for (const RunProfile::Sums& sums : profile.paths[i].sums) {
      const auto ns = [&](auto ticks) {
        return profile.nanoseconds(sums.location, static_cast<double>(ticks));
      };
      values.insert(
          values.end(),
          {static_cast<double>(i), static_cast<double>(sums.location),
           static_cast<double>(sums.visits), ns(sums.own), ns(sums.time),
           static_cast<double>(sums.bytes_sent), static_cast<double>(sums.bytes_received)});
    }
  blocks.add(key + "profile/values", values, {values.size() / 7, 7});
}

void add_calls(Blocks& blocks, const std::string& key, const RunProfile& profile) {
  std::size_t ranks = 0;
  for (const RunProfile::Process& process : profile.processes)
    ranks = std::max<std::size_t>(ranks, std::size_t{rank_of(process)} + 1);
  // A damaged summary may have any rank.
  constexpr std::size_t kMostRanks = std::size_t{1} << 20;
  if (ranks == 0 || ranks > kMostRanks) return;
  struct Procedure {
    double time = 0;
    std::vector<double> times, counts;
  };
  std::map<std::string, Procedure> procedures;
  for (const RunProfile::Path& path : profile.paths) {
    if (path.region == RunProfile::kNone || !analysis::is_mpi(path.cls)) continue;
    Procedure& of = procedures[profile.regions[path.region].name];
    of.times.resize(ranks);
    of.counts.resize(ranks);
    for (const RunProfile::Sums& sums : path.sums) {
      const std::uint32_t rank = rank_of(profile.process_of(sums.location));
      const double ns = profile.nanoseconds(sums.location, static_cast<double>(sums.time));
      of.time += ns;
      of.times[rank] += ns;
      of.counts[rank] += static_cast<double>(sums.visits);
    }
  }
  if (procedures.empty()) return;
  std::vector<std::pair<std::string, Procedure>> sorted(procedures.begin(),
                                                        procedures.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  json names = json::array();
  std::vector<double> times, counts;
  for (const auto& [name, of] : sorted) {
    names.push_back(name);
    times.insert(times.end(), of.times.begin(), of.times.end());
    counts.insert(counts.end(), of.counts.begin(), of.counts.end());
  }
  blocks.add(key + "calls", json{{"procedures", names}, {"ranks", ranks}});
  blocks.add(key + "calls/time", times, {sorted.size(), ranks});
  blocks.add(key + "calls/counts", counts, {sorted.size(), ranks});
}

json efficiency_value(const RunEfficiencies& e) {
  json all = node("parallel", "parallel efficiency", e.parallel,
                  "The part of the time of all threads that is useful computation.");
  json threads = node(
      "load_balance", "load balance", e.load_balance,
      "How evenly useful computation is spread: its mean over threads by its maximum.");
  json communication =
      node("communication", "communication efficiency", e.communication,
           "The part of the run in which the busiest thread computes: the rest is lost in "
           "communication, synchronization and waiting.");
  if (!e.has_mpi) {
    all["children"] = {threads, communication};
    return all;
  }
  json mpi = node("mpi", "MPI efficiency", e.mpi,
                  "The part of the time of all processes that is spent outside of MPI.");
  mpi["children"] = {
      node("mpi_load_balance", "MPI load balance", e.mpi_load_balance,
           "How evenly the time outside of MPI is spread over processes: its mean by its "
           "maximum."),
      node("mpi_communication", "MPI communication efficiency", e.mpi_communication,
           "The part of the run in which the busiest process is outside of MPI.")};
  all["children"] = {
      mpi,
      node("openmp", "thread efficiency", e.openmp,
           "Of the time outside of MPI, the part in which threads compute: the rest is "
           "lost in OpenMP, or because threads have no work.")};
  return all;
}

}  // namespace refrain::report
