#include "test/support/flow_checks.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "test/support/mpi_processes.h"

namespace refrain::test {
namespace {

using summary::FlowGraph;
using summary::RunSummary;
using Partner = FlowGraph::Partner;
using Kind = FlowGraph::Kind;

// A node by what can be known of it: kind, name, partners, smallest size.
using Node = std::tuple<Kind, std::string, Partner, Partner, std::uint64_t>;
struct EdgeSums {
  std::uint64_t count = 0, time = 0, least = ~std::uint64_t{0}, greatest = 0;
  std::uint64_t gap = 0, gap_least = ~std::uint64_t{0}, gap_greatest = 0;
  std::uint64_t sent = 0, received = 0;
};
using Edges = std::map<std::pair<Node, Node>, EdgeSums>;

void add(EdgeSums& to, const FlowGraph::Edge& edge) {
  to.count += edge.count;
  to.time += edge.time;
  to.least = std::min(to.least, edge.least);
  to.greatest = std::max(to.greatest, edge.greatest);
  to.gap += edge.gap;
  to.gap_least = std::min(to.gap_least, edge.gap_least);
  to.gap_greatest = std::max(to.gap_greatest, edge.gap_greatest);
  to.sent += edge.bytes_sent;
  to.received += edge.bytes_received;
}

// Of these calls no event has the partner, or (one-sided) it is not looked for.
bool silent(const std::string& name) {
  return name.ends_with("_init") || name.starts_with("MPI_Start") || name == "MPI_Irecv" ||
         name == "MPI_Put" || name == "MPI_Get" || name == "MPI_Accumulate" ||
         name == "MPI_Ibcast" || name == "MPI_Ireduce" || name.starts_with("MPI_Igather") ||
         name.starts_with("MPI_Iscatter");
}

Partner known(const std::string& name, Partner partner) {
  if (silent(name) || partner.kind == Partner::Kind::kNobody) return {};
  return partner;
}

Edges edges_of(const FlowGraph& graph) {
  const auto node = [&](std::uint32_t index) {
    const FlowGraph::Node& from = graph.nodes[index];
    return Node{from.kind, from.name, known(from.name, from.to),
                known(from.name, from.from), from.size_least};
  };
  Edges edges;
  for (const FlowGraph::Edge& edge : graph.edges)
    add(edges[{node(edge.from), node(edge.to)}], edge);
  return edges;
}

// --- From the events --------------------------------------------------------------------

class FlowCounter {
 public:
  // `partners`: the graph has them.
  FlowCounter(const Trace& trace, const MpiProcesses& processes, int rank,
              const LeftOut& left_out, bool partners)
      : trace_(trace),
        processes_(processes),
        rank_(rank),
        left_out_(left_out),
        partners_(partners) {}

  Edges count(const Location& location) {
    for (const Event& event : location.events) take(event);
    return std::move(edges_);
  }

 private:
  struct Call {
    std::string name;
    std::uint64_t begin = 0, sent = 0, received = 0;
    Partner to = {}, from = {};
  };

  void take(const Event& event) {
    switch (event.type) {
      case EventType::kEnter:
        return enter(event);
      case EventType::kLeave:
        return leave(event);
      case EventType::kThreadFork:
        if (++forks_ == 1) fork_ = event.time;
        return;
      case EventType::kThreadJoin:
        if (forks_-- == 1) join(event.time);
        return;
      case EventType::kMpiSend:
      case EventType::kMpiIsend:
        if (in_left_out_) return;
        set(call_->to, relative(event));
        return move(event);
      case EventType::kMpiRecv:
        if (in_left_out_) return;
        set(call_->from, relative(event));
        return move(event);
      case EventType::kMpiCollectiveEnd:
        if (in_left_out_) return;
        if (event.extra < OTF2_COLLECTIVE_ROOT_THIS_GROUP)
          call_->to = {Partner::Kind::kRoot, static_cast<std::int32_t>(event.extra)};
        return move(event);
      case EventType::kMpiIrecv:
      case EventType::kMpiCollectiveComplete:
        if (!in_left_out_) move(event);
        return;
      default:
        return;
    }
  }

  void move(const Event& event) {
    call_->sent += event.sent;
    call_->received += event.received;
  }

  Partner relative(const Event& event) const {
    const auto members = processes_.members(event.reference, rank_);
    if (!members) return {};
    const auto own = std::find(members->begin(), members->end(), rank_) - members->begin();
    return {Partner::Kind::kRelative, static_cast<std::int32_t>(event.value - own)};
  }
  static void set(Partner& partner, Partner value) {
    const bool same = partner == Partner{} || partner == value;
    partner = same ? value : Partner{Partner::Kind::kSeveral, 0};
  }

