// Jobs whose ranks die: `refrain recover` makes an archive of all ranks, in which every message
// has both ends.
//
// REFRAIN_TEST_KILLS: how many jobs are killed at random moments (default 6);
// REFRAIN_TEST_SEED: of the moments.
#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "summary/run_summary.h"
#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/trace_checks.h"

namespace refrain::test::mpi_kill_test {
namespace {

namespace fs = std::filesystem;

std::size_t sends_of(const Trace& trace, int rank) {
  std::size_t sends = 0;
  for (const auto& [channel, queue] : replay(trace).channels)
    if (channel.source == rank) sends += queue.sends.size();
  return sends;
}

}  // namespace

TEST_CASE("MPI killed: one rank of four - iterations of all ranks are in the archive") {
  const auto [limit, iteration] =
      GENERATE(table<const char*, int>({{"0", 30}, {"10", 30}, {"10", 200}, {"10", 5}}));
  CAPTURE(limit, iteration);
  for (const int victim : {0, 2}) {
    CAPTURE(victim);
    TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    const MpiJob job{
        .program = "ring_gcc",
        .arguments = {"400", "100", "4", std::to_string(victim), std::to_string(iteration)},
        .ranks = 4,
        .settings = {{"LIMIT", limit}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}}};
    const Result result = run_mpi(job, MpiWay::kInside, archive);
    CHECK_FALSE(result.timed_out);
    CHECK(result.exit_status != 0);
    REQUIRE(fs::exists(archive / "spool"));
    const Trace trace = recover_job(archive);
    const MpiProcesses processes(trace);
    REQUIRE(processes.size() == 4);
    // All iterations before that one are complete on all ranks: two sends each.
    const bool all = std::string(limit) == "0" || iteration < 10;
    for (int rank = 0; rank < 4; ++rank) {
      CAPTURE(rank);
      if (all) CHECK(sends_of(trace, rank) >= 2 * static_cast<std::size_t>(iteration));
      if (!all) CHECK(sends_of(trace, rank) >= 20);
      if (!all) CHECK(sends_of(trace, rank) < 2 * static_cast<std::size_t>(iteration));
    }
  }
}

TEST_CASE("MPI killed: in a call - the summary says in which, and since when") {
  for (const int when : {-1, 5}) {
    CAPTURE(when);
    TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    const MpiJob job{.program = "ring_gcc",
                     .arguments = {"20", "100", "4", "1", std::to_string(when)},
                     .ranks = 2};
    run_mpi(job, MpiWay::kInside, archive);
    recover_job(archive);
    const auto summaries = summary::read_summaries(archive);
    REQUIRE(summaries);
    REQUIRE(summaries->size() == 2);
    const summary::RunSummary& killed = (*summaries)[1];
    CHECK_FALSE(killed.complete);
    const summary::RunSummary::Location& primary = killed.locations[0];
    REQUIRE(primary.primary);
    if (when != -1) {
      CHECK(primary.killed_in == summary::RunSummary::kNone);
      continue;
    }
    REQUIRE(primary.killed_in != summary::RunSummary::kNone);
    CHECK(killed.regions[killed.nodes[primary.killed_in].region].name == "MPI_Comm_dup");
    CHECK(primary.killed_since >= killed.begin);
    CHECK(primary.killed_since <= killed.end);
  }
}

TEST_CASE("MPI killed: iterations - what the kill cuts off is none, in any command") {
  const char* const marks = GENERATE("each", "none");
  CAPTURE(marks);
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  // Rank 1 dies between two calls of iteration 200.
  MpiJob job{.program = "ring_gcc",
             .arguments = {"400", "100", "4", "1", "200"},
             .ranks = 2,
             .settings = {{"LIMIT", "10"}}};
  if (std::string(marks) == "none") job.settings["SUMMARY_ONLY"] = "1";
  run_mpi(job, MpiWay::kInside, archive);
  recover_job(archive);
  const auto counts = [](const nlohmann::json& loops) {
    std::uint64_t most = 0;
    for (const nlohmann::json& loop : loops)
      most = std::max(most, loop.at("iterations").get<std::uint64_t>());
    return most;
  };
  const auto json_of = [&](std::vector<std::string> words) {
    words.push_back(archive.string());
    return nlohmann::json::parse(run_refrain(words).output);
  };
  const std::uint64_t known = counts(json_of({"info", "--json"}).at("phases"));
  CHECK(known >= 198);
  CHECK(known <= 200);
  CHECK(counts(json_of({"profile", "--iterations", "--json"}).at("loops")) == known);
}

