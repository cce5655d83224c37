// Programs that run out of a resource: they end as untraced, losses are reported, and the
// archive, if there is room for one, is valid.
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <regex>
#include <sstream>
#include <vector>

#include "summary/run_summary.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::resources_test {
namespace {

namespace fs = std::filesystem;

// Every line is Refrain's.
void check_reported(const std::string& errors) {
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);)
    CHECK_THAT(line, Catch::StartsWith("refrain: "));
}

struct Outcome {
  bool archive = false;
  long lost = 0;  // events
};

// The program with its limits, traced and untraced; the archive is read without them.
Outcome check_limited(const Job& job, Way way, const fs::path& archive) {
  const Result plain = run_untraced(job);
  const Result traced = run_job(job, way, archive);
  INFO("limits '" << job.limits << "', stderr: " << traced.errors);
  CHECK_FALSE(traced.timed_out);
  CHECK(traced.signal == plain.signal);
  CHECK(traced.exit_status == plain.exit_status);
  CHECK(traced.output == plain.output);
  check_reported(traced.errors);
  Outcome outcome;
  outcome.archive = fs::exists(archive / "traces.otf2");
  if (!outcome.archive && fs::exists(archive / "spool")) {
    const Result recovered = run_refrain({"recover", archive});
    INFO("recover: " << recovered.errors);
    // If nothing in it can become an archive, that is reported.
    CHECK((recovered.exit_status == 0 || recovered.exit_status == 2));
    CHECK(fs::exists(archive / "traces.otf2") == (recovered.exit_status == 0));
    outcome.archive = recovered.exit_status == 0;
  }
  if (outcome.archive) {
    const Trace trace = read_checked(archive);
    outcome.lost =
        property_number(trace, "EVENTS_SEEN") - property_number(trace, "EVENTS_WRITTEN");
    if (outcome.lost != 0) CHECK(traced.errors != "");
    // The run has an end, whatever could be written of it.
    const Result profile = run_refrain({"profile", archive});
    INFO(profile.output);
    CHECK_FALSE(std::regex_search(profile.output, std::regex("-[0-9.]+ (%|[num]?s)")));
    CHECK_FALSE(std::regex_search(profile.output, std::regex("[1-9][0-9]{3,}[.][0-9] %")));
  } else {
    CHECK(traced.errors != "");
  }
  return outcome;
}

const Job kBusy{"cg_clang", {"150", "1500"}, 2, {{"LIMIT", "0"}, {"CHUNK", "256k"}}};

}  // namespace

TEST_CASE("Resources: limit of the disk - the run ends when the program did") {
  TemporaryFolder folder;
  Job job = kBusy;
  job.arguments = {"600", "1500"};
  job.settings["DISK_LIMIT"] = "7M";
  const auto begin = std::chrono::steady_clock::now();
  const Result result = run_job(job, Way::kRun, folder / "archive");
  const std::chrono::duration<double, std::nano> took =
      std::chrono::steady_clock::now() - begin;
  REQUIRE(result.exit_status == 0);
  const Trace trace = read_checked(folder / "archive");
  CHECK(property_number(trace, "EVENTS_WRITTEN") <
        property_number(trace, "EVENTS_SEEN") / 2);
  const auto summaries = *summary::read_summaries(folder / "archive");
  REQUIRE(summaries.size() == 1);
  const double run_ns = static_cast<double>(summaries[0].end - summaries[0].begin) * 1e9 /
                        summaries[0].ticks_per_second;
  CHECK(run_ns > 0.3 * took.count());
  const Result info = run_refrain({"info", folder / "archive"});
  CHECK(info.output.find("the disk limit was reached (--disk-limit)") != std::string::npos);
}

TEST_CASE("Resources: file size limit - no signal, the program ends well") {
  bool some_lost = false;
  for (const char* blocks : {"64", "3000", "6000", "7000", "8000"})  // of 1 KiB
    for (const Way way : {Way::kPreload, Way::kRun}) {
      TemporaryFolder folder;
      Job job = kBusy;
      job.limits = std::string("-f ") + blocks;
      some_lost |= check_limited(job, way, folder / "archive").lost > 0;
    }
  CHECK(some_lost);
}

TEST_CASE("Resources: file size limit - the program gets its own signal") {
  TemporaryFolder folder;
  Job job{"exitcode_clang", {"grow-file"}};
  job.limits = "-f 1000";
  const Result plain = run_untraced(job);
  CHECK(plain.signal == SIGXFSZ);
  CHECK(run_job(job, Way::kPreload, folder / "archive").signal == SIGXFSZ);
}

TEST_CASE(
    "Resources: file descriptors - the number that the program needs, and some more") {
  for (const char* most : {"4", "5", "6", "8", "10", "14", "20"}) {
    TemporaryFolder folder;
    Job job = kBusy;
    job.limits = std::string("-n ") + most;
    check_limited(job, Way::kPreload, folder / "archive");
  }
}

TEST_CASE("Resources: address space - not enough for the tracer") {
  // The program itself, with its threads' stacks, needs about 300 MB.
  for (const char* kilobytes :
       {"320000", "340000", "360000", "400000", "500000", "800000"}) {
    TemporaryFolder folder;
    Job job = kBusy;
    job.limits = std::string("-v ") + kilobytes;
    job.environment["OMP_STACKSIZE"] = "1M";
    if (run_untraced(job).exit_status != 0) continue;
    check_limited(job, Way::kPreload, folder / "archive");
  }
}

