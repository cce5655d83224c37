// Spools in a directory of the node (--spool-dir), the archive elsewhere; and tasks that are no job.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"

namespace refrain::test::spool_dir_test {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

// As if the process had been on another host.
void move_to_another_host(const fs::path& note) {
  std::string text = read_file(note);
  REQUIRE(text.starts_with("host "));
  text.replace(0, text.find('\n'), "host another-node");
  std::ofstream(note, std::ios::trunc) << text;
}

}  // namespace

TEST_CASE("Spool folder: of the node - complete archives, and nothing is left in it") {
  TemporaryFolder folder;
  const fs::path node = folder / "node";
  const Traced traced =
      trace({"jacobi_clang", {"20"}, 2, {{"LIMIT", "0"}, {"SPOOL_DIR", node}}},
            folder / "openmp");
  CHECK(fs::is_empty(node));
  CHECK_FALSE(fs::exists(folder / "openmp" / "spool"));
  const MpiJob job{.program = "ring_gcc",
                   .settings = {{"LIMIT", "0"}, {"SPOOL_DIR", node}}};
  const Traced mpi = trace_mpi(job, MpiWay::kInside, folder / "mpi");
  CHECK(MpiProcesses(mpi.trace).size() == 2);
  CHECK(replay(mpi.trace).unmatched() == 0);
  CHECK(fs::is_empty(node));
}

TEST_CASE("Spool folder: a killed job - its archive's folder says where the spools are") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  const fs::path node = folder / "node";
  const MpiJob job{.program = "ring_gcc",
                   .arguments = {"400", "100", "4", "1", "30"},
                   .settings = {{"LIMIT", "0"}, {"SPOOL_DIR", node}}};
  CHECK(run_mpi(job, MpiWay::kInside, archive).exit_status != 0);
  CHECK(names_in(archive / "spool") ==
        std::set<std::string>{"process-0.place", "process-1.place"});
  CHECK(names_in(node).size() == 2);
  // What another host has is neither left out nor lost.
  move_to_another_host(archive / "spool/process-1.place");
  const fs::path elsewhere = folder / "elsewhere";
  fs::rename(node, elsewhere);
  move_to_another_host(archive / "spool/process-0.place");
  check_refused({"recover", archive}, "2 processes are on another-node (process 0: ");
  CHECK(names_in(elsewhere).size() == 2);
  const Result collected =
      run_refrain({"recover", "--collect", "--spool-dir", elsewhere, archive});
  CHECK(collected.output.starts_with("2 spools moved into"));
  CHECK(fs::is_empty(elsewhere));
  CHECK(names_in(archive / "spool") == std::set<std::string>{"process-0", "process-1"});
  const Trace trace = recover_job(archive);
  REQUIRE(MpiProcesses(trace).size() == 2);
  CHECK(replay(trace).pairs() >= 2 * 29);
}

TEST_CASE(
    "Spool folder: a host that is gone - the archive of the others, and nothing is removed") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  const MpiJob job{.program = "ring_gcc",
                   .arguments = {"400", "100", "4", "1", "30"},
                   .settings = {{"LIMIT", "0"}, {"SPOOL_DIR", folder / "node"}}};
  CHECK(run_mpi(job, MpiWay::kInside, archive).exit_status != 0);
  const fs::path note = archive / "spool/process-1.place";
  move_to_another_host(note);
  std::string text = read_file(note);
  text.replace(text.find("/refrain-spool-"), 15, "/gone/refrain-spool-");
  std::ofstream(note, std::ios::trunc) << text;
  const Result result = run_refrain({"recover", "--incomplete", archive});
  CHECK(result.exit_status == 0);
  CHECK_THAT(result.errors, Catch::Contains("1 process is on another-node"));
  CHECK(fs::exists(archive / "traces.otf2"));
  CHECK(names_in(archive / "spool").size() == 2);
}

TEST_CASE("Tasks: several processes without MPI - each has an archive with its number") {
  TemporaryFolder folder;
  for (const bool again : {false, true}) {
    Command command;
    command.arguments = mpirun(2);
    for (const std::string& word :
         {data_file("tools/refrain").string(), std::string("run"), std::string("-o"),
          (folder / "run").string(), std::string("--"),
          data_file("test/programs/jacobi_clang").string(), std::string("20")})
      command.arguments.push_back(word);
    if (again) command.arguments.insert(command.arguments.end() - 3, "--overwrite");
    command.environment = clean_environment();
    command.environment["OMP_NUM_THREADS"] = "1";
    const Result result = run(command);
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    CHECK(names_in(folder.path()) == std::set<std::string>{"run.task-0", "run.task-1"});
    for (const char* name : {"run.task-0", "run.task-1"}) read_checked(folder / name);
  }
}

}  // namespace refrain::test::spool_dir_test
