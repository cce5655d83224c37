#include "summary/merged_flow.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/folder.h"
#include "base/json_values.h"
#include "summary/summary_json.h"

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
  const auto ranks = RankSet::make(sections);
  if (sections.empty() || !ranks) fail("'ranks' is not a set of ranks");
  return *ranks;
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
  auto made = RankSet::make(sections);
  if (sections.empty() || !made) return in.fail();
  ranks = *std::move(made);
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
