#include "reader/instances.h"

#include <algorithm>
#include <utility>

namespace refrain::reader {

const CollectiveInstance::Member* CollectiveInstance::root_member() const {
  const auto found = std::ranges::find(members, root, &Member::rank);
  return root == kNone || found == members.end() ? nullptr : &*found;
}

void Collectives::know(Comm& comm, const CommInfo& info) {
  comm.known = true;
  // Of an intercommunicator both groups, one after the other.
  for (const std::uint32_t group : {info.group, info.remote})
    if (group < definitions_.groups.size())
      for (const std::uint32_t process : definitions_.groups[group])
        comm.ranks.try_emplace(process, static_cast<std::uint32_t>(comm.ranks.size()));
  comm.next.resize(comm.ranks.size());
}

Collectives::Instance Collectives::end(const TraceEvent& event, EventId id,
                                       const OpenRegion& call) {
  if (event.ref >= comms_.size()) return nullptr;
  const CommInfo& info = definitions_.comms[event.ref];
  const CollectiveInstance::Member member = {0, call.enter, id, call.enter_ticks,
                                             event.ticks};
  const auto make = [&](std::uint64_t number, std::size_t size) {
    auto made = std::make_shared<CollectiveInstance>();
    made->comm = event.ref;
    made->op = event.op;
    made->number = number;
    made->size = size;
    return made;
  };
  if (info.self) {
    auto alone = make(0, 1);
    alone->members.push_back(member);
    return alone;
  }
  Comm& comm = comms_[event.ref];
  if (!comm.known) know(comm, info);
  const auto rank = comm.ranks.find(definitions_.locations[id.location].process);
  if (rank == comm.ranks.end()) return nullptr;
  const std::uint64_t number = comm.next[rank->second]++;
  if (number < comm.front) return nullptr;
  while (number - comm.front >= comm.open.size())
    comm.open.push_back(make(comm.front + comm.open.size(), comm.ranks.size()));
  std::shared_ptr<CollectiveInstance> instance = comm.open[number - comm.front];
  if (instance->members.empty()) instance->op = event.op;
  if (event.peer < comm.ranks.size()) instance->root = event.peer;
  instance->members.push_back(member);
  instance->members.back().rank = rank->second;
  while (!comm.open.empty() &&
         (comm.open.front()->complete() || comm.open.size() > kMostPending)) {
    comm.open.pop_front();
    ++comm.front;
  }
  return instance;
}

Teams::Instance Teams::fork(std::uint32_t process, EventId id, std::uint64_t ticks) {
  auto team = std::make_shared<Team>();
  team->master = id.location;
  team->instance->fork = id;
  team->instance->fork_ticks = ticks;
  open_[process].push_back(team);
  return team->instance;
}

Teams::Instance Teams::join(std::uint32_t process, EventId id) {
  auto& open = open_[process];
  const auto last = std::find_if(open.rbegin(), open.rend(), [&](const auto& team) {
    return team->master == id.location;
  });
  if (last == open.rend()) return nullptr;
  const std::shared_ptr<Team> team = std::move(*last);
  open.erase(std::next(last).base());
  team->instance->join = id;
  return team->instance;
}

Teams::Instance Teams::begin(std::uint32_t process, EventId id, std::uint32_t comm) {
  auto& open = open_[process];
  const auto newest = [&](auto is_it) {
    const auto found = std::find_if(open.rbegin(), open.rend(), is_it);
    return found == open.rend() ? nullptr : *found;
  };
  auto team = newest([&](const auto& each) {
    const TeamInstance& it = *each->instance;
    return each->master == id.location && (it.comm == kNone || it.comm == comm) &&
           std::ranges::find(it.members, id.location, &EventId::location) ==
               it.members.end();
  });
  if (team == nullptr)
    team = newest([&](const auto& each) { return each->instance->comm == comm; });
  if (team == nullptr)
    team = newest([&](const auto& each) { return each->instance->comm == kNone; });
  if (team == nullptr) return nullptr;
  team->instance->comm = comm;
  team->instance->members.push_back(id);
  threads_[id.location].push_back({team, 0, nullptr, 0});
  return team->instance;
}

Teams::Instance Teams::end(std::uint32_t location) {
  Instance instance = of(location);
  if (instance != nullptr) threads_[location].pop_back();
  return instance;
}

Teams::Instance Teams::of(std::uint32_t location) const {
  const auto& memberships = threads_[location];
  return memberships.empty() ? nullptr : memberships.back().team->instance;
}

Teams::Barrier Teams::enter_barrier(EventId id, std::uint64_t ticks) {
  if (threads_[id.location].empty()) return nullptr;
  Membership& own = threads_[id.location].back();
  Team& team = *own.team;
  const std::uint64_t number = own.barriers++;
  own.in = nullptr;
  if (number < team.first) return nullptr;
  while (number - team.first >= team.barriers.size()) {
    auto& made = team.barriers.emplace_back().instance;
    made->team = team.instance;
    made->number = team.first + team.barriers.size() - 1;
  }
  own.in = team.barriers[number - team.first].instance;
  own.member = own.in->members.size();
  own.in->members.push_back({.enter = id, .leave = {}, .enter_ticks = ticks});
  if (team.barriers.size() > Collectives::kMostPending) {
    team.barriers.pop_front();
    ++team.first;
  }
  return own.in;
}

Teams::Barrier Teams::leave_barrier(EventId id, std::uint64_t ticks) {
  if (threads_[id.location].empty()) return nullptr;
  Membership& own = threads_[id.location].back();
  if (own.in == nullptr) return nullptr;
  own.in->members[own.member].leave = id;
  own.in->members[own.member].leave_ticks = ticks;
  Team& team = *own.team;
  const std::uint64_t number = own.in->number;
  if (number >= team.first) ++team.barriers[number - team.first].left;
  // When the first one leaves, all have entered; when all have left, nobody comes any more.
  const std::size_t members = team.instance->members.size();
  while (!team.barriers.empty() && team.barriers.front().left >= members) {
    team.barriers.pop_front();
    ++team.first;
  }
  return std::move(own.in);
}

}  // namespace refrain::reader
