#include "summary/merged_flow.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "base/file_text.h"
#include "base/json_values.h"
#include "summary/flow_json.h"

namespace refrain::summary {
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

namespace {

using base::json_values::fail;
using nlohmann::json;

constexpr const char* kGraphFormat = "refrain graph";
constexpr std::uint64_t kGraphVersion = 1;

// A section is its first rank, then count and step of each dimension as far as it has any.
json ranks_to_json(const RankSet& ranks) {
  json out = json::array();
  for (const RankSet::Section& section : ranks.sections()) {
    json values = json::array({section.first});
    std::size_t used = RankSet::kDimensions;
    while (used != 0 && section.dimensions[used - 1].count == 1) --used;
    for (std::size_t i = 0; i < used; ++i) {
      values.push_back(section.dimensions[i].count);
      values.push_back(section.dimensions[i].step);
    }
    out.push_back(std::move(values));
  }
  return out;
}

std::uint32_t index_of(const json& value) {
  const std::uint64_t number = flow_number(value, "ranks");
  if (number > std::numeric_limits<std::uint32_t>::max()) fail("'ranks' is too large");
  return static_cast<std::uint32_t>(number);
}

RankSet ranks_of(const json& from) {
  if (!from.is_array()) fail("'ranks' is not a list");
  std::vector<RankSet::Section> sections;
  for (const json& values : from) {
    if (!values.is_array() || values.size() % 2 == 0 ||
        values.size() > 1 + 2 * RankSet::kDimensions)
      fail("'ranks' has a section of impossible length");
    RankSet::Section section{.first = index_of(values[0])};
    for (std::size_t i = 1; i < values.size(); i += 2)
      section.dimensions[i / 2] = {index_of(values[i]), index_of(values[i + 1])};
    sections.push_back(section);
  }
  RankSet ranks;
  if (sections.empty() || !RankSet::make(sections, ranks))
    fail("'ranks' is not a set of ranks");
  return ranks;
}

Cluster cluster_of(const json& from, std::size_t nodes) {
  Cluster cluster;
  cluster.ranks = ranks_of(flow_member(from, "ranks"));
  cluster.edges = flow_edges_of(flow_member(from, "edges"), nodes);
  cluster.nodes_elsewhere =
      flow_number(flow_member(from, "nodes_elsewhere"), "nodes_elsewhere");
  cluster.edges_elsewhere =
      flow_number(flow_member(from, "edges_elsewhere"), "edges_elsewhere");
  return cluster;
}

MergedFlow parsed_flow(const std::string& text) {
  const json from = json::parse(text, nullptr, false);
  if (from.is_discarded() || !from.is_object() || !from.contains("format") ||
      from["format"] != kGraphFormat)
    fail("is not a graph");
  const std::uint64_t version = flow_number(flow_member(from, "version"), "version");
  if (version != kGraphVersion)
    fail("is a graph of version " + std::to_string(version) +
         "; this program reads version " + std::to_string(kGraphVersion));
  MergedFlow flow;
  flow.components = flow_texts_of(from, "components");
  flow.nodes = flow_nodes_of(flow_member(from, "nodes"));
  const json& clusters = flow_member(from, "clusters");
  if (!clusters.is_array()) fail("'clusters' is not a list");
  for (const json& cluster : clusters)
    flow.clusters.push_back(cluster_of(cluster, flow.nodes.size()));
  return flow;
}

}  // namespace

std::string to_text(const MergedFlow& flow) {
  json clusters = json::array();
  for (const Cluster& cluster : flow.clusters)
    clusters.push_back({{"ranks", ranks_to_json(cluster.ranks)},
                        {"edges", flow_edges_to_json(cluster.edges)},
                        {"nodes_elsewhere", cluster.nodes_elsewhere},
                        {"edges_elsewhere", cluster.edges_elsewhere}});
  const json out = {{"format", kGraphFormat},
                    {"version", kGraphVersion},
                    {"components", flow.components},
                    {"nodes", flow_nodes_to_json(flow.nodes)},
                    {"clusters", std::move(clusters)}};
  // Names are bytes of the program's; what is no UTF-8 is replaced.
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

base::Result<MergedFlow> merged_flow_from_text(const std::string& text) {
  return base::json_values::result_of([&] { return parsed_flow(text); });
}

std::string merged_flow_path(const std::string& archive) {
  return archive + "/summary/graph.json";
}

base::Result<> write_merged_flow(const std::string& archive, const MergedFlow& flow) {
  const std::string path = merged_flow_path(archive);
  std::error_code error;
  std::filesystem::create_directories(archive + "/summary", error);
  if (error) return base::Failure{archive + "/summary: " + error.message()};
  std::ofstream file(path, std::ios::binary);
  file << to_text(flow);
  file.close();
  if (!file) return base::Failure{path + " cannot be written"};
  return {};
}

base::Result<std::optional<MergedFlow>> read_merged_flow(const std::string& archive) {
  const std::string path = merged_flow_path(archive);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<MergedFlow>();
  const auto text = base::file_text(path);
  if (!text) return base::Failure{path + " " + text.error()};
  auto flow = merged_flow_from_text(*text);
  if (!flow) return base::Failure{path + " " + flow.error()};
  return std::optional<MergedFlow>(*std::move(flow));
}

}  // namespace refrain::summary
