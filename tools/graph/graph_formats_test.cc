// Drawings in each format, as other programs read them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "analysis/flow/graphviz.h"
#include "test/support/files.h"
#include "tools/graph/dot_checks.h"
#include "tools/graph/drawing.h"

namespace refrain::tools::graph_formats_test {
namespace {

using nlohmann::json;

// With what formats take for something else.
constexpr const char* kOdd = "a<b>&& \"x\\n\" 'y' \\ {z|w} &lt; %s {}";

Drawing drawing() {
  Drawing out;
  out.kind = "test";
  out.legend = {kOdd, "second line"};
  out.notes = {"one note"};
  out.values = {{"regions", std::uint64_t{3}}};
  out.clusters = {{"c1", "outer", Drawing::kNone}, {"c2", kOdd, 0}};
  out.nodes.push_back({.id = "start", .shape = Drawing::Shape::kPlace, .lines = {"start"}});
  out.nodes.push_back(
      {.id = "p1",
       .shape = Drawing::Shape::kHead,
       .lines = {kOdd, "2 visits"},
       .weight = 1,
       .cluster = 0,
       .values = {{"name", kOdd}, {"visits", std::uint64_t{2}}, {"time_ns", 1.5}}});
  out.nodes.push_back({.id = "p2",
                       .lines = {"ünï"},
                       .weight = 0.5,
                       .dotted = true,
                       .cluster = 1,
                       .values = {{"name", "ünï"}, {"visits", ~std::uint64_t{0} >> 1}}});
  out.nodes.push_back({.id = "rest", .shape = Drawing::Shape::kRest, .lines = {"7 more"}});
  const auto edge = [&](std::uint32_t from, std::uint32_t to, std::uint64_t count,
                        bool dotted) {
    out.edges.push_back({.from = from,
                         .to = to,
                         .lines = {"0-1|" + std::to_string(count)},
                         .weight = 0.5,
                         .dotted = dotted,
                         .parts = {{"0-1", count}},
                         .values = {{"count", 2 * count}}});
  };
  edge(0, 1, 5, false);
  edge(1, 2, 6, true);
  edge(2, 1, 7, false);
  edge(2, 2, 8, false);
  edge(2, 3, 9, false);
  return out;
}

std::filesystem::path file_of(const test::TemporaryFolder& folder,
                              const std::string& text) {
  std::filesystem::create_directories(folder.path());
  std::ofstream(folder / "file") << text;
  return folder / "file";
}

}  // namespace

TEST_CASE("Graph formats: dot - Graphviz takes all of it, whatever names contain") {
  test::TemporaryFolder folder;
  const std::string text = dot_text(drawing());
  const test::Plain plain = test::plain_of(file_of(folder, text));
  CHECK(plain.nodes == 4);
  CHECK(plain.edges == 5);
  CHECK(text.find("subgraph \"cluster_c2\"") > text.find("subgraph \"cluster_c1\""));
  CHECK(text.find("style=dotted") != std::string::npos);
}

TEST_CASE("Graph formats: svg - well-formed, with the label of each node and edge") {
  test::TemporaryFolder folder;
  const auto picture = analysis::laid_out(dot_text(drawing()), "svg");
  REQUIRE(picture.ok());
  const json svg = test::read_graph(file_of(folder, *picture));
  const auto texts = svg["texts"].get<std::multiset<std::string>>();
  // Once in the node, once as a label of a cluster, once in the legend.
  CHECK(texts.count(kOdd) == 3);
  for (const char* text : {"2 visits", "ünï", "7 more", "start", "second line", "one note",
                           "outer", "0-1|5", "0-1|6", "0-1|7", "0-1|8", "0-1|9"}) {
    INFO(text);
    CHECK(texts.count(text) == 1);
  }
}

TEST_CASE("Graph formats: svg - what Graphviz refuses is one line") {
  const auto refused = analysis::laid_out("digraph { a -> ", "svg");
  CHECK(refused.error().starts_with("Graphviz ('dot') failed: exit status "));
  CHECK(refused.error().find('\n') == std::string::npos);
}

TEST_CASE("Graph formats: graphml - an XML parser and NetworkX read the same") {
  test::TemporaryFolder folder;
  const json graph = test::read_graph(file_of(folder, graphml_text(drawing())));
  CHECK(graph["graph"]["kind"] == "test");
  CHECK(graph["graph"]["legend"] == std::string(kOdd) + "\nsecond line");
  CHECK(graph["graph"]["regions"] == 3);
  REQUIRE(graph["nodes"].size() == 4);
  CHECK(graph["nodes"]["p1"]["name"] == kOdd);
  CHECK(graph["nodes"]["p1"]["label"] == std::string(kOdd) + "\n2 visits");
  CHECK(graph["nodes"]["p1"]["time_ns"] == 1.5);
  CHECK(graph["nodes"]["p2"]["visits"] == ~std::uint64_t{0} >> 1);
  CHECK(graph["nodes"]["p2"]["cluster"] == "c2");
  CHECK(graph["nodes"]["p2"]["dotted"] == 1);
  CHECK(!graph["nodes"]["start"].contains("cluster"));
  REQUIRE(graph["edges"].size() == 5);
  CHECK(graph["edges"][0]["from"] == "start");
  CHECK(graph["edges"][0]["to"] == "p1");
  CHECK(graph["edges"][0]["count"] == 10);
  CHECK(graph["edges"][0]["parts"] == "0-1|5");
  CHECK(graph["edges"][1]["dotted"] == 1);
}

TEST_CASE("Graph formats: json - everything") {
  const json graph = json::parse(json_text(drawing()));
  CHECK(graph["format"] == "refrain graph drawing");
  CHECK(graph["version"] == 2);
  CHECK(graph["kind"] == "test");
  CHECK(graph["legend"] == json({kOdd, "second line"}));
  CHECK(graph["notes"] == json({"one note"}));
  CHECK(graph["clusters"][1] == json({{"id", "c2"}, {"label", kOdd}, {"parent", "c1"}}));
  REQUIRE(graph["nodes"].size() == 4);
  CHECK(graph["nodes"][0]["cluster"].is_null());
  CHECK(graph["nodes"][1]["cluster"] == "c1");
  CHECK(graph["nodes"][1]["time_ns"] == 1.5);
  CHECK(graph["nodes"][1]["label"] == json({kOdd, "2 visits"}));
  CHECK(graph["edges"][1] == json({{"from", "p1"},
                                   {"to", "p2"},
                                   {"count", 12},
                                   {"parts", {{{"who", "0-1"}, {"count", 6}}}},
                                   {"dotted", true},
                                   {"weight", 0.5},
                                   {"label", {"0-1|6"}}}));
}

TEST_CASE("Graph formats: clusters deep in each other - Graphviz takes them") {
  test::TemporaryFolder folder;
  Drawing deep;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    deep.clusters.push_back({"c" + std::to_string(i), "", i == 0 ? Drawing::kNone : i - 1});
    if (i % 500 == 0)
      deep.nodes.push_back({.id = "p" + std::to_string(i), .lines = {"x"}, .cluster = i});
  }
  CHECK(test::plain_of(file_of(folder, dot_text(deep))).nodes == 10);
}

