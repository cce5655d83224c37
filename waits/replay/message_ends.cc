#include "waits/replay/message_ends.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace refrain::waits {

GridStep GridSteps::step(std::uint32_t comm, ProcessId sender, ProcessId receiver) {
  if (comm >= definitions_.comms.size()) return {};
  const std::vector<reader::GridDimension>& grid = definitions_.comms[comm].grid;
  const bool periodic = std::ranges::any_of(grid, &reader::GridDimension::periodic);
  if (periodic || grid.size() < 2 || grid.size() > kMaxGridDimensions) return {};
  const auto [known, is_new] = members_.try_emplace(comm);
  if (is_new) known->second = reader::CommMembers(definitions_, comm);
  const std::uint32_t from_rank = known->second.rank_of(sender),
                      to_rank = known->second.rank_of(receiver);
  if (from_rank == kNone || to_rank == kNone) return {};
  GridStep step;
  std::uint32_t changed = 0, stride = 1;
  for (std::size_t i = grid.size(); i-- > 0; stride *= grid[i].size) {
    const std::uint32_t from = from_rank / stride % grid[i].size;
    const std::uint32_t to = to_rank / stride % grid[i].size;
    if (to == 0) step.at_first |= 1U << i;
    if (to + 1 == grid[i].size) step.at_last |= 1U << i;
    if (from == to) continue;
    ++changed;
    step.dimension = static_cast<std::uint8_t>(i);
    step.up = from < to;
    if (from + 1 != to && to + 1 != from) return {};
  }
  if (changed != 1) return {};
  step.dimensions = static_cast<std::uint8_t>(grid.size());
  return step;
}

std::uint32_t MessageCalls::make(Ticks enter, Ticks leave, std::uint32_t uses) {
  if (free_.empty()) {
    calls_.push_back({enter, leave, uses});
    return static_cast<std::uint32_t>(calls_.size() - 1);
  }
  const std::uint32_t call = free_.back();
  free_.pop_back();
  calls_[call] = {enter, leave, uses};
  return call;
}

std::uint32_t MessageCalls::of(LocationId location, Ticks enter, bool in_call) {
  if (!in_call) return make(enter, 0, 1);
  std::uint32_t& running = running_[location];
  if (running != kNone && calls_[running].enter != enter)
    left(location, calls_[running].enter, 0);
  if (running == kNone) running = make(enter, 0, 1);
  ++calls_[running].uses;
  return running;
}

void MessageCalls::left(LocationId location, Ticks enter, Ticks leave) {
  const std::uint32_t call = running_[location];
  if (call == kNone || calls_[call].enter != enter) return;
  running_[location] = kNone;
  calls_[call].leave = leave;
  release(call);
}

void MessageCalls::release(std::uint32_t call) {
  if (call != kNone && --calls_[call].uses == 0) free_.push_back(call);
}

std::uint32_t MessageEnds::record_of(LocationId location) {
  std::uint32_t& call = threads_[location].call;
  if (call != kNone) return call;
  if (free_records_.empty()) {
    call = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    call = free_records_.back();
    free_records_.pop_back();
  }
  return call;
}

std::uint32_t MessageEnds::new_sent() {
  if (free_sent_.empty()) {
    sent_.emplace_back();
    return static_cast<std::uint32_t>(sent_.size() - 1);
  }
  const std::uint32_t number = free_sent_.back();
  free_sent_.pop_back();
  sent_[number] = {};
  return number;
}

void MessageEnds::step(const MessageStep& step) {
  using reader::EventKind;
  released_ = matcher_.released();
  switch (step.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      return send(step);
    case EventKind::kMpiIsendComplete:
      return send_complete(step);
    case EventKind::kMpiIrecvRequest:
      return matcher_.receive_posted(
          step.request, {.location = step.location,
                         .posted = calls_.of(step.location, step.enter, step.in_call)});
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
      if (step.partner != kNone) return received(step);
      [[fallthrough]];
    default:
      return matcher_.cancelled(step.location, step.request);
  }
}

