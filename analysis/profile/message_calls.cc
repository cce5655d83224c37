#include "analysis/profile/message_calls.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/profile/run_profile.h"

namespace refrain::analysis {
namespace {

using summary::FlowGraph;

auto key_of(const MessageCalls& calls) {
  return std::tie(calls.procedure, calls.to, calls.from);
}

bool are_one(const MessageCalls& a, const MessageCalls& b) {
  return key_of(a) == key_of(b) && size_class(a.size_least) == size_class(b.size_least);
}

bool has(const FlowGraph& graph, const char* component) {
  return std::ranges::find(graph.components, component) != graph.components.end();
}

bool calls_mpi(const summary::RunSummary& summary,
               const summary::RunSummary::Location& location) {
  for (std::size_t i = 0; i < summary.nodes.size() && i < location.sums.size(); ++i) {
    const std::uint32_t region = summary.nodes[i].region;
    if (location.sums[i].visits != 0 && region < summary.regions.size() &&
        summary.regions[region].paradigm == OTF2_PARADIGM_MPI)
      return true;
  }
  return false;
}

CallSums sums_of(const FlowGraph::Edge& edge) {
  return {.calls = edge.count,
          .time = edge.time,
          .minimum = edge.least,
          .maximum = edge.greatest,
          .bytes_sent = edge.bytes_sent,
          .bytes_received = edge.bytes_received};
}

}  // namespace

void CallSums::add(const CallSums& other) noexcept {
  if (other.calls != 0)
    minimum = calls == 0 ? other.minimum : std::min(minimum, other.minimum);
  maximum = std::max(maximum, other.maximum);
  calls += other.calls;
  time += other.time;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
}

void unite(std::vector<MessageCalls>& calls) {
  std::ranges::sort(calls, [](const MessageCalls& a, const MessageCalls& b) {
    return std::pair(key_of(a), a.size_least) < std::pair(key_of(b), b.size_least);
  });
  std::vector<MessageCalls> out;
  for (MessageCalls& each : calls) {
    if (out.empty() || !are_one(out.back(), each)) {
      out.push_back(std::move(each));
      continue;
    }
    out.back().size_greatest = std::max(out.back().size_greatest, each.size_greatest);
    out.back().sums.add(each.sums);
  }
  calls = std::move(out);
}

ProcessMessages messages_of(const summary::RunSummary& summary) {
  ProcessMessages out{.process = summary.process,
                      .rank = summary.rank,
                      .ticks_per_second = summary.ticks_per_second};
  for (const summary::RunSummary::Location& location : summary.locations) {
    const FlowGraph& graph = location.flow;
    if (graph.nodes.empty() && !calls_mpi(summary, location)) continue;
    out.sizes = out.sizes && has(graph, "size");
    out.partners = out.partners && has(graph, "partner");
    std::vector<CallSums> sums(graph.nodes.size());
    for (const FlowGraph::Edge& edge : graph.edges) sums[edge.to].add(sums_of(edge));
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const FlowGraph::Node& node = graph.nodes[i];
      if (node.kind == FlowGraph::Kind::kOther) out.elsewhere.add(sums[i]);
      if (node.kind != FlowGraph::Kind::kCall || sums[i].calls == 0) continue;
      out.calls.push_back({.procedure = node.name,
                           .to = node.to,
                           .from = node.from,
                           .size_least = node.size_least,
                           .size_greatest = node.size_greatest,
                           .sums = sums[i]});
    }
  }
  unite(out.calls);
  return out;
}

}  // namespace refrain::analysis

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
  location.open.push(
      {.region = event.ref, .procedure = procedures_[event.ref], .begin = event.ticks});
}

void MessageEvents::leave(Location& location, std::uint32_t process,
                          const TraceEvent& event) {
  if (event.ref >= procedures_.size() || procedures_[event.ref] == reader::kNone) return;
  for (std::size_t ended = location.open.ended_by(event.ref); ended > 0; --ended)
    end(location, process, location.open.pop(), event.ticks);
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
  const std::uint32_t own = definitions_->comms[comm].self ? 0 : own_rank(process, comm);
  if (own == reader::kNone) return {};
  const std::int64_t rank = std::int64_t{peer} - std::int64_t{own};
  return {Partner::Kind::kRelative, static_cast<std::int32_t>(rank)};
}

Partner MessageEvents::root_of(std::uint32_t process, const TraceEvent& event) {
  std::uint32_t root = event.peer;
  if (root == OTF2_COLLECTIVE_ROOT_SELF && event.ref < definitions_->comms.size())
    root = own_rank(process, event.ref);
  if (root > std::uint32_t{std::numeric_limits<std::int32_t>::max()}) return {};
  return {Partner::Kind::kRoot, static_cast<std::int32_t>(root)};
}

