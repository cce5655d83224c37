// `refrain analyze` by several threads, and by several processes under mpirun: the output is that of one, byte for byte.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"

namespace refrain::test::parallel_analysis_test {
namespace {

namespace fs = std::filesystem;

// By `processes` under mpirun; 1: alone.
Result analyze(const fs::path& archive, int processes, int threads,
               const std::string& output = "--json") {
  const std::vector<std::string> arguments = {
      "analyze", archive, output, "--no-cube", "--threads", std::to_string(threads)};
  if (processes == 1) return run_refrain(arguments);
  Command command;
  command.arguments = mpirun(processes);
  command.arguments.push_back(data_file("tools/refrain"));
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment = clean_environment();
  set_mpirun_environment(command);
  return run(command);
}

// By 2, 3 and 4 of each; the archive has `ranks`.
void check_alike(const fs::path& archive) {
  const Result alone = analyze(archive, 1, 1);
  INFO("stderr: " << alone.errors);
  REQUIRE(alone.exit_status == 0);
  REQUIRE(alone.output.size() > 1000);
  for (int threads = 2; threads <= 4; ++threads) {
    CAPTURE(threads);
    const Result result = analyze(archive, 1, threads);
    CHECK(result.exit_status == 0);
    CHECK(result.errors.empty());
    CHECK((result.output == alone.output));
  }
  for (int processes = 2; processes <= 4; ++processes) {
    CAPTURE(processes);
    const Result result = analyze(archive, processes, 1);
    CHECK(result.exit_status == 0);
    CHECK(result.errors.empty());
    CHECK((result.output == alone.output));
  }
}

void record(const MpiJob& job, const fs::path& archive) {
  const Result result = recorded_result(job, MpiWay::kInside, archive);
  INFO("stderr: " << result.errors);
  REQUIRE(result.exit_status == 0);
}

void check_waits(const std::string& program, const std::vector<std::string>& arguments,
                 int ranks, int threads = 1) {
  static SomeCases few;
  if (!few.runs_next()) return;
  INFO(program << " " << arguments.at(0));
  const TemporaryFolder folder;
  record({.program = "test/programs/waits/" + program,
          .arguments = arguments,
          .ranks = ranks,
          .threads = threads,
          .settings = {{"LIMIT", "0"}},
          .environment = {{"OMP_WAIT_POLICY", "passive"}}},
         folder / "archive");
  check_alike(folder / "archive");
  // As one of another tool: its events are read for the causes, too.
  REQUIRE(fs::remove_all(folder / "archive" / "summary") > 0);
  check_alike(folder / "archive");
}

}  // namespace

TEST_CASE("Parallel analysis: messages, collective and one-sided operations") {
  for (const std::string name :
       {"p2p:issend:waitall:sender", "order:different", "sendrecv", "many:waitany"})
    check_waits("waits_mpi_clang", {name, "2"}, 4);
  for (const std::string name :
       {"coll:allreduce:rising", "coll:scan:rising", "coll:barrier:first:sub",
        "coll:reduce:last:inter", "icoll:bcast:root", "coll:neighbor:rising"})
    check_waits("waits_mpi_clang", {name, "2"}, 4);
  for (const std::string name : {"rma:fence", "rma:late_post", "rma:lock", "rma:progress"})
    check_waits("waits_mpi_clang", {name, "2"}, 2);
}

TEST_CASE("Parallel analysis: threads of processes, and a wavefront") {
  check_waits("waits_hybrid_clang", {"within"}, 4, 2);
  check_waits("wavefront_clang", {"2", "3", "2"}, 4);
}

TEST_CASE("Parallel analysis: an archive with skipped iterations, and text") {
  const TemporaryFolder folder;
  record({.program = "halo_gcc", .arguments = {"200"}, .ranks = 3}, folder / "archive");
  check_alike(folder / "archive");
  const Result alone = analyze(folder / "archive", 1, 1, "--all");
  CHECK((analyze(folder / "archive", 1, 3, "--all").output == alone.output));
  CHECK((analyze(folder / "archive", 3, 1, "--all").output == alone.output));
}

TEST_CASE("Parallel analysis: one process") {
  const TemporaryFolder folder;
  const Result result = recorded_result(
      {.program = "cg_clang", .threads = 2, .settings = {}}, folder / "archive");
  REQUIRE(result.exit_status == 0);
  check_alike(folder / "archive");
}

TEST_CASE(
    "Parallel analysis: damaged events are left out by all alike; what cannot be read ends all, with one line") {
  const TemporaryFolder folder;
  record({.program = "halo_gcc",
          .arguments = {"300"},
          .ranks = 3,
          .settings = {{"LIMIT", "0"}}},
         folder / "archive");
  const auto check_line = [&](const std::string& what) {
    for (const auto& [processes, threads] : {std::pair{1, 1}, {1, 3}, {3, 1}}) {
      CAPTURE(what, processes, threads);
      const Result result = analyze(folder / "archive", processes, threads);
      CHECK_FALSE(result.timed_out);
      CHECK(result.exit_status == 2);
      CHECK(result.output.empty());
      INFO(result.errors);
      CHECK(result.errors.find("refrain: ") == 0);
      CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
    }
  };
  // The events of one rank are damaged in the midst.
  fs::path events;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder / "archive" / "traces"))
    if (entry.path().extension() == ".evt" && entry.path() > events) events = entry.path();
  const std::string bytes = read_file(events);
  REQUIRE(bytes.size() > 20'000);
  std::ofstream(events, std::ios::binary)
      << bytes.substr(0, bytes.size() / 2) << std::string(bytes.size() / 2, '\xff');
  const Result alone = analyze(folder / "archive", 1, 1);
  CHECK(alone.exit_status == 0);
  for (const auto& [processes, threads] : {std::pair{1, 1}, {1, 3}, {3, 1}}) {
    CAPTURE(processes, threads);
    const Result result = analyze(folder / "archive", processes, threads);
    CHECK(result.exit_status == 0);
    CHECK((result.output == alone.output));
    INFO(result.errors);
    CHECK(result.errors.find("refrain: ") == 0);
    CHECK(result.errors.find(" events of ") != std::string::npos);
  }
  fs::remove(folder / "archive" / "traces.def");
  check_line("definitions");
}

}  // namespace refrain::test::parallel_analysis_test
