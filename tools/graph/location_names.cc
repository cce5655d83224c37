#include <algorithm>
#include <map>
#include <set>

#include "tools/graph/control_flow_drawing.h"
#include "tools/graph/number_list.h"

namespace refrain::tools {
namespace {

using analysis::RunProfile;

std::uint32_t number_of(const RunProfile::Process& process) {
  return process.rank == RunProfile::kNone ? process.number : process.rank;
}

}  // namespace

LocationNames::LocationNames(const RunProfile& profile, const std::vector<bool>& locations)
    : profile_(profile) {
  std::set<std::uint32_t> processes;
  for (std::uint32_t i = 0; i < profile.locations.size(); ++i) {
    if (!locations[i]) continue;
    chosen_.push_back(i);
    processes.insert(profile.locations[i].process);
  }
  threads_ = profile.processes.size() <= 1;
  processes_ = !threads_ && processes.size() == chosen_.size();
  const bool ranks = std::any_of(processes.begin(), processes.end(), [&](std::uint32_t at) {
    return profile.processes[at].rank != RunProfile::kNone;
  });
  unit_ = ranks ? "ranks" : "processes";
  if (threads_) unit_ = "threads";
  if (!threads_ && !processes_) unit_ += ".threads";
}

std::string LocationNames::list(const std::vector<std::uint32_t>& locations) const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> threads;  // by number of the process
  for (const std::uint32_t at : locations)
    threads[number_of(profile_.process_of(at))].push_back(profile_.locations[at].thread);
  std::map<std::string, std::vector<std::uint32_t>> processes;  // by list of threads
  for (auto& [process, numbers] : threads) {
    std::sort(numbers.begin(), numbers.end());
    processes[processes_ ? std::string() : number_list(numbers)].push_back(process);
  }
  std::string out;
  for (const auto& [numbers, of] : processes) {
    if (!out.empty()) out += ", ";
    out += threads_ ? numbers : number_list(of) + (processes_ ? "" : "." + numbers);
  }
  return out;
}

std::string LocationNames::all() const { return list(chosen_); }

base::Result<std::vector<bool>> locations_of(const RunProfile& profile,
                                             const std::string& ranks) {
  std::vector<bool> chosen(profile.locations.size(), ranks.empty());
  if (ranks.empty()) return chosen;
  const auto ranges = parse_number_list(ranks);
  if (!ranges)
    return base::Failure{"'" + ranks + "' is not a list of ranks, such as 0-3,7"};
  std::map<std::uint32_t, std::vector<std::uint32_t>> locations;  // by number
  for (std::uint32_t i = 0; i < chosen.size(); ++i)
    locations[number_of(profile.process_of(i))].push_back(i);
  for (const NumberRange& range : *ranges) {
    std::uint64_t found = 0;
    for (auto at = locations.lower_bound(range.first);
         at != locations.end() && at->first <= range.last; ++at, ++found)
      for (const std::uint32_t i : at->second) chosen[i] = true;
    if (found == std::uint64_t{range.last} - range.first + 1) continue;
    std::vector<std::uint32_t> known;
    known.reserve(locations.size());
    for (const auto& [number, indices] : locations) known.push_back(number);
    return base::Failure{"not all ranks of '" + ranks + "' are in this run, which has " +
                         number_list(known)};
  }
  return chosen;
}

}  // namespace refrain::tools