// In its own group.
std::uint32_t MessageEvents::own_rank(std::uint32_t process, std::uint32_t comm) {
  const auto [known, is_new] = members_.try_emplace(comm);
  if (is_new) known->second = reader::CommMembers(*definitions_, comm);
  const std::uint32_t rank = known->second.rank_of(ProcessId(process));
  const auto first = static_cast<std::uint32_t>(known->second.first());
  return rank == reader::kNone || rank < first ? rank : rank - first;
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

namespace refrain::analysis {
namespace {

using Row = MessageTables::Row;
using Partner = MessageTables::Partner;

// A table while it grows.
class Table {
 public:
  enum class By { kSize, kPartner, kSignature };

  explicit Table(By by) : by_(by) {}

  void add(std::uint32_t process, const MessageCalls& calls) {
    Key key{calls.procedure, {}, {}, 0};
    if (by_ != By::kSize) {
      std::get<1>(key) = calls.to;
      std::get<2>(key) = calls.from;
    }
    if (by_ != By::kPartner) std::get<3>(key) = size_class(calls.size_least);
    const auto [at, is_new] = rows_.try_emplace(std::move(key));
    Row& row = at->second;
    if (is_new) {
      std::tie(row.procedure, row.to, row.from, std::ignore) = at->first;
      row.size_least = calls.size_least;
    }
    row.size_least = std::min(row.size_least, calls.size_least);
    row.size_greatest = std::max(row.size_greatest, calls.size_greatest);
    if (row.parts.empty() || row.parts.back().process != process)
      row.parts.push_back({.process = process});
    row.parts.back().sums.add(calls.sums);
  }

  std::vector<Row> take(const std::vector<MessageTables::Process>& processes) {
    std::vector<Row> out;
    for (auto& [key, row] : rows_) {
      total(row, processes);
      out.push_back(std::move(row));
    }
    // Of rows with the same time those of the smaller name, partner and size come first.
    std::ranges::stable_sort(out, std::ranges::greater{}, &Row::time_ns);
    return out;
  }

 private:
  using Key = std::tuple<std::string, Partner, Partner, unsigned>;

  static void total(Row& row, const std::vector<MessageTables::Process>& processes) {
    for (const MessageTables::Part& part : row.parts) {
      const double frequency = processes[part.process].ticks_per_second;
      const auto ns = [&](std::uint64_t ticks) {
        return static_cast<double>(ticks) * 1e9 / frequency;
      };
      const double time = ns(part.sums.time);
      const double minimum = ns(part.sums.minimum);
      const bool first = &part == row.parts.data();
      row.minimum_ns = first ? minimum : std::min(row.minimum_ns, minimum);
      row.maximum_ns = std::max(row.maximum_ns, ns(part.sums.maximum));
      row.process_minimum_ns = first ? time : std::min(row.process_minimum_ns, time);
      if (first || time > row.process_maximum_ns) {
        row.process_maximum_ns = time;
        row.slowest = part.process;
      }
      row.time_ns += time;
      row.calls += part.sums.calls;
      row.bytes_sent += part.sums.bytes_sent;
      row.bytes_received += part.sums.bytes_received;
    }
  }

  By by_;
  std::map<Key, Row> rows_;
};

}  // namespace

double Row::mean_ns() const {
  return calls == 0 ? 0 : time_ns / static_cast<double>(calls);
}

double Row::bytes_per_second() const {
  const double bytes =
      static_cast<double>(bytes_sent) + static_cast<double>(bytes_received);
  return time_ns > 0 ? bytes / (time_ns / 1e9) : 0;
}

MessageTables message_tables(const std::vector<ProcessMessages>& processes) {
  MessageTables out;
  Table by_size(Table::By::kSize);
  Table by_partner(Table::By::kPartner);
  Table by_signature(Table::By::kSignature);
  for (const ProcessMessages& from : processes) {
    const auto index = static_cast<std::uint32_t>(out.processes.size());
    out.processes.push_back({from.process, from.rank, from.ticks_per_second});
    out.sizes = out.sizes && from.sizes;
    out.partners = out.partners && from.partners;
    for (const MessageCalls& calls : from.calls) {
      if (calls.sums.calls == 0) continue;
      for (Table* const table : {&by_size, &by_partner, &by_signature})
        table->add(index, calls);
    }
    out.calls_elsewhere += from.elsewhere.calls;
    out.elsewhere_ns +=
        static_cast<double>(from.elsewhere.time) * 1e9 / from.ticks_per_second;
    out.elsewhere_bytes += from.elsewhere.bytes_sent + from.elsewhere.bytes_received;
    out.messages_outside += from.outside.calls;
    out.outside_bytes += from.outside.bytes_sent + from.outside.bytes_received;
  }
  if (out.sizes) out.by_size = by_size.take(out.processes);
  if (out.partners) out.by_partner = by_partner.take(out.processes);
  out.by_signature = by_signature.take(out.processes);
  return out;
}

}  // namespace refrain::analysis
