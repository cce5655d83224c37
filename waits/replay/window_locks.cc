#include "waits/replay/window_locks.h"

#include <algorithm>

namespace refrain::waits {
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

void WindowLocks::ended(std::uint32_t window, std::uint32_t target, Epoch&& epoch) {
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
  if (const auto all = targets_.find({window, kNone}); all != targets_.end())
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

Ticks MpiPresence::next_call(std::uint32_t process, Ticks since) const {
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
