#include "waits/replay/message_ends.h"

#include <algorithm>

namespace refrain::waits {

const std::vector<std::uint32_t>& GridSteps::ranks_of(std::uint32_t comm) {
  std::vector<std::uint32_t>& ranks = ranks_[comm];
  if (!ranks.empty()) return ranks;
  ranks.assign(definitions_.processes.size(), kNone);
  const std::uint32_t group = definitions_.comms[comm].group;
  if (group >= definitions_.groups.size()) return ranks;
  const std::vector<ProcessId>& members = definitions_.groups[group];
  for (std::uint32_t rank = 0; rank < members.size(); ++rank)
    if (members[rank] < ranks.size()) ranks[members[rank]] = rank;
  return ranks;
}

GridStep GridSteps::step(std::uint32_t comm, ProcessId sender, ProcessId receiver) {
  if (comm >= definitions_.comms.size()) return {};
  const std::vector<reader::GridDimension>& grid = definitions_.comms[comm].grid;
  const bool periodic = std::ranges::any_of(grid, &reader::GridDimension::periodic);
  if (periodic || grid.size() < 2 || grid.size() > kMaxGridDimensions) return {};
  const std::vector<std::uint32_t>& ranks = ranks_of(comm);
  if (sender >= ranks.size() || receiver >= ranks.size() || ranks[sender] == kNone ||
      ranks[receiver] == kNone)
    return {};
  GridStep step;
  std::uint32_t changed = 0, stride = 1;
  for (std::size_t i = grid.size(); i-- > 0; stride *= grid[i].size) {
    const std::uint32_t from = ranks[sender] / stride % grid[i].size;
    const std::uint32_t to = ranks[receiver] / stride % grid[i].size;
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

std::uint32_t MessageEnds::record_of(std::uint32_t thread) {
  std::uint32_t& call = threads_[thread].call;
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
  const std::uint32_t ticket = free_sent_.back();
  free_sent_.pop_back();
  sent_[ticket] = {};
  return ticket;
}

void MessageEnds::send(std::uint32_t thread, ProcessId to, const SendNotice& notice,
                       std::uint64_t request, bool in_call) {
  const std::uint32_t ticket = new_sent();
  ++sends_;
  if (request != kNoRequest) {
    // One with the same number has never completed.
    if (const auto before = threads_[thread].sends.put(request, ticket)) {
      if (sent_[*before].answered)
        free_sent_.push_back(*before);
      else
        sent_[*before].call = kDropped;
    }
  } else if (in_call) {
    sent_[ticket].call = record_of(thread);
    ++records_[sent_[ticket].call].open_sends;
  } else {
    sent_[ticket].call = kDropped;
  }
  SendNotice addressed = notice;
  addressed.source = process_;
  addressed.ticket = ticket;
  mailbox_->deliver(to, addressed);
}

void MessageEnds::send_complete(std::uint32_t thread, std::uint64_t request, bool in_call) {
  const auto ticket = threads_[thread].sends.take(request);
  if (!ticket) return;
  Sent& sent = sent_[*ticket];
  if (!in_call) {
    if (sent.answered)
      free_sent_.push_back(*ticket);
    else
      sent.call = kDropped;
    return;
  }
  const std::uint32_t record = record_of(thread);
  if (sent.answered) {
    records_[record].posted.push_back(sent.posted);
    free_sent_.push_back(*ticket);
    return;
  }
  sent.call = record;
  ++records_[record].open_sends;
}

void MessageEnds::take(const Answer& answer) {
  Sent& sent = sent_[answer.ticket];
  if (sent.call == kNone) {
    sent.answered = true;
    sent.posted = answer.posted;
    return;
  }
  free_sent_.push_back(answer.ticket);
  if (sent.call == kDropped) return;
  CallRecord& record = records_[sent.call];
  record.posted.push_back(answer.posted);
  --record.open_sends;
  try_finish(sent.call);
}

void MessageEnds::receive_posted(std::uint32_t thread, std::uint64_t request,
                                 const PostedReceive& posted) {
  const auto number = first_posted_ + static_cast<std::uint32_t>(posted_.size());
  if (const auto before = threads_[thread].receives.put(request, number))
    if (Posted* never = find_posted(*before); never != nullptr) {
      never->open = false;
      never->cancelled = true;
    }
  posted_.push_back({.channel = {}, .posted = posted, .open = true});
  release(kMaxPosted);
}

MessageEnds::Posted* MessageEnds::find_posted(std::uint32_t number) {
  const std::uint32_t at = number - first_posted_;
  return at < posted_.size() ? &posted_[at] : nullptr;
}

void MessageEnds::received(std::uint32_t thread, ProcessId source, std::uint32_t comm,
                           std::uint32_t tag, std::uint64_t request,
                           const PostedReceive& now, bool in_call) {
  Posted* posted = nullptr;
  if (request != kNoRequest)
    if (const auto number = threads_[thread].receives.take(request))
      posted = find_posted(*number);
  if (posted == nullptr)
    posted = &posted_.emplace_back(Posted{.channel = {}, .posted = now});
  posted->channel = {comm, source, tag};
  posted->open = false;
  posted->call = kNone;
  if (in_call) {
    posted->call = record_of(thread);
    ++records_[posted->call].open_receives;
    records_[posted->call].receives = true;
  }
  release(kMaxPosted);
}

void MessageEnds::cancelled(std::uint32_t thread, std::uint64_t request) {
  const auto number = threads_[thread].receives.take(request);
  Posted* posted = number ? find_posted(*number) : nullptr;
  if (posted == nullptr) return;
  posted->open = false;
  posted->cancelled = true;
  release(kMaxPosted);
}

void MessageEnds::release(std::size_t most) {
  while (!posted_.empty() && (!posted_.front().open || posted_.size() > most)) {
    const Posted posted = posted_.front();
    posted_.pop_front();
    ++first_posted_;
    if (posted.open || posted.cancelled) continue;
    Channel& channel = channel_of(posted.channel);
    const Waiting receive = {posted.posted, posted.call};
    if (channel.sends.size() != 0) {
      arrived(channel.sends.pop(), receive, channel);
      continue;
    }
    channel.receives.push(receive);
    if (channel.receives.size() > kMaxPending) without_send(channel.receives.pop());
  }
}

MessageEnds::Channel& MessageEnds::channel_of(const Key& key) {
  const auto next = static_cast<std::uint32_t>(channels_.size());
  const auto [at, is_new] = channel_numbers_.try_emplace(key, next);
  if (is_new) {
    Channel& channel = channels_.emplace_back();
    channel.source = key.source;
    channel.step = grids_->step(key.comm, key.source, process_);
  }
  return channels_[at->second];
}

void MessageEnds::take(const SendNotice& notice) {
  Channel& channel = channel_of({notice.comm, notice.source, notice.tag});
  const InFlight send = {notice.sent, notice.ticket, notice.sender};
  if (channel.receives.size() != 0) return arrived(send, channel.receives.pop(), channel);
  channel.sends.push(send);
  if (channel.sends.size() <= kMaxPending) return;
  ++problems_->sends_without_receive;
  mailbox_->deliver(channel.source, Answer{channel.sends.pop().ticket, {}});
}

void MessageEnds::arrived(const InFlight& send, const Waiting& receive,
                          const Channel& channel) {
  const ProcessId source = channel.source;
  if (receive.call != kNone) {
    CallRecord& record = records_[receive.call];
    record.received.push_back({send.sent, source, send.sender, channel.step});
    --record.open_receives;
  }
  mailbox_->deliver(source, Answer{send.ticket, receive.posted});
  hand_out();
  if (receive.call != kNone) try_finish(receive.call);
}

void MessageEnds::without_send(const Waiting& receive) {
  ++problems_->receives_without_send;
  if (receive.call == kNone) return;
  --records_[receive.call].open_receives;
  hand_out();
  try_finish(receive.call);
}

void MessageEnds::end_call(std::uint32_t thread, const Call& call) {
  std::uint32_t& current = threads_[thread].call;
  const std::uint32_t number = current;
  current = kNone;
  CallRecord& record = records_[number];
  record.call = call;
  if (call.metric != kMpiPoint2Point) record.call.left_over = 0;
  record.left = true;
  record.sends_before = sends_;
  if (record.receives) {
    receiving_.push_back(number);
    hand_out();
  } else {
    record.receives_done = true;
  }
  try_finish(number);
}

void MessageEnds::hand_out() {
  while (!receiving_.empty() && (records_[receiving_.front()].open_receives == 0 ||
                                 receiving_.size() > kMaxPending)) {
    const std::uint32_t number = receiving_.front();
    receiving_.pop_front();
    CallRecord& record = records_[number];
    for (const Received& message : record.received) {
      if (message.sent <= record.call.leave) continue;
      ++problems_->clock_violations;
      problems_->worst_violation =
          std::max(problems_->worst_violation, message.sent - record.call.leave);
    }
    const Ticks before = record.call.left_over;
    ReceiveCall event{record.call, record.received, record.sends_before};
    patterns_->receive(event);
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
    patterns_->send(event);
    note_late_receiver(record, before - record.call.left_over);
  }
  record.received.clear();
  record.posted.clear();
  record.left = record.receives = record.receives_done = record.late_sender = false;
  free_records_.push_back(number);
}

// What patterns took out of the call was a wait for the latest of its messages.
void MessageEnds::note_late_sender(const CallRecord& record, Ticks wait) {
  if (wait == 0) return;
  const auto latest = std::ranges::max_element(record.received, {}, &Received::sent);
  log_->waited(paths::WaitKind::kLateSender, record.call, wait, latest->sender,
               latest->sent);
}

void MessageEnds::note_late_receiver(const CallRecord& record, Ticks wait) {
  if (wait == 0) return;
  const PostedReceive* latest = nullptr;
  for (const PostedReceive& each : record.posted)
    if (each.enter < record.call.leave && (latest == nullptr || each.enter > latest->enter))
      latest = &each;
  if (latest != nullptr)
    log_->waited(paths::WaitKind::kLateReceiver, record.call, wait, latest->receiver,
                 latest->enter);
}

void MessageEnds::give_up() {
  for (Channel& channel : channels_) {
    while (channel.receives.size() != 0) without_send(channel.receives.pop());
    while (channel.sends.size() != 0) {
      ++problems_->sends_without_receive;
      mailbox_->deliver(channel.source, Answer{channel.sends.pop().ticket, {}});
    }
  }
}

}  // namespace refrain::waits
