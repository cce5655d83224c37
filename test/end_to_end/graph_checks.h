// What the tests of `refrain graph` need: graphs as JSON, and checks of them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"

namespace refrain::test {

using nlohmann::json;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

inline Result graph(const fs::path& archive, const std::string& format,
                    const Words& more = {}) {
  Words arguments = {"graph", archive, "--to", format};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_refrain(arguments);
}

inline json graph_of(const fs::path& archive, const Words& more = {}) {
  const Result result = graph(archive, "json", more);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  // But what an archive of another tool has besides.
  if (result.errors.find("not used") == std::string::npos) CHECK(result.errors.empty());
  return json::parse(result.output);
}

inline std::map<std::string, json> nodes_of(const json& graph) {
  std::map<std::string, json> nodes;
  for (const json& node : graph["nodes"]) nodes[node["id"]] = node;
  return nodes;
}

// "cg.c:37" where a node is a region, else "start", "end", ...
inline std::string short_text(const json& node) {
  if (node["type"] != "region") return node["type"];
  const std::string region = node["region"];
  const std::size_t blank = region.rfind('@');
  return blank == std::string::npos ? region : region.substr(blank + 1);
}

// "a > b: 0-1|5 2|3", sorted.
inline Words transitions(const json& graph) {
  const auto nodes = nodes_of(graph);
  Words out;
  for (const json& edge : graph["edges"]) {
    std::string text =
        short_text(nodes.at(edge["from"])) + " > " + short_text(nodes.at(edge["to"])) + ":";
    std::uint64_t count = 0;
    for (const json& part : edge["parts"])
      text += " " + part["who"].get<std::string>() + "|" +
              std::to_string(part["count"].get<std::uint64_t>());
    for (const json& part : edge["parts"]) count += part["count"].get<std::uint64_t>();
    CHECK(count <= edge["count"].get<std::uint64_t>());
    out.push_back(text);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// In all of a graph as many transitions lead to each node as lead away, and to a region as many as it
// has visits.
inline void check_balance(const json& graph) {
  CHECK(graph["unknown"] == 0);
  std::map<std::string, std::uint64_t> in, out;
  for (const json& edge : graph["edges"]) {
    CHECK(edge["dotted"] == false);
    in[edge["to"]] += edge["count"].get<std::uint64_t>();
    out[edge["from"]] += edge["count"].get<std::uint64_t>();
  }
  std::size_t regions = 0;
  for (const json& node : graph["nodes"]) {
    const std::string id = node["id"];
    INFO(id);
    if (node["type"] == "start" || node["type"] == "end") {
      CHECK((id == "start" ? out[id] : in[id]) > 0);
      if (id == "start" || id == "end") continue;
    }
    CHECK(in[id] == out[id]);
    if (node["type"] != "region") continue;
    ++regions;
    CHECK(in[id] == node["visits"].get<std::uint64_t>());
    CHECK(node["own_ns"].get<double>() <= node["time_ns"].get<double>() + 1);
  }
  CHECK(regions >= 5);
  CHECK(out["start"] == in["end"]);
}

}  // namespace refrain::test
