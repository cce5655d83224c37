#include "test/support/mpi_processes.h"

#include <otf2/otf2.h>

#include <algorithm>

namespace refrain::test {
namespace {

constexpr std::size_t kReportedOfAKind = 5;

bool is_mpi(const Event& event) { return event.type >= EventType::kMpiSend; }

}  // namespace

void ProblemKind::add(const std::string& what) {
  if (++count_ <= kReportedOfAKind) {
    problems_.push_back(kind_ + ": " + what);
    return;
  }
  if (count_ == kReportedOfAKind + 1) {
    last_ = problems_.size();
    problems_.emplace_back();
  }
  problems_[last_] = kind_ + ": " + std::to_string(count_) + " in all";
}

MpiProcesses::MpiProcesses(const Trace& trace) : trace_(trace) {
  const Group* world = nullptr;
  for (const auto& [reference, group] : trace.groups) {
    if (group.type != OTF2_GROUP_TYPE_COMM_LOCATIONS || group.paradigm != OTF2_PARADIGM_MPI)
      continue;
    if (world != nullptr) problems_.push_back("two groups of the locations of MPI");
    world = &group;
  }
  if (world != nullptr) {
    collect(*world);
    return;
  }
  for (const Location& location : trace.locations)
    if (std::any_of(location.events.begin(), location.events.end(), is_mpi))
      problems_.push_back(location.name + ": has records of MPI, but no group says ranks");
}

void MpiProcesses::collect(const Group& world) {
  std::map<std::uint32_t, int> rank_of;  // of a location group
  std::map<std::uint64_t, std::uint32_t> group_of;
  for (const Location& location : trace_.locations)
    group_of[location.reference] = location.group;
  for (std::size_t i = 0; i < world.members.size(); ++i) {
    const auto group = group_of.find(world.members[i]);
    if (group == group_of.end())
      problems_.push_back("rank " + std::to_string(i) + " is an undefined location");
    else if (!rank_of.emplace(group->second, static_cast<int>(i)).second)
      problems_.push_back("rank " + std::to_string(i) + " is a process that has a rank");
  }
  events_.resize(world.members.size());
  location_groups_.resize(world.members.size(), kNoGroup);
  for (const auto& [group, rank] : rank_of) location_groups_[rank] = group;
  for (const Location& location : trace_.locations) {
    const auto rank = rank_of.find(location.group);
    for (const Event& event : location.events) {
      if (!is_mpi(event)) continue;
      if (rank != rank_of.end()) events_[rank->second].push_back(&event);
    }
    if (rank == rank_of.end() &&
        std::any_of(location.events.begin(), location.events.end(), is_mpi))
      problems_.push_back(location.name + ": has records of MPI, but its process no rank");
  }
  for (auto& events : events_)
    std::stable_sort(events.begin(), events.end(),
                     [](const Event* a, const Event* b) { return a->time < b->time; });
}

std::optional<std::vector<int>> MpiProcesses::group_members(std::uint32_t group,
                                                            int self) const {
  const auto found = trace_.groups.find(group);
  if (found == trace_.groups.end() || found->second.paradigm != OTF2_PARADIGM_MPI)
    return std::nullopt;
  std::vector<int> result;
  if (found->second.type == OTF2_GROUP_TYPE_COMM_SELF) return std::vector<int>{self};
  if (found->second.type == OTF2_GROUP_TYPE_COMM_LOCATIONS) {
    for (int i = 0; i < size(); ++i) result.push_back(i);
    return result;
  }
  if (found->second.type != OTF2_GROUP_TYPE_COMM_GROUP) return std::nullopt;
  for (const std::uint64_t member : found->second.members) {
    if (member >= static_cast<std::uint64_t>(size())) return std::nullopt;
    result.push_back(static_cast<int>(member));
  }
  return result;
}

bool MpiProcesses::between_groups(std::uint32_t comm) const {
  const auto found = trace_.comms.find(comm);
  return found != trace_.comms.end() && found->second.other_group != kNoGroup;
}

std::optional<std::vector<int>> MpiProcesses::members(std::uint32_t comm, int self) const {
  const auto found = trace_.comms.find(comm);
  if (found == trace_.comms.end()) return std::nullopt;
  std::optional<std::vector<int>> result = group_members(found->second.group, self);
  if (!result || found->second.other_group == kNoGroup) return result;
  const auto others = group_members(found->second.other_group, self);
  if (!others) return std::nullopt;
  result->insert(result->end(), others->begin(), others->end());
  return result;
}

std::optional<int> MpiProcesses::peer(std::uint32_t comm, int self,
                                      std::int64_t rank) const {
  const auto found = trace_.comms.find(comm);
  if (found == trace_.comms.end()) return std::nullopt;
  std::uint32_t group = found->second.group;
  if (found->second.other_group != kNoGroup) {
    const auto here = group_members(group, self);
    if (here && std::find(here->begin(), here->end(), self) != here->end())
      group = found->second.other_group;
  }
  const auto there = group_members(group, self);
  if (!there || rank < 0) return std::nullopt;
  if (trace_.groups.at(group).flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS)
    return rank < size() ? std::optional<int>(static_cast<int>(rank)) : std::nullopt;
  if (static_cast<std::size_t>(rank) >= there->size()) return std::nullopt;
  return (*there)[static_cast<std::size_t>(rank)];
}

}  // namespace refrain::test
