#include "analysis/report/message_sink.h"

#include <algorithm>
#include <tuple>

namespace refrain::report {

using reader::EventKind;
using reader::TraceEvent;

base::Result<> MessageSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  entered_.resize(definitions.locations.size());
  messages_ = std::make_unique<reader::MessageMatcher>(
      definitions, [this](const reader::MatchedMessage& found) { matched(found); });
  for (std::uint32_t i = 0; i < definitions.processes.size(); ++i)
    if (definitions.processes[i].rank != reader::kNone)
      ranks_ = std::max<std::size_t>(ranks_, i + 1);
  together_ = std::max<std::size_t>(1, (ranks_ + kMaxGroups - 1) / kMaxGroups);
  return {};
}

// Processes are in the order of their ranks.
std::uint32_t MessageSink::group_of(std::uint32_t process) const {
  return static_cast<std::uint32_t>(process / together_);
}

std::vector<std::pair<std::size_t, std::size_t>> MessageSink::groups() const {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t i = 0; i < ranks_; i += together_)
    out.emplace_back(i, std::min(ranks_, i + together_) - 1);
  return out;
}

void MessageSink::event(const TraceEvent& event) {
  if (event.kind == EventKind::kEnter) {
    entered_[event.location] = event.ns;
    return;
  }
  const bool sends =
      event.kind == EventKind::kMpiSend || event.kind == EventKind::kMpiIsend;
  if (sends) sent(event);
  messages_->event(event, {.location = event.location,
                           .posted = sends ? entered_[event.location] : event.ns,
                           .done = event.ns,
                           .bytes = event.bytes});
}

void MessageSink::sent(const TraceEvent& event) {
  const ProcessId from = definitions_->locations[event.location].process;
  const ProcessId to = definitions_->process_of(event.ref, event.peer, from);
  if (to >= definitions_->processes.size()) return;
  Cell& cell = matrix_[{group_of(from), group_of(to)}];
  cell.messages += 1;
  cell.bytes += static_cast<double>(event.bytes);
}

void MessageSink::matched(const reader::MatchedMessage& message) {
  const std::uint32_t from = rows_.row_of(message.send.location),
                      to = rows_.row_of(message.receive.location);
  if (from == reader::kNone || to == reader::kNone) return;
  lines_.add({from, to, static_cast<double>(message.send.posted),
              static_cast<double>(message.receive.done),
              static_cast<double>(message.send.bytes)});
}

base::Result<> MessageSink::finish(std::uint64_t) {
  messages_->flush();
  kept_ = lines_.take();
  std::ranges::sort(kept_, [](const Line& a, const Line& b) {
    return std::tie(a.sent_ns, a.received_ns, a.from, a.to) <
           std::tie(b.sent_ns, b.received_ns, b.from, b.to);
  });
  messages_.reset();
  return {};
}

base::Result<> CollectiveSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  calls_.resize(definitions.locations.size());
  comms_.resize(definitions.comms.size());
  return {};
}

void CollectiveSink::event(const TraceEvent& event) {
  Call& call = calls_[event.location];
  const auto ns = static_cast<double>(event.ns);
  if (event.kind == EventKind::kEnter) {
    call = {event.ref, ns, reader::kNone};
  } else if (event.kind == EventKind::kMpiCollectiveEnd) {
    if (event.ref < comms_.size() && !event.uncertain) call.comm = event.ref;
  } else if (event.kind == EventKind::kLeave && call.comm != reader::kNone &&
             call.region == event.ref) {
    join(call, definitions_->locations[event.location].process, ns);
    call.comm = reader::kNone;
  }
}

void CollectiveSink::join(const Call& call, ProcessId process, double left_ns) {
  auto& comm = comms_[call.comm];
  if (!comm.known())
    comm = reader::CommOperations<Pending>(reader::CommMembers(*definitions_, call.comm));
  const auto turn = comm.next(process);
  if (turn.operation == nullptr || comm.size() < 2) return;
  Pending& pending = *turn.operation;
  Operation& operation = pending.operation;
  if (pending.members == 0) {
    operation = {call.region, call.comm, call.ns, call.ns, left_ns};
  } else {
    operation.first_ns = std::min(operation.first_ns, call.ns);
    operation.last_ns = std::max(operation.last_ns, call.ns);
    operation.left_ns = std::max(operation.left_ns, left_ns);
  }
  ++pending.members;
  while (!comm.open.empty()) {
    const bool all = comm.open.front().members == comm.size();
    if (!all && comm.open.size() <= kMaxPending) return;
    if (all) kept_.add(comm.open.front().operation);
    comm.drop_front();
  }
}

base::Result<> CollectiveSink::finish(std::uint64_t) {
  operations_ = kept_.take();
  std::ranges::sort(operations_, {}, &Operation::first_ns);
  return {};
}

}  // namespace refrain::report
