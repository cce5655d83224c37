#include "analysis/profile/message_events.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/profile/region_time_class.h"

namespace refrain::analysis {
namespace {

using reader::EventKind;
using reader::TraceEvent;
using Partner = summary::FlowGraph::Partner;

void set(Partner& partner, const Partner& value) {
  if (value.kind == Partner::Kind::kNone) return;
  const bool same = partner.kind == Partner::Kind::kNone || partner == value;
  partner = same ? value : Partner{Partner::Kind::kSeveral, 0};
}

}  // namespace

void MessageEvents::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  locations_.resize(definitions.locations.size());
  processes_.resize(definitions.processes.size());
  std::map<std::string, std::uint32_t> numbers;
  for (const reader::RegionInfo& region : definitions.regions) {
    procedures_.push_back(reader::kNone);
    if (region.is_loop || !is_mpi(class_of(static_cast<std::uint32_t>(region.role),
                                           region.paradigm, region.name)))
      continue;
    const auto [at, is_new] =
        numbers.try_emplace(region.name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(region.name);
    procedures_.back() = at->second;
  }
}

void MessageEvents::event(const TraceEvent& event) {
  Location& location = locations_[event.location];
  const std::uint32_t process = definitions_->locations[event.location].process;
  if (process >= processes_.size()) return;
  switch (event.kind) {
    case EventKind::kEnter:
      return enter(location, event);
    case EventKind::kLeave:
      return leave(location, process, event);
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      if (!location.open.empty())
        set(location.open.back().to, relative(process, event.ref, event.peer));
      return moved(location, process, event.bytes, 0);
    case EventKind::kMpiRecv:
      if (!location.open.empty())
        set(location.open.back().from, relative(process, event.ref, event.peer));
      return moved(location, process, 0, event.bytes);
    case EventKind::kMpiIrecv:
      resolve(location, process, event.request, {},
              relative(process, event.ref, event.peer));
      return moved(location, process, 0, event.bytes);
    case EventKind::kMpiCollectiveEnd:
      if (!location.open.empty()) set(location.open.back().to, root_of(process, event));
      return moved(location, process, event.bytes, event.received);
    case EventKind::kNonBlockingCollectiveComplete:
      resolve(location, process, event.request, root_of(process, event), {});
      return moved(location, process, event.bytes, event.received);
    case EventKind::kMpiIrecvRequest:
    case EventKind::kNonBlockingCollectiveRequest:
      // One with the same number has never ended.
      resolve(location, process, event.request, {}, {});
      if (!location.open.empty()) location.open.back().requests.push_back(event.request);
      return;
    case EventKind::kMpiRequestCancelled:
      return resolve(location, process, event.request, {}, {});
    case EventKind::kRmaPut:
    case EventKind::kRmaGet:
    case EventKind::kRmaAtomic:
      if (!location.open.empty() && event.ref < definitions_->windows.size())
        set(location.open.back().to,
            relative(process, definitions_->windows[event.ref].comm, event.peer));
      return;
    default:
      return;
  }
}

void MessageEvents::enter(Location& location, const TraceEvent& event) {
  if (event.ref >= procedures_.size() || procedures_[event.ref] == reader::kNone) return;
  location.open.push_back(
      {.region = event.ref, .procedure = procedures_[event.ref], .begin = event.ticks});
}

void MessageEvents::leave(Location& location, std::uint32_t process,
                          const TraceEvent& event) {
  if (event.ref >= procedures_.size() || procedures_[event.ref] == reader::kNone) return;
  std::vector<Call>& open = location.open;
  if (std::ranges::find(open, event.ref, &Call::region) == open.end()) return;
  for (bool last = false; !last;) {
    last = open.back().region == event.ref;
    Call call = std::move(open.back());
    open.pop_back();
    end(location, process, std::move(call), event.ticks);
  }
}

void MessageEvents::moved(Location& location, std::uint32_t process, std::uint64_t sent,
                          std::uint64_t received) {
  if (location.open.empty()) {
    processes_[process].outside.add(
        {.calls = 1, .bytes_sent = sent, .bytes_received = received});
    return;
  }
  location.open.back().sums.bytes_sent += sent;
  location.open.back().sums.bytes_received += received;
}

void MessageEvents::resolve(Location& location, std::uint32_t process,
                            std::uint64_t request, Partner to, Partner from) {
  // In the call that made it.
  if (!location.open.empty()) {
    Call& call = location.open.back();
    const auto own = std::ranges::find(call.requests, request);
    if (own != call.requests.end()) {
      call.requests.erase(own);
      set(call.to, to);
      set(call.from, from);
      return;
    }
  }
  const auto found = location.waits_for.find(request);
  if (found == location.waits_for.end()) return;
  const auto waiting = location.waiting.find(found->second);
  location.waits_for.erase(found);
  set(waiting->second.call.to, to);
  set(waiting->second.call.from, from);
  if (--waiting->second.requests != 0) return;
  count(process, waiting->second.call);
  location.waiting.erase(waiting);
}

void MessageEvents::end(Location& location, std::uint32_t process, Call call,
                        std::uint64_t ticks) {
  const std::uint64_t duration = ticks - std::min(ticks, call.begin);
  call.sums.calls = 1;
  call.sums.time = call.sums.minimum = call.sums.maximum = duration;
  if (call.requests.empty()) return count(process, call);
  const std::uint64_t number = location.next++;
  Waiting& waiting = location.waiting[number];
  for (const std::uint64_t request : call.requests) {
    resolve(location, process, request, {}, {});
    waiting.requests += location.waits_for.try_emplace(request, number).second ? 1 : 0;
  }
  waiting.call = std::move(call);
}

void MessageEvents::count(std::uint32_t process, const Call& call) {
  const std::uint64_t size = std::max(call.sums.bytes_sent, call.sums.bytes_received);
  Sums& sums =
      processes_[process].calls[{call.procedure, call.to, call.from, size_class(size)}];
  sums.size_least = sums.sums.calls == 0 ? size : std::min(sums.size_least, size);
  sums.size_greatest = std::max(sums.size_greatest, size);
  sums.sums.add(call.sums);
}

// As the process itself sees it, also where the communicator connects two groups.
Partner MessageEvents::relative(std::uint32_t process, std::uint32_t comm,
                                std::uint32_t peer) {
  if (comm >= definitions_->comms.size() ||
      peer > std::uint32_t{std::numeric_limits<std::int32_t>::max()})
    return {};
  const reader::CommInfo& info = definitions_->comms[comm];
  std::uint32_t own = info.self ? 0 : own_rank(process, info.group);
  if (own == reader::kNone) own = own_rank(process, info.remote);
  if (own == reader::kNone) return {};
  const std::int64_t rank = std::int64_t{peer} - std::int64_t{own};
  return {Partner::Kind::kRelative, static_cast<std::int32_t>(rank)};
}

Partner MessageEvents::root_of(std::uint32_t process, const TraceEvent& event) {
  std::uint32_t root = event.peer;
  if (root == OTF2_COLLECTIVE_ROOT_SELF && event.ref < definitions_->comms.size()) {
    const reader::CommInfo& info = definitions_->comms[event.ref];
    root = own_rank(process, info.group);
    if (root == reader::kNone) root = own_rank(process, info.remote);
  }
  if (root > std::uint32_t{std::numeric_limits<std::int32_t>::max()}) return {};
  return {Partner::Kind::kRoot, static_cast<std::int32_t>(root)};
}

std::uint32_t MessageEvents::own_rank(std::uint32_t process, std::uint32_t group) {
  if (group >= definitions_->groups.size()) return reader::kNone;
  const auto [known, is_new] = ranks_.try_emplace(group);
  if (is_new) {
    const std::vector<ProcessId>& members = definitions_->groups[group];
    for (std::uint32_t rank = 0; rank < members.size(); ++rank)
      known->second.try_emplace(members[rank], rank);
  }
  const auto found = known->second.find(process);
  return found == known->second.end() ? reader::kNone : found->second;
}

std::vector<ProcessMessages> MessageEvents::take() {
  for (std::uint32_t i = 0; i < locations_.size(); ++i)
    for (const auto& [number, waiting] : locations_[i].waiting)
      count(definitions_->locations[i].process, waiting.call);
  std::vector<ProcessMessages> out(processes_.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    out[i].process = i;
    out[i].rank = definitions_->processes[i].rank;
    out[i].ticks_per_second = static_cast<double>(definitions_->ticks_per_second);
    out[i].outside = processes_[i].outside;
    for (const auto& [key, sums] : processes_[i].calls)
      out[i].calls.push_back({.procedure = names_[key.procedure],
                              .to = key.to,
                              .from = key.from,
                              .size_least = sums.size_least,
                              .size_greatest = sums.size_greatest,
                              .sums = sums.sums});
    unite(out[i].calls);
  }
  return out;
}

}  // namespace refrain::analysis
