// Killed at a random moment: everything recorded up to then becomes a valid archive.
//
// REFRAIN_TEST_KILLS: how often each signal is sent (default 3; 6 in tools/check long). REFRAIN_TEST_SEED: of the
// moments (default: another one each time; printed when a test fails).
// REFRAIN_TEST_VICTIM: the only program that is killed at random moments.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::kill_test {
namespace {

namespace fs = std::filesystem;

void kill_many_times(int signal, const std::string& limit) {
  const long kills = number_from_environment("REFRAIN_TEST_KILLS",
                                             test_length() == TestLength::kShort ? 2 : 6);
  const long seed = number_from_environment("REFRAIN_TEST_SEED",
                                            static_cast<long>(std::random_device()()));
  std::mt19937_64 random(static_cast<std::uint64_t>(seed) + static_cast<unsigned>(signal));
  std::uniform_int_distribution<long> moment_us(2000, 400000);
  const std::vector<Victim>& victims = openmp_victims();
  REQUIRE_FALSE(victims.empty());
  for (long i = 0; i < kills; ++i) {
    // Each signal and limit begins with another program.
    const auto& [program, arguments, threads] =
        victims[static_cast<std::size_t>(i + signal + (limit == "0" ? 0 : 3)) %
                victims.size()];
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
  }
}

}  // namespace

TEST_CASE("Kill: SIGKILL - recorded in full") { kill_many_times(SIGKILL, "0"); }
TEST_CASE("Kill: SIGKILL - while suspended") { kill_many_times(SIGKILL, "10"); }
TEST_CASE("Kill: SIGTERM - recorded in full") { kill_many_times(SIGTERM, "0"); }
TEST_CASE("Kill: SIGTERM - while suspended") { kill_many_times(SIGTERM, "10"); }
TEST_CASE("Kill: SIGABRT - recorded in full") { kill_many_times(SIGABRT, "0"); }
TEST_CASE("Kill: SIGABRT - while suspended") { kill_many_times(SIGABRT, "10"); }

TEST_CASE("Kill: latest iterations - a killed program's are in the archive") {
  TemporaryFolder folder;
  // Without slow iterations: the one in the middle may be slow.
  Job job{"shortloop_clang",
          {"100000000", "1000", "200"},
          2,
          {{"LIMIT", "10"}, {"SLOW_FACTOR", "0"}}};
  job.kill_signal = SIGKILL;
  job.kill_once = have_entered(5000, folder / "archive");
  REQUIRE(run_job(job, Way::kRun, folder / "archive").signal == SIGKILL);
  REQUIRE(run_refrain({"recover", folder / "archive"}).ok());
  const Trace trace = read_checked(folder / "archive");
  const std::vector<Iteration> all = iterations(trace);
  REQUIRE(all.size() > 100);
  CHECK_FALSE(all[all.size() / 2].written);
  CHECK(all[all.size() - 2].written);
}

TEST_CASE("Kill: ends without exit handlers - recovered or written") {
  for (const std::string how : {"_exit", "quick-exit", "abort", "exit-in-region",
                                "exit-at-barrier", "segv", "exec"}) {
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

}  // namespace refrain::test::kill_test
