#include "waits/replay/replay.h"

#include <otf2/otf2.h>

#include <algorithm>

#include "reader/trace.h"
#include "waits/metrics/metric.h"
#include "waits/metrics/pattern.h"

namespace refrain::waits {
namespace {

using reader::EventKind;
using reader::TraceEvent;

// What patterns may ask of a replay about the run.
//
// Thread-safety: none. Ownership: of neither.

class ReplayView final : public RunView {
 public:
  ReplayView(const reader::TraceDefinitions& definitions,
             const std::vector<ProcessState>& processes)
      : definitions_(definitions), processes_(processes) {}

  double ticks_per_second() const override {
    return static_cast<double>(definitions_.ticks_per_second);
  }
  std::uint32_t processes() const override {
    return static_cast<std::uint32_t>(definitions_.processes.size());
  }
  std::uint32_t locations() const override {
    return static_cast<std::uint32_t>(definitions_.locations.size());
  }
  bool location(LocationId number, Location& to) const override {
    if (number >= definitions_.locations.size()) return false;
    const reader::LocationInfo& info = definitions_.locations[number];
    const bool known = info.process < definitions_.processes.size();
    to = {info.process, info.thread,
          known ? definitions_.processes[info.process].rank : kNone};
    return true;
  }
  bool region(ProcessId process, PathId path, Region& to) const override {
    const CallPaths::Path* at = find(process, path);
    if (at == nullptr) return false;
    to = {};
    if (at->region >= definitions_.regions.size()) return true;
    const reader::RegionInfo& region = definitions_.regions[at->region];
    to = {region.name.c_str(), region.file.c_str(), region.line, ""};
    const auto site = definitions_.places.find(at->site);
    if (at->site != kNone && site != definitions_.places.end())
      to.site = site->second.c_str();
    return true;
  }
  PathId parent(ProcessId process, PathId path) const override {
    const CallPaths::Path* at = find(process, path);
    return at == nullptr ? PathId{kNone} : at->parent;
  }

 private:
  const CallPaths::Path* find(ProcessId process, PathId path) const {
    if (process >= processes_.size()) return nullptr;
    const auto& paths = processes_[process].paths.paths();
    return path < paths.size() ? &paths[path] : nullptr;
  }

