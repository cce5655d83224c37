#include "reader/message_matcher.h"

#include <algorithm>
#include <utility>

namespace refrain::reader {
namespace {

constexpr std::uint64_t kRunning = ~std::uint64_t{0};  // the call has not returned

}  // namespace

std::size_t MessageMatcher::Hash::operator()(const Channel& c) const noexcept {
  std::uint64_t hash = (std::uint64_t{c.source} << 32 | c.destination) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
  hash = (hash ^ (std::uint64_t{c.comm} << 32 | c.tag)) * 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 32;
}

MessageMatcher::MessageMatcher(const TraceDefinitions& definitions, Found found)
    : definitions_(definitions),
      found_(std::move(found)),
      open_sends_(definitions.locations.size()),
      processes_(definitions.processes.size()),
      requests_(definitions.locations.size()) {}

bool MessageMatcher::channel_of(const TraceEvent& event, bool is_send, Channel& channel) {
  const std::uint32_t self = definitions_.locations[event.location].process;
  const std::uint32_t peer =
      definitions_.process_of(event.ref, event.peer, ProcessId(self));
  if (peer == kNone) {
    ++unknown_;
    return false;
  }
  channel = {is_send ? self : peer, is_send ? peer : self, event.ref, event.tag};
  return true;
}

void MessageMatcher::send(const TraceEvent& event, std::uint64_t number) {
  Channel channel{};
  if (!channel_of(event, true, channel)) return;
  match(channel, true, {event.location, event.ns, kRunning, number}, event.bytes);
}

void MessageMatcher::send_call_left(LocationId location, std::uint64_t ns) {
  for (const OpenSend& open : open_sends_[location])
    if (pool_[open.waiting].number == open.number) pool_[open.waiting].side.done_ns = ns;
  open_sends_[location].clear();
}

// Removes the request from the open ones.
MessageMatcher::Posted* MessageMatcher::find_posted(LocationId location,
                                                    std::uint64_t request) {
  auto& requests = requests_[location];
  const auto found = requests.find(request);
  if (found == requests.end()) return nullptr;
  Process& process = processes_[definitions_.locations[location].process];
  const std::uint64_t number = found->second;
  requests.erase(found);
  // Released already, because too many receives waited.
  return number < process.first ? nullptr : &process.posted[number - process.first];
}

void MessageMatcher::receive_posted(const TraceEvent& event) {
  Process& process = processes_[definitions_.locations[event.location].process];
  cancelled(event);  // one with the same number that never ended
  requests_[event.location][event.request] = process.first + process.posted.size();
  process.posted.emplace_back().side = {event.location, event.ns, event.ns, 0};
}

void MessageMatcher::cancelled(const TraceEvent& event) {
  Posted* posted = find_posted(event.location, event.request);
  if (posted == nullptr) return;
  posted->open = false;
  release(processes_[definitions_.locations[event.location].process], kMaxPosted);
}

void MessageMatcher::receive(const TraceEvent& event, std::uint64_t call_begin_ns,
                             std::uint64_t number) {
  Process& process = processes_[definitions_.locations[event.location].process];
  Posted* posted = nullptr;
  if (event.kind == EventKind::kMpiIrecv)
    posted = find_posted(event.location, event.request);
  if (posted == nullptr) {
    posted = &process.posted.emplace_back();
    posted->side = {event.location, std::min(call_begin_ns, event.ns), event.ns, 0};
  }
  posted->side.done_ns = event.ns;
  posted->side.number = number;
  posted->bytes = event.bytes;
  posted->known = channel_of(event, false, posted->channel);
  posted->open = false;
  release(process, kMaxPosted);
}

// Releases complete receives from the front, and others if there are too many.
void MessageMatcher::release(Process& process, std::size_t most) {
  while (!process.posted.empty() &&
         (!process.posted.front().open || process.posted.size() > most)) {
    const Posted posted = process.posted.front();
    process.posted.pop_front();
    ++process.first;
    if (posted.known) match(posted.channel, false, posted.side, posted.bytes);
  }
}

void MessageMatcher::flush() {
  for (Process& process : processes_) release(process, 0);
}

std::uint32_t MessageMatcher::keep(const MessageSide& side, std::uint64_t bytes) {
  std::uint32_t at = free_;
  if (at == kNone) {
    at = static_cast<std::uint32_t>(pool_.size());
    pool_.emplace_back();
  } else {
    free_ = pool_[at].next;
  }
  pool_[at] = {side, bytes, next_number_++, kNone};
  return at;
}

// Takes the oldest opposite end that waits in the channel, or waits there.
void MessageMatcher::match(const Channel& channel, bool is_send, const MessageSide& side,
                           std::uint64_t bytes) {
  const auto found = queues_.find(channel);
  if (found == queues_.end() || found->second.of_sends == is_send) {
    const std::uint32_t at = keep(side, bytes);
    Queue& queue = found == queues_.end() ? queues_[channel] : found->second;
    if (queue.first == kNone)
      queue = {at, at, is_send};
    else
      pool_[std::exchange(queue.last, at)].next = at;
    ++(is_send ? unmatched_sends_ : unmatched_receives_);
    if (is_send) open_sends_[side.location].push_back({at, pool_[at].number});
    return;
  }
  Queue& queue = found->second;
  const std::uint32_t at = queue.first;
  const Waiting waiting = pool_[at];
  queue.first = waiting.next;
  pool_[at].number = 0;
  pool_[at].next = free_;
  free_ = at;
  if (queue.first == kNone) queues_.erase(found);
  --(is_send ? unmatched_receives_ : unmatched_sends_);
  MatchedMessage message;
  message.send = is_send ? side : waiting.side;
  message.receive = is_send ? waiting.side : side;
  // A send is done when the message has arrived, at the latest.
  message.send.done_ns = std::max(message.send.posted_ns,
                                  std::min(message.send.done_ns, message.receive.done_ns));
  message.bytes = is_send ? waiting.bytes : bytes;  // bytes that arrived
  message.tag = channel.tag;
  found_(message);
}

}  // namespace refrain::reader
