// refrain loops --exact: what it counts of programs whose loops count themselves, and what it makes of wrong
// use and damaged files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::loops_exact_test {
namespace {

using nlohmann::json;

// How often a loop was entered, by the number of its iterations.
using Trips = std::map<long, long>;
using TripsByLine = std::map<long, Trips>;

// What the program says: "LINE ENTRIES TRIPS:ENTRIES ...".
TripsByLine own_counts(const std::string& output) {
  TripsByLine counts;
  std::istringstream in(output);
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    long line = 0, entries = 0, trips = 0, times = 0;
    char colon = 0;
    words >> line >> entries;
    while (words >> trips >> colon >> times) counts[line][trips] = times;
  }
  return counts;
}

struct Counted {
  TripsByLine own, exact;
  json profile;
};

Counted count(const std::string& program, const std::string& source) {
  const TemporaryFolder folder;
  const std::string file = folder / "loops.json";
  const Result result = run_refrain({"loops", "--exact", "--json", "-o", file, "--",
                                     data_file("test/programs/loops/" + program).string()});
  INFO(result.errors);
  REQUIRE(result.ok());
  CHECK(result.errors.empty());
  Counted counted;
  counted.own = own_counts(result.output);
  counted.profile = json::parse(read_file(file));
  for (const json& loop : counted.profile.at("loops")) {
    if (!loop.at("file").get<std::string>().ends_with("/" + source)) continue;
    long entries = 0, iterations = 0;
    for (const json& trips : loop.at("trip_counts")) {
      counted.exact[loop.at("line")][trips.at("iterations")] +=
          trips.at("entries").get<long>();
      entries += trips.at("entries").get<long>();
      iterations += trips.at("iterations").get<long>() * trips.at("entries").get<long>();
    }
    CHECK(loop.at("entries") == entries);
    CHECK(loop.at("iterations") == iterations);
    CHECK(loop.at("total").at("instructions") >= loop.at("self").at("instructions"));
  }
  return counted;
}

// The line of the source that has this text.
long line_of(const std::string& source, const std::string& text, const std::string& after) {
  std::istringstream in(read_file(data_file("test/programs/loops/" + source)));
  long number = 1;
  bool is_after = false;
  for (std::string line; std::getline(in, line); ++number) {
    is_after = is_after || line.find(after) != std::string::npos;
    if (is_after && line.find(text) != std::string::npos) return number;
  }
  FAIL(source << " has no " << text);
  return 0;
}

TEST_CASE("Exact loops: as they are written - equal what the program counts itself") {
  const std::string compiler = GENERATE("gcc", "clang");
  for (const std::string source : {"counted_loops", "counted_flow"}) {
    INFO(source << " " << compiler);
    const Counted counted = count(source + "_" + compiler + "_o0", source + ".c");
    REQUIRE(counted.own.size() >= 8);
    for (const auto& [line, trips] : counted.own) {
      INFO("line " << line);
      REQUIRE(counted.exact.contains(line));
      CHECK(counted.exact.at(line) == trips);
    }
  }
}

TEST_CASE("Exact loops: optimised - equal, but for what compilers test before they enter") {
  const std::string compiler = GENERATE("gcc", "clang");
  const Counted counted = count("counted_loops_" + compiler + "_o1", "counted_loops.c");
  REQUIRE(counted.own.size() >= 30);
  // Both compilers turn it round and move its first statement.
  const long turned = line_of("counted_loops.c", "for (;;)", "endless_with_breaks");
  std::size_t compared = 0;
  for (auto [line, trips] : counted.own) {
    if (line == turned) continue;
    INFO(compiler << " line " << line);
    REQUIRE(counted.exact.contains(line));
    Trips exact = counted.exact.at(line);
    trips.erase(0);
    exact.erase(0);
    CHECK(exact == trips);
    ++compared;
  }
  CHECK(compared >= 29);
}

TEST_CASE("Exact loops: self and total - of a nest are those of its instructions") {
  const Counted counted = count("counted_loops_gcc_o0", "counted_loops.c");
  std::map<std::size_t, json> nodes;
  std::uint64_t all = 0;
  for (const char* kind : {"loops", "functions"})
    for (const json& node : counted.profile.at(kind)) {
      nodes[node.at("node")] = node;
      all += node.at("self").at("instructions").get<std::uint64_t>();
    }
  // Every instruction is in one loop or function.
  CHECK(all == counted.profile.at("total").at("instructions"));
  std::size_t nested = 0;
  for (const auto& [number, node] : nodes) {
    if (!node.contains("parent") || node.at("parent").is_null()) continue;
    const json& parent = nodes.at(node.at("parent"));
    CHECK(parent.at("total").at("instructions") >= node.at("total").at("instructions"));
    ++nested;
  }
  CHECK(nested >= 7);
}

