#include "waits/replay/collectives.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reader/trace.h"

namespace refrain::waits {
namespace {

CollectiveKind window_kind_of(std::uint32_t operation) {
  switch (operation) {
    case OTF2_COLLECTIVE_OP_BARRIER:
      return CollectiveKind::kFence;
    case OTF2_COLLECTIVE_OP_CREATE_HANDLE:
    case OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE:
      return CollectiveKind::kWindowMade;
    case OTF2_COLLECTIVE_OP_DESTROY_HANDLE:
    case OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE:
      return CollectiveKind::kWindowFreed;
    default:
      return CollectiveKind::kOther;
  }
}

// Waits are part of this one.
std::uint32_t metric_of(CollectiveKind kind) {
  if (kind == CollectiveKind::kFence) return kMpiRmaSyncActive;
  if (kind == CollectiveKind::kWindowMade || kind == CollectiveKind::kWindowFreed)
    return kMpiMgmtWin;
  if (kind == CollectiveKind::kBarrier) return kMpiSyncCollective;
  const bool life = kind == CollectiveKind::kInit || kind == CollectiveKind::kFinalize;
  return life ? kMpiInitExit : kMpiCollective;
}

}  // namespace

CollectiveKind Collectives::kind_of(std::uint32_t operation) {
  switch (operation) {
    case OTF2_COLLECTIVE_OP_BARRIER:
      return CollectiveKind::kBarrier;
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_SCATTER:
    case OTF2_COLLECTIVE_OP_SCATTERV:
      return CollectiveKind::kOneToAll;
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_GATHERV:
    case OTF2_COLLECTIVE_OP_REDUCE:
      return CollectiveKind::kAllToOne;
    case OTF2_COLLECTIVE_OP_ALLGATHER:
    case OTF2_COLLECTIVE_OP_ALLGATHERV:
    case OTF2_COLLECTIVE_OP_ALLTOALL:
    case OTF2_COLLECTIVE_OP_ALLTOALLV:
    case OTF2_COLLECTIVE_OP_ALLTOALLW:
    case OTF2_COLLECTIVE_OP_ALLREDUCE:
    case OTF2_COLLECTIVE_OP_REDUCE_SCATTER:
    case OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK:
      return CollectiveKind::kAllToAll;
    case OTF2_COLLECTIVE_OP_SCAN:
    case OTF2_COLLECTIVE_OP_EXSCAN:
      return CollectiveKind::kScan;
    case OTF2_COLLECTIVE_OP_CREATE_HANDLE:
    case OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE:
      return CollectiveKind::kWindowMade;
    default:
      return CollectiveKind::kOther;
  }
}

Collectives::Collectives(const reader::TraceDefinitions& definitions, PatternSet& patterns,
                         Problems& problems, paths::Notes& log)
    : definitions_(definitions),
      patterns_(patterns),
      problems_(problems),
      log_(log),
      pending_(definitions.locations.size()),
      comms_(definitions.comms.size()),
      windows_(definitions.windows.size()),
      started_(definitions.comms.size()),
      open_(definitions.processes.size()),
      requests_(definitions.locations.size()),
      completing_(definitions.locations.size(), kNone) {
  std::vector<ProcessId> ranks;
  for (std::uint32_t i = 0; i < definitions.processes.size(); ++i)
    if (definitions.processes[i].rank != reader::kNone) ranks.emplace_back(i);
  init_.operations = finalize_.operations =
      reader::CommOperations<Instance>(reader::CommMembers(ranks));
}

Collectives::Comm& Collectives::comm_of(std::vector<Comm>& comms, std::uint32_t number) {
  Comm& comm = comms[number];
  if (comm.operations.known()) return comm;
  comm.operations =
      reader::CommOperations<Instance>(reader::CommMembers(definitions_, number));
  comm.grid = &definitions_.comms[number].grid;
  return comm;
}

Collectives::Comm& Collectives::window_of(std::uint32_t number) {
  Comm& window = windows_[number];
  if (window.operations.known()) return window;
  window.operations = reader::CommOperations<Instance>(
      reader::CommMembers(definitions_, definitions_.windows[number].comm));
  window.window = true;
  return window;
}

void Collectives::end_on_window(const GroupStep& step) {
  if (step.ref >= windows_.size()) {
    ++problems_.unknown_collectives;
    return;
  }
  const std::uint32_t comm = definitions_.windows[step.ref].comm;
  if (comm < definitions_.comms.size() && definitions_.comms[comm].self) return;
  pending_[step.location] = {step.ref, true, kNone, window_kind_of(step.op)};
}

void Collectives::accessed(ProcessId process, std::uint32_t window, ProcessId target,
                           Ticks time) {
  Ticks& latest = window_of(window).accesses[process][target];
  latest = std::max(latest, time);
}

void Collectives::end(const GroupStep& step) {
  if (step.ref >= comms_.size()) {
    ++problems_.unknown_collectives;
    return;
  }
  if (definitions_.comms[step.ref].self) return;
  pending_[step.location] = {step.ref, false, step.peer, kind_of(step.op)};
}

void Collectives::join(const Call& call) {
  Pending pending = pending_[call.location];
  pending_[call.location] = {};
  // Handles of communicators are made likewise.
  if (pending.kind == CollectiveKind::kWindowMade && call.metric != kMpiMgmtWin)
    pending.kind = CollectiveKind::kOther;
  if (call.neighbours && !pending.window) pending.kind = neighbour_kind(pending.comm);
  Comm& comm = pending.window ? window_of(pending.comm) : comm_of(comms_, pending.comm);
  add(comm, call.process, pending.root, pending.kind, call);
}

void Collectives::add(Comm& comm, ProcessId process, std::uint32_t root,
                      CollectiveKind kind, Member member) {
  const auto [rank, number, operation] = comm.operations.next(process);
  if (rank == kNone && owns(process)) ++problems_.unknown_collectives;
  if (operation == nullptr) return settle(member.completion, 0);  // or given up before
  Instance& instance = *operation;
  if (instance.members.empty()) {
    if (!spare_.empty()) {
      instance.members = std::move(spare_.back());
      spare_.pop_back();
    }
    instance.kind = kind;
    if (!comm.between()) instance.root = root;
  }
  if (instance.kind != kind || (!comm.between() && instance.root != root))
    instance.mixed = true;
  if (comm.between()) set_root(comm, instance, rank, root);
  member.rank = rank;
  instance.members.push_back(member);
  if (const auto own = comm.accesses.find(process); own != comm.accesses.end()) {
    instance.accessed.resize(comm.operations.size());
    for (const auto& [target, time] : own->second)
      if (const std::uint32_t of_target = comm.operations.members().rank_of(target);
          of_target != kNone)
        instance.accessed[of_target] = std::max(instance.accessed[of_target], time);
    comm.accesses.erase(own);
  }
  if (instance.members.size() == comm.operations.size()) complete(comm, instance);
  auto& open = comm.operations.open;
  while (!open.empty() && open.front().done) drop_front(comm);
  while (open.size() > kMaxPending) {
    if (!open.front().done && counts(open.front())) ++problems_.incomplete_collectives;
    drop_front(comm);
  }
}

void Collectives::drop_front(Comm& comm) {
  Instance& front = comm.operations.open.front();
  for (const Member& member : front.members)
    if (!front.done) settle(member.completion, 0);
  front.members.clear();
  if (front.members.capacity() != 0) spare_.push_back(std::move(front.members));
  comm.operations.drop_front();
}

void Collectives::complete(Comm& comm, Instance& instance) {
  instance.done = true;
  if (instance.mixed && counts(instance)) ++problems_.mixed_collectives;
  if (instance.mixed || instance.kind == CollectiveKind::kOther ||
      instance.members.size() < 2) {
    for (const Member& member : instance.members) settle(member.completion, 0);
    return;
  }
  if (comm.between()) return between(comm, instance);
  CollectiveMember shared{instance.members.front().call};
  shared.kind = instance.kind;
  shared.earliest_leave = ~Ticks{0};
  below_.assign(instance.members.size() + 1, {});
  Entered latest, first;
  for (const Member& member : instance.members) {
    const Entered entered = {member.enter, member.call.location,
                             member.call.synchronises ? member.call.leave : 0};
    if (later(entered, latest)) latest = entered;
    shared.earliest_leave = std::min(shared.earliest_leave, member.call.leave);
    if (member.rank == instance.root) first = entered;
    below_[member.rank + 1] = entered;
  }
  shared.latest_enter = latest.time;
  shared.root_enter = first.time;
  for (std::size_t i = 1; i < below_.size(); ++i)
    if (!later(below_[i], below_[i - 1])) below_[i] = below_[i - 1];
  const bool all_enter_first =
      !comm.started && (instance.kind == CollectiveKind::kBarrier ||
                        instance.kind == CollectiveKind::kAllToAll);
  if (all_enter_first && shared.latest_enter > shared.earliest_leave && counts(instance)) {
    ++problems_.clock_violations;
    problems_.worst_violation =
        std::max(problems_.worst_violation, shared.latest_enter - shared.earliest_leave);
  }
  if (instance.kind == CollectiveKind::kNeighbours) enters_of(instance);
  std::uint32_t turn = 1;  // behind messages of the same call
  for (Member& member : instance.members) {
    log_.turn(turn++);
    if (!owns(member.process)) continue;
    if (instance.kind == CollectiveKind::kNeighbours) {
      shared.latest_enter = 0;
      reader::for_each_neighbour(*comm.grid, member.rank, [&](std::uint32_t rank) {
        shared.latest_enter = std::max(shared.latest_enter, enters_[rank]);
      });
    }
    CollectiveMember event{
        member.call,
        instance.kind,
        member.rank == instance.root,
        shared.latest_enter,
        shared.earliest_leave,
        shared.root_enter,
        below_[member.rank].time,
        instance.accessed.empty() ? Ticks{0} : instance.accessed[member.rank]};
    if (member.call.metric != metric_of(instance.kind)) member.call.left_over = 0;
    if (is_on_path(comm, instance.kind)) {
      const bool root = event.root;
      if (all_enter_first || instance.kind == CollectiveKind::kFinalize ||
          (instance.kind == CollectiveKind::kAllToOne && root))
        note_wait(instance.kind, member.call, latest);
      if (instance.kind == CollectiveKind::kOneToAll && !root)
        note_wait(instance.kind, member.call, first);
      if (instance.kind == CollectiveKind::kScan)
        note_wait(instance.kind, member.call, below_[member.rank]);
    }
    hand_out(comm, member, event);
  }
  const bool all_wait = all_enter_first || instance.kind == CollectiveKind::kFinalize ||
                        instance.kind == CollectiveKind::kInit;
  if (!all_wait || !is_on_path(comm, instance.kind)) return;
  group_.clear();
  for (const Member& member : instance.members)
    group_.push_back({member.call.location, member.call.enter});
  log_.turn(turn);
  log_.group(group_of(comm), group_, shared.earliest_leave);
}

void Collectives::enters_of(const Instance& instance) {
  enters_.assign(instance.members.size(), 0);
  for (const Member& member : instance.members) enters_[member.rank] = member.enter;
}

// Of graphs the archive does not say who the neighbours are.
CollectiveKind Collectives::neighbour_kind(std::uint32_t comm) const {
  return definitions_.comms[comm].grid.empty() ? CollectiveKind::kOther
                                               : CollectiveKind::kNeighbours;
}

void Collectives::hand_out(const Comm& comm, Member& member, CollectiveMember& event) {
  if (comm.started) return settle(member.completion, needed(event));
  if (member.call.metric != metric_of(event.kind)) member.call.left_over = 0;
  patterns_.collective(event);
}

// An intercommunicator's groups: data go from one to the other, both ways where there is no root.
void Collectives::between(Comm& comm, Instance& instance) {
  const bool rooted = instance.kind == CollectiveKind::kOneToAll ||
                      instance.kind == CollectiveKind::kAllToOne;
  Sides sides;
  Ticks root_enter = 0;
  for (const Member& member : instance.members) {
    const std::uint32_t side = side_of(comm, member.rank);
    sides.latest_enter[side] = std::max(sides.latest_enter[side], member.enter);
    sides.earliest_leave[side] = std::min(sides.earliest_leave[side], member.call.leave);
    if (member.rank == instance.root) root_enter = member.enter;
  }
  for (Member& member : instance.members) {
    if (!owns(member.process)) continue;
    const std::uint32_t side = side_of(comm, member.rank);
    const bool is_root = member.rank == instance.root;
    // Of the root's group only the root takes part.
    const bool outside =
        rooted && (instance.root == kNone || (side == instance.root_side && !is_root));
    if (outside) {
      settle(member.completion, 0);
      continue;
    }
    CollectiveMember event{member.call,
                           instance.kind,
                           is_root,
                           sides.latest_enter[1 - side],
                           sides.earliest_leave[side],
                           root_enter};
    hand_out(comm, member, event);
  }
}

// The root itself says that it is, its group that the root is among them, the others its rank.
void Collectives::set_root(Comm& comm, Instance& instance, std::uint32_t rank,
                           std::uint32_t root) {
  const std::uint32_t side = side_of(comm, rank);
  if (root == OTF2_COLLECTIVE_ROOT_SELF) {
    instance.root = rank;
    instance.root_side = side;
  }
}

void Collectives::give_up(Comm& comm) {
  for (const Instance& instance : comm.operations.open) {
    if (instance.done || instance.members.empty()) continue;
    if (counts(instance)) ++problems_.incomplete_collectives;
    for (const Member& member : instance.members) settle(member.completion, 0);
  }
}

void Collectives::finish() {
  for (Comm& comm : comms_) give_up(comm);
  for (Comm& window : windows_) give_up(window);
  for (Comm& comm : started_) give_up(comm);
  // A program may be traced from after MPI_Init, or end without MPI_Finalize: no loss to report.
}

namespace {

paths::WaitKind wait_kind(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBarrier:
      return paths::WaitKind::kBarrier;
    case CollectiveKind::kOneToAll:
      return paths::WaitKind::kOneToAll;
    case CollectiveKind::kAllToOne:
      return paths::WaitKind::kAllToOne;
    case CollectiveKind::kScan:
      return paths::WaitKind::kScan;
    case CollectiveKind::kFinalize:
      return paths::WaitKind::kFinalize;
    default:
      return paths::WaitKind::kAllToAll;
  }
}

}  // namespace

