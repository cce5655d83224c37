#include "waits/replay/windows.h"

#include <otf2/otf2.h>

#include <algorithm>

namespace refrain::waits {

using reader::EventKind;

Windows::Windows(const reader::TraceDefinitions& definitions, Collectives& collectives,
                 PatternSet& patterns, Problems& problems)
    : definitions_(definitions),
      collectives_(collectives),
      patterns_(patterns),
      problems_(problems),
      locks_(patterns) {
  if (definitions.windows.empty()) return;
  presence_.resize(definitions.processes.size());
  pending_.resize(definitions.locations.size());
}

void Windows::step(const GroupStep& step) {
  if (step.ref >= definitions_.windows.size()) return;
  Pending what{.what = What::kNothing, .exclusive = false, .window = step.ref};
  switch (step.kind) {
    case EventKind::kRmaPut:
    case EventKind::kRmaGet:
    case EventKind::kRmaAtomic:
      what.what = What::kAccess;
      break;
    case EventKind::kRmaGroupSync:
      if (step.op == OTF2_RMA_SYNC_LEVEL_NONE) return;  // a test without success
      what.what = What::kSync;
      what.group = step.tag;
      break;
    case EventKind::kRmaRequestLock:
      what.what = What::kLock;
      what.exclusive = step.op == OTF2_LOCK_EXCLUSIVE;
      break;
    case EventKind::kRmaReleaseLock:
      what.what = What::kUnlock;
      break;
    case EventKind::kRmaOpCompleteBlocking:
    case EventKind::kRmaOpCompleteRemote:
      what.what = What::kFlush;
      break;
    default:
      return;
  }
  Pending& pending = pending_[step.location];
  if (what.what == What::kFlush && pending.what != What::kNothing) return;
  if (what.what == What::kAccess || what.what == What::kLock ||
      what.what == What::kUnlock) {
    what.target = definitions_.process_of(definitions_.windows[step.ref].comm, step.peer,
                                          step.process);
    const bool all = step.peer == OTF2_UNDEFINED_UINT32 && what.what != What::kAccess;
    if (what.target >= definitions_.processes.size()) {
      if (!all) {
        ++problems_.unknown_ends;
        return;
      }
      what.target = ProcessId(kNone);
    }
  }
  pending = what;
}

void Windows::end_call(const Call& call, RegionKind::Special special) {
  const Pending what = pending_[call.location];
  pending_[call.location] = {};
  OfProcess& own = of_[{call.process, what.window}];
  switch (what.what) {
    case What::kAccess:
      return access(call, what, own);
    case What::kSync:
      return sync(call, what, own, special);
    case What::kLock: {
      WindowLocks::Epoch epoch{call.process, what.exclusive, {}};
      epoch.calls.push_back(lock_call(call, what.target));
      own.locks.insert_or_assign(what.target, std::move(epoch));
      return;
    }
    case What::kUnlock:
      return unlock(call, what, own);
    default:
      // A flush: of which target is not in the archive.
      if (own.locks.size() == 1)
        WindowLocks::add(own.locks.begin()->second.calls,
                         lock_call(call, own.locks.begin()->first));
  }
}

LockCall Windows::lock_call(const Call& call, ProcessId target) const {
  LockCall out{call, target, 0};
  if (target < definitions_.processes.size() && target != call.process)
    out.progress = presence_.next_call(target, call.enter);
  return out;
}

void Windows::access(const Call& call, const Pending& what, OfProcess& own) {
  auto lock = own.locks.find(what.target);
  if (lock == own.locks.end()) lock = own.locks.find(ProcessId{kNone});
  if (lock != own.locks.end())
    return WindowLocks::add(lock->second.calls, lock_call(call, what.target));
  Access& epoch = own.access;
  if (!epoch.open || std::ranges::find(epoch.targets, what.target) == epoch.targets.end()) {
    if (what.target != call.process)
      collectives_.accessed(call.process, what.window, what.target, call.leave);
    return;
  }
  WindowLocks::add(epoch.calls, {call, what.target, 0});
  const auto known =
      std::ranges::find(epoch.latest, what.target, &std::pair<ProcessId, Ticks>::first);
  if (known == epoch.latest.end())
    epoch.latest.emplace_back(what.target, call.leave);
  else
    known->second = std::max(known->second, call.leave);
}

std::vector<ProcessId> Windows::members(std::uint32_t group) const {
  std::vector<ProcessId> out;
  if (group >= definitions_.groups.size()) return out;
  for (const ProcessId process : definitions_.groups[group])
    if (process < definitions_.processes.size()) out.push_back(process);
  return out;
}

void Windows::sync(const Call& call, const Pending& what, OfProcess& own,
                   RegionKind::Special special) {
  switch (special) {
    case RegionKind::Special::kRmaStart:
      own.access = {};
      own.access.start = call;
      own.access.open = true;
      own.access.targets = members(what.group);
      return;
    case RegionKind::Special::kRmaPost:
      own.exposure = {};
      own.exposure.post = call;
      own.exposure.open = true;
      own.exposure.origins = members(what.group);
      return;
    case RegionKind::Special::kRmaComplete: {
      if (!own.access.open) return;
      auto epoch = std::make_shared<Access>(std::move(own.access));
      own.access = {};
      epoch->complete = call;
      epoch->unmatched = epoch->targets.size();
      for (const ProcessId target : epoch->targets) {
        Pair& pair = pairs_[{what.window, call.process, target}];
        pair.accesses.push_back(epoch);
        match(target, pair);
      }
      return;
    }
    case RegionKind::Special::kRmaWait: {
      if (!own.exposure.open) return;
      auto epoch = std::make_shared<Exposure>(std::move(own.exposure));
      own.exposure = {};
      epoch->wait = call;
      epoch->unmatched = epoch->origins.size();
      for (const ProcessId origin : epoch->origins) {
        Pair& pair = pairs_[{what.window, origin, call.process}];
        pair.exposures.push_back(epoch);
        match(call.process, pair);
      }
      return;
    }
    default:
      return;
  }
}

void Windows::match(ProcessId target, Pair& pair) {
  while (!pair.accesses.empty() && !pair.exposures.empty()) {
    const std::shared_ptr<Access> access = pair.accesses.front();
    const std::shared_ptr<Exposure> exposure = pair.exposures.front();
    const bool too_old = exposure->wait.leave < access->start.enter;
    const bool too_young = access->complete.leave < exposure->post.enter;
    if (!too_young) pair.exposures.pop_front();
    if (!too_old) pair.accesses.pop_front();
    if (too_old) {
      lose(*exposure);
      continue;
    }
    if (too_young) {
      lose(*access);
      continue;
    }
    access->posted.emplace_back(target, exposure->post.enter);
    exposure->latest_complete = std::max(exposure->latest_complete, access->complete.enter);
    for (const auto& [accessed, leave] : access->latest)
      if (accessed == target)
        exposure->last_access = std::max(exposure->last_access, leave);
    if (--access->unmatched == 0) hand_out(*access);
    if (--exposure->unmatched == 0) hand_out(*exposure);
  }
  if (pair.accesses.size() > kMaxPending) {
    lose(*pair.accesses.front());
    pair.accesses.pop_front();
  }
  if (pair.exposures.size() > kMaxPending) {
    lose(*pair.exposures.front());
    pair.exposures.pop_front();
  }
}

void Windows::lose(Access& access) {
  if (!access.lost) ++problems_.lone_epochs;
  access.lost = true;
}
void Windows::lose(Exposure& exposure) {
  if (!exposure.lost) ++problems_.lone_epochs;
  exposure.lost = true;
}

void Windows::hand_out(Access& access) {
  Ticks latest = 0;
  for (const auto& [target, post] : access.posted) latest = std::max(latest, post);
  std::vector<AccessCall> calls;
  for (const LockCall& each : access.calls)
    for (const auto& [target, post] : access.posted)
      if (target == each.target) calls.push_back({each.call, post});
  AccessEpoch event{access.start, access.complete, calls, latest};
  patterns_.access_epoch(event);
}

void Windows::hand_out(Exposure& exposure) {
  ExposureEpoch event{exposure.wait, exposure.latest_complete, exposure.last_access};
  patterns_.exposure_epoch(event);
}

void Windows::unlock(const Call& call, const Pending& what, OfProcess& own) {
  const auto lock = own.locks.find(what.target);
  if (lock == own.locks.end()) return;
  WindowLocks::Epoch epoch = std::move(lock->second);
  own.locks.erase(lock);
  if (epoch.calls.size() == WindowLocks::kMostCalls) epoch.calls.pop_back();
  epoch.calls.push_back(lock_call(call, what.target));
  locks_.ended(what.window, what.target, std::move(epoch));
}

void Windows::finish() {
  locks_.finish();
  for (auto& [key, pair] : pairs_) {
    for (const auto& access : pair.accesses) lose(*access);
    for (const auto& exposure : pair.exposures) lose(*exposure);
  }
}

namespace {

Ticks duration(const LockCall& each) { return each.call.leave - each.call.enter; }

}  // namespace

// Where there are too many, short ones are left out: those that wait are long.
void WindowLocks::add(std::vector<LockCall>& calls, const LockCall& call) {
  if (calls.size() < kMostCalls) return calls.push_back(call);
  const auto shortest = std::ranges::min_element(calls, {}, duration);
  if (duration(*shortest) >= duration(call)) return;
  calls.erase(shortest);
  calls.push_back(call);
}

void WindowLocks::ended(std::uint32_t window, ProcessId target, Epoch&& epoch) {
  if (epoch.calls.empty()) return;
  Target& at = targets_[{window, target}];
  at.releases.push_back({epoch.process, epoch.exclusive, epoch.calls.back().call.enter});
  if (at.releases.size() > kReleases) at.releases.pop_front();
  if (target == kNone) return;
  // Another process' unlock may have begun before this one's ended, and end later.
  at.pending.push_back(std::move(epoch));
  if (at.pending.size() <= kPending) return;
  hand_out(window, at, at.pending.front());
  at.pending.pop_front();
}

void WindowLocks::hand_out(std::uint32_t window, Target& target, Epoch& epoch) {
  Ticks released = 0;
  const auto look = [&](const Release& each) {
    if (each.process == epoch.process || !(each.exclusive || epoch.exclusive) ||
        each.time <= released)
      return;
    const bool within = std::ranges::any_of(epoch.calls, [&](const LockCall& of_epoch) {
      return of_epoch.call.enter < each.time && each.time < of_epoch.call.leave;
    });
    if (within) released = each.time;
  };
  std::ranges::for_each(target.releases, look);
  if (const auto all = targets_.find({window, ProcessId{kNone}}); all != targets_.end())
    std::ranges::for_each(all->second.releases, look);
  LockEpoch event{epoch.calls, released};
  patterns_.lock_epoch(event);
}

void WindowLocks::finish() {
  for (auto& [place, target] : targets_) {
    for (Epoch& epoch : target.pending) hand_out(place.first, target, epoch);
    target.pending.clear();
  }
}

Ticks MpiPresence::next_call(ProcessId process, Ticks since) const {
  const Process& each = of_[process];
  const std::size_t count = each.next + (each.open != 0 ? 1 : 0);
  const std::size_t oldest = count > kSpans ? count - kSpans : 0;
  Ticks next = 0;
  for (std::size_t i = count; i-- > oldest;) {
    const auto& [enter, leave] = each.spans[i % kSpans];
    if (enter <= since) return leave >= since ? 0 : next;
    next = enter;
  }
  return oldest == 0 ? next : 0;
}

}  // namespace refrain::waits
