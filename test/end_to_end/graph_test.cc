// `refrain graph` of real runs: counts that follow from the programs' arguments, and from the events
// as the test's own reader has them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "reader/foreign_archive.h"
#include "test/end_to_end/graph_checks.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"

namespace refrain::test::graph_test {
namespace {

// By names: region around, region before, region. Of threads, counted in the events; regions
// of OpenMP only.
using Transitions =
    std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t>;

Transitions recount(const Trace& trace) {
  struct Frame {
    std::string name, latest;
    bool counts = false;
  };
  Transitions out;
  for (const Location& location : trace.locations) {
    std::vector<Frame> stack = {{"", "", true}};
    for (const Event& event : location.events) {
      if (event.type == EventType::kEnter) {
        const std::string& name = trace.regions.at(event.reference).name;
        const bool counts = name.starts_with("!$omp");
        if (counts) {
          const auto around = std::find_if(stack.rbegin(), stack.rend(),
                                           [](const Frame& frame) { return frame.counts; });
          ++out[{around->name, around->latest, name}];
          around->latest = name;
        }
        stack.push_back({name, "", counts});
      }
      if (event.type == EventType::kLeave) stack.pop_back();
    }
  }
  return out;
}

// The same of a graph. What comes first in a region comes from the region's own node, and what comes
// after it from its end.
Transitions counted(const json& graph) {
  const auto nodes = nodes_of(graph);
  std::map<std::string, std::string> heads;  // cluster: name of the region
  for (const json& node : graph["nodes"])
    for (const json& cluster : graph["clusters"])
      if (cluster["id"] == node["cluster"] &&
          node["id"] == "p" + cluster["id"].get<std::string>().substr(1))
        heads[cluster["id"]] = node["name"];
  const auto name_of = [&](const json& node) -> std::string {
    if (node["type"] == "region") return node["name"];
    return node["cluster"].is_null() ? "" : heads.at(node["cluster"]);
  };
  Transitions out;
  for (const json& edge : graph["edges"]) {
    const json& to = nodes.at(edge["to"]);
    const json& from = nodes.at(edge["from"]);
    if (to["type"] != "region") continue;
    std::string around;
    // Its own cluster is that of what lies in it.
    json cluster = to["cluster"];
    if (!cluster.is_null() &&
        "p" + cluster.get<std::string>().substr(1) == to["id"].get<std::string>())
      for (const json& each : graph["clusters"])
        if (each["id"] == cluster) {
          cluster = each["parent"];
          break;
        }
    if (!cluster.is_null()) around = heads.at(cluster);
    const bool first = from["type"] == "start" ||
                       (!cluster.is_null() && from["type"] == "region" &&
                        from["id"] == "p" + cluster.get<std::string>().substr(1));
    out[{around, first ? "" : name_of(from), to["name"]}] +=
        edge["count"].get<std::uint64_t>();
  }
  return out;
}

}  // namespace

TEST_CASE("Graph: conjugate gradients - the outer iteration is 76 = 1 + 75") {
  TemporaryFolder folder;
  const Job job{"cg_clang", {"76", "64", "8"}, 2, {{"LIMIT", "10"}}};
  const Traced traced = recorded(job, folder / "a");
  CHECK(property_number(traced.trace, "EVENTS_WRITTEN") <
        property_number(traced.trace, "EVENTS_SEEN") / 2);
  const json outermost = graph_of(folder / "a", {"--level", "0"});
  // 101: the matrix, 74: start of an outer iteration, of which one comes after the matrix and 75
  // after another; in it 8 times 37 multiply, 48 dot, 61 step, 48 dot, 69 direct; then 48 dot, 82
  // normalise; and dot at the end. 608 = 76 x 8, 532 = 608 - 76.
  CHECK(transitions(outermost) ==
        Words{"cg.c:20 > cg.c:74: 0-1|1", "cg.c:37 > cg.c:48: 0-1|608",
              "cg.c:48 > cg.c:61: 0-1|608", "cg.c:48 > cg.c:69: 0-1|608",
              "cg.c:48 > cg.c:82: 0-1|76", "cg.c:48 > end: 0-1|1",
              "cg.c:61 > cg.c:48: 0-1|608", "cg.c:69 > cg.c:37: 0-1|532",
              "cg.c:69 > cg.c:48: 0-1|76", "cg.c:74 > cg.c:37: 0-1|76",
              "cg.c:82 > cg.c:48: 0-1|1", "cg.c:82 > cg.c:74: 0-1|75",
              "start > cg.c:20: 0-1|1"});
  CHECK(outermost["source"] == "summary");
  CHECK(outermost["alike"] == "0-1");
  check_balance(graph_of(folder / "a"));
  check_balance(outermost);
}

TEST_CASE("Graph: everything written - counts are those of the events, counted again") {
  const char* program = GENERATE("cg_clang", "cg_gcc", "irregular_clang", "nested_clang");
  const int threads = GENERATE(1, 2);
  static SomeCases few;
  if (!few.runs_next()) return;
  CAPTURE(program, threads);
  TemporaryFolder folder;
  const Traced traced = recorded(
      {.program = program, .threads = threads, .settings = {{"LIMIT", "0"}}}, folder / "a");
  const json all = graph_of(folder / "a");
  check_balance(all);
  const Transitions expected = recount(traced.trace);
  REQUIRE(expected.size() > 5);
  CHECK(counted(all) == expected);
  // The same from the events by ourselves, also where there is no summary.
  const json events = graph_of(folder / "a", {"--events"});
  CHECK(events["source"] == "events");
  check_balance(events);
  CHECK(transitions(events) == transitions(all));
  fs::remove_all(folder / "a" / "summary");
  CHECK(graph_of(folder / "a") == events);
}

TEST_CASE("Graph: a reduced trace - its events alone are not the run") {
  TemporaryFolder folder;
  recorded({"cg_clang", {"60", "64", "8"}, 2, {{"LIMIT", "2"}, {"MIN_GAP", "0"}}},
           folder / "a");
  const Result events = graph(folder / "a", "json", {"--events"});
  REQUIRE(events.exit_status == 0);
  CHECK(events.errors.find("gaps; across a gap") != std::string::npos);
  const json partial = json::parse(events.output);
  REQUIRE(partial["notes"].size() == 1);
  CHECK(transitions(partial) != transitions(graph_of(folder / "a")));
  CHECK(graph(folder / "a", "json", {"--events", "--quiet"}).errors.empty());
}

TEST_CASE("Graph: MPI - ranks, and as many calls as are made") {
  TemporaryFolder folder;
  const MpiJob job{.program = "ring_gcc", .ranks = 3, .settings = {{"LIMIT", "4"}}};
  recorded(job, MpiWay::kInside, folder / "a");
  const json all = graph_of(folder / "a");
  check_balance(all);
  CHECK(all["unit"] == "ranks");
  CHECK(all["who"] == "0-2");
  const auto nodes = nodes_of(all);
  std::map<std::string, std::uint64_t> calls;
  for (const auto& [id, node] : nodes)
    if (node["type"] == "region")
      calls[node["name"]] += node["visits"].get<std::uint64_t>();
  const MpiCounts counts = count_mpi(job);
  for (const auto& [name, number] : counts.calls[0]) {
    if (number == 0) continue;
    INFO(name);
    CHECK(calls[name] == number + counts.of(1, name) + counts.of(2, name));
  }
  // 20 iterations of three calls, on each rank.
  std::set<std::string> ring;
  for (const json& edge : all["edges"]) {
    const json &from = nodes.at(edge["from"]), &to = nodes.at(edge["to"]);
    if (from["type"] == "region" && to["type"] == "region" && edge["count"] >= 3 * 19)
      ring.insert(from["name"].get<std::string>() + " > " + to["name"].get<std::string>() +
                  " " + edge["label"][0].get<std::string>());
  }
  CHECK(ring == std::set<std::string>{"MPI_Sendrecv > MPI_Sendrecv_replace 0-2|20",
                                      "MPI_Sendrecv_replace > MPI_Allreduce 0-2|20",
                                      "MPI_Allreduce > MPI_Sendrecv 0-2|19"});
  const json two = graph_of(folder / "a", {"--ranks", "0,2"});
  check_balance(two);
  CHECK(two["who"] == "0,2");
  CHECK(two["edges"].size() == all["edges"].size());
  CHECK(nodes_of(two).at("p0")["visits"].get<int>() * 3 ==
        nodes.at("p0")["visits"].get<int>() * 2);
}

TEST_CASE("Graph: ranks that differ - each kind has its own counts at an edge") {
  TemporaryFolder folder;
  const MpiJob job{.program = "differ_gcc",
                   .arguments = {"24", "18", "3"},
                   .ranks = 4,
                   .settings = {{"LIMIT", "3"}}};
  recorded(job, MpiWay::kInside, folder / "a");
  const json all = graph_of(folder / "a");
  check_balance(all);
  const auto nodes = nodes_of(all);
  std::set<std::string> found;
  for (const json& edge : all["edges"]) {
    const json &from = nodes.at(edge["from"]), &to = nodes.at(edge["to"]);
    if (from["type"] != "region" || to["type"] != "region" || edge["count"] < 24) continue;
    std::string text = from["name"];
    text += " > " + to["name"].get<std::string>() + ":";
    for (const json& line : edge["label"]) text += " " + line.get<std::string>();
    found.insert(text);
  }
  // Rank r sends 1 + r mod 3 messages in each iteration and gets as many as the one before it sends;
  // in one iteration rank 3 does something else.
  CHECK(found == std::set<std::string>{
                     "MPI_Isend > MPI_Isend: 1|24 2|48", "MPI_Isend > MPI_Recv: 0-3|24",
                     "MPI_Recv > MPI_Recv: 2|24 3|48", "MPI_Recv > MPI_Wait: 0-3|24",
                     "MPI_Wait > MPI_Wait: 1|24 2|48",
                     "MPI_Wait > MPI_Barrier: 0-2|24 3|23",
                     "MPI_Barrier > MPI_Isend: 0-3|23"});
  CHECK(all["alike"] == "0 | 1 | 2 | 3");
  const json first = graph_of(folder / "a", {"--ranks", "0"});
  CHECK(first["alike"] == "0");
  check_balance(first);
}

TEST_CASE("Graph: ranks with threads - in the labels, which threads of which ranks") {
  TemporaryFolder folder;
  const MpiJob job{.program = "hybrid_clang", .threads = 2, .settings = {{"LIMIT", "0"}}};
  recorded(job, MpiWay::kInside, folder / "a");
  const json all = graph_of(folder / "a");
  check_balance(all);
  CHECK(all["unit"] == "ranks.threads");
  CHECK(all["who"] == "0-1.0-1");
  std::set<std::string> who;
  for (const json& edge : all["edges"])
    for (const json& part : edge["parts"]) who.insert(part["who"].get<std::string>());
  CHECK(who.count("0-1.0-1") == 1);  // what parallel regions consist of
  CHECK(who.count("0-1.0") == 1);    // MPI
  CHECK(transitions(graph_of(folder / "a", {"--events"})) == transitions(all));
}

TEST_CASE("Graph: a killed rank - what it did until then", "[alone]") {
  TemporaryFolder folder;
  // Rank 1 of the ring kills itself after ten iterations.
  const MpiJob job{.program = "ring_gcc",
                   .arguments = {"20", "100", "4", "1", "10"},
                   .settings = {{"LIMIT", "3"}}};
  const Result killed = run_mpi(job, MpiWay::kInside, folder / "a");
  REQUIRE(!killed.ok());
  const Result recovered = run_refrain({"recover", folder / "a"});
  INFO(recovered.errors);
  REQUIRE(recovered.exit_status == 0);
  const json all = graph_of(folder / "a", {"--ranks", "1"});
  check_balance(all);
  const auto nodes = nodes_of(all);
  std::set<std::string> last;
  for (const json& edge : all["edges"]) {
    const std::string from = nodes.at(edge["from"]).value("name", "");
    if (from == "MPI_Allreduce" || edge["count"] == 10)
      last.insert(from + " > " + nodes.at(edge["to"]).value("name", "end") + " " +
                  edge["label"][0].get<std::string>());
  }
  CHECK(last == std::set<std::string>{"MPI_Sendrecv > MPI_Sendrecv_replace 1|10",
                                      "MPI_Sendrecv_replace > MPI_Allreduce 1|10",
                                      "MPI_Allreduce > MPI_Sendrecv 1|9",
                                      "MPI_Allreduce > end 1|1"});
}

TEST_CASE("Graph: an archive of another tool - made of its events") {
  TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const json all = graph_of(folder / "a");
  CHECK(all["source"] == "events");
  CHECK(all["unit"] == "ranks.threads");
  std::map<std::string, std::uint64_t> in, out;
  std::set<std::string> names;
  for (const json& edge : all["edges"]) {
    in[edge["to"]] += edge["count"].get<std::uint64_t>();
    out[edge["from"]] += edge["count"].get<std::uint64_t>();
  }
  for (const json& node : all["nodes"]) {
    if (node["type"] != "region") continue;
    names.insert(node["name"]);
    CHECK(in[node["id"]] == node["visits"]);
    CHECK(out[node["id"]] == node["visits"]);
  }
  CHECK(std::any_of(names.begin(), names.end(),
                    [](const std::string& name) { return name.starts_with("main"); }));
}

TEST_CASE(
    "Graph: too many regions - those with the most time, and that others are left out") {
  TemporaryFolder folder;
  recorded({"cg_clang", {"20", "64", "5"}, 2, {{"LIMIT", "3"}}}, folder / "a");
  const json all = graph_of(folder / "a");
  const Result result = graph(folder / "a", "json", {"--max-nodes", "5"});
  REQUIRE(result.exit_status == 0);
  const json some = json::parse(result.output);
  const auto regions = all["regions"].get<std::uint64_t>();
  CHECK(some["regions"] == regions);
  CHECK(some["left_out"] == regions - 5);
  CHECK(result.errors ==
        "refrain: " + std::to_string(regions - 5) + " of " + std::to_string(regions) +
            " regions, those with the least time, are not drawn one by one "
            "(--max-nodes)\n");
  check_balance(some);
  double least = 1e30, most = 0;
  std::set<std::string> drawn;
  for (const json& node : some["nodes"])
    if (node["type"] == "region") {
      drawn.insert(node["id"]);
      least = std::min(least, node["time_ns"].get<double>());
    }
  CHECK(drawn.size() == 5);
  for (const json& node : all["nodes"])
    if (node["type"] == "region" && drawn.count(node["id"]) == 0)
      most = std::max(most, node["time_ns"].get<double>());
  CHECK(most <= least);
  CHECK(graph_of(folder / "a", {"--max-nodes", "0"}) == all);
}

TEST_CASE("Graph: events - as many calls at the nodes and edges as in the events") {
  TemporaryFolder folder;
  const MpiJob job{.program = "ring_gcc", .ranks = 3, .settings = {{"LIMIT", "0"}}};
  recorded(job, MpiWay::kInside, folder / "a");
  const Trace trace = read_trace(folder / "a");
  std::map<std::string, std::uint64_t> expected, at_nodes;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kEnter) {
        const std::string& name = trace.regions.at(event.reference).name;
        if (name.starts_with("MPI_")) ++expected[name];
      }
  const json events = graph_of(folder / "a", {"--kind", "events"});
  CHECK(events["kind"] == "event flow");
  std::uint64_t nodes = 0, edges = 0;
  for (const json& node : events["nodes"]) {
    if (node["type"] != "call") continue;
    at_nodes[node["name"]] += node["count"].get<std::uint64_t>();
    nodes += node["count"].get<std::uint64_t>();
  }
  for (const json& edge : events["edges"]) edges += edge["count"].get<std::uint64_t>();
  CHECK(at_nodes == expected);
  CHECK(edges == nodes);
  const auto refused = [&](const Words& more, const std::string& why) {
    const Result result = graph(folder / "a", "dot", more);
    CHECK(result.exit_status == 2);
    CHECK(result.errors.find(why) != std::string::npos);
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
  };
  refused({"--kind", "events", "--level", "1"}, "are for --kind control");
  refused({"--kind", "events", "--ranks", "9"}, "there is no graph of rank 9");
  const fs::path file = folder / "a" / "summary" / "graph.json";
  std::string good = read_file(file);
  std::ofstream(file) << good.substr(0, good.size() / 2);
  refused({"--kind", "events"}, "graph.json is not a graph");
  const std::string version = "\"version\":1";
  REQUIRE(good.find(version) != std::string::npos);
  std::ofstream(file) << good.replace(good.find(version), version.size(), "\"version\":77");
  refused({"--kind", "events"}, "version 77");
  fs::remove(file);
  refused({"--kind", "events"}, "has no event flow graph");
}

}  // namespace refrain::test::graph_test