// It completes in no call.
void MessageEnds::drop(std::uint32_t number) {
  if (!sent_[number].answered) {
    sent_[number].call = kDropped;
    return;
  }
  calls_.release(sent_[number].posted.call);
  free_sent_.push_back(number);
}

void MessageEnds::send(const MessageStep& step) {
  const std::uint32_t number = new_sent();
  ++processes_[step.process].sends;
  if (step.kind == reader::EventKind::kMpiIsend) {
    // One with the same number has never completed.
    if (const auto before = threads_[step.location].sends.put(step.request, number))
      drop(*before);
  } else if (step.in_call) {
    sent_[number].call = record_of(step.location);
    ++records_[sent_[number].call].open_sends;
  } else {
    drop(number);
  }
  matcher_.send({step.process, step.partner, step.comm, step.tag},
                {.location = step.location,
                 .posted = calls_.of(step.location, step.enter, step.in_call),
                 .number = number});
}

void MessageEnds::remote_send(const RemoteEnd& end) {
  released_ = matcher_.released();
  matcher_.send(end.channel, {.location = end.location,
                              .posted = calls_.of(end.location, end.enter, end.in_call),
                              .number = kRemote});
}

void MessageEnds::remote_receive(const RemoteEnd& end) {
  released_ = matcher_.released();
  const std::uint32_t call = end.leave != 0
                                 ? calls_.ended(end.enter, end.leave)
                                 : calls_.of(end.location, end.enter, end.in_call);
  matcher_.next_receive(end.channel,
                        {.location = end.location, .posted = call, .number = kRemote});
}

void MessageEnds::send_complete(const MessageStep& step) {
  const auto number = threads_[step.location].sends.take(step.request);
  if (!number) return;
  if (!step.in_call) return drop(*number);
  const std::uint32_t record = record_of(step.location);
  Sent& sent = sent_[*number];
  if (sent.answered) {
    records_[record].posted.push_back(sent.posted);
    free_sent_.push_back(*number);
    return;
  }
  sent.call = record;
  ++records_[record].open_sends;
}

void MessageEnds::answered(std::uint32_t number, const PostedReceive& posted) {
  if (number == kRemote) return calls_.release(posted.call);
  Sent& sent = sent_[number];
  if (sent.call == kNone) {
    sent.answered = true;
    sent.posted = posted;
    return;
  }
  free_sent_.push_back(number);
  if (sent.call == kDropped) return calls_.release(posted.call);
  CallRecord& record = records_[sent.call];
  record.posted.push_back(posted);
  --record.open_sends;
  try_finish(sent.call);
}

void MessageEnds::received(const MessageStep& step) {
  std::uint32_t call = kNone;
  if (step.in_call) {
    call = record_of(step.location);
    ++records_[call].open_receives;
    records_[call].receives = true;
  }
  const bool blocks = step.kind == reader::EventKind::kMpiRecv;
  const std::uint32_t here = calls_.of(step.location, step.enter, step.in_call);
  if (matcher_.received(
          blocks ? std::nullopt : std::optional(step.request),
          reader::MessageChannel{step.partner, step.process, step.comm, step.tag},
          {.location = step.location, .posted = here, .number = call}))
    calls_.release(here);
}

// Of one event, the sender's call comes before the receiver's, and messages in the order in which their channels get them.
void MessageEnds::matched(const reader::MatchedMessage& message) {
  const auto& [channel, send, receive] = message;
  const std::uint32_t call = record_of(receive);
  const std::uint32_t sends = call_of(send), receives = call_of(receive);
  const std::uint64_t before = matcher_.released() - released_;
  const auto turn = static_cast<std::uint32_t>(2 * (before - (before != 0 ? 1 : 0)));
  if (call != kNone)
    records_[call].received.push_back(
        {calls_.enter(sends), channel.source, send.location,
         grids_.step(channel.comm, channel.source, channel.destination), sends});
  else
    calls_.release(sends);
  log_.turn(turn);
  answered(static_cast<std::uint32_t>(send.number),
           {calls_.enter(receives), receive.location, receives});
  log_.turn(turn + 1);
  if (call != kNone) complete(call);
}

