#include "summary/flow_exchange.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace refrain::summary {
namespace {

using Partner = FlowGraph::Partner;

void put_texts(exchange::ByteWriter& out, const std::vector<std::string>& texts) {
  out.number(texts.size());
  for (const std::string& text : texts) out.text(text);
}

std::vector<std::string> take_texts(exchange::ByteReader& in) {
  std::vector<std::string> texts;
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    texts.push_back(in.text());
  return texts;
}

void put_partner(exchange::ByteWriter& out, const Partner& partner) {
  out.number(static_cast<std::uint64_t>(partner.kind));
  out.signed_number(partner.rank);
}

Partner take_partner(exchange::ByteReader& in) {
  const std::uint64_t kind =
      in.number_to(static_cast<std::uint64_t>(Partner::Kind::kSeveral));
  const std::int64_t rank = in.signed_number();
  if (rank != static_cast<std::int32_t>(rank)) in.fail();
  return {static_cast<Partner::Kind>(kind), static_cast<std::int32_t>(rank)};
}

void put_node(exchange::ByteWriter& out, const FlowGraph::Node& node) {
  out.number(static_cast<std::uint64_t>(node.kind));
  out.text(node.name);
  out.text(node.site);
  put_texts(out, node.callers);
  put_partner(out, node.to);
  put_partner(out, node.from);
  out.number(node.size_least);
  out.number(node.size_greatest);
}

FlowGraph::Node take_node(exchange::ByteReader& in) {
  FlowGraph::Node node;
  node.kind = static_cast<FlowGraph::Kind>(
      in.number_to(static_cast<std::uint64_t>(FlowGraph::Kind::kOther)));
  node.name = in.text();
  node.site = in.text();
  node.callers = take_texts(in);
  node.to = take_partner(in);
  node.from = take_partner(in);
  node.size_least = in.number();
  node.size_greatest = in.number();
  return node;
}

constexpr std::uint64_t FlowGraph::Edge::*kSums[] = {
    &FlowGraph::Edge::count,         &FlowGraph::Edge::time,
    &FlowGraph::Edge::least,         &FlowGraph::Edge::greatest,
    &FlowGraph::Edge::gap,           &FlowGraph::Edge::gap_least,
    &FlowGraph::Edge::gap_greatest,  &FlowGraph::Edge::bytes_sent,
    &FlowGraph::Edge::bytes_received};

void put_cluster(exchange::ByteWriter& out, const MergedFlow::Cluster& cluster) {
  put(out, cluster.ranks);
  out.number(cluster.nodes_elsewhere);
  out.number(cluster.edges_elsewhere);
  out.number(cluster.edges.size());
  for (const FlowGraph::Edge& edge : cluster.edges) {
    out.number(edge.from);
    out.number(edge.to);
    for (const auto sum : kSums) out.number(edge.*sum);
  }
}

MergedFlow::Cluster take_cluster(exchange::ByteReader& in, std::size_t nodes) {
  MergedFlow::Cluster cluster;
  take(in, cluster.ranks);
  cluster.nodes_elsewhere = in.number();
  cluster.edges_elsewhere = in.number();
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    FlowGraph::Edge edge;
    edge.from = in.number32();
    edge.to = in.number32();
    if (edge.from >= nodes || edge.to >= nodes) in.fail();
    for (const auto sum : kSums) edge.*sum = in.number();
    cluster.edges.push_back(edge);
  }
  return cluster;
}

}  // namespace

void put(exchange::ByteWriter& out, const RankSet& ranks) {
  out.number(ranks.sections().size());
  for (const RankSet::Section& section : ranks.sections()) {
    out.number(section.first);
    for (const RankSet::Dimension& dimension : section.dimensions) {
      out.number(dimension.count);
      out.number(dimension.step);
    }
  }
}

void take(exchange::ByteReader& in, RankSet& ranks) {
  std::vector<RankSet::Section> sections;
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    RankSet::Section section{.first = in.number32()};
    for (RankSet::Dimension& dimension : section.dimensions) {
      dimension.count = in.number32();
      dimension.step = in.number32();
    }
    sections.push_back(section);
  }
  if (sections.empty() || !RankSet::make(sections, ranks)) in.fail();
}

void put(exchange::ByteWriter& out, const MergedFlow& flow) {
  put_texts(out, flow.components);
  out.number(flow.nodes.size());
  for (const FlowGraph::Node& node : flow.nodes) put_node(out, node);
  out.number(flow.clusters.size());
  for (const MergedFlow::Cluster& cluster : flow.clusters) put_cluster(out, cluster);
}

void take(exchange::ByteReader& in, MergedFlow& flow) {
  flow.components = take_texts(in);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    FlowGraph::Node node = take_node(in);
    if (!flow.nodes.empty() && !(flow.nodes.back() < node)) in.fail();
    flow.nodes.push_back(std::move(node));
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    flow.clusters.push_back(take_cluster(in, flow.nodes.size()));
}

}  // namespace refrain::summary
