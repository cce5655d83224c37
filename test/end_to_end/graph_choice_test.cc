// `refrain graph` of real runs: what is chosen to be drawn, the formats as other programs read them,
// and what cannot be drawn.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "test/end_to_end/graph_checks.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "tools/graph/dot_checks.h"

namespace refrain::test::graph_choice_test {

TEST_CASE("Graph: formats - all have the same nodes and edges") {
  TemporaryFolder folder;
  recorded({"cg_clang", {"20", "64", "5"}, 2, {{"LIMIT", "3"}}}, folder / "a");
  const Words choice = GENERATE(Words{}, Words{"--level", "0"}, Words{"--level", "1"},
                                Words{"--node", "cg.c:48"}, Words{"--max-nodes", "4"});
  CAPTURE(choice);
  const auto to_file = [&](const std::string& format) {
    const fs::path file = folder / ("graph." + format);
    Words more = choice;
    more.insert(more.end(), {"-o", file, "--overwrite", "--quiet"});
    const Result result = graph(folder / "a", format, more);
    INFO(result.errors);
    REQUIRE(result.exit_status == 0);
    CHECK(result.output.empty());
    CHECK(result.errors.empty());
    return file;
  };
  const json expected = json::parse(read_file(to_file("json")));
  REQUIRE(expected["nodes"].size() >= 5);
  REQUIRE(expected["edges"].size() >= 5);
  const Plain plain = plain_of(to_file("dot"));
  CHECK(plain.nodes == expected["nodes"].size());
  CHECK(plain.edges == expected["edges"].size());

  const json graphml = read_graph(to_file("graphml"));
  CHECK(graphml["nodes"].size() == expected["nodes"].size());
  for (const json& node : expected["nodes"]) {
    const json& other = graphml["nodes"][node["id"].get<std::string>()];
    for (const char* name : {"type", "region", "visits", "time_ns", "own_ns", "path"})
      CHECK(node.value(name, json()) == other.value(name, json()));
  }
  REQUIRE(graphml["edges"].size() == expected["edges"].size());
  for (std::size_t i = 0; i < expected["edges"].size(); ++i)
    for (const char* name : {"from", "to", "count"})
      CHECK(graphml["edges"][i][name] == expected["edges"][i][name]);

  const json svg = read_graph(to_file("svg"));
  auto texts = svg["texts"].get<std::multiset<std::string>>();
  const auto take = [&](const json& lines) {
    for (const json& line : lines) {
      INFO(line);
      const auto found = texts.find(line.get<std::string>());
      REQUIRE(found != texts.end());
      texts.erase(found);
    }
  };
  for (const json& node : expected["nodes"]) take(node["label"]);
  for (const json& edge : expected["edges"]) take(edge["label"]);
  take(expected["legend"]);
}

TEST_CASE("Graph: a region - what lies in it, and dotted what is around") {
  TemporaryFolder folder;
  recorded({"cg_clang", {"20", "64", "5"}, 2, {{"LIMIT", "3"}}}, folder / "a");
  const json dot = graph_of(folder / "a", {"--node", "parallel @cg.c:48"});
  std::map<std::string, bool> dotted;
  for (const json& node : dot["nodes"])
    if (node["type"] == "region") dotted[node["region"]] = node["dotted"];
  CHECK(dotted == std::map<std::string, bool>{{"parallel @cg.c:48", false},
                                              {"for @cg.c:48", false},
                                              {"implicit barrier @cg.c:48", false},
                                              {"parallel @cg.c:37", true},
                                              {"parallel @cg.c:61", true},
                                              {"parallel @cg.c:69", true},
                                              {"parallel @cg.c:82", true}});
  for (const json& edge : dot["edges"]) {
    const auto nodes = nodes_of(dot);
    CHECK(edge["dotted"] == (nodes.at(edge["from"])["dotted"] == true ||
                             nodes.at(edge["to"])["dotted"] == true));
  }
  // Chosen by a part of the name, and by its call path, the loop in it.
  CHECK(graph_of(folder / "a", {"--node", "lel @cg.c:48"}) == dot);
  const json loop = graph_of(folder / "a", {"--node", "parallel @cg.c:48 > for @cg.c:48"});
  CHECK(transitions(loop) ==
        Words{"cg.c:48 > cg.c:48: 0-1|221", "cg.c:48 > cg.c:48: 0-1|221"});
}

TEST_CASE("Graph: events of a caller - calls from there, and dotted what is around") {
  TemporaryFolder folder;
  const MpiJob job{.program = "halo_gcc", .arguments = {"20"}, .ranks = 4};
  recorded(job, MpiWay::kOutside, folder / "a");
  const json all = graph_of(folder / "a", {"--kind", "events"});
  std::string caller;  // of exchange(), which has all messages
  for (const json& node : all["nodes"])
    if (node.value("name", "") == "MPI_Isend") caller = node["callers"];
  REQUIRE(caller.starts_with("halo.c:"));
  const json part = graph_of(folder / "a", {"--kind", "events", "--node", caller});
  const auto nodes = nodes_of(part);
  std::map<std::string, std::uint64_t> inside;
  std::set<std::string> around;
  for (const auto& [id, node] : nodes) {
    const bool is_inside = node.value("callers", "") == caller;
    CHECK(node["dotted"] == !is_inside);
    if (is_inside)
      inside[node["name"]] += node["count"].get<std::uint64_t>();
    else
      around.insert(node["name"]);
  }
  // Two each way in 20 iterations of 4 ranks.
  CHECK(inside == std::map<std::string, std::uint64_t>{
                      {"MPI_Irecv", 160}, {"MPI_Isend", 160}, {"MPI_Waitall", 80}});
  CHECK(around.count("MPI_Allreduce") == 1);
  // The first of them comes after something else.
  std::uint64_t back = 0, on = 0;
  for (const json& edge : part["edges"]) {
    const json &from = nodes.at(edge["from"]), &to = nodes.at(edge["to"]);
    CHECK(edge["dotted"] == (from["dotted"] || to["dotted"]));
    CHECK_FALSE((from["dotted"] && to["dotted"]));
    if (from["name"] == "MPI_Allreduce") back += edge["count"].get<std::uint64_t>();
    if (to["name"] == "MPI_Allreduce") on += edge["count"].get<std::uint64_t>();
  }
  CHECK(on == 80);
  CHECK(back == 76);
  const Result none = graph(folder / "a", "dot", {"--kind", "events", "--node", "x.f"});
  CHECK(none.exit_status == 2);
  CHECK(none.errors == "refrain: no caller 'x.f'; callers are " + caller + "\n");
}

TEST_CASE("Graph: what cannot be drawn - one line, exit status 2") {
  TemporaryFolder folder;
  recorded({.program = "cg_clang", .arguments = {"2"}}, folder / "a");
  const auto refused = [&](const fs::path& archive, const Words& more,
                           const std::string& why) {
    const Result result = graph(archive, "dot", more);
    INFO(archive << ": " << result.errors);
    CHECK(result.exit_status == 2);
    CHECK(result.output.empty());
    CHECK(result.errors.find(why) != std::string::npos);
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
  };
  refused(folder / "none", {}, "does not exist");
  refused(folder / "a", {"--node", "nothing of this name"}, "no region 'nothing of this");
  refused(folder / "a", {"--level", "9"}, "no level 9: the deepest is 1");
  refused(folder / "a", {"--level", "-1"}, "--level");
  refused(folder / "a", {"--level", "1", "--node", "for"}, "excludes");
  refused(folder / "a", {"--ranks", "1-x"}, "is not a list of ranks");
  refused(folder / "a", {"--ranks", "1"}, "not all ranks of '1' are in this run");
  std::ofstream(folder / "there") << "kept";
  refused(folder / "a", {"-o", folder / "there"}, "--overwrite replaces it");
  CHECK(read_file(folder / "there") == "kept");
  refused(folder / "a", {"-o", folder / "no" / "folder"}, "cannot write");
  const Result format = run_refrain({"graph", folder / "a", "--to", "gif"});
  CHECK(format.exit_status == 2);
  CHECK(format.errors.find("--to") != std::string::npos);
  CHECK(run_refrain({"graph", folder / "a"}).exit_status == 2);

  const fs::path summary = folder / "a" / "summary" / "process-0.json";
  std::string text = read_file(summary);
  REQUIRE(text.size() > 100);
  std::ofstream(summary) << text.substr(0, text.size() / 2);
  const auto from_events = [&](const std::string& why) {
    const Result result = run_refrain({"graph", folder / "a", "--to", "json", "--quiet"});
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    CHECK(result.output.find("\"source\": \"events\"") != std::string::npos);
    CHECK(result.errors.find(why) != std::string::npos);
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
  };
  from_events("process-0.json is not a summary");
  const std::string version = "\"version\":";
  REQUIRE(text.find(version) != std::string::npos);
  text.insert(text.find(version) + version.size(), "77");
  std::ofstream(summary) << text;
  from_events("version 77");
  fs::create_directory(folder / "empty");
  refused(folder / "empty", {}, "no archive");
}

TEST_CASE("Graph: without Graphviz - what is missing, and dot works") {
  TemporaryFolder folder;
  recorded({.program = "cg_clang", .arguments = {"2"}}, folder / "a");
  fs::create_directory(folder / "bin");
  const auto without = [&](const std::string& format) {
    Command command;
    command.arguments = {data_file("tools/refrain"), "graph", folder / "a", "--to", format};
    command.environment = clean_environment();
    command.environment["PATH"] = (folder / "bin").string();
    return run(command);
  };
  const Result svg = without("svg");
  CHECK(svg.exit_status == 2);
  CHECK(svg.output.empty());
  CHECK(svg.errors.find("svg needs Graphviz") != std::string::npos);
  CHECK(std::count(svg.errors.begin(), svg.errors.end(), '\n') == 1);
  CHECK(without("dot").exit_status == 0);
  // One that fails.
  std::ofstream(folder / "bin" / "dot") << "#!/bin/sh\necho it is broken >&2\nexit 3\n";
  fs::permissions(folder / "bin" / "dot", fs::perms::owner_all);
  const Result broken = without("svg");
  CHECK(broken.exit_status == 2);
  CHECK(broken.errors == "refrain: Graphviz ('dot') failed: exit status 3, it is broken\n");
}

}  // namespace refrain::test::graph_choice_test
