#include "base/merged_flow.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace refrain::base {
namespace {

using Edge = FlowGraph::Edge;
using Node = FlowGraph::Node;
using Cluster = MergedFlow::Cluster;

// Places of `nodes` in `all`, both sorted.
std::vector<std::uint32_t> places(const std::vector<Node>& nodes,
                                  const std::vector<Node>& all) {
  std::vector<std::uint32_t> out;
  out.reserve(nodes.size());
  for (std::uint32_t i = 0; i < all.size() && out.size() < nodes.size(); ++i)
    if (all[i] == nodes[out.size()]) out.push_back(i);
  return out;
}

void move_edges(std::vector<Cluster>& clusters, const std::vector<std::uint32_t>& place) {
  for (Cluster& cluster : clusters)
    for (Edge& edge : cluster.edges) {
      edge.from = place[edge.from];
      edge.to = place[edge.to];
    }
}

bool same_way(const Edge& a, const Edge& b) {
  return a.from == b.from && a.to == b.to && a.count == b.count;
}

// What two clusters that are one have equal, as a number.
std::uint64_t hash_of(const Cluster& cluster) {
  std::uint64_t hash = cluster.edges.size();
  for (const Edge& edge : cluster.edges) {
    const std::uint64_t pair = std::uint64_t{edge.from} << 32 | edge.to;
    for (const std::uint64_t value : {pair, edge.count}) {
      hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

void unite(Cluster& to, const Cluster& from) {
  to.ranks.unite(from.ranks);
  for (std::size_t i = 0; i < to.edges.size(); ++i) {
    const std::uint64_t count = to.edges[i].count;
    add(to.edges[i], from.edges[i]);
    to.edges[i].count = count;
  }
  to.nodes_elsewhere += from.nodes_elsewhere;
  to.edges_elsewhere += from.edges_elsewhere;
}

std::uint32_t first_of(const Cluster& cluster) {
  return cluster.ranks.empty() ? 0 : cluster.ranks.first();
}

}  // namespace

MergedFlow merged_flow(const FlowGraph& graph, std::uint32_t rank,
                       double ticks_per_second) {
  MergedFlow out;
  if (graph.nodes.empty()) return out;
  out.components = graph.components;
  out.nodes = graph.nodes;
  Cluster cluster{RankSet::of(rank), graph.edges, graph.nodes_elsewhere,
                  graph.edges_elsewhere};
  const double scale = 1e9 / ticks_per_second;
  for (Edge& edge : cluster.edges)
    for (std::uint64_t* const time : {&edge.time, &edge.least, &edge.greatest, &edge.gap,
                                      &edge.gap_least, &edge.gap_greatest})
      *time = static_cast<std::uint64_t>(
          std::min(static_cast<double>(*time) * scale + 0.5, 1.8e19));
  out.clusters.push_back(std::move(cluster));
  return out;
}

MergedFlow merge(MergedFlow a, const MergedFlow& b) {
  if (b.nodes.empty()) return a;
  if (a.nodes.empty()) return b;
  std::vector<Node> nodes;
  std::ranges::set_union(a.nodes, b.nodes, std::back_inserter(nodes));
  std::vector<Cluster> more = b.clusters;
  move_edges(a.clusters, places(a.nodes, nodes));
  move_edges(more, places(b.nodes, nodes));
  a.nodes = std::move(nodes);
  std::multimap<std::uint64_t, std::size_t> known;
  for (std::size_t i = 0; i < a.clusters.size(); ++i)
    known.emplace(hash_of(a.clusters[i]), i);
  for (Cluster& cluster : more) {
    const auto [first, last] = known.equal_range(hash_of(cluster));
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      return std::ranges::equal(a.clusters[entry.second].edges, cluster.edges, same_way);
    });
    if (same != last)
      unite(a.clusters[same->second], cluster);
    else
      a.clusters.push_back(std::move(cluster));
  }
  std::ranges::stable_sort(a.clusters, {}, first_of);
  return a;
}

std::vector<FlowLink> links(const MergedFlow& flow, const std::vector<std::size_t>& only) {
  struct Link {
    FlowLink link;
    std::map<std::uint64_t, RankSet, std::greater<>> weights;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Link> all;
  for (std::size_t i = 0; i < flow.clusters.size(); ++i) {
    if (!only.empty() && std::ranges::find(only, i) == only.end()) continue;
    const Cluster& cluster = flow.clusters[i];
    for (Edge edge : cluster.edges) {
      const auto [at, is_new] = all.try_emplace({edge.from, edge.to});
      at->second.weights[edge.count].unite(cluster.ranks);
      edge.count *= cluster.ranks.size();
      if (is_new)
        at->second.link.sums = edge;
      else
        add(at->second.link.sums, edge);
    }
  }
  std::vector<FlowLink> out;
  for (auto& [ends, link] : all) {
    for (auto& [count, ranks] : link.weights)
      link.link.weights.push_back({count, std::move(ranks)});
    out.push_back(std::move(link.link));
  }
  return out;
}

std::string label(const FlowLink& link) {
  std::string out;
  for (const FlowLink::Weight& weight : link.weights)
    out += (out.empty() ? "" : " ") + std::to_string(weight.count) + "x (" +
           weight.ranks.text() + ")";
  return out;
}

}  // namespace refrain::base
