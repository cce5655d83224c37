#include "reader/message_matcher.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace refrain::reader {

MessageMatcher::MessageMatcher(const TraceDefinitions& definitions, Found found, Lone lone)
    : definitions_(definitions),
      found_(std::move(found)),
      lone_(std::move(lone)),
      processes_(definitions.processes.size()),
      locations_(definitions.locations.size()) {}

std::optional<MessageChannel> MessageMatcher::channel_of(const TraceEvent& event,
                                                         bool is_send) {
  const ProcessId self = definitions_.locations[event.location].process;
  const ProcessId peer = definitions_.process_of(event.ref, event.peer, self);
  if (peer >= processes_.size()) {
    ++unknown_;
    return {};
  }
  return MessageChannel{is_send ? self : peer, is_send ? peer : self, event.ref, event.tag};
}

void MessageMatcher::event(const TraceEvent& event, const MessageSide& side) {
  switch (event.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      if (const auto channel = channel_of(event, true)) send(*channel, side);
      return;
    case EventKind::kMpiRecv:
      return received({}, channel_of(event, false), side);
    case EventKind::kMpiIrecv:
      return received(event.request, channel_of(event, false), side);
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
  std::vector<OpenSend>& sends = locations_[location].open_sends;
  for (const OpenSend& open : sends)
    if (pool_[open.waiting].number == open.number) pool_[open.waiting].side.done = time;
  sends.clear();
}

// Removes the request from the open ones. nullptr: there is none, or it was released already, because too many
// receives waited.
MessageMatcher::Posted* MessageMatcher::take_posted(LocationId location,
                                                    std::uint64_t request) {
  const auto number = locations_[location].requests.take(request);
  Process& process = process_of(location);
  return !number || *number < process.first ? nullptr
                                            : &process.posted[*number - process.first];
}

void MessageMatcher::receive_posted(std::uint64_t request, const MessageSide& side) {
  cancelled(side.location, request);  // one with the same number that never ended
  Process& process = process_of(side.location);
  locations_[side.location].requests.put(request, process.first + process.posted.size());
  process.posted.push_back({.open = true, .side = side});
  release(process, kMaxPosted);
}

void MessageMatcher::cancelled(LocationId location, std::uint64_t request) {
  Posted* const posted = take_posted(location, request);
  if (posted == nullptr) return;
  posted->open = false;
  release(process_of(location), kMaxPosted);
}

void MessageMatcher::received(std::optional<std::uint64_t> request,
                              const std::optional<MessageChannel>& channel,
                              const MessageSide& side) {
  Process& process = process_of(side.location);
  Posted* posted = request ? take_posted(side.location, *request) : nullptr;
  if (posted == nullptr && process.posted.empty()) {
    if (channel) match(*channel, false, side);
    return;
  }
  if (posted == nullptr) {
    process.posted.push_back({.channel = channel, .side = side});
  } else {
    const std::uint64_t begun = posted->side.posted;
    *posted = {.channel = channel, .side = side};
    posted->side.posted = begun;
  }
  release(process, kMaxPosted);
}

// Releases complete receives from the front, and others if there are too many.
void MessageMatcher::release(Process& process, std::size_t most) {
  while (!process.posted.empty() &&
         (!process.posted.front().open || process.posted.size() > most)) {
    const Posted posted = process.posted.front();
    process.posted.pop_front();
    ++process.first;
    if (posted.channel) match(*posted.channel, false, posted.side);
  }
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
    locations_[side.location].open_sends.push_back({at, pool_[at].number});
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

void MessageMatcher::flush() {
  for (Process& process : processes_) release(process, 0);
  if (!lone_) return;
  std::vector<std::pair<MessageChannel, Queue>> left;
  queues_.each([&](const MessageChannel& channel, const Queue& queue) {
    if (queue.size != 0) left.emplace_back(channel, queue);
  });
  // By destination, and there as they came.
  std::ranges::sort(left, {}, [this](const auto& each) {
    return std::tuple(each.first.destination, pool_[each.second.first].number);
  });
  for (auto& [channel, queue] : left)
    while (queue.size != 0) {
      const MessageSide side = pop(queue);
      lone_(channel, side, queue.of_sends);
    }
}

}  // namespace refrain::reader