  void enter(const Event& event) {
    const Region& region = trace_.regions.at(event.reference);
    if (left_out_.has(region)) {
      in_left_out_ = region.paradigm == OTF2_PARADIGM_MPI;
      if (region.role == OTF2_REGION_ROLE_PARALLEL && forks_ == 1) fork_ = 0;
    } else if (region.paradigm == OTF2_PARADIGM_MPI) {
      call_ = Call{.name = region.name, .begin = event.time};
    } else if (region.role == OTF2_REGION_ROLE_PARALLEL && forks_ == 1 && fork_ != 0) {
      region_ = &come(Node{Kind::kRegion, region.name, {}, {}, 0}, fork_);
      region_begin_ = last_ = fork_;
      fork_ = 0;
    }
  }

  void join(std::uint64_t time) {
    if (region_ == nullptr) return;
    took(*region_, time - region_begin_);
    region_ = nullptr;
    last_ = time;
  }

  void leave(const Event& event) {
    if (trace_.regions.at(event.reference).paradigm != OTF2_PARADIGM_MPI) return;
    if (std::exchange(in_left_out_, false) || !call_) return;
    const Call& call = *call_;
    const Partner to = partners_ ? known(call.name, call.to) : Partner{};
    const Partner from = partners_ ? known(call.name, call.from) : Partner{};
    std::uint64_t size = std::max(call.sent, call.received);
    std::set<std::uint64_t>& exact = exact_[{call.name, to, from}];
    if (exact.size() < 8)
      exact.insert(size);
    else if (!exact.contains(size))
      while ((size & (size - 1)) != 0) size &= size - 1;
    EdgeSums& sums = come(Node{Kind::kCall, call.name, to, from, size}, call.begin);
    took(sums, event.time - call.begin);
    sums.sent += call.sent;
    sums.received += call.received;
    last_ = event.time;
    call_.reset();
  }

  EdgeSums& come(const Node& node, std::uint64_t time) {
    EdgeSums& sums = edges_[{before_, node}];
    const std::uint64_t gap = last_ == 0 ? 0 : time - last_;
    ++sums.count;
    sums.gap += gap;
    sums.gap_least = std::min(sums.gap_least, gap);
    sums.gap_greatest = std::max(sums.gap_greatest, gap);
    before_ = node;
    return sums;
  }
  static void took(EdgeSums& sums, std::uint64_t time) {
    sums.time += time;
    sums.least = std::min(sums.least, time);
    sums.greatest = std::max(sums.greatest, time);
  }

  const Trace& trace_;
  const MpiProcesses& processes_;
  int rank_;
  const LeftOut& left_out_;
  bool partners_;
  bool in_left_out_ = false;  // a call of MPI
  std::optional<Call> call_;
  Node before_{};
  std::uint64_t last_ = 0;
  int forks_ = 0;
  std::uint64_t fork_ = 0;
  std::uint64_t region_begin_ = 0;
  EdgeSums* region_ = nullptr;
  std::map<std::tuple<std::string, Partner, Partner>, std::set<std::uint64_t>> exact_;
  Edges edges_;
};

// --- Comparison -------------------------------------------------------------------------

std::string text(const Node& node) {
  const auto& [kind, name, to, from, size] = node;
  std::ostringstream out;
  out << (kind == Kind::kStart ? "start" : name);
  for (const Partner& partner : {to, from})
    if (partner != Partner{})
      out << " " << static_cast<int>(partner.kind) << ":" << partner.rank;
  out << " size " << size;
  return out.str();
}

class FlowComparer {
 public:
  FlowComparer(SummaryOf of, Problems& problems) : of_(of), problems_(problems) {}

  void compare(const std::string& location, const Edges& events, const Edges& graph) {
    std::set<std::pair<Node, Node>> all;
    for (const auto& [ends, sums] : events) all.insert(ends);
    for (const auto& [ends, sums] : graph) all.insert(ends);
    for (const auto& ends : all) {
      where_ = location + ": " + text(ends.first) + " > " + text(ends.second);
      const auto a = events.find(ends);
      const auto b = graph.find(ends);
      compare_edge(a == events.end() ? EdgeSums{} : a->second,
                   b == graph.end() ? EdgeSums{} : b->second);
    }
  }

