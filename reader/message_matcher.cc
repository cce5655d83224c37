#include "reader/message_matcher.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace refrain::reader {

PostedReceives::PostedReceives(const TraceDefinitions& definitions, Released released)
    : definitions_(definitions),
      released_(std::move(released)),
      processes_(definitions.processes.size()),
      requests_(definitions.locations.size()) {}

// Removes the request from the open ones. nullptr: there is none, or it was released already, because too many
// receives waited.
PostedReceives::Posted* PostedReceives::take(LocationId location, std::uint64_t request) {
  const auto number = requests_[location].take(request);
  Process& process = process_of(location);
  return !number || *number < process.first ? nullptr
                                            : &process.posted[*number - process.first];
}

void PostedReceives::posted(std::uint64_t request, const MessageSide& side) {
  cancelled(side.location, request);  // one with the same number that never ended
  Process& process = process_of(side.location);
  requests_[side.location].put(request, process.first + process.posted.size());
  process.posted.push_back({.open = true, .side = side});
  release(process, kMaxPosted);
}

void PostedReceives::cancelled(LocationId location, std::uint64_t request) {
  Posted* const posted = take(location, request);
  if (posted == nullptr) return;
  posted->open = false;
  release(process_of(location), kMaxPosted);
}

bool PostedReceives::received(std::optional<std::uint64_t> request,
                              const std::optional<MessageChannel>& channel,
                              const MessageSide& side) {
  Process& process = process_of(side.location);
  Posted* posted = request ? take(side.location, *request) : nullptr;
  const bool before = posted != nullptr;
  if (!before && process.posted.empty()) {
    released_(channel, side);
    return false;
  }
  if (!before) {
    process.posted.push_back({.channel = channel, .side = side});
  } else {
    const std::uint64_t begun = posted->side.posted;
    *posted = {.channel = channel, .side = side};
    posted->side.posted = begun;
  }
  release(process, kMaxPosted);
  return before;
}

// Releases complete receives from the front, and others if there are too many.
void PostedReceives::release(Process& process, std::size_t most) {
  while (!process.posted.empty() &&
         (!process.posted.front().open || process.posted.size() > most)) {
    const Posted posted = process.posted.front();
    process.posted.pop_front();
    ++process.first;
    released_(posted.channel, posted.side);
  }
}

MessageMatcher::MessageMatcher(const TraceDefinitions& definitions, Found found, Lone lone,
                               Dropped dropped)
    : definitions_(definitions),
      found_(std::move(found)),
      lone_(std::move(lone)),
      dropped_(std::move(dropped)),
      posted_(
          definitions,
          [this](const std::optional<MessageChannel>& channel, const MessageSide& side) {
            if (channel) {
              ++released_;
              match(*channel, false, side);
            } else if (dropped_) {
              dropped_(side);
            }
          }),
      open_sends_(definitions.locations.size()) {}

std::optional<MessageChannel> MessageMatcher::channel_of(const TraceEvent& event,
                                                         bool is_send) {
  const ProcessId self = definitions_.locations[event.location].process;
  const ProcessId peer = definitions_.process_of(event.ref, event.peer, self);
  if (peer >= definitions_.processes.size()) {
    ++unknown_;
    return {};
  }
  return MessageChannel{is_send ? self : peer, is_send ? peer : self, event.ref, event.tag};
}

void MessageMatcher::event(const TraceEvent& event, const MessageSide& side) {
  if (event.uncertain) return;
  switch (event.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      if (const auto channel = channel_of(event, true)) send(*channel, side);
      return;
    case EventKind::kMpiRecv:
      received({}, channel_of(event, false), side);
      return;
    case EventKind::kMpiIrecv:
      received(event.request, channel_of(event, false), side);
      return;
    case EventKind::kMpiIrecvRequest:
      return receive_posted(event.request, side);
    case EventKind::kMpiRequestCancelled:
      return cancelled(event.location, event.request);
    default:
      return;
  }
}

void MessageMatcher::event(const TraceEvent& event, std::uint64_t call_begin_ns) {
  const bool sends =
      event.kind == EventKind::kMpiSend || event.kind == EventKind::kMpiIsend;
  const bool receives =
      event.kind == EventKind::kMpiRecv || event.kind == EventKind::kMpiIrecv;
  this->event(event, {.location = event.location,
                      .posted = receives ? std::min(call_begin_ns, event.ns) : event.ns,
                      .done = sends ? MessageSide::kRunning : event.ns,
                      .bytes = event.bytes});
}