// Those that do not block, of neighbours and of windows are not.
bool Collectives::is_on_path(const Comm& comm, CollectiveKind kind) {
  return !comm.started && !comm.window && kind != CollectiveKind::kNeighbours;
}

// Of two at the same time, that with the lower number.
bool Collectives::later(const Entered& a, const Entered& b) {
  return a.time > b.time || (a.time == b.time && a.location < b.location);
}

void Collectives::note_wait(CollectiveKind kind, const Call& call, const Entered& latest) {
  const Ticks until = std::min(latest.time, call.leave);
  if (until > call.enter)
    log_.waited(wait_kind(kind), call, std::min(until - call.enter, call.left_over),
                {latest.location, latest.time, latest.leave});
}

void Collectives::started(const GroupStep& step) {
  OpenOnes& open = open_[step.process];
  const auto number = open.front + static_cast<std::uint32_t>(open.queue.size());
  const auto at = [&](std::uint32_t which) -> Open* {
    const std::uint32_t place = which - open.front;
    return place < open.queue.size() ? &open.queue[place] : nullptr;
  };
  // One with the same number has never completed.
  if (const auto before = requests_[step.location].put(step.request, number))
    if (Open* never = at(*before); never != nullptr && !never->known) never->lost = true;
  open.queue.push_back(
      {.location = step.location, .enter = step.enter, .neighbours = step.neighbours});
  if (open.queue.size() > kMaxOpen) open.queue.front().lost = true;
  release(step.process);
}