 private:
  void compare_edge(const EdgeSums& events, const EdgeSums& graph) {
    equal("times", events.count, graph.count);
    equal("bytes sent", events.sent, graph.sent);
    equal("bytes received", events.received, graph.received);
    if (of_ != SummaryOf::kSameRun || events.count == 0 || graph.count == 0) return;
    near("duration", events.time, graph.time, events.count);
    near("shortest", events.least, graph.least, 1);
    near("longest", events.greatest, graph.greatest, 1);
    near("between", events.gap, graph.gap, events.count);
    near("shortest between", events.gap_least, graph.gap_least, 1);
    near("longest between", events.gap_greatest, graph.gap_greatest, 1);
  }
  void equal(const char* what, std::uint64_t events, std::uint64_t graph) {
    if (events != graph) complain(what, events, graph);
  }
  // Ticks by which an archive moves an event, and the rates of clocks that are not the first
  // rank's.
  void near(const char* what, std::uint64_t events, std::uint64_t graph,
            std::uint64_t count) {
    constexpr std::uint64_t kMoved = 40, kRate = 10'000;
    const std::uint64_t room = kMoved * count + events / kRate;
    if ((events > graph ? events - graph : graph - events) > room)
      complain(what, events, graph);
  }
  void complain(const char* what, std::uint64_t events, std::uint64_t graph) {
    constexpr std::size_t kMaxProblems = 12;
    if (problems_.size() >= kMaxProblems) return;
    problems_.push_back(where_ + ": " + what + ": " + std::to_string(events) +
                        " in the events, " + std::to_string(graph) + " in the graph");
  }

  SummaryOf of_;
  Problems& problems_;
  std::string where_;
};

}  // namespace

Problems check_flow(const Trace& trace, const std::vector<RunSummary>& summaries,
                    SummaryOf of, const LeftOut& left_out) {
  Problems problems;
  const MpiProcesses processes(trace);
  FlowComparer comparer(of, problems);
  std::map<std::uint64_t, const FlowGraph*> known;
  std::uint64_t events = 0;
  for (const RunSummary& summary : summaries)
    for (const RunSummary::Location& location : summary.locations) {
      if (location.flow.nodes_elsewhere + location.flow.edges_elsewhere != 0)
        problems.push_back("events found no place in the graph");
      known[location.reference] = &location.flow;
    }
  for (int rank = 0; rank < processes.size(); ++rank)
    for (const Location& location : trace.locations) {
      if (location.group != processes.location_group(rank)) continue;
      const auto found = known.find(location.reference);
      const Edges graph = found == known.end() ? Edges{} : edges_of(*found->second);
      for (const auto& [ends, sums] : graph) events += sums.count;
      const bool partners =
          found == known.end() || std::ranges::find(found->second->components, "partner") !=
                                      found->second->components.end();
      FlowCounter counter(trace, processes, rank, left_out, partners);
      comparer.compare(location.name + " of rank " + std::to_string(rank),
                       counter.count(location), graph);
    }
  if (events == 0) problems.emplace_back("there are no events in any graph");
  return problems;
}

Problems check_merged(const summary::MergedFlow& flow,
                      const std::vector<RunSummary>& summaries) {
  Problems problems;
  const auto complain = [&](const std::string& what) { problems.push_back(what); };
  using Ends = std::pair<FlowGraph::Node, FlowGraph::Node>;
  std::map<Ends, std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> sums;
  std::map<Ends, double> times;
  for (const RunSummary& summary : summaries) {
    std::size_t clusters = 0;
    for (const auto& cluster : flow.clusters)
      clusters += cluster.ranks.contains(summary.rank) ? 1 : 0;
    if (clusters != 1)
      complain("rank " + std::to_string(summary.rank) + " is in " +
               std::to_string(clusters) + " clusters");
    for (const RunSummary::Location& location : summary.locations)
      for (const FlowGraph::Edge& edge : location.flow.edges) {
        const Ends ends{location.flow.nodes[edge.from], location.flow.nodes[edge.to]};
        auto& [count, sent, received] = sums[ends];
        count += edge.count;
        sent += edge.bytes_sent;
        received += edge.bytes_received;
        times[ends] += static_cast<double>(edge.time) * 1e9 / summary.ticks_per_second;
      }
  }
  for (const summary::FlowLink& link : summary::links(flow)) {
    const Ends ends{flow.nodes[link.sums.from], flow.nodes[link.sums.to]};
    const std::tuple merged{link.sums.count, link.sums.bytes_sent,
                            link.sums.bytes_received};
    if (sums[ends] != merged) complain("another sum of an edge to " + ends.second.name);
    const double room = 1.0 + static_cast<double>(summaries.size());  // rounded
    if (std::abs(times[ends] - static_cast<double>(link.sums.time)) > room)
      complain("another time of an edge to " + ends.second.name);
    sums.erase(ends);
  }
  if (!sums.empty()) complain(std::to_string(sums.size()) + " edges are missing");
  return problems;
}

}  // namespace refrain::test
