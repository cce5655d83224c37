// Programs with Kokkos: what it tells the tool that KOKKOS_TOOLS_LIBS names. The program calls as Kokkos does.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::kokkos_test {
namespace {

constexpr unsigned kKokkos = 24;  // OTF2_PARADIGM_KOKKOS

Job job_of(const char* mode, int count, int limit, const std::string& compiler = "gcc") {
  Job job{"test/programs/user/kokkos_" + compiler, {mode, std::to_string(count)}, 2, {}};
  job.settings = {{"LIMIT", std::to_string(limit)}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}};
  return job;
}

// What each region of Kokkos is, by its name.
std::map<std::string, std::string> constructs_of(const Trace& trace) {
  std::map<std::string, std::string> constructs;
  for (const auto& [ref, region] : trace.regions)
    if (region.paradigm == kKokkos) constructs.emplace(region.name, region.description);
  return constructs;
}

}  // namespace

TEST_CASE("Kokkos: every construct - name, kind, number of calls") {
  const std::string compiler = GENERATE(as<std::string>(), "gcc", "clang");
  constexpr int kSteps = 30;
  TemporaryFolder folder;
  const Traced traced = trace(job_of("steps", kSteps, 0, compiler), folder / "archive");
  // Kernels do not wait for each other because a tool is there.
  CHECK(traced.result.output == "fences=0\n");
  const auto names = count_by_name(traced.trace);
  const auto constructs = constructs_of(traced.trace);
  const auto check = [&](const std::string& name, const std::string& construct,
                         std::size_t calls) {
    CAPTURE(name);
    REQUIRE(names.count(name) == 1);
    CHECK(names.at(name) == calls);
    REQUIRE(constructs.count(name) == 1);
    CHECK(constructs.at(name) == "Kokkos " + construct);
  };
  check("step", "region", kSteps);
  check("solver::Scale", "parallel_for", kSteps);
  check("solver::Scale/solver::Upper", "parallel_for", kSteps);
  check(compiler == "gcc" ? "run_steps::{lambda#1}" : "run_steps::$_0", "parallel_for",
        kSteps);
  check("dot", "parallel_reduce", kSteps);
  check("y <- x", "deep_copy", kSteps);
  check("y (CUDA) <- x (HOST)", "deep_copy", kSteps);
  check("end of step", "fence", kSteps);
  check("io", "section", 3);
  // A kernel of each of two kinds has the name.
  CHECK(names.at("axpy") == 2 * kSteps);
  std::map<std::int64_t, int> bytes;
  int events = 0;
  for (const Event& event : traced.trace.locations.at(0).events) {
    if (event.type == EventType::kParameterInt &&
        traced.trace.parameters.at(event.reference).name == "bytes")
      ++bytes[event.value];
    events += event.type == EventType::kParameterString &&
              traced.trace.parameters.at(event.reference).name == "Kokkos event";
  }
  CHECK(bytes == std::map<std::int64_t, int>{{800, kSteps}, {1600, kSteps}});
  CHECK(events == 3);
  // What a kernel does is below it.
  std::map<std::string, int> around;
  std::vector<std::string> open{""};
  for (const Event& event : traced.trace.locations.at(0).events) {
    if (event.type == EventType::kLeave) open.pop_back();
    if (event.type != EventType::kEnter) continue;
    const std::string& name = traced.trace.regions.at(event.reference).name;
    around[open.back()] += name.starts_with("!$omp parallel");
    open.push_back(name);
  }
  CHECK(around["axpy"] == kSteps);
  CHECK(around["dot"] == kSteps);
}

TEST_CASE("Kokkos: a reduced trace - the loop of the steps, names in its structure") {
  constexpr int kSteps = 60;
  TemporaryFolder folder;
  const Traced traced = trace(job_of("steps", kSteps, 5), folder / "archive");
  const Result info = run_refrain({"info", folder / "archive"});
  REQUIRE(info.exit_status == 0);
  INFO(info.output);
  CHECK(info.output.find("kokkos.cc") != std::string::npos);
  const std::string structure =
      nlohmann::json::parse(run_refrain({"info", "--json", folder / "archive"}).output)
          .at("structure");
  CHECK(structure.starts_with("60 "));
  CHECK(structure.find("solver::Scale/solver::Upper") != std::string::npos);
  CHECK(count_by_name(traced.trace).at("step") < 20);
}

TEST_CASE("Kokkos: calls that do not fit together - the trace is whole") {
  TemporaryFolder folder;
  const Traced traced = trace(job_of("odd", 40, 0), folder / "archive");
  const auto names = count_by_name(traced.trace);
  CHECK(names.at("of a thread") == 40);
  CHECK(names.at("of each thread") == 80);
  CHECK(names.at("two lines") == 1);
  CHECK(names.at("Z") == 1);
  CHECK(names.at(std::string(5000, 'n')) == 1);
  CHECK(names.at("section 4095") == 1);
  CHECK(names.count("section 4096") == 0);  // more have no room
}

TEST_CASE("Kokkos: another tool, or none - the program runs as without Refrain") {
  TemporaryFolder folder;
  Job job = job_of("steps", 10, 0);
  CHECK(run_untraced(job).output == "fences=1\n");
  job.environment["KOKKOS_TOOLS_LIBS"] = "libmytool.so";
  const Traced other = trace(job, folder / "other");
  CHECK(other.result.output == "fences=1\n");
  CHECK(constructs_of(other.trace).empty());
  CHECK(count_by_name(other.trace).size() > 1);
}

}  // namespace refrain::test::kokkos_test
