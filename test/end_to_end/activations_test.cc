// The detector of activations in programs that count their own loops: the iterations of each, and no loops but these.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::activations_test {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

nlohmann::json json_of(std::vector<std::string> words, const std::string& archive) {
  words.insert(words.end(), {"--json", archive});
  const Result result = run_refrain(words);
  REQUIRE(result.ok());
  return nlohmann::json::parse(result.output);
}

// Of the first process, by function, without namespaces that have no name.
Counts found(const std::string& archive) {
  Counts counts;
  const nlohmann::json info = json_of({"info"}, archive);
  for (const nlohmann::json& loop : info.at("phases")) {
    std::string function = loop.at("function");
    const std::string hidden = "(anonymous namespace)::";
    if (function.starts_with(hidden)) function.erase(0, hidden.size());
    if (loop.at("process") == 0)
      counts[function.substr(0, function.find('('))] +=
          loop.at("iterations").get<std::uint64_t>();
  }
  return counts;
}

// What the program prints.
Counts said(const std::string& output) {
  Counts counts;
  std::istringstream in(output);
  std::string function;
  for (std::uint64_t iterations = 0; in >> function >> iterations;)
    counts[function] = iterations;
  return counts;
}

void check(const std::string& program) {
  INFO(program);
  const TemporaryFolder folder;
  MpiJob job{program};
  job.settings = {{"DETECTOR", "activation"}, {"MIN_GAP", "0"}};
  const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
  CHECK(found(folder / "archive") == said(traced.result.output));
}

// Without MPI.
void check_openmp(const std::string& program, const std::filesystem::path& archive) {
  Job job{program};
  job.settings = {{"DETECTOR", "activation"}, {"MIN_GAP", "0"}};
  const Traced traced = recorded(job, archive);
  CHECK(found(archive) == said(traced.result.output));
}

}  // namespace

TEST_CASE(
    "Activations: jumps, signals, coroutines, deep stacks, code made at run time; Fortran") {
  for (const std::string program : {"turns_gcc", "turns_clang", "counted_do_gfortran"})
    check(program);
}

TEST_CASE("Activations: loops that come round with nothing but the calls of others") {
  for (const std::string program :
       {"nests_gcc", "nests_clang", "nests_gcc_plain", "nests_clang_plain"})
    check(program);
}

TEST_CASE(
    "Activations: a loop that comes round late - info and rows have the same iterations") {
  const TemporaryFolder folder;
  MpiJob job{"driver_gcc"};
  job.settings = {{"DETECTOR", "activation"}, {"MIN_GAP", "0"}};
  const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
  CHECK(found(folder / "archive") == said(traced.result.output));
  const std::string archive = folder / "archive";
  const nlohmann::json info = json_of({"info"}, archive);
  double total_ns = 0;  // of the first rank, for both have as many iterations
  for (const nlohmann::json& loop : info.at("phases")) {
    CHECK((loop.at("function") == "passes") == (loop.at("parent") == -1));
    if (loop.at("function") == "passes" && loop.at("process") == 0)
      total_ns = loop.at("total_ns");
  }
  const nlohmann::json profile = json_of({"profile", "--iterations"}, archive);
  unsigned outermost = 0;
  for (const nlohmann::json& loop : profile.at("loops")) {
    const bool passes =
        loop.at("name").get<std::string>().find("passes") != std::string::npos;
    CHECK(loop.at("inner") == !passes);
    if (!passes) continue;
    ++outermost;
    CHECK(loop.at("iterations") == 2);
    CHECK(loop.at("with_rows") == 2);
    CHECK(loop.at("time_ns").get<double>() == Approx(total_ns).epsilon(1e-6));
    CHECK(loop.at("slowest_first") == 0);
  }
  CHECK(outermost == 1);
  for (const nlohmann::json& location : profile.at("locations")) {
    if (location.at("primary") == false) continue;
    for (const nlohmann::json& row : location.at("rows"))
      if (!row.at("loop").is_null()) CHECK(row.at("outermost") == 0);
  }
}

TEST_CASE("Activations: parallel regions and worksharing in loops, exceptions") {
  for (const std::string program : {"thrown_gcc", "thrown_clang"}) {
    INFO(program);
    const TemporaryFolder folder;
    check_openmp(program, folder / "archive");
  }
}