  const reader::TraceDefinitions& definitions_;
  const std::vector<ProcessState>& processes_;
};

// So that no sum of an archive that defines nonsense overflows.
constexpr Ticks kMaxTicks = Ticks{1} << 60;

}  // namespace

base::Result<> Replay::begin(const reader::TraceDefinitions& definitions) {
  base_ = definitions.base_ticks;
  windows_ = !definitions.windows.empty();
  unused_.begin(definitions);
  state_.begin(definitions, patterns_);
  if (joint_ == nullptr) {
    log_ = std::make_unique<paths::WaitLog>(folder_, state_.locations, state_.processes);
    own_joint_ = std::make_unique<JointReplay>(state_, patterns_, *log_);
    joint_ = own_joint_.get();
  }
  view_ = std::make_unique<ReplayView>(definitions, state_.processes);
  patterns_.begin(*view_);
  recorder_.begin(state_.locations.size(), *joint_);
  tasks_ = std::make_unique<Tasks>(state_.locations.size());
  teams_ =
      std::make_unique<Teams>(state_.locations, state_.processes, patterns_, recorder_);
  if (!patterns_.error().empty()) return base::Failure{patterns_.error()};
  return {};
}

void Replay::account(LocationState& at, LocationId location, Ticks now) {
  ProcessState& process = state_.processes[at.process];
  if (!at.begun) {
    at.begun = true;
    process.begin = std::min(process.begin, now);
    at.last = at.changed = process.begin;
    recorder_.starts(location, process.begin);
  }
  process.end = std::max(process.end, now);
  if (now <= at.last) return;
  const Ticks passed = now - at.last;
  at.last = now;
  if (at.only_in_regions && at.stack.empty()) return;
  const PathId path = at.path();
  if (!at.stack.empty() || !at.worker)
    recorder_.passed(location, at.off ? PathId(path | paths::kInGap) : path, passed);
  if (at.off) {
    if (!at.stack.empty()) at.stack.back().inside += passed;
    return LocationState::add(at.skipped, path, passed);
  }
  if (at.stack.empty())
    at.outside += passed;
  else
    LocationState::add(at.own, path, passed);
  if (location == process.primary && process.forks == 0)
    LocationState::add(process.serial, path, passed);
}

void Replay::event(const TraceEvent& event) {
  LocationState& at = state_.locations[event.location];
  if (!at.counts) return;
  // A location's time does not run backwards, whatever a damaged archive says: nothing would be charged once only.
  const Ticks now =
      std::max(at.last, std::min(event.ticks - std::min(event.ticks, base_), kMaxTicks));
  switch (event.kind) {
    case EventKind::kProgramBegin:
    case EventKind::kProgramEnd:
      // What the program does before its first region and after its last one is part of its time, too.
      return account(at, event.location, now);
    case EventKind::kEnter:
      account(at, event.location, now);
      return enter(at, event, now);
    case EventKind::kLeave:
      account(at, event.location, now);
      return leave(at, event, now);
    case EventKind::kMeasurementOnOff: {
      account(at, event.location, now);
      const bool off = event.op == OTF2_MEASUREMENT_OFF;
      if (off && !at.off) ++state_.problems.gaps;
      at.off = off;
      at.changed = now;
      return;
    }
    case EventKind::kThreadFork:
    case EventKind::kOmpFork:
      account(at, event.location, now);
      return teams_->fork(event.location, now);
    case EventKind::kThreadJoin:
    case EventKind::kOmpJoin:
      account(at, event.location, now);
      return teams_->join(event.location, now);
    case EventKind::kThreadTeamBegin:
      account(at, event.location, now);
      return teams_->begin(event.location, event.ref);
    case EventKind::kThreadTeamEnd:
      account(at, event.location, now);
      return teams_->end(event.location);
    case EventKind::kThreadTaskCreate:
      return tasks_->created(at.process, event);
    case EventKind::kThreadTaskSwitch:
      return tasks_->switched(at.process, event);
    case EventKind::kThreadTaskComplete:
      return tasks_->completed(at.process, event, now);
    case EventKind::kThreadAcquireLock:
    case EventKind::kOmpAcquireLock:
    case EventKind::kThreadReleaseLock:
    case EventKind::kOmpReleaseLock:
      return lock(at, event, now);
    case EventKind::kMpiCollectiveEnd:
    case EventKind::kNonBlockingCollectiveRequest:
    case EventKind::kNonBlockingCollectiveComplete:
    case EventKind::kRmaCollectiveEnd:
    case EventKind::kRmaPut:
    case EventKind::kRmaGet:
    case EventKind::kRmaAtomic:
    case EventKind::kRmaGroupSync:
    case EventKind::kRmaRequestLock:
    case EventKind::kRmaReleaseLock:
    case EventKind::kRmaOpCompleteBlocking:
    case EventKind::kRmaOpCompleteRemote:
      return group(at, event, now);
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
    case EventKind::kMpiIsendComplete:
    case EventKind::kMpiIrecvRequest:
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
    case EventKind::kMpiRequestCancelled:
      return message(at, event);
    default:
      return unused_.add(event.kind,
                         at.stack.empty() ? reader::kNone : at.stack.back().region);
  }
}

void Replay::message(LocationState& at, const TraceEvent& event) {
  if (event.uncertain) return;
  MessageStep step{.kind = event.kind,
                   .in_call = !at.stack.empty(),
                   .process = at.process,
                   .location = event.location,
                   .comm = event.ref,
                   .tag = event.tag,
                   .request = event.request,
                   .enter = at.stack.empty() ? at.last : at.stack.back().enter};
  const bool sends =
      event.kind == EventKind::kMpiSend || event.kind == EventKind::kMpiIsend;
  const bool receives =
      event.kind == EventKind::kMpiRecv || event.kind == EventKind::kMpiIrecv;
  if (sends || receives) {
    step.partner = state_.definitions->process_of(event.ref, event.peer, at.process);
    if (step.partner >= state_.processes.size()) {
      ++state_.problems.unknown_ends;
      // Of a receive that was posted its place is given up.
      if (event.kind != EventKind::kMpiIrecv) return;
      step.partner = ProcessId(kNone);
    }
  }
  const bool completes = sends || receives || event.kind == EventKind::kMpiIsendComplete;
  if (step.in_call && completes) at.steps = at.message_steps = true;
  joint_->message(step);
}

void Replay::group(LocationState& at, const TraceEvent& event, Ticks now) {
  if (event.uncertain) return;
  const bool in_call = !at.stack.empty();
  const bool started = event.kind == EventKind::kNonBlockingCollectiveRequest;
  if (!in_call && !started && event.kind != EventKind::kNonBlockingCollectiveComplete)
    return;
  if (in_call) at.steps = true;
  if (in_call && event.kind == EventKind::kNonBlockingCollectiveComplete)
    at.stack.back().completes = true;
  joint_->group({.kind = event.kind,
                 .in_call = in_call,
                 .neighbours = in_call && state_.kinds[at.stack.back().region].neighbours,
                 .process = at.process,
                 .location = event.location,
                 .ref = event.ref,
                 .peer = event.peer,
                 .op = event.op,
                 .tag = event.tag,
                 .request = event.request,
                 .enter = in_call ? at.stack.back().enter : now});
}

void Replay::enter(LocationState& at, const TraceEvent& event, Ticks now) {
  if (event.ref >= state_.kinds.size() || state_.kinds[event.ref].ignored) return;
  const RegionKind& kind = state_.kinds[event.ref];
  const std::uint32_t site = kind.mpi ? reader::call_site(event) : kNone;
  CallPaths& paths = state_.processes[at.process].paths;
  const std::size_t known = paths.paths().size();
  const PathId path = paths.child(at.path(), RegionId(event.ref), site);
  if (paths.paths().size() != known) joint_->path(at.process, paths.paths().back());
  if (kind.synchronises()) recorder_.point(event.location, now);
  at.stack.push({.region = RegionId(event.ref), .path = path, .enter = now});
  if (kind.mpi && windows_) joint_->entered_mpi(at.process, now);
  if (kind.special == RegionKind::Special::kParallel)
    teams_->enter_parallel(event.location, at.changed);
  if (kind.special == RegionKind::Special::kBarrier) teams_->enter_barrier(event.location);
  if (kind.special == RegionKind::Special::kTaskwait)
    at.stack.back().task = tasks_->current(event.location);
  at.changed = now;
}

void Replay::leave(LocationState& at, const TraceEvent& event, Ticks now) {
  if (event.ref >= state_.kinds.size() || state_.kinds[event.ref].ignored) return;
  std::size_t ended = at.stack.ended_by(event.ref);
  if (ended == 0) ++state_.problems.leaves_without_enter;
  for (; ended > 0; --ended) {
    if (ended > 1) ++state_.problems.enters_without_leave;
    pop(at, event.location, now);
  }
}

void Replay::pop(LocationState& at, LocationId location, Ticks now) {
  const Frame frame = at.stack.back();
  const RegionKind& kind = state_.kinds[frame.region];
  Call call{.process = at.process,
            .location = location,
            .path = frame.path,
            .enter = frame.enter,
            .leave = now,
            .metric = kind.metric,
            .multiple = kind.multiple,
            .test = kind.test,
            .neighbours = kind.neighbours,
            .synchronises = kind.synchronises()};
  const Ticks duration = now - std::min(now, frame.enter);
  call.own = call.left_over = duration - std::min(duration, frame.inside);
  const bool messages = at.message_steps;
  LocationState::add(at.visits, frame.path, 1);
  if (kind.metric == kMpiPoint2Point && !messages && !frame.completes) {
    LocationState::add(at.without_message, frame.path, 1);
    LocationState::add(at.own_without_message, frame.path, call.own);
  } else {
    const std::uint64_t scaled = state_.severities->scaled(call.own);
    LocationState::add(at.squares, frame.path, scaled * scaled);
  }
  if (kind.special == RegionKind::Special::kParallel) teams_->leave_parallel(location, now);
  at.stack.pop();
  if (!at.stack.empty()) ran_inside(at.stack.back(), location, frame.enter, now);
  at.changed = now;
  // What ran inside of it is not to be taken for what came after it.
  if (kind.synchronises() && frame.inside != 0) recorder_.point(location, now);
  if (kind.synchronises()) joint_->left(call);
  if (at.steps || kind.synchronises() || (kind.mpi && windows_)) joint_->left(call, kind);
  if (messages) call.left_over = 0;
  at.steps = at.message_steps = false;
  if (kind.special == RegionKind::Special::kTaskwait) {
    const Ticks done = tasks_->children_done(location, frame.task);
    TaskWait event{call, done, frame.ran.until_moment(done)};
    patterns_.task_wait(event);
  }
  if (kind.special == RegionKind::Special::kBarrier)
    teams_->leave_barrier(call, kind.explicit_barrier, frame.ran);
  patterns_.call(call);
}

// A region that was left right inside of `around`.
void Replay::ran_inside(Frame& around, LocationId location, Ticks begin, Ticks end) {
  around.inside += end - begin;
  const auto special = state_.kinds[around.region].special;
  if (special == RegionKind::Special::kBarrier)
    around.ran.add(begin, end, teams_->latest_enter(location));
  else if (special == RegionKind::Special::kTaskwait)
    around.ran.add(begin, end, tasks_->children_done(location, around.task));
}

void Replay::lock(LocationState& at, const TraceEvent& event, Ticks now) {
  if (event.kind == EventKind::kThreadReleaseLock ||
      event.kind == EventKind::kOmpReleaseLock)
    return locks_.released(at.process, event.request, event.value, event.location, now);
  if (!at.stack.empty()) lock_wait(at, event, now);
  locks_.acquired(at.process, event.request, event.value, event.location);
}

void Replay::lock_wait(LocationState& at, const TraceEvent& event, Ticks now) {
  const Frame& frame = at.stack.back();
  const auto special = state_.kinds[frame.region].special;
  if (special != RegionKind::Special::kCritical && special != RegionKind::Special::kLock)
    return;
  const Ticks own = now - frame.enter - std::min(now - frame.enter, frame.inside);
  const Ticks wait = std::min(own, locks_.waited(at.process, event.request, event.value,
                                                 event.location, frame.enter, now));
  if (wait != 0)
    patterns_.lock_wait(
        {event.location, frame.path, wait, special == RegionKind::Special::kCritical});
}

base::Result<> Replay::finish(std::uint64_t) {
  using Part = JointSteps::Part;
  for (std::uint32_t i = 0; i < state_.locations.size(); ++i) {
    LocationState& at = state_.locations[i];
    if (!at.counts) continue;
    const ProcessState& process = state_.processes[at.process];
    if (process.begin > process.end) continue;
    joint_->begins(Part::kOpenRegions, i);
    if (!at.begun) {
      at.begun = true;
      at.last = at.changed = process.begin;
      recorder_.starts(LocationId(i), process.begin);
    }
    account(at, LocationId(i), process.end);
    state_.problems.enters_without_leave += at.stack.size();
    while (!at.stack.empty()) pop(at, LocationId(i), process.end);
  }
  const auto processes = static_cast<std::uint32_t>(state_.processes.size());
  for (ProcessId i; i < processes; ++i) {
    joint_->begins(Part::kFlushed, i);
    joint_->flush(i);
  }
  for (ProcessId i; i < processes; ++i) {
    joint_->begins(Part::kAlone, i);
    joint_->alone(i);
  }
  joint_->all_left();
  for (std::uint32_t i = 0; i < state_.locations.size(); ++i) {
    if (!state_.locations[i].begun) continue;
    joint_->begins(Part::kEnds, i);
    recorder_.finish(LocationId(i), state_.locations[i].last);
  }
  for (std::uint32_t i = 0; i < state_.processes.size(); ++i) {
    const ProcessState& process = state_.processes[i];
    if (!process.forked || process.primary == kNone) continue;
    const LocationState& primary = state_.locations[process.primary];
    joint_->begins(Part::kIdle, i);
    recorder_.fork(process.primary, primary.last, teams_->others(primary.process));
  }
  for (std::uint32_t i = 0; i < state_.locations.size(); ++i)
    if (state_.locations[i].worker) idle_thread(LocationId(i));
  if (!patterns_.error().empty()) return base::Failure{patterns_.error()};
  return {};
}

// Its time outside of all regions, by where the primary thread was meanwhile: outside of parallel regions, or in one
// in which this thread took no part. What ends of regions on different threads overlap is taken from the largest part.
void Replay::idle_thread(LocationId location) {
  LocationState& at = state_.locations[location];
  const ProcessState& process = state_.processes[at.process];
  const std::size_t paths = process.paths.paths().size();
  std::vector<Ticks> idle = process.serial;
  idle.resize(2 * paths);  // then those of limited parallelism
  const std::vector<Ticks>& regions = teams_->regions(at.process);
  const std::vector<Ticks>& taken_part = teams_->taken_part(location);
  for (std::size_t i = 0; i < regions.size(); ++i)
    idle[paths + i] =
        regions[i] - (i < taken_part.size() ? std::min(regions[i], taken_part[i]) : 0);
  Ticks sum = 0;
  for (const Ticks each : idle) sum += each;
  if (sum < at.outside) idle[0] += at.outside - sum;
  for (Ticks excess = sum - std::min(sum, at.outside); excess != 0;) {
    Ticks& largest = *std::ranges::max_element(idle);
    const Ticks cut = std::min(excess, largest);
    largest -= cut;
    excess -= cut;
  }
  for (PathId path{}; path < paths; ++path) {
    state_.severities->add(location, path, kOmpIdleThreads,
                           idle[path] + idle[paths + path]);
    if (idle[paths + path] != 0) patterns_.left_out({location, path, idle[paths + path]});
  }
  at.outside = 0;
}

}  // namespace refrain::waits
