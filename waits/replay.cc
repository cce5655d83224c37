#include "waits/replay.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <iterator>

namespace refrain::waits {
namespace {

using reader::EventKind;
using reader::TraceEvent;

// So that no sum of an archive that defines nonsense overflows.
constexpr Ticks kMostTicks = Ticks{1} << 60;

}  // namespace

std::string Replay::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  base_ = definitions.base_ticks;
  kinds_ = kinds_of(definitions);
  locations_.resize(definitions.locations.size());
  processes_.resize(definitions.processes.size());
  recorder_.begin(locations_, processes_);
  for (std::uint32_t i = 0; i < locations_.size(); ++i) {
    const reader::LocationInfo& info = definitions.locations[i];
    LocationState& at = locations_[i];
    at.process = info.process;
    at.thread = info.thread;
    at.counts =
        info.type == OTF2_LOCATION_TYPE_CPU_THREAD && info.process < processes_.size();
    if (at.counts && processes_[at.process].primary == kNone)
      processes_[at.process].primary = i;
  }
  severities_ = std::make_unique<Severities>(
      locations_.size(), patterns_.tree().metrics.size(), definitions.ticks_per_second);
  patterns_.charge_to(*severities_);
  grids_ = std::make_unique<GridSteps>(definitions);
  messages_.reserve(processes_.size());
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    messages_.emplace_back(i, definitions.processes[i].locations.size(),
                           static_cast<Letters&>(*this), patterns_, problems_, recorder_,
                           *grids_);
  collectives_ =
      std::make_unique<Collectives>(definitions, patterns_, problems_, recorder_);
  windows_ = std::make_unique<Windows>(definitions, *collectives_, patterns_, problems_);
  tasks_ = std::make_unique<Tasks>(locations_.size());
  teams_ = std::make_unique<Teams>(locations_, processes_, patterns_, recorder_);
  return {};
}

