#include "analysis/profile/message_calls.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <tuple>
#include <utility>

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
