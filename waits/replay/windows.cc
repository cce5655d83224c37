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

void Windows::event(const reader::TraceEvent& event) {
  if (event.ref >= definitions_.windows.size()) return;
  Pending what{.what = What::kNothing, .exclusive = false, .window = event.ref};
  switch (event.kind) {
    case EventKind::kRmaPut:
    case EventKind::kRmaGet:
    case EventKind::kRmaAtomic:
      what.what = What::kAccess;
      break;
    case EventKind::kRmaGroupSync:
      if (event.op == OTF2_RMA_SYNC_LEVEL_NONE) return;  // a test without success
      what.what = What::kSync;
      what.group = event.tag;
      break;
    case EventKind::kRmaRequestLock:
      what.what = What::kLock;
      what.exclusive = event.op == OTF2_LOCK_EXCLUSIVE;
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
  Pending& pending = pending_[event.location];
  if (what.what == What::kFlush && pending.what != What::kNothing) return;
  if (what.what == What::kAccess || what.what == What::kLock ||
      what.what == What::kUnlock) {
    const std::uint32_t self = definitions_.locations[event.location].process;
    what.target =
        definitions_.process_of(definitions_.windows[event.ref].comm, event.peer, self);
    const bool all = event.peer == OTF2_UNDEFINED_UINT32 && what.what != What::kAccess;
    if (what.target >= definitions_.processes.size()) {
      if (!all) {
        ++problems_.unknown_ends;
        return;
      }
      what.target = kNone;
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

LockCall Windows::lock_call(const Call& call, std::uint32_t target) const {
  LockCall out{call, target, 0};
  if (target < definitions_.processes.size() && target != call.process)
    out.progress = presence_.next_call(target, call.enter);
  return out;
}

void Windows::access(const Call& call, const Pending& what, OfProcess& own) {
  auto lock = own.locks.find(what.target);
  if (lock == own.locks.end()) lock = own.locks.find(kNone);
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
      std::ranges::find(epoch.latest, what.target, &std::pair<std::uint32_t, Ticks>::first);
  if (known == epoch.latest.end())
    epoch.latest.emplace_back(what.target, call.leave);
  else
    known->second = std::max(known->second, call.leave);
}

std::vector<std::uint32_t> Windows::members(std::uint32_t group) const {
  std::vector<std::uint32_t> out;
  if (group >= definitions_.groups.size()) return out;
  for (const std::uint32_t process : definitions_.groups[group])
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
      for (const std::uint32_t target : epoch->targets) {
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
      for (const std::uint32_t origin : epoch->origins) {
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

void Windows::match(std::uint32_t target, Pair& pair) {
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
  if (pair.accesses.size() > kMostPending) {
    lose(*pair.accesses.front());
    pair.accesses.pop_front();
  }
  if (pair.exposures.size() > kMostPending) {
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

}  // namespace refrain::waits