void Replay::account(LocationState& at, std::uint32_t location, Ticks now) {
  ProcessState& process = processes_[at.process];
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
  const std::uint32_t path = at.path();
  if (!at.stack.empty() || !at.worker) recorder_.passed(location, path, passed);
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
  LocationState& at = locations_[event.location];
  if (!at.counts) return;
  // A location's time does not run backwards, whatever a damaged archive says: nothing would be charged once only.
  const Ticks now =
      std::max(at.last, std::min(event.ticks - std::min(event.ticks, base_), kMostTicks));
  switch (event.kind) {
    case EventKind::kEnter:
      account(at, event.location, now);
      return enter(at, event, now);
    case EventKind::kLeave:
      account(at, event.location, now);
      return leave(at, event, now);
    case EventKind::kMeasurementOnOff: {
      account(at, event.location, now);
      const bool off = event.op == OTF2_MEASUREMENT_OFF;
      if (off && !at.off) ++problems_.gaps;
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
      if (!at.stack.empty()) collectives_->end(event);
      return;
    case EventKind::kNonBlockingCollectiveRequest:
      return collectives_->started(
          event, at.process, at.stack.empty() ? now : at.stack.back().enter,
          !at.stack.empty() && kinds_[at.stack.back().region].neighbours);
    case EventKind::kNonBlockingCollectiveComplete:
      if (!at.stack.empty()) at.stack.back().completes = true;
      return collectives_->completed(event, at.process, !at.stack.empty());
    case EventKind::kRmaCollectiveEnd:
      if (!at.stack.empty()) collectives_->end_on_window(event);
      return;
    case EventKind::kRmaPut:
    case EventKind::kRmaGet:
    case EventKind::kRmaAtomic:
    case EventKind::kRmaGroupSync:
    case EventKind::kRmaRequestLock:
    case EventKind::kRmaReleaseLock:
    case EventKind::kRmaOpCompleteBlocking:
    case EventKind::kRmaOpCompleteRemote:
      if (!at.stack.empty()) windows_->event(event);
      return;
    default:
      return message(at, event);
  }
}

void Replay::message(LocationState& at, const TraceEvent& event) {
  MessageEnds& ends = messages_[at.process];
  const bool in_call = !at.stack.empty();
  const Ticks enter = in_call ? at.stack.back().enter : at.last;
  const auto partner = [&] {
    const std::uint32_t process =
        definitions_->process_of(event.ref, event.peer, at.process);
    if (process >= processes_.size()) ++problems_.unknown_ends;
    return process;
  };
  switch (event.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend: {
      const std::uint32_t to = partner();
      if (to >= processes_.size()) return;
      const bool blocks = event.kind == EventKind::kMpiSend;
      return ends.send(
          at.thread, to,
          {.comm = event.ref, .tag = event.tag, .sent = enter, .sender = event.location},
          blocks ? MessageEnds::kNoRequest : event.request, in_call);
    }
    case EventKind::kMpiIsendComplete:
      return ends.send_complete(at.thread, event.request, in_call);
    case EventKind::kMpiIrecvRequest:
      return ends.receive_posted(at.thread, event.request, {enter, event.location});
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv: {
      const bool blocks = event.kind == EventKind::kMpiRecv;
      const std::uint32_t from = partner();
      if (from >= processes_.size())
        return blocks ? void() : ends.cancelled(at.thread, event.request);
      return ends.received(at.thread, from, event.ref, event.tag,
                           blocks ? MessageEnds::kNoRequest : event.request,
                           {enter, event.location}, in_call);
    }
    case EventKind::kMpiRequestCancelled:
      return ends.cancelled(at.thread, event.request);
    default:
      return;
  }
}

std::uint32_t Replay::site_of(const TraceEvent& event) const {
  for (std::uint32_t i = 0; i < event.attributes; ++i) {
    const reader::ExtraValue& value = event.extras[event.metrics + i];
    if (value.type == OTF2_TYPE_SOURCE_CODE_LOCATION)
      return static_cast<std::uint32_t>(value.bits);
  }
  return kNone;
}

void Replay::enter(LocationState& at, const TraceEvent& event, Ticks now) {
  if (event.ref >= kinds_.size() || kinds_[event.ref].ignored) return;
  const RegionKind& kind = kinds_[event.ref];
  const std::uint32_t site = kind.mpi ? site_of(event) : kNone;
  const std::uint32_t path = processes_[at.process].paths.child(at.path(), event.ref, site);
  if (kind.synchronises()) recorder_.point(event.location, now);
  at.stack.push_back({.region = event.ref, .path = path, .enter = now});
  if (kind.mpi) windows_->entered(at.process, now);
  if (kind.special == RegionKind::Special::kParallel)
    teams_->enter_parallel(event.location, at.changed);
  if (kind.special == RegionKind::Special::kBarrier) teams_->enter_barrier(event.location);
  at.changed = now;
}

void Replay::leave(LocationState& at, const TraceEvent& event, Ticks now) {
  if (event.ref >= kinds_.size() || kinds_[event.ref].ignored) return;
  if (at.stack.empty() || at.stack.back().region != event.ref) {
    const auto open =
        std::find_if(at.stack.rbegin(), at.stack.rend(),
                     [&](const Frame& frame) { return frame.region == event.ref; });
    if (open == at.stack.rend()) {
      ++problems_.leaves_without_enter;
      return;
    }
    for (auto inner = std::distance(at.stack.rbegin(), open); inner > 0; --inner) {
      ++problems_.enters_without_leave;
      pop(at, event.location, now);
    }
  }
  pop(at, event.location, now);
}

void Replay::pop(LocationState& at, std::uint32_t location, Ticks now) {
  const Frame frame = at.stack.back();
  const RegionKind& kind = kinds_[frame.region];
  Call call{.process = at.process,
            .location = location,
            .path = frame.path,
            .enter = frame.enter,
            .leave = now,
            .metric = kind.metric,
            .multiple = kind.multiple,
            .test = kind.test,
            .neighbours = kind.neighbours};
  const Ticks duration = now - std::min(now, frame.enter);
  call.own = call.left_over = duration - std::min(duration, frame.inside);
  const bool messages = messages_[at.process].in_call(at.thread);
  LocationState::add(at.visits, frame.path, 1);
  if (kind.metric == kMpiPoint2Point && !messages && !frame.completes) {
    LocationState::add(at.without_message, frame.path, 1);
    LocationState::add(at.own_without_message, frame.path, call.own);
  } else {
    const std::uint64_t scaled = severities_->scaled(call.own);
    LocationState::add(at.squares, frame.path, scaled * scaled);
  }
  if (kind.special == RegionKind::Special::kParallel) teams_->leave_parallel(location, now);
  at.stack.pop_back();
  if (!at.stack.empty()) at.stack.back().inside += duration;
  at.changed = now;
  if (kind.synchronises()) {
    // What ran inside of it is not to be taken for what came after it.
    if (frame.inside != 0) recorder_.point(location, now);
    recorder_.left(location, frame.enter, frame.path, now);
  }
  // What is waited for a message and what for a collective operation cannot be known.
  messages_[at.process].left(call, at.thread);
  if (messages) call.left_over = 0;
  if (kind.mpi) windows_->left(call, kind.special);
  collectives_->left(call);
  if (kind.special == RegionKind::Special::kTaskwait) {
    TaskWait event{call, tasks_->children_done(location)};
    patterns_.task_wait(event);
  }
  if (kind.special == RegionKind::Special::kBarrier)
    teams_->leave_barrier(call, kind.explicit_barrier);
  if (kind.special == RegionKind::Special::kMpiInit) collectives_->init(call);
  if (kind.special == RegionKind::Special::kMpiFinalize) collectives_->finalize(call);
}

void Replay::lock(LocationState& at, const TraceEvent& event, Ticks now) {
  if (event.kind == EventKind::kThreadReleaseLock ||
      event.kind == EventKind::kOmpReleaseLock)
    return locks_.released(at.process, event.request, event.location, now);
  if (at.stack.empty()) return;
  const Frame& frame = at.stack.back();
  const auto special = kinds_[frame.region].special;
  if (special != RegionKind::Special::kCritical && special != RegionKind::Special::kLock)
    return;
  const Ticks own = now - frame.enter - std::min(now - frame.enter, frame.inside);
  const Ticks wait = std::min(
      own, locks_.waited(at.process, event.request, event.location, frame.enter, now));
  if (wait != 0)
    patterns_.lock_wait(
        {event.location, frame.path, wait, special == RegionKind::Special::kCritical});
}

std::string Replay::finish(std::uint64_t) {
  for (std::uint32_t i = 0; i < locations_.size(); ++i) {
    LocationState& at = locations_[i];
    if (!at.counts || processes_[at.process].begin > processes_[at.process].end) continue;
    const Ticks begin = processes_[at.process].begin, end = processes_[at.process].end;
    if (!at.begun) {
      at.begun = true;
      at.last = at.changed = begin;
      recorder_.starts(i, begin);
    }
    account(at, i, end);
    problems_.enters_without_leave += at.stack.size();
    while (!at.stack.empty()) pop(at, i, end);
  }
  for (MessageEnds& each : messages_) each.flush();
  for (MessageEnds& each : messages_) each.give_up();
  collectives_->finish();
  windows_->finish();
  patterns_.finish();
  for (std::uint32_t i = 0; i < locations_.size(); ++i)
    if (locations_[i].begun) recorder_.finish(i, locations_[i].last);
  for (const ProcessState& process : processes_)
    if (process.forked && process.primary != kNone)
      recorder_.fork(process.primary, locations_[process.primary].last,
                     teams_->others(locations_[process.primary].process));
  for (std::uint32_t i = 0; i < locations_.size(); ++i)
    if (locations_[i].worker) idle_thread(i);
  return {};
}

// Its time outside of all regions, by where the primary thread was meanwhile: outside of parallel regions, or in one
// in which this thread took no part. What ends of regions on different threads overlap is taken from the largest part.
void Replay::idle_thread(std::uint32_t location) {
  LocationState& at = locations_[location];
  const ProcessState& process = processes_[at.process];
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
  for (std::uint32_t path = 0; path < paths; ++path) {
    severities_->add(location, path, kOmpIdleThreads, idle[path] + idle[paths + path]);
    if (idle[paths + path] != 0) patterns_.left_out({location, path, idle[paths + path]});
  }
  at.outside = 0;
}

}  // namespace refrain::waits
