#include "analysis/report/message_sink.h"

#include <algorithm>

namespace refrain::report {

using reader::EventKind;
using reader::TraceEvent;

base::Result<> MessageSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  entered_.resize(definitions.locations.size());
  processes_.resize(definitions.processes.size());
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
  const std::uint32_t process = definitions_->locations[event.location].process;
  switch (event.kind) {
    case EventKind::kEnter:
      entered_[event.location] = static_cast<double>(event.ns);
      return;
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      return send(event, process);
    case EventKind::kMpiIrecvRequest: {
      Process& of = processes_[process];
      of.requests[{event.location, event.request}] = of.first + of.posted.size();
      of.posted.emplace_back();
      return release(of, kMaxPosted);
    }
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
      return receive(event, process);
    case EventKind::kMpiRequestCancelled:
      if (Posted* posted = posted_for(event, processes_[process]); posted != nullptr) {
        posted->open = false;
        posted->cancelled = true;
        release(processes_[process], kMaxPosted);
      }
      return;
    default:
      return;
  }
}

void MessageSink::send(const TraceEvent& event, std::uint32_t process) {
  const std::uint32_t to =
      definitions_->process_of(event.ref, event.peer, ProcessId(process));
  if (to >= processes_.size()) return;
  Cell& cell = matrix_[{group_of(process), group_of(to)}];
  cell.messages += 1;
  cell.bytes += static_cast<double>(event.bytes);
  Ends& ends = channels_[{event.ref, process, to, event.tag}];
  const Sent sent{.row = rows_.row_of(event.location),
                  .ns = entered_[event.location],
                  .bytes = static_cast<double>(event.bytes)};
  if (!ends.receives.empty()) {
    match(sent, ends.receives.front());
    return ends.receives.pop_front();
  }
  ends.sends.push_back(sent);
  if (ends.sends.size() > kMaxPending) ends.sends.pop_front();
}

MessageSink::Posted* MessageSink::posted_for(const TraceEvent& event, Process& of) {
  const auto found = of.requests.find({event.location, event.request});
  if (found == of.requests.end()) return nullptr;
  const std::uint64_t at = found->second - of.first;
  of.requests.erase(found);
  return at < of.posted.size() ? &of.posted[at] : nullptr;
}

void MessageSink::receive(const TraceEvent& event, std::uint32_t process) {
  Process& of = processes_[process];
  Posted* posted = event.kind == EventKind::kMpiIrecv ? posted_for(event, of) : nullptr;
  if (posted == nullptr) posted = &of.posted.emplace_back();
  posted->open = false;
  const std::uint32_t from =
      definitions_->process_of(event.ref, event.peer, ProcessId(process));
  posted->cancelled = from >= processes_.size();
  posted->channel = {event.ref, from, process, event.tag};
  posted->received = {rows_.row_of(event.location), static_cast<double>(event.ns)};
  release(of, kMaxPosted);
}

void MessageSink::release(Process& of, std::size_t most) {
  while (!of.posted.empty() && (!of.posted.front().open || of.posted.size() > most)) {
    const Posted posted = of.posted.front();
    of.posted.pop_front();
    ++of.first;
    if (posted.open || posted.cancelled) continue;
    Ends& ends = channels_[posted.channel];
    if (!ends.sends.empty()) {
      match(ends.sends.front(), posted.received);
      ends.sends.pop_front();
      continue;
    }
    ends.receives.push_back(posted.received);
    if (ends.receives.size() > kMaxPending) ends.receives.pop_front();
  }
}

void MessageSink::match(const Sent& sent, const Received& received) {
  if (sent.row == reader::kNone || received.row == reader::kNone) return;
  lines_.add({sent.row, received.row, sent.ns, received.ns, sent.bytes});
}

base::Result<> MessageSink::finish(std::uint64_t) {
  for (Process& of : processes_) release(of, 0);
  kept_ = lines_.take();
  std::ranges::sort(kept_, [](const Line& a, const Line& b) {
    return std::tie(a.sent_ns, a.received_ns, a.from, a.to) <
           std::tie(b.sent_ns, b.received_ns, b.from, b.to);
  });
  channels_.clear();
  return {};
}

using reader::EventKind;
using reader::TraceEvent;

base::Result<> CollectiveSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  calls_.resize(definitions.locations.size());
  comms_.resize(definitions.comms.size());
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    const reader::CommInfo& info = definitions.comms[i];
    if (info.self || !info.of_processes) continue;
    for (const std::uint32_t group : {info.group, info.remote})
      if (group < definitions.groups.size())
        comms_[i].size += definitions.groups[group].size();
  }
  return {};
}

void CollectiveSink::event(const TraceEvent& event) {
  Call& call = calls_[event.location];
  const auto ns = static_cast<double>(event.ns);
  if (event.kind == EventKind::kEnter) {
    call = {event.ref, ns, reader::kNone};
  } else if (event.kind == EventKind::kMpiCollectiveEnd) {
    if (event.ref < comms_.size() && comms_[event.ref].size > 1) call.comm = event.ref;
  } else if (event.kind == EventKind::kLeave && call.comm != reader::kNone &&
             call.region == event.ref) {
    join(call, definitions_->locations[event.location].process, ns);
    call.comm = reader::kNone;
  }
}

void CollectiveSink::join(const Call& call, std::uint32_t process, double left_ns) {
  Comm& comm = comms_[call.comm];
  const std::uint64_t number = comm.next[process]++;
  if (number < comm.front) return;
  while (comm.front + comm.pending.size() <= number) comm.pending.emplace_back();
  Pending& pending = comm.pending[number - comm.front];
  Operation& operation = pending.operation;
  if (pending.members == 0) {
    operation = {call.region, call.comm, call.ns, call.ns, left_ns};
  } else {
    operation.first_ns = std::min(operation.first_ns, call.ns);
    operation.last_ns = std::max(operation.last_ns, call.ns);
    operation.left_ns = std::max(operation.left_ns, left_ns);
  }
  ++pending.members;
  while (!comm.pending.empty() &&
         (comm.pending.front().members >= comm.size || comm.pending.size() > kMaxPending)) {
    if (comm.pending.front().members >= comm.size)
      kept_.add(comm.pending.front().operation);
    comm.pending.pop_front();
    ++comm.front;
  }
}

base::Result<> CollectiveSink::finish(std::uint64_t) {
  operations_ = kept_.take();
  std::ranges::sort(operations_, {}, &Operation::first_ns);
  return {};
}

}  // namespace refrain::report