void MessageMatcher::send_call_left(LocationId location, std::uint64_t time) {
  std::vector<OpenSend>& sends = open_sends_[location];
  for (const OpenSend& open : sends)
    if (pool_[open.waiting].number == open.number) pool_[open.waiting].side.done = time;
  sends.clear();
}

void MessageMatcher::wait(const MessageChannel& channel, Queue& queue,
                          const MessageSide& side) {
  const std::uint32_t at =
      free_ == kNone ? static_cast<std::uint32_t>(pool_.size()) : free_;
  if (free_ == kNone)
    pool_.emplace_back();
  else
    free_ = pool_[at].next;
  pool_[at] = {side, next_number_++, kNone};
  (queue.size++ == 0 ? queue.first : pool_[queue.last].next) = at;
  queue.last = at;
  ++(queue.of_sends ? unmatched_sends_ : unmatched_receives_);
  if (queue.of_sends && side.done == MessageSide::kRunning)
    open_sends_[side.location].push_back({at, pool_[at].number});
  if (queue.size <= kMaxPending) return;
  const MessageSide oldest = pop(queue);
  if (lone_) lone_(channel, oldest, queue.of_sends);
}

MessageSide MessageMatcher::pop(Queue& queue) {
  const std::uint32_t at = queue.first;
  queue.first = pool_[at].next;
  --queue.size;
  pool_[at].number = 0;
  pool_[at].next = std::exchange(free_, at);
  return pool_[at].side;
}

// Takes the oldest opposite end that waits in the channel, or waits there.
void MessageMatcher::match(const MessageChannel& channel, bool is_send,
                           const MessageSide& side) {
  if (queues_.size() >= most_queues_) drop_empty();
  Queue* const queue = queues_.add(channel).first;
  if (queue->size == 0) queue->of_sends = is_send;
  if (queue->of_sends == is_send) return wait(channel, *queue, side);
  const MessageSide other = pop(*queue);
  --(is_send ? unmatched_receives_ : unmatched_sends_);
  found_({channel, is_send ? side : other, is_send ? other : side});
}

void MessageMatcher::drop_empty() {
  base::FlatMap<MessageChannel, Queue> left;
  queues_.each([&](const MessageChannel& channel, const Queue& queue) {
    if (queue.size != 0) left.put(channel, queue);
  });
  queues_ = std::move(left);
  most_queues_ = 2 * queues_.size() + kMaxEmpty;
}

// What is left, by a process each, and there as it came.
void MessageMatcher::take_left(
    const std::function<std::uint32_t(const MessageChannel&, bool)>& process) {
  left_.emplace();
  queues_.each([&](const MessageChannel& channel, const Queue& queue) {
    if (queue.size != 0) left_->emplace_back(channel, queue);
  });
  std::ranges::sort(*left_, {}, [&](const auto& each) {
    return std::tuple(process(each.first, each.second.of_sends),
                      pool_[each.second.first].number);
  });
}

void MessageMatcher::hand_out(const MessageChannel& channel, Queue& queue) {
  while (queue.size != 0) {
    const MessageSide side = pop(queue);
    lone_(channel, side, queue.of_sends);
  }
}

void MessageMatcher::flush() {
  for (ProcessId process; process < definitions_.processes.size(); ++process)
    flush(process);
  if (!lone_) return;
  take_left([](const MessageChannel& channel, bool) { return channel.destination; });
  for (auto& [channel, queue] : *left_) hand_out(channel, queue);
}

void MessageMatcher::lone_of(ProcessId process) {
  const auto of = [](const MessageChannel& channel, bool sends) -> std::uint32_t {
    return sends ? channel.source : channel.destination;
  };
  if (!left_) take_left(of);
  const auto first = std::ranges::lower_bound(
      *left_, std::uint32_t{process}, {},
      [&](const auto& each) { return of(each.first, each.second.of_sends); });
  for (auto each = first;
       each != left_->end() && of(each->first, each->second.of_sends) == process; ++each)
    hand_out(each->first, each->second);
}

}  // namespace refrain::reader