TEST_CASE("Resources: allocations that fail - the program does not notice") {
  // A sanitizer's runtime has its own malloc.
  if (std::getenv("REFRAIN_TEST_RUNTIME") != nullptr) return;
  TemporaryFolder folder;
  int seed = 0;
  for (const std::string program : {"cg_clang", "threads_clang", "nested_clang", "cg_gcc"})
    for (const char* every : {"2", "7", "30", "100", "300", "1000"}) {
      Job job{program, {}, 2, {{"LIMIT", "0"}}};
      job.environment = no_memory(every, ++seed, folder / "report");
      INFO("one of " << every << ", seed " << seed << ", " << program);
      check_limited(job, Way::kRun, folder / ("archive-" + std::to_string(seed)));
    }
  CHECK(fs::file_size(folder / "report") >= static_cast<std::uintmax_t>(seed / 2));
}

TEST_CASE("Resources: no memory for the summary of one thread - its events are written") {
  if (std::getenv("REFRAIN_TEST_RUNTIME") != nullptr) return;
  TemporaryFolder folder;
  // One of these mappings is an index of a thread's call tree.
  std::uint64_t without = 0;
  int runs = 0;
  for (int kilobytes = 4; kilobytes <= 1024 && without == 0; kilobytes *= 2)
    for (int mapping = 1; mapping <= 8 && without == 0; ++mapping) {
      const fs::path archive = folder / std::to_string(++runs);
      Job job{"cg_clang", {"2", "100"}, 2, {{"LIMIT", "0"}}};
      job.environment = no_memory("1", 0, folder / "report");
      job.environment["NO_MEMORY_FROM"] = std::to_string(mapping);
      job.environment["NO_MEMORY_MOST"] = "1";
      job.environment["NO_MEMORY_MAP"] = std::to_string(kilobytes * 1024);
      INFO("mapping " << mapping << " of " << kilobytes << " KiB");
      if (!check_limited(job, Way::kRun, archive).archive) continue;
      const auto summaries = *summary::read_summaries(archive);
      if (summaries.empty() || summaries[0].locations_without.empty()) continue;
      without = summaries[0].locations_without.size();
      CHECK(summaries[0].locations.size() == 1);
      const Result profile = run_refrain({"profile", archive});
      CHECK(profile.exit_status == 0);
      CHECK_THAT(profile.output,
                 Catch::Contains("1 thread that had no memory for a summary"));
      CHECK(run_refrain({"info", archive}).exit_status == 0);
    }
  CHECK(without == 1);
}

TEST_CASE(
    "Resources: threads that may use one core - what they used, and what that costs") {
  cpu_set_t all;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  int core = 0;
  while (!CPU_ISSET(core, &all)) ++core;
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  Job job{"cg_clang", {"100", "4000"}, 4, {}};
  job.limits = "-c 0 && taskset -cp " + std::to_string(core) + " $$ >/dev/null";
  REQUIRE(run_job(job, Way::kRun, archive).exit_status == 0);
  const auto summaries = *summary::read_summaries(archive);
  REQUIRE(summaries.size() == 1);
  REQUIRE(summaries[0].locations.size() == 4);
  std::uint64_t on_core = 0;
  const double run_ns = static_cast<double>(summaries[0].end - summaries[0].begin) * 1e9 /
                        summaries[0].ticks_per_second;
  for (const summary::RunSummary::Location& location : summaries[0].locations) {
    CHECK(location.use.cores.text() == std::to_string(core));
    // At least the pages of its stack.
    CHECK(location.use.page_faults > 0);
    CHECK(location.use.kernel_ns <= location.use.core_ns + 20'000'000);
    CHECK(location.use.tracing_ns > 0);
    CHECK(static_cast<double>(location.use.tracing_ns) <= run_ns * 1.05 + 20e6);
    on_core += location.use.core_ns;
  }
  if (on_core == 0) return;  // this kernel does not count
  // Together they had no more than that core, but for what is counted late.
  CHECK(static_cast<double>(on_core) <= run_ns * 1.05 + 20e6);
  const Result info = run_refrain({"info", archive});
  CHECK_THAT(info.output,
             Catch::Contains("4 threads on core " + std::to_string(core) + ","));
  const Result analysis = run_refrain({"analyze", "--json", archive});
  CHECK_THAT(analysis.output,
             Catch::Contains("4 threads may use core " + std::to_string(core) + " only"));
}

TEST_CASE("Resources: small stacks - threads of 64 KiB") {
  for (const std::string program : {"cg_clang", "nested_clang", "tasks_clang", "cg_gcc"}) {
    TemporaryFolder folder;
    Job job{program, {}, 2, {{"LIMIT", "0"}}};
    job.environment["OMP_STACKSIZE"] = "64K";
    const Result plain = run_untraced(job);
    REQUIRE(plain.exit_status == 0);
    const Traced traced = trace(job, folder / "archive", Way::kPreload);
    CHECK(traced.result.output == plain.output);
  }
}

TEST_CASE("Resources: full disk - at the start, and during the run") {
  TemporaryFolder folder;
  const fs::path disk = folder / "disk";
  for (const char* size : {"size=64k", "size=1536k", "size=4m", "size=12m"}) {
    fs::create_directory(disk);
    if (mount("small", disk.c_str(), "tmpfs", 0, size) != 0) {
      WARN("no small file system can be made here: not tested");
      return;
    }
    check_limited(kBusy, Way::kPreload, disk / "archive");
    CHECK(umount2(disk.c_str(), MNT_DETACH) == 0);
  }
}

}  // namespace refrain::test::resources_test
