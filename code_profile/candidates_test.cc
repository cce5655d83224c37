#include "code_profile/candidates.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "code_profile/loop_text.h"

namespace refrain::code_profile::candidates_test {
namespace {

// Profiles of exact loops by hand.
class Graph {
 public:
  std::uint32_t function(const std::string& name, std::uint64_t total) {
    Node node;
    node.function = name;
    node.module = "/bin/app";
    node.total[0] = total;
    node.entries = 1;
    return add(node);
  }
  std::uint32_t loop(std::uint32_t line, std::uint64_t total, std::uint64_t entries,
                     std::uint64_t iterations) {
    Node node;
    node.is_loop = true;
    node.function = "f";
    node.file = "app.c";
    node.line = line;
    node.module = "/bin/app";
    node.total[0] = total;
    node.entries = entries;
    node.iterations = iterations;
    return add(node);
  }
  void edge(std::uint32_t from, std::uint32_t to) {
    profile.edges.push_back({from, to, 1, profile.nodes[to].total});
  }

  LoopProfile profile;

 private:
  std::uint32_t add(const Node& node) {
    profile.nodes.push_back(node);
    profile.total[0] = std::max(profile.total[0], node.total[0]);
    return static_cast<std::uint32_t>(profile.nodes.size() - 1);
  }
};

std::vector<std::uint32_t> lines(const LoopProfile& profile, double share = 0.01) {
  std::vector<std::uint32_t> out;
  for (const Candidate& candidate : candidates(profile, share))
    out.push_back(profile.nodes[candidate.node].line);
  return out;
}

bool says(const std::vector<std::string>& words, const std::string& what) {
  for (const std::string& word : words)
    if (word.find(what) != std::string::npos) return true;
  return false;
}

using Lines = std::vector<std::uint32_t>;

TEST_CASE("Candidates: ranked - by total, then outer loops first") {
  Graph graph;
  const auto main = graph.function("main", 1000000);
  const auto solve = graph.function("solve", 900000);
  const auto inner = graph.loop(30, 900000, 100, 1000);
  const auto outer = graph.loop(10, 900000, 1, 100);
  const auto small = graph.loop(40, 50000, 1, 100);
  const auto tiny = graph.loop(50, 500, 1, 100);
  graph.edge(main, outer);
  graph.edge(outer, solve);
  graph.edge(solve, inner);
  graph.edge(main, small);
  graph.edge(main, tiny);
  CHECK(lines(graph.profile) == Lines{10, 30, 40});
  CHECK(lines(graph.profile, 0.1) == Lines{10, 30});
  CHECK(lines(graph.profile, 0) == Lines{10, 30, 40, 50});
  const std::vector<Candidate> chosen = candidates(graph.profile, 0.01);
  CHECK(chosen[0].level == 0);
  CHECK(says(chosen[0].in_favour, "no loop around it"));
  CHECK(says(chosen[0].in_favour, "100 iterations an entry"));
  CHECK(says(chosen[0].against, "nearly all of it is in the loop app.c:30"));
  CHECK(chosen[1].level == 1);
  CHECK(says(chosen[1].against, "inside of app.c:10"));
  CHECK(says(chosen[1].against, "9000 instructions an entry"));
}

TEST_CASE("Candidates: loops that hardly iterate - are none") {
  Graph graph;
  const auto main = graph.function("main", 1000);
  graph.edge(main, graph.loop(10, 900, 100, 199));
  graph.edge(main, graph.loop(20, 900, 100, 200));
  CHECK(lines(graph.profile) == Lines{20});
  CHECK(says(candidates(graph.profile, 0.01)[0].against, "2.0 iterations an entry"));
}

TEST_CASE("Candidates: parallel regions - inside, around, or beside") {
  const std::string begins = GENERATE("__kmpc_fork_call", "GOMP_parallel");
  Graph graph;
  const auto main = graph.function("main", 1000);
  const auto around = graph.loop(10, 500, 1, 100);
  const auto fork = graph.function(begins, 400);
  const auto part = graph.function("main._omp_fn.0", 400);
  const auto helper = graph.function("helper", 300);
  const auto inside = graph.loop(20, 300, 1, 100);
  const auto beside = graph.loop(30, 200, 1, 100);
  graph.edge(main, around);
  graph.edge(around, fork);
  graph.edge(fork, part);
  graph.edge(part, helper);
  graph.edge(helper, inside);
  graph.edge(main, beside);
  CHECK(lines(graph.profile) == Lines{30});
}

TEST_CASE("Candidates: loops of runtimes - are not the program's") {
  Graph graph;
  const auto main = graph.function("main", 1000);
  graph.edge(main, graph.loop(10, 900, 1, 100));
  graph.profile.nodes.back().module = "/usr/lib/x86_64-linux-gnu/libomp.so.5";
  CHECK(lines(graph.profile).empty());
  graph.profile.nodes.back().module = "/home/me/compute.so";
  CHECK(lines(graph.profile) == Lines{10});
}

TEST_CASE("Candidates: calls of MPI - loops with such in them are none, those beside are") {
  Graph graph;
  const auto main = graph.function("main", 1000000);
  const auto steps = graph.loop(10, 900000, 1, 100);
  const auto beside = graph.loop(20, 300000, 1, 100);
  graph.edge(main, steps);
  graph.edge(steps, beside);
  SECTION("on the stacks, or in the graph") {
    const auto helper = graph.function("exchange", 10);
    graph.edge(steps, helper);
    graph.edge(helper, graph.function("MPI_Send", 5));
  }
  // They took no time.
  SECTION("in a detected loop, by its line") {
    graph.profile.communicating.push_back({.file = "app.c", .line = 10});
  }
  SECTION("in a detected loop without lines, by its function") {
    graph.edge(steps, graph.function("run", 500000));
    graph.profile.communicating.push_back({.function = "run"});
  }
  CHECK(lines(graph.profile) == Lines{20});
}

TEST_CASE("Candidates: what speaks against - files, threads, odd entries") {
  Graph graph;
  const auto main = graph.function("main", 1000000);
  const auto loop = graph.loop(10, 900000, 1, 100);
  const auto helper = graph.function("helper", 10);
  graph.edge(main, loop);
  graph.edge(loop, helper);
  graph.edge(helper, graph.function("fwrite", 5));
  // Recursion ends.
  graph.edge(helper, loop);
  graph.profile.nodes[loop].irreducible = true;
  graph.profile.nodes[loop].threads = {{1, 0, 1, 1}, {1, 1, 1, 1}, {2, 0, 1, 1}};
  const std::vector<Candidate> chosen = candidates(graph.profile, 0.01);
  REQUIRE(chosen.size() == 1);
  CHECK(says(chosen[0].against, "reads or writes files"));
  CHECK(says(chosen[0].against, "runs on 2 threads already"));
  CHECK(says(chosen[0].against, "entered at several places"));
  CHECK_THAT(flat_text(graph.profile, 0.01),
             Catch::Contains("against: reads or writes files"));
  const auto json = nlohmann::json::parse(profile_json(graph.profile));
  CHECK(json.at("candidates")[0].at("line") == 10);
  CHECK(json.at("candidates")[0].at("share") == Approx(0.9));
}

TEST_CASE("Candidates: no loops - nothing is printed") {
  Graph graph;
  graph.function("main", 10);
  CHECK(candidates(graph.profile, 0).empty());
  CHECK_THAT(flat_text(graph.profile, 0), !Catch::Contains("in parallel"));
  CHECK(candidates({}, 0).empty());
}

TEST_CASE(
    "Parallel regions: names of functions - as the compilers and runtimes have them") {
  for (const char* name :
       {"__kmpc_fork_call", "__kmpc_fork_call_if", "GOMP_parallel",
        "GOMP_parallel_loop_dynamic", "GOMP_task", "main.omp_outlined", ".omp_outlined.",
        "step(int) [clone ._omp_fn.3]", "__kmp_invoke_microtask", ".omp_task_entry."})
    CHECK(is_parallel(name));
  for (const char* name : {"main", "__kmpc_barrier", "GOMP_barrier", "GOMP_critical_start",
                           "parallel", "omp_fn"})
    CHECK_FALSE(is_parallel(name));
  CHECK(is_runtime_library("/lib/x86_64-linux-gnu/libc.so.6"));
  CHECK_FALSE(is_runtime_library("/opt/libcompute.so"));
  CHECK_FALSE(is_runtime_library(""));
}

}  // namespace
}  // namespace refrain::code_profile::candidates_test
