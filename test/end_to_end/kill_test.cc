// Killed at a random moment: what was recorded up to then becomes a valid archive.
//
// REFRAIN_TEST_KILLS: how often each signal is sent (default 6). REFRAIN_TEST_SEED: of the
// moments (default: another one each time; it is told when a test fails).
// REFRAIN_TEST_VICTIM: the only program that is killed at random moments.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iterator>
#include <random>

#include "test/end_to_end/committed.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;

long number_from_environment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

// A location's file gets its name when it is ready for events: before that there are none.
bool left_events(const fs::path& archive) {
  if (!fs::exists(archive / "spool")) return false;
  for (const auto& entry : fs::recursive_directory_iterator(archive / "spool"))
    if (entry.path().filename().string().rfind("location-", 0) == 0 &&
        entry.path().extension() == ".spool")
      return true;
  return false;
}

std::string files_below(const fs::path& folder) {
  std::string names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names += " " + entry.path().lexically_relative(folder).string();
  return names;
}

// What was left behind, and what recovery makes of it.
void recover_and_check(const fs::path& archive, const std::string& limit) {
  if (!left_events(archive)) {  // killed before anything was recorded
    // A journal alone gives an archive without events; without one there is nothing to
    // make an archive of, and that is said.
    const bool journal = fs::exists(archive / "spool" / "process-0" / "journal.spool");
    const Result recovery = run_refrain({"recover", archive});
    INFO("recover: " << recovery.errors);
    CHECK(recovery.exit_status == (journal ? 0 : 2));
    if (!journal) {
      CHECK(recovery.errors.rfind("refrain: ", 0) == 0);
      CHECK_FALSE(fs::exists(archive / "traces.otf2"));
      return;
    }
    const Trace trace = read_checked(archive);
    CHECK(property_number(trace, "RECOVERED") == 1);
    CHECK(property_number(trace, "EVENTS_SEEN") == 0);
    CHECK(property_number(trace, "EVENTS_WRITTEN") == 0);
    REQUIRE(trace.locations.size() == 1);
    for (const Event& event : trace.locations[0].events)
      CHECK((event.type == EventType::kProgramBegin ||
             event.type == EventType::kProgramEnd));
    return;
  }
  INFO("left behind:" << files_below(archive));
  const RawSpool spool = read_raw_spool(archive);
  const Result recovery = run_refrain({"recover", archive});
  INFO("recover: " << recovery.errors);
  REQUIRE(recovery.exit_status == 0);
  const Trace trace = read_checked(archive);
  CHECK(property_number(trace, "RECOVERED") == 1);
  const Committed committed = check_committed(spool, trace, true);
  CHECK(text(committed.problems) == "");
  const auto written = static_cast<std::uint64_t>(property_number(trace, "EVENTS_WRITTEN"));
  if (limit == "0") {
    CHECK(committed.events == logged_events(spool));
    CHECK(written == committed.events);
  } else {
    // and the ends that lie in held stretches
    CHECK(written >= committed.events - committed.without_epoch);
  }
}

// They run until they are killed.
struct Victim {
  const char* program;
  std::vector<std::string> arguments;
  int threads;
};
const Victim kVictims[] = {
    {"shortloop_clang", {"100000000", "1000", "200"}, 2},
    {"jacobi_clang", {"100000000"}, 4},
    {"threads_gcc", {"10000000"}, 2},
    {"cg_gcc", {"100000000", "500"}, 2},
    {"tasks_clang", {"100000000"}, 3},
    {"mutexes_gcc", {"100000000"}, 2},
    {"nested_clang", {"100000000"}, 2},
    {"particles_clang", {"100000000"}, 3},
};

void kill_many_times(int signal, const std::string& limit) {
  const long kills = number_from_environment("REFRAIN_TEST_KILLS", 6);
  const long seed = number_from_environment("REFRAIN_TEST_SEED",
                                            static_cast<long>(std::random_device()()));
  std::mt19937_64 random(static_cast<std::uint64_t>(seed) + static_cast<unsigned>(signal));
  std::uniform_int_distribution<long> moment_us(2000, 400000);
  const char* only = std::getenv("REFRAIN_TEST_VICTIM");
  std::size_t next = 0;
  for (long i = 0; i < kills; ++next) {
    const auto& [program, arguments, threads] = kVictims[next % std::size(kVictims)];
    REQUIRE(next < (static_cast<std::size_t>(i) + 1) * std::size(kVictims));
    if (only != nullptr && std::string(only) != program) continue;
    TemporaryFolder folder;
    Job job{program, arguments, threads, {{"LIMIT", limit}}};
    job.kill_signal = signal;
    job.kill_after = std::chrono::microseconds(moment_us(random));
    INFO("seed " << seed << ", kill " << i << ": " << job.program << " after "
                 << job.kill_after.count() << " us");
    const Result result = run_job(job, Way::kRun, folder / "archive");
    CHECK(result.signalled);
    CHECK(result.signal == signal);
    recover_and_check(folder / "archive", limit);
    ++i;
  }
}

}  // namespace

TEST_CASE("Kill: SIGKILL - recorded in full") { kill_many_times(SIGKILL, "0"); }
TEST_CASE("Kill: SIGKILL - while holding") { kill_many_times(SIGKILL, "10"); }
TEST_CASE("Kill: SIGTERM - recorded in full") { kill_many_times(SIGTERM, "0"); }
TEST_CASE("Kill: SIGTERM - while holding") { kill_many_times(SIGTERM, "10"); }
TEST_CASE("Kill: SIGABRT - recorded in full") { kill_many_times(SIGABRT, "0"); }
TEST_CASE("Kill: SIGABRT - while holding") { kill_many_times(SIGABRT, "10"); }

TEST_CASE("Kill: latest iterations - a killed program's are in the archive") {
  TemporaryFolder folder;
  // Without slow iterations, of which the one in the middle may well be one.
  Job job{"shortloop_clang",
          {"100000000", "1000", "200"},
          2,
          {{"LIMIT", "10"}, {"SLOW_FACTOR", "0"}}};
  job.kill_signal = SIGKILL;
  // A sanitizer's runtime takes its time to start.
  const bool slow = std::getenv("REFRAIN_TEST_RUNTIME") != nullptr;
  job.kill_after = std::chrono::milliseconds(slow ? 5000 : 500);
  REQUIRE(run_job(job, Way::kRun, folder / "archive").signal == SIGKILL);
  REQUIRE(run_refrain({"recover", folder / "archive"}).ok());
  const Trace trace = read_checked(folder / "archive");
  const std::vector<Iteration> all = iterations(trace);
  REQUIRE(all.size() > 100);
  CHECK_FALSE(all[all.size() / 2].written);
  CHECK(all[all.size() - 2].written);
}

TEST_CASE("Kill: the ways to end without an exit handler - recovered or written") {
  for (const std::string how : {"_exit", "quick-exit", "abort", "exit-in-region"}) {
    DYNAMIC_SECTION(how) {
      TemporaryFolder folder;
      const Job job{"exitcode_clang", {how, "3", "200"}, 2, {{"LIMIT", "0"}}};
      run_job(job, Way::kRun, folder / "archive");
      if (!fs::exists(folder / "archive" / "traces.otf2"))
        REQUIRE(run_refrain({"recover", folder / "archive"}).ok());
      const Trace trace = read_checked(folder / "archive");
      CHECK(count_by_type(trace)[EventType::kThreadFork] >= 400);
    }
  }
}

}  // namespace refrain::test