void Collectives::completed(const GroupStep& step) {
  if (step.ref >= comms_.size()) {
    if (owns(step.process)) ++problems_.unknown_collectives;
    return;
  }
  OpenOnes& open = open_[step.process];
  const auto number = requests_[step.location].take(step.request);
  const std::uint32_t place = number ? *number - open.front : kNone;
  if (place >= open.queue.size()) return;
  Open& known = open.queue[place];
  known.known = true;
  known.comm = step.ref;
  known.root = step.peer;
  known.kind = known.neighbours ? neighbour_kind(step.ref) : kind_of(step.op);
  if (definitions_.comms[step.ref].self) known.lost = true;
  if (step.in_call && !known.lost && owns(step.process)) {
    std::uint32_t& current = completing_[step.location];
    if (current == kNone && free_completions_.empty()) {
      current = static_cast<std::uint32_t>(completions_.size());
      completions_.emplace_back();
    } else if (current == kNone) {
      current = free_completions_.back();
      free_completions_.pop_back();
      completions_[current] = {};
    }
    known.completion = current;
    ++completions_[current].open;
  }
  release(step.process);
}

void Collectives::release(ProcessId process) {
  OpenOnes& open = open_[process];
  while (!open.queue.empty() && (open.queue.front().known || open.queue.front().lost)) {
    const Open front = open.queue.front();
    open.queue.pop_front();
    ++open.front;
    if (!front.known || front.lost) {
      settle(front.completion, 0);
      continue;
    }
    Comm& comm = comm_of(started_, front.comm);
    comm.started = true;
    add(comm, process, front.root, front.kind,
        Member{{}, 0, front.enter, front.completion, process});
  }
}