TEST_CASE("Exact loops: threads, signals, coroutines, children - are counted each") {
  const Counted counted = count("counted_flow_clang_o0", "counted_flow.c");
  CHECK(counted.profile.at("commands").size() == 2);
  const long in_child = line_of("counted_flow.c", "for (int i", "in_child(int n)");
  CHECK(counted.exact.at(in_child) == Trips{{77, 1}});
  const long in_threads = line_of("counted_flow.c", "for (int j", "thread(void* argument)");
  std::set<long> threads;
  for (const json& loop : counted.profile.at("loops"))
    if (loop.at("line") == in_threads && loop.at("function") == "thread")
      for (const json& thread : loop.at("threads"))
        threads.insert(thread.at("thread").get<long>());
  CHECK_FALSE(threads.empty());
  CHECK(counted.exact.at(in_threads) == Trips{{5, 3300}});
}

TEST_CASE("Exact loops: files - kept ones are read again, text and graph come from them") {
  const TemporaryFolder folder;
  const std::string prefix = folder / "kept";
  const Result first =
      run_refrain({"loops", "--exact", "--share", "0", "--raw", prefix, "--",
                   data_file("test/programs/loops/counted_loops_gcc_o0").string()});
  REQUIRE(first.ok());
  CHECK_THAT(first.output, Catch::Contains("counted_loops.c"));
  CHECK_THAT(first.output, Catch::Contains("trip count (entries)"));
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    file = entry.path();
  REQUIRE_FALSE(file.empty());
  const Result dot = run_refrain({"loops", "--to", "dot", file});
  REQUIRE(dot.ok());
  CHECK_THAT(dot.output, Catch::Contains("shape=oval"));
  CHECK_THAT(dot.output, Catch::Contains("\"main"));
  // Cut short at every 97th of it: one line, and status 2.
  const std::string whole = read_file(file);
  for (std::size_t part = 0; part < 97; part += 8) {
    std::ofstream(folder / "cut") << whole.substr(0, whole.size() * part / 97);
    const Result cut = run_refrain({"loops", folder / "cut"});
    CHECK(cut.exit_status == 2);
    CHECK(std::ranges::count(cut.errors, '\n') == 1);
    CHECK(cut.output.empty());
  }
}

TEST_CASE("Exact loops: the program - gives its status, its output, its complaints") {
  const TemporaryFolder folder;
  const Result failed = run_refrain(
      {"loops", "--exact", "-o", folder / "out", "--", "sh", "-c", "echo here; exit 7"});
  CHECK(failed.exit_status == 7);
  CHECK(failed.output == "here\n");
  CHECK(failed.errors.empty());
  const Result missing = run_refrain({"loops", "--exact", "--", "no-such-program"});
  CHECK(missing.exit_status == 2);
  CHECK_THAT(missing.errors, Catch::Contains("no program"));
  CHECK(run_refrain({"loops", "--json", "--to", "dot", "x"}).exit_status == 2);
  CHECK(run_refrain({"loops", "--raw", "x", "y"}).exit_status == 2);
}

}  // namespace
TEST_CASE("Exact loops: the detector's - have the same place, entries and iterations") {
  const std::string name = GENERATE("cg", "jacobi", "converge", "phases");
  INFO(name);
  const TemporaryFolder folder;
  const Job job{.program = name + "_clang", .arguments = {"20"}, .threads = 1};
  REQUIRE(recorded_result(job, folder / "run").ok());
  const Result info = run_refrain({"info", folder / "run", "--json"});
  REQUIRE(info.ok());
  const std::string file = folder / "loops.json";
  const Result counted = run_refrain({"loops", "--exact", "--json", "-o", file, "--",
                                      data_file("test/programs/" + job.program), "20"});
  INFO(counted.errors);
  REQUIRE(counted.ok());
  const json exact = json::parse(read_file(file));
  const json detected = json::parse(info.output).at("phases");
  CHECK_FALSE(detected.empty());
  for (const json& loop : detected) {
    INFO(loop.at("name"));
    std::size_t found = 0;
    for (const json& code : exact.at("loops")) {
      if (code.at("line") != loop.at("line") ||
          !code.at("file").get<std::string>().ends_with(name + ".c"))
        continue;
      ++found;
      // In a parallel region each thread runs it.
      const json& thread = code.at("threads").at(0);
      CHECK(thread.at("entries") == loop.at("visits"));
      CHECK(thread.at("iterations") == loop.at("iterations"));
    }
    CHECK(found == 1);
  }
}

}  // namespace refrain::test::loops_exact_test
