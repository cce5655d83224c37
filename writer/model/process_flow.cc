#include "writer/model/process_flow.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "addresses/short_name.h"
#include "regions/region_class.h"
#include "spool/mpi_format.h"

namespace refrain::writer {
namespace {

using summary::FlowGraph;
using Partner = FlowGraph::Partner;

Partner partner_of(std::uint64_t packed) {
  const auto kind = static_cast<std::uint32_t>(packed >> 32);
  if (kind > static_cast<std::uint32_t>(Partner::Kind::kSeveral)) return {};
  return {static_cast<Partner::Kind>(kind),
          static_cast<std::int32_t>(static_cast<std::uint32_t>(packed))};
}

// Everything is called by the C library's start of the program.
bool is_start(const addresses::Place& where) {
  return where.function == "_start" || where.function.starts_with("__libc_start");
}

// "file:line" of a call; its function where the line is not known.
std::string caller_text(const addresses::Place& where) {
  if (where.line != 0)
    return addresses::base_name(where.file) + ":" + std::to_string(where.line);
  if (!where.function.empty()) return addresses::short_place(where.function);
  return where.module.empty() ? "?" : where.module;
}

class Namer {
 public:
  Namer(const spool::FlowGraph& graph, const ProcessModel& model,
        const regions::RegionTable& table)
      : graph_(graph), model_(model), table_(table) {}

  FlowGraph::Node name(const spool::FlowNode& node) const {
    FlowGraph::Node out;
    out.kind = static_cast<FlowGraph::Kind>(node.kind);
    if (node.kind != spool::FlowKind::kCall && node.kind != spool::FlowKind::kRegion)
      return out;
    if (node.kind == spool::FlowKind::kRegion) {
      out.name = region_name(node.payload);
      return out;
    }
    const auto key = spool::CallKey::make(spool::kMpiEnter, 0, node.payload);
    const std::uint32_t procedure = model_.regions().find(regions::keys_of_node(key)[0]);
    if (procedure != regions::kNoRegion) out.name = table_.regions()[procedure].name;
    const std::uint64_t address = node.payload & spool::kAddressMask;
    const std::uint32_t place =
        address == 0 ? regions::kNoRegion : model_.regions().place_of_site(address);
    if (place != regions::kNoRegion) out.site = table_.places()[place].identity();
    for (const std::uint64_t frame : graph_.paths[node.path]) {
      const addresses::Place& caller = model_.resolver().at_call(frame);
      if (is_start(caller)) break;
      out.callers.push_back(caller_text(caller));
    }
    out.to = partner_of(node.to);
    out.from = partner_of(node.from);
    out.size_least = node.size_least;
    out.size_greatest = node.size_greatest;
    return out;
  }

 private:
  std::string region_name(std::uint64_t address) const {
    for (const std::uint8_t sub : {std::uint8_t{0}, spool::kTeamLeague}) {
      const auto key = spool::CallKey::make(spool::kImplicitTaskBegin, sub, address);
      const std::uint32_t region = model_.regions().find(regions::keys_of_node(key)[0]);
      if (region != regions::kNoRegion) return table_.regions()[region].name;
    }
    return "parallel region";
  }

  const spool::FlowGraph& graph_;
  const ProcessModel& model_;
  const regions::RegionTable& table_;
};

}  // namespace

FlowGraph flow_graph_of(const spool::FlowGraph& graph, const ProcessModel& model,
                        const regions::RegionTable& table) {
  FlowGraph out;
  if (graph.nodes.empty()) return out;
  constexpr std::pair<spool::FlowComponent, const char*> kComponents[] = {
      {spool::kFlowSite, "site"},
      {spool::kFlowCallers, "callers"},
      {spool::kFlowPartner, "partner"},
      {spool::kFlowSize, "size"}};
  for (const auto& [component, name] : kComponents)
    if ((graph.components & component) != 0) out.components.emplace_back(name);
  const Namer namer(graph, model, table);
  for (const spool::FlowNode& node : graph.nodes) out.nodes.push_back(namer.name(node));
  for (const spool::FlowEdge& edge : graph.edges)
    out.edges.push_back({.from = edge.from,
                         .to = edge.to,
                         .count = edge.count,
                         .time = edge.time,
                         .least = edge.least,
                         .greatest = edge.greatest,
                         .gap = edge.gap,
                         .gap_least = edge.gap_least,
                         .gap_greatest = edge.gap_greatest,
                         .bytes_sent = edge.bytes_sent,
                         .bytes_received = edge.bytes_received});
  // The last one, if it is sorted: of no use where everything found its place.
  const auto to_other = [](const spool::FlowEdge& edge) {
    return edge.to == spool::kOtherEvents;
  };
  const bool other = std::ranges::any_of(graph.edges, to_other);
  out.nodes_elsewhere = graph.nodes_elsewhere;
  out.edges_elsewhere = graph.edges_elsewhere;
  if (out.edges.empty()) return {};
  summary::normalize(out);
  if (!other) out.nodes.pop_back();
  return out;
}

}  // namespace refrain::writer