void MessageEnds::lone(const reader::MessageSide& side, bool sends) {
  const auto number = static_cast<std::uint32_t>(side.number);
  calls_.release(call_of(side));
  if (number == kRemote) return;
  ++(sends ? problems_.sends_without_receive : problems_.receives_without_send);
  if (sends) return answered(number, {});
  if (number != kNone) complete(number);
}

void MessageEnds::complete(std::uint32_t number) {
  CallRecord& record = records_[number];
  --record.open_receives;
  if (!record.left) return;
  hand_out(processes_[record.call.process]);
  try_finish(number);
}

void MessageEnds::end_call(const Call& call) {
  const std::uint32_t number = std::exchange(threads_[call.location].call, kNone);
  Process& process = processes_[call.process];
  CallRecord& record = records_[number];
  record.call = call;
  if (call.metric != kMpiPoint2Point) record.call.left_over = 0;
  record.left = true;
  record.sends_before = process.sends;
  if (record.receives) {
    process.receiving.push_back(number);
    hand_out(process);
  } else {
    record.receives_done = true;
  }
  try_finish(number);
}

void MessageEnds::hand_out(Process& process) {
  auto& receiving = process.receiving;
  while (!receiving.empty() && (records_[receiving.front()].open_receives == 0 ||
                                receiving.size() > kMaxPending)) {
    const std::uint32_t number = receiving.front();
    receiving.pop_front();
    CallRecord& record = records_[number];
    for (const Received& message : record.received) {
      if (message.sent <= record.call.leave) continue;
      ++problems_.clock_violations;
      problems_.worst_violation =
          std::max(problems_.worst_violation, message.sent - record.call.leave);
    }
    const Ticks before = record.call.left_over;
    ReceiveCall event{record.call, record.received, record.sends_before};
    patterns_.receive(event);
    record.late_sender = record.call.left_over != before;
    note_late_sender(record, before - record.call.left_over);
    record.receives_done = true;
    try_finish(number);
  }
}

void MessageEnds::try_finish(std::uint32_t number) {
  CallRecord& record = records_[number];
  if (!record.left || !record.receives_done || record.open_sends != 0 ||
      record.open_receives != 0)
    return;
  if (!record.posted.empty()) {
    const Ticks before = record.call.left_over;
    SendCall event{record.call, record.posted, record.late_sender};
    patterns_.send(event);
    note_late_receiver(record, before - record.call.left_over);
  }
  for (const Received& each : record.received) calls_.release(each.call);
  for (const PostedReceive& each : record.posted) calls_.release(each.call);
  record.received.clear();
  record.posted.clear();
  record.left = record.receives = record.receives_done = record.late_sender = false;
  free_records_.push_back(number);
}

// What patterns took out of the call was a wait for the latest of its messages.
void MessageEnds::note_late_sender(const CallRecord& record, Ticks wait) {
  if (wait == 0) return;
  const auto latest = std::ranges::max_element(record.received, {}, &Received::sent);
  log_.waited(paths::WaitKind::kLateSender, record.call, wait,
              {latest->sender, latest->sent, calls_.leave(latest->call)});
}

void MessageEnds::note_late_receiver(const CallRecord& record, Ticks wait) {
  if (wait == 0) return;
  const PostedReceive* latest = nullptr;
  for (const PostedReceive& each : record.posted)
    if (each.enter < record.call.leave && (latest == nullptr || each.enter > latest->enter))
      latest = &each;
  if (latest != nullptr)
    log_.waited(paths::WaitKind::kLateReceiver, record.call, wait,
                {latest->receiver, latest->enter,
                 latest->call == kNone ? Ticks{0} : calls_.leave(latest->call)});
}

}  // namespace refrain::waits
