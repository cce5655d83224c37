#include "writer/model/team_table.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace refrain::writer {
namespace {

using spool::Record;

struct TeamMember {
  std::uint32_t thread;
  std::uint32_t location;
};

// Iterates over a location's outermost implicit tasks that will be in the archive, in
// order: those that began outside the gaps, and those that were open at the end of a gap.
class MemberCursor {
 public:
  MemberCursor(const TeamInput& input, const GapPlan& gaps)
      : records_(input.records), gaps_(&gaps) {
    advance();
  }

  bool at_end() const noexcept { return at_end_; }
  std::uint64_t instance() const noexcept { return instance_; }
  std::uint32_t thread() const noexcept { return thread_; }

  void advance() {
    for (; position_ < records_->size(); ++position_) {
      const Record& record = (*records_)[position_];
      if (spool::is_cut(record)) epoch_ = record.a48();
      if ((record.kind & ~spool::kSnapshot) != spool::kImplicitTaskBegin) continue;
      if (!is_epoch_instance(record) || !wanted(record)) continue;
      given_ = true;
      instance_ = record.a48();
      thread_ = static_cast<std::uint32_t>(record.payload);
      ++position_;
      return;
    }
    at_end_ = true;
  }

 private:
  bool wanted(const Record& record) const {
    const std::uint64_t instance = record.a48();
    if (given_ && instance <= instance_) return false;
    const bool in_gap = gaps_->at_epoch(instance) != nullptr;
    if ((record.kind & spool::kSnapshot) == 0) return !in_gap;
    return in_gap && gaps_->at_epoch(epoch_) == nullptr;
  }

  const spool::RecordSequence* records_;
  const GapPlan* gaps_;
  std::size_t position_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t instance_ = 0;
  std::uint32_t thread_ = 0;
  bool given_ = false;
  bool at_end_ = false;
};

}  // namespace

class TeamBuilder {
 public:
  TeamTable build(std::span<const TeamInput> locations, const GapPlan& gaps) {
    merge(locations, gaps);
    take_nested(locations);
    return std::move(table_);
  }

 private:
  std::uint32_t intern(std::vector<TeamMember>& members) {
    std::sort(members.begin(), members.end(), [](const TeamMember& a, const TeamMember& b) {
      return std::tie(a.thread, a.location) < std::tie(b.thread, b.location);
    });
    scratch_.clear();
    for (const TeamMember& member : members) scratch_.push_back(member.location);
    if (last_ != kNoTeam && table_.teams_[last_] == scratch_) return last_;
    const auto [at, is_new] =
        ids_.try_emplace(scratch_, static_cast<std::uint32_t>(table_.teams_.size()));
    if (is_new) table_.teams_.push_back(scratch_);
    return last_ = at->second;
  }

  void add_run(std::uint64_t instance, std::uint32_t team) {
    if (!table_.runs_.empty() && table_.runs_.back().team == team) {
      table_.runs_.back().last = instance;
    } else {
      table_.runs_.push_back({instance, instance, team});
    }
  }

  void merge(std::span<const TeamInput> locations, const GapPlan& gaps) {
    std::vector<MemberCursor> cursors;
    cursors.reserve(locations.size());
    for (const TeamInput& location : locations) cursors.emplace_back(location, gaps);
    using Entry = std::pair<std::uint64_t, std::uint32_t>;  // instance, location
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (std::uint32_t i = 0; i < cursors.size(); ++i)
      if (!cursors[i].at_end()) queue.emplace(cursors[i].instance(), i);
    std::vector<TeamMember> members;
    while (!queue.empty()) {
      const std::uint64_t instance = queue.top().first;
      members.clear();
      while (!queue.empty() && queue.top().first == instance) {
        const std::uint32_t location = queue.top().second;
        queue.pop();
        members.push_back({cursors[location].thread(), location});
        cursors[location].advance();
        if (!cursors[location].at_end())
          queue.emplace(cursors[location].instance(), location);
      }
      add_run(instance, intern(members));
    }
  }

  void take_nested(std::span<const TeamInput> locations) {
    std::map<std::uint64_t, std::vector<TeamMember>> members;
    for (std::uint32_t i = 0; i < locations.size(); ++i) {
      for (const auto& [instance, packed] : locations[i].scan->nested_regions)
        table_.nested_[instance].region = {static_cast<regions::RegionClass>(packed >> 48),
                                           packed & spool::kAddressMask};
      for (const NestedMember& member : locations[i].scan->nested_members)
        members[member.instance].push_back({member.thread, i});
    }
    for (auto& [instance, list] : members) {
      const auto by_location = [](const TeamMember& a, const TeamMember& b) {
        return a.location < b.location;
      };
      const auto same = [](const TeamMember& a, const TeamMember& b) {
        return a.location == b.location;
      };
      std::stable_sort(list.begin(), list.end(), by_location);
      list.erase(std::unique(list.begin(), list.end(), same), list.end());
      table_.nested_[instance].team = intern(list);
    }
  }

  TeamTable table_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> ids_;
  std::vector<std::uint32_t> scratch_;
  std::uint32_t last_ = kNoTeam;
};

std::uint32_t TeamTable::team_of_epoch(std::uint64_t instance) const noexcept {
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), instance,
      [](std::uint64_t value, const Run& run) { return value < run.first; });
  if (after == runs_.begin()) return kNoTeam;
  const Run& run = *(after - 1);
  return instance <= run.last ? run.team : kNoTeam;
}

std::uint32_t TeamTable::team_of_nested(std::uint64_t instance) const noexcept {
  const auto found = nested_.find(instance);
  return found == nested_.end() ? kNoTeam : found->second.team;
}

regions::RegionKey TeamTable::nested_region(std::uint64_t instance) const noexcept {
  const auto found = nested_.find(instance);
  return found == nested_.end() ? regions::RegionKey{} : found->second.region;
}

std::uint32_t TeamTable::rank_in(std::uint32_t team,
                                 std::uint32_t location) const noexcept {
  if (team >= teams_.size()) return kNoTeam;
  const auto& members = teams_[team];
  const auto at = std::find(members.begin(), members.end(), location);
  return at == members.end() ? kNoTeam : static_cast<std::uint32_t>(at - members.begin());
}

TeamTable build_teams(std::span<const TeamInput> locations, const GapPlan& gaps) {
  return TeamBuilder().build(locations, gaps);
}

}  // namespace refrain::writer
