#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "base/file_text.h"
#include "base/flow_json.h"
#include "base/json_values.h"
#include "base/merged_flow.h"

namespace refrain::base {
namespace {

using json_values::fail;
using nlohmann::json;
using Cluster = MergedFlow::Cluster;

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

MergedFlow merged_flow_from_text(const std::string& text) {
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

std::string merged_flow_path(const std::string& archive) {
  return archive + "/summary/graph.json";
}

std::string write_merged_flow(const std::string& archive, const MergedFlow& flow) {
  const std::string path = merged_flow_path(archive);
  std::error_code error;
  std::filesystem::create_directories(archive + "/summary", error);
  if (error) return archive + "/summary: " + error.message();
  std::ofstream file(path, std::ios::binary);
  file << to_text(flow);
  file.close();
  return file ? std::string() : path + " cannot be written";
}

std::optional<MergedFlow> read_merged_flow(const std::string& archive) {
  const std::string path = merged_flow_path(archive);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  try {
    return merged_flow_from_text(file_text(path));
  } catch (const std::runtime_error& problem) {
    throw std::runtime_error(path + " " + problem.what());
  }
}

}  // namespace refrain::base