// What Graphviz refuses without newrank.
TEST_CASE("Graph formats: loops over clusters in each other - Graphviz takes them") {
  constexpr std::uint32_t kClusters = 80;
  test::TemporaryFolder folder;
  std::mt19937 random(GENERATE(1, 2, 3));
  Drawing drawing;
  std::vector<std::vector<std::uint32_t>> inside(kClusters);
  for (std::uint32_t i = 0; i < kClusters; ++i) {
    const std::uint32_t parent =
        i < 5 ? Drawing::kNone : static_cast<std::uint32_t>(random() % i);
    const std::string number = std::to_string(i);
    if (parent != Drawing::kNone) inside[parent].push_back(i);
    drawing.clusters.push_back({"c" + number, "", parent});
    for (const char* name : {"p", "rest", "end"})
      drawing.nodes.push_back({.id = name + number, .lines = {number}, .cluster = i});
  }
  // Each begins at 3i, has a region that is none of its clusters at 3i + 1, ends at 3i + 2.
  for (std::uint32_t i = 0; i < kClusters; ++i) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::uint32_t before = 3 * i;
    for (std::size_t visits = 3 * inside[i].size() + 1; visits > 0; --visits) {
      const std::size_t which = random() % (inside[i].size() + 1);
      const bool rest = which == inside[i].size();
      edges.emplace(before, rest ? 3 * i + 1 : 3 * inside[i][which]);
      before = rest ? 3 * i + 1 : 3 * inside[i][which] + 2;
    }
    edges.emplace(before, 3 * i + 2);
    for (const auto& [from, to] : edges)
      drawing.edges.push_back({.from = from, .to = to, .lines = {"0|1"}});
  }
  const test::Plain plain = test::plain_of(file_of(folder, dot_text(drawing)));
  CHECK(plain.nodes == drawing.nodes.size());
  CHECK(plain.edges == drawing.edges.size());
}

