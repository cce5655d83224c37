#include "waits/replay/teams.h"

#include <algorithm>
#include <utility>

namespace refrain::waits {

void Teams::fork(LocationId location, Ticks time) {
  LocationState& at = locations_[location];
  ProcessState& process = processes_[at.process];
  OfProcess& teams = of_[at.process];
  if (!process.forked && process.primary != location) process.serial.clear();
  if (!process.forked) process.primary = location;
  process.forked = true;
  auto team = std::make_shared<Team>();
  team->master = location;
  team->parent = at.path();
  team->time = time;
  team->outermost = location == process.primary && process.forks == 0;
  recorder_.fork(location, time, team->outermost ? others(at.process) : 0);
  if (location == process.primary) ++process.forks;
  teams.open.push_back(std::move(team));
}

std::shared_ptr<Teams::Team> Teams::find(const OfProcess& process, LocationId location,
                                         std::uint32_t comm) const {
  const auto newest = [&](auto is_it) -> std::shared_ptr<Team> {
    for (auto team = process.open.rbegin(); team != process.open.rend(); ++team)
      if (is_it(**team)) return *team;
    return nullptr;
  };
  auto team = newest([&](const Team& each) {
    return each.master == location && (each.comm == kNone || each.comm == comm) &&
           std::ranges::find(each.members, location, &Member::location) ==
               each.members.end();
  });
  if (team == nullptr) team = newest([&](const Team& each) { return each.comm == comm; });
  if (team == nullptr) team = newest([&](const Team& each) { return each.comm == kNone; });
  return team;
}

void Teams::begin(LocationId location, std::uint32_t comm) {
  LocationState& at = locations_[location];
  auto team = find(of_[at.process], location, comm);
  if (team == nullptr) return;
  team->comm = comm;
  threads_[location].push_back(
      {team, team->members.size(), 0, at.base, at.stack.size(), false});
  team->members.push_back({.location = location});
  if (location == team->master) return;
  at.worker = true;
  at.base = team->parent;
}

void Teams::end(LocationId location) {
  std::vector<Membership>& memberships = threads_[location];
  if (memberships.empty()) return;
  locations_[location].base = memberships.back().base_before;
  memberships.pop_back();
}

void Teams::enter_parallel(LocationId location, Ticks since) {
  if (threads_[location].empty()) return;
  Membership& own = threads_[location].back();
  LocationState& at = locations_[location];
  if (own.entered || at.stack.size() != own.depth + 1) return;
  own.entered = true;
  const Frame frame = at.stack.back();
  own.team->members[own.member].path = frame.path;
  if (location == own.team->master || own.team->region == kNone)
    own.team->region = frame.path;
  if (at.off) return;
  const Ticks begin = std::max(own.team->time, since);
  const Ticks delay = frame.enter - std::min(frame.enter, begin);
  at.stack.pop();  // it was the time of what lies around
  const Ticks moved = at.withdraw(delay);
  at.stack.push(frame);
  patterns_.severities().add(location, frame.path, kOmpManagement, moved);
  patterns_.fork({location, frame.path, moved});
  if (own.team->first == 0) own.team->first = frame.enter;
  if (location == own.team->master)
    recorder_.forked_master(location, own.team->parent, frame.path, own.team->time,
                            frame.enter, own.team->first);
  else if (at.stack.size() == 1)
    recorder_.forked(location, frame.path, frame.enter - moved, moved, own.team->master,
                     own.team->first);
}

void Teams::leave_parallel(LocationId location, Ticks time) {
  if (threads_[location].empty()) return;
  const Membership& own = threads_[location].back();
  if (!own.entered || locations_[location].stack.size() != own.depth + 1) return;
  Member& member = own.team->members[own.member];
  member.leave = time;
  member.left = true;
}

void Teams::join(LocationId location, Ticks time) {
  LocationState& master = locations_[location];
  ProcessState& process = processes_[master.process];
  OfProcess& teams = of_[master.process];
  const auto last =
      std::find_if(teams.open.rbegin(), teams.open.rend(),
                   [&](const auto& each) { return each->master == location; });
  if (last == teams.open.rend()) return;
  const std::shared_ptr<Team> team = std::move(*last);
  teams.open.erase(std::next(last).base());
  if (location == process.primary && process.forks > 0) --process.forks;
  for (const Member& member : team->members) {
    LocationState& at = locations_[member.location];
    if (!member.left || member.path == kNone || at.off || member.leave > time) continue;
    if (member.location == location) {
      if (at.changed != member.leave) continue;  // a fork or join is missing
      const Ticks moved = at.withdraw(time - member.leave);
      patterns_.severities().add(location, member.path, kOmpManagement, moved);
      recorder_.moved(location, at.path(), member.path, moved);
    } else if (at.stack.empty() && at.changed == member.leave) {
      // A part of it may be accounted for as outside already.
      Ticks moved = at.withdraw(std::min(time, at.last) - member.leave);
      if (time > at.last) moved += time - at.last;
      at.last = std::max(at.last, time);
      patterns_.severities().add(member.location, member.path, kOmpManagement, moved);
    }
  }
  if (team->outermost) recorder_.join(location, time);
  if (!team->outermost || team->region == kNone) return;
  const Ticks duration = time - std::min(time, team->time);
  LocationState::add(teams.regions, team->region, duration);
  for (const Member& member : team->members)
    LocationState::add(taken_part_[member.location], team->region, duration);
}

void Teams::enter_barrier(LocationId location) {
  if (threads_[location].empty()) return;
  Membership& own = threads_[location].back();
  Team& team = *own.team;
  if (own.barrier < team.first_barrier) return;
  const std::uint64_t at = own.barrier - team.first_barrier;
  if (at > team.barriers.size()) return;
  if (at == team.barriers.size()) team.barriers.emplace_back();
  Barrier& barrier = team.barriers[at];
  const Ticks enter = locations_[location].stack.back().enter;
  if (barrier.last != kNone && enter <= barrier.latest) return;
  barrier.latest = enter;
  barrier.last = location;
}

Ticks Teams::latest_enter(LocationId location) const {
  if (threads_[location].empty()) return 0;
  const Membership& own = threads_[location].back();
  const Team& team = *own.team;
  const std::uint64_t at = own.barrier - team.first_barrier;
  return own.barrier < team.first_barrier || at >= team.barriers.size()
             ? 0
             : team.barriers[at].latest;
}

void Teams::leave_barrier(Call& call, bool is_explicit, const RanInside& ran) {
  if (threads_[call.location].empty()) return;
  Membership& own = threads_[call.location].back();
  Team& team = *own.team;
  const std::uint64_t number = own.barrier++;
  if (number < team.first_barrier || number - team.first_barrier >= team.barriers.size())
    return;
  Barrier& barrier = team.barriers[number - team.first_barrier];
  const Ticks before = call.left_over;
  TeamBarrier event{call, is_explicit, barrier.latest, ran.until_moment(barrier.latest)};
  patterns_.barrier(event);
  recorder_.team(call, before - call.left_over, barrier.last, barrier.latest);
  ++barrier.left;
  while (!team.barriers.empty() && team.barriers.front().left >= team.members.size()) {
    team.barriers.pop_front();
    ++team.first_barrier;
  }
}

void Tasks::created(ProcessId process, const reader::TraceEvent& event) {
  if (tasks_.size() >= kMaxOpen) return;
  const std::uint64_t id = ++made_;
  const auto [at, is_new] = ids_.try_emplace(key_of(process, event), id);
  if (!is_new) {  // the one before has never completed
    tasks_.erase(at->second);
    at->second = id;
  }
  tasks_[id] = {current_[event.location], event.location, {}};
}

void Tasks::switched(ProcessId process, const reader::TraceEvent& event) {
  const auto found = ids_.find(key_of(process, event));
  current_[event.location] = found == ids_.end() ? 0 : found->second;
}

void Tasks::completed(ProcessId process, const reader::TraceEvent& event, Ticks now) {
  current_[event.location] = 0;
  const auto found = ids_.find(key_of(process, event));
  if (found == ids_.end()) return;
  const auto task = tasks_.find(found->second);
  ids_.erase(found);
  if (task == tasks_.end()) return;
  const Task done = task->second;
  tasks_.erase(task);
  if (done.parent == 0) {
    implicit_[done.parent_location].add(event.location, now);
  } else if (const auto parent = tasks_.find(done.parent); parent != tasks_.end()) {
    parent->second.children.add(event.location, now);
  }
}

Ticks Tasks::children_done(LocationId location, std::uint64_t task) const {
  if (task == 0) return implicit_[location].not_on(location);
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? 0 : found->second.children.not_on(location);
}

}  // namespace refrain::waits