TEST_CASE(
    "Activations: work after a loop of parallel regions - no part of its last iteration") {
  for (const std::string program : {"parts_gcc", "parts_clang"}) {
    INFO(program);
    const TemporaryFolder folder;
    const std::string archive = folder / "archive";
    check_openmp(program, archive);
    std::map<std::string, double> total_ns;
    const nlohmann::json info = json_of({"info"}, archive);
    for (const nlohmann::json& loop : info.at("phases"))
      total_ns[loop.at("function")] = loop.at("total_ns");
    REQUIRE(total_ns.size() == 2);
    const nlohmann::json profile = json_of({"profile", "--iterations"}, archive);
    for (const nlohmann::json& loop : profile.at("loops")) {
      const std::string name = loop.at("name");
      INFO(name);
      const auto is_in = [&name](const auto& each) {
        return name.find("@ " + each.first) != std::string::npos;
      };
      const auto known = std::ranges::find_if(total_ns, is_in);
      REQUIRE(known != total_ns.end());
      CHECK(loop.at("time_ns").get<double>() == Approx(known->second).margin(1000));
    }
  }
}

TEST_CASE(
    "Activations: critical sections and locks outside of parallel regions - few are written") {
  for (const std::string program : {"locked_gcc", "locked_clang"}) {
    INFO(program);
    const TemporaryFolder folder;
    check_openmp(program, folder / "archive");
    // On a busy machine many iterations are slow, and written; and so are locks that threads wait for.
    Job job{.program = program, .threads = 1};
    job.settings = {{"SLOW_FACTOR", "0"}, {"MIN_GAP", "0"}};
    REQUIRE(run_job(job, Way::kRun, folder / "few").ok());
    const nlohmann::json info = json_of({"info"}, folder / "few");
    CHECK(info.at("events_written").get<double>() <
          0.1 * info.at("events_seen").get<double>());
    CHECK(info.at("locks_left_out") > 1000);
  }
}

TEST_CASE("Activations: locks of a run without events - none is left out") {
  const TemporaryFolder folder;
  Job job{"locked_clang"};
  job.settings = {{"SUMMARY_ONLY", "yes"}};
  REQUIRE(run_job(job, Way::kRun, folder / "archive").ok());
  const Result info = run_refrain({"info", "--json", folder / "archive"});
  REQUIRE(info.ok());
  CHECK(nlohmann::json::parse(info.output).at("locks_left_out") == 0);
}

// Code in the place of other code, and the first code again. (The compiler unrolls the loop of two.)
TEST_CASE("Activations: plugins in one place, one after the other") {
  const TemporaryFolder folder;
  Job job{"plugins_clang"};
  job.arguments = {data_file("test/programs/plugin_first.so").parent_path(),
                   "./plugin_loop.so", "12"};
  job.settings = {{"DETECTOR", "activation"}, {"MIN_GAP", "0"}};
  trace(job, folder / "archive");
  CHECK(found(folder / "archive") ==
        Counts{{"main", 12}, {"use", 2 * (3 + 5)}, {"plugin_work", (2 * 5 + 6) * 7}});
}

// Before LLVM 15 the barrier at a region's end was one like others. Which ones there are depends on the machine.
TEST_CASE("Activations: parallel regions with any of LLVM's runtimes that is there") {
  std::vector<std::string> runtimes{""};  // that of the tests
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib"))
    if (entry.path().filename().string().starts_with("llvm-") &&
        std::filesystem::exists(entry.path() / "lib/libomp.so.5"))
      runtimes.push_back((entry.path() / "lib/libomp.so.5").string());
  for (const std::string& runtime : runtimes) {
    INFO(runtime);
    const TemporaryFolder folder;
    Job job{"thrown_gcc"};
    job.settings = {{"MIN_GAP", "0"}};
    if (!runtime.empty()) job.settings["LIBOMP"] = runtime;
    const Traced traced = trace(job, folder / "archive");
    CHECK(found(folder / "archive") == said(traced.result.output));
  }
}

}  // namespace refrain::test::activations_test