TEST_CASE("MPI end: a rank that cannot write its part - process 0 writes for all") {
  for (const int blind : {2, 0}) {
    CAPTURE(blind);
    TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    const MpiJob job{
        .program = "ring_gcc",
        .arguments = {"20", "100", "4", "-1", "0", "0", "0", std::to_string(blind)},
        .ranks = 4,
        .settings = {{"LIMIT", "0"}},
        // A process that can open no file cannot check leaks.
        .environment = {{"ASAN_OPTIONS", "detect_leaks=0"}}};
    const Result result = run_mpi(job, MpiWay::kInside, archive);
    INFO(result.errors);
    CHECK_FALSE(result.timed_out);
    CHECK(result.exit_status == 0);
    CHECK(result.errors.find("could not write the archive together") != std::string::npos);
    // If it is process 0, no one can: the recording stays.
    CHECK(fs::exists(archive / "spool") == (blind == 0));
    const Trace trace = blind == 0 ? recover_job(archive) : read_checked(archive);
    CHECK(text(check_messages(trace)) == "");
    for (int rank = 0; rank < 4; ++rank) CHECK(sends_of(trace, rank) == 40);
  }
}

TEST_CASE("MPI end: allocations that fail - the job does not notice") {
  // A sanitizer's runtime has its own malloc.
  if (std::getenv("REFRAIN_TEST_RUNTIME") != nullptr) return;
  TemporaryFolder folder;
  int seed = 0;
  for (const std::string program : {"ring_gcc", "halo_gcc", "threaded_gcc"})
    for (const char* every : {"3", "20", "100", "300", "1000"}) {
      MpiJob job{.program = program, .threads = 2, .settings = {{"LIMIT", "3"}}};
      const Result plain = run_mpi(job);
      job.environment = no_memory(every, ++seed, folder / "report");
      const fs::path archive = folder / ("archive-" + std::to_string(seed));
      const Result traced = run_mpi(job, MpiWay::kInside, archive);
      INFO("one of " << every << ", seed " << seed << ", " << program << ": "
                     << traced.errors);
      CHECK(traced.exit_status == 0);
      CHECK(traced.output == plain.output);
      if (!fs::exists(archive / "traces.otf2")) {
        CHECK(traced.errors != "");
        continue;
      }
      CHECK(text(check_messages(read_checked(archive))) == "");
    }
  CHECK(fs::file_size(folder / "report") >= static_cast<std::uintmax_t>(seed));
}

TEST_CASE("MPI killed: the whole job at any moment - an archive of what was recorded") {
  std::mt19937 random(
      static_cast<unsigned>(number_from_environment("REFRAIN_TEST_SEED", 41)));
  const long kills = number_from_environment("REFRAIN_TEST_KILLS", 6);
  const std::vector<Victim>& victims = mpi_victims();
  REQUIRE_FALSE(victims.empty());
  for (long i = 0; i < kills; ++i) {
    const auto& [program, arguments, threads] =
        victims[static_cast<std::size_t>(i) / 2 % victims.size()];
    const int after_ms = static_cast<int>(random() % 1200);
    CAPTURE(after_ms, program);
    TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    const MpiJob job{.program = program,
                     .arguments = arguments,
                     .ranks = 4,
                     .threads = threads,
                     .settings = {{"LIMIT", i % 2 == 0 ? "10" : "0"}},
                     .kill_signal = SIGKILL,
                     .kill_after = std::chrono::milliseconds(after_ms),
                     // Before, there is no job yet, or no process has joined it.
                     .kill_once = has_begun(archive)};
    run_mpi(job, MpiWay::kInside, archive);
    recover_job(archive);
  }
}

}  // namespace refrain::test::mpi_kill_test