TEST_CASE("Graph formats: colours - white to red, grey to black") {
  CHECK(node_colour(0) == "#ffffff");
  CHECK(node_colour(1) == "#f06050");
  CHECK(edge_colour(0) == "#a0a0a0");
  CHECK(edge_colour(1) == "#101030");
  CHECK(edge_width(1) > edge_width(0));
}

TEST_CASE("Graph texts: what is no UTF-8, and control characters, are replaced") {
  CHECK(clean_text("ünï \"x\"\\") == "ünï \"x\"\\");
  CHECK(clean_text("a\nb\x01\x7f") == "a?b??");
  CHECK(clean_text("a\xff"
                   "b") ==
        "a\xef\xbf\xbd"
        "b");
}

TEST_CASE("Graph labels: as the papers have them, and not too long") {
  using Lines = std::vector<std::string>;
  CHECK(edge_label({{"0-3", 5}}, false) == Lines{"0-3|5"});
  CHECK(edge_label({{"0,2", 9}}, true) == Lines{"9x (0,2)"});
  CHECK(edge_label({{"0-2", 5}, {"3", 4}}, false) == Lines{"0-2|5", "3|4"});
  CHECK(edge_label({{"0", 1}, {"1", 2}, {"2", 9}, {"3", 4}, {"4", 7}}, false) ==
        Lines{"0|1", "1|2", "2|9", "others|4-7"});
  CHECK(edge_label({{"0", 1}, {"1", 2}, {"2", 9}, {"3", 4}, {"4", 7}}, true).back() ==
        "4-7x (others)");
  CHECK(edge_label({{"0,2,4,6,8,10,12,14,16,18,20", 3}}, false) ==
        Lines{"0,2,4,6,8,10,12,14,16,18,...|3"});
  CHECK(edge_label({}, false).empty());
}

TEST_CASE("Number lists: written and read") {
  CHECK(number_list({0, 1, 2, 3, 5, 8, 9}) == "0-3,5,8-9");
  CHECK(number_list({}) == "");
  using Ranges = std::vector<NumberRange>;
  CHECK(parse_number_list("0-3,5,4294967295") ==
        Ranges{{0, 3}, {5, 5}, {4294967295u, 4294967295u}});
  for (const char* wrong : {"", ",", "1,", "a", "1-", "3-1", "-1", "1 2", "4294967296",
                            "1--2", "1,,2", "1;2"}) {
    INFO(wrong);
    CHECK(!parse_number_list(wrong).has_value());
  }
}

}  // namespace refrain::tools::graph_formats_test