void Collectives::left_completing(const Call& call) {
  const std::uint32_t number = completing_[call.location];
  completing_[call.location] = kNone;
  Completion& completion = completions_[number];
  completion.call = call;
  completion.left = true;
  ++completion.open;
  settle(number, 0);
}

// One of the operations that complete in a call is known: until when the call waited for it.
void Collectives::settle(std::uint32_t number, Ticks until) {
  if (number == kNone) return;
  Completion& completion = completions_[number];
  completion.until = std::max(completion.until, until);
  if (--completion.open != 0 || !completion.left) return;
  CollectiveCompletion event{completion.call, completion.until};
  free_completions_.push_back(number);
  patterns_.collective_completion(event);
}

// The latest start of those that the member has data from.
Ticks Collectives::needed(const CollectiveMember& member) {
  switch (member.kind) {
    case CollectiveKind::kBarrier:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kNeighbours:
      return member.latest_enter;
    case CollectiveKind::kOneToAll:
      return member.root ? 0 : member.root_enter;
    case CollectiveKind::kAllToOne:
      return member.root ? member.latest_enter : 0;
    case CollectiveKind::kScan:
      return member.lower_enter;
    default:
      return 0;
  }
}

void Collectives::flush(ProcessId process) {
  for (Open& each : open_[process].queue)
    if (!each.known) each.lost = true;
  release(process);
}

}  // namespace refrain::waits
