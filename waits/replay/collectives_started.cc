#include <algorithm>

#include "waits/replay/collectives.h"

namespace refrain::waits {

void Collectives::started(const reader::TraceEvent& event, std::uint32_t process,
                          Ticks enter, bool neighbours) {
  OpenOnes& open = open_[process];
  const auto number = open.front + static_cast<std::uint32_t>(open.queue.size());
  const auto at = [&](std::uint32_t which) -> Open* {
    const std::uint32_t place = which - open.front;
    return place < open.queue.size() ? &open.queue[place] : nullptr;
  };
  // One with the same number has never completed.
  if (const auto before = requests_[event.location].put(event.request, number))
    if (Open* never = at(*before); never != nullptr && !never->known) never->lost = true;
  open.queue.push_back(
      {.location = event.location, .enter = enter, .neighbours = neighbours});
  if (open.queue.size() > kMostOpen) open.queue.front().lost = true;
  release(process);
}

void Collectives::completed(const reader::TraceEvent& event, std::uint32_t process,
                            bool in_call) {
  if (event.ref >= comms_.size()) {
    ++problems_.unknown_collectives;
    return;
  }
  OpenOnes& open = open_[process];
  const auto number = requests_[event.location].take(event.request);
  const std::uint32_t place = number ? *number - open.front : kNone;
  if (place >= open.queue.size()) return;
  Open& known = open.queue[place];
  known.known = true;
  known.comm = event.ref;
  known.root = event.peer;
  known.kind = known.neighbours ? neighbour_kind(event.ref) : kind_of(event.op);
  if (definitions_.comms[event.ref].self) known.lost = true;
  if (in_call && !known.lost) {
    std::uint32_t& current = completing_[event.location];
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
  release(process);
}

void Collectives::release(std::uint32_t process) {
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
        Member{{}, 0, front.enter, front.completion});
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

// The latest begin of those that the member has data from.
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

void Collectives::finish_started() {
  for (std::uint32_t process = 0; process < open_.size(); ++process) {
    for (Open& each : open_[process].queue)
      if (!each.known) each.lost = true;
    release(process);
  }
  for (Comm& comm : started_) give_up(comm);
}

}  // namespace refrain::waits
