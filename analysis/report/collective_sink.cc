#include "analysis/report/collective_sink.h"

#include <algorithm>

namespace refrain::report {

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
  while (!comm.pending.empty() && (comm.pending.front().members >= comm.size ||
                                   comm.pending.size() > kMostPending)) {
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
