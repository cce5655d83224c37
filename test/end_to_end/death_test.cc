// Programs that die by themselves at a random moment, in any thread, also inside the tracer
// (test/tools/death.cc). Everything recorded up to then is in the archive.
//
// REFRAIN_TEST_KILLS: how often of each way (default 6; of MPI jobs 2). REFRAIN_TEST_SEED: of the
// moments (default: another one each time; printed when a test fails).
// REFRAIN_TEST_DEATH: the only way.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/trace_checks.h"

namespace refrain::test::death_test {
namespace {

namespace fs = std::filesystem;

constexpr int kStatus = 5;  // of those that end by themselves

struct Death {
  const char* how;
  int signal = 0;
};

// LLVM's runtime waits for itself, traced or not, if a handler calls exit() while the runtime
// starts; the start takes longer when traced.
bool calls_exit(const std::string& how) { return how == "exit" || how == "exit-kill"; }

std::vector<Death> deaths(const std::vector<Death>& all) {
  const char* only = std::getenv("REFRAIN_TEST_DEATH");
  std::vector<Death> result;
  std::copy_if(all.begin(), all.end(), std::back_inserter(result),
               [only](const Death& death) {
                 return only == nullptr || std::string(only) == death.how;
               });
  return result;
}

// Settings of the preloaded library.
class Chance {
 public:
  Chance() : random_(static_cast<std::uint64_t>(seed_)) {}
  long seed() const { return seed_; }
  long number(long least, long most) {
    return std::uniform_int_distribution<long>(least, most)(random_);
  }
  std::map<std::string, std::string> environment(const std::string& how,
                                                 const std::string& program,
                                                 long shortest_us, long longest_us) {
    return {{"LD_PRELOAD", data_file("test/tools/death.so")},
            {"DEATH", how},
            {"DEATH_PROGRAM", program.substr(0, 15)},
            {"DEATH_AFTER", std::to_string(number(shortest_us, longest_us))},
            {"DEATH_LATER", std::to_string(number(0, 40000))},
            {"DEATH_SEED", std::to_string(number(0, 1000))},
            {"ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0:handle_segv=0"}};
  }

 private:
  long seed_ = number_from_environment("REFRAIN_TEST_SEED",
                                       static_cast<long>(std::random_device()()));
  std::mt19937_64 random_;
};

// How to repeat this death.
std::string described(const Chance& chance, long death, const std::string& program,
                      const std::string& limit,
                      const std::map<std::string, std::string>& environment) {
  std::string text = "seed " + std::to_string(chance.seed()) + ", death " +
                     std::to_string(death) + " of " + program + ", limit " + limit;
  for (const auto& [name, value] : environment)
    if (name.rfind("DEATH", 0) == 0) text += " " + name + "=" + value;
  return text;
}

}  // namespace

TEST_CASE("Death: OpenMP - by itself, at any moment") {
  const long kills = number_from_environment("REFRAIN_TEST_KILLS", 6);
  const std::vector<Victim>& victims = openmp_victims();
  REQUIRE_FALSE(victims.empty());
  for (const auto& [how, signal] : deaths({{"segv", SIGSEGV},
                                           {"abort", SIGABRT},
                                           {"uncaught", SIGABRT},
                                           {"_exit"},
                                           {"quick-exit"},
                                           {"exec"},
                                           {"exit"},
                                           {"exit-kill", SIGKILL}}))
    DYNAMIC_SECTION(how) {
      Chance chance;
      for (long i = 0; i < kills; ++i) {
        const auto& [program, arguments, threads] =
            victims[static_cast<std::size_t>(i) / 2 % victims.size()];
        const std::string limit = i % 2 == 0 ? "0" : "10";
        const Job job{.program = program,
                      .arguments = arguments,
                      .threads = threads,
                      .settings = {{"LIMIT", limit}},
                      .environment = chance.environment(
                          how, program, calls_exit(how) ? 150'000 : 2000, 400'000)};
        TemporaryFolder folder;
        const fs::path archive = folder / "archive";
        INFO(described(chance, i, program, limit, job.environment));
        const Result result = run_job(job, Way::kRun, archive);
        INFO(result.errors);
        CHECK_FALSE(result.timed_out);
        // A program to be killed at its end may have ended before.
        if (std::string(how) != "exit-kill" || result.exit_status == -1)
          CHECK(result.signal == signal);
        if (result.signal == 0) CHECK(result.exit_status == kStatus);
        if (fs::exists(archive / "traces.otf2"))
          // exit() in a handler, wherever that came.
          read_checked(archive, Ended::kAnywhere);
        else
          recover_and_check(archive, limit);
      }
    }
}

TEST_CASE("Death: MPI - one rank by itself, or all, at any moment") {
  const long kills = number_from_environment("REFRAIN_TEST_KILLS", 2);
  REQUIRE_FALSE(mpi_victims().empty());
  for (const auto& [how, signal] : deaths({{"segv"},
                                           {"abort"},
                                           {"uncaught"},
                                           {"_exit"},
                                           {"exec"},
                                           {"exit"},
                                           {"exit-kill"},
                                           {"mpi-abort"}}))
    DYNAMIC_SECTION(how) {
      Chance chance;
      std::vector<Victim> victims = mpi_victims();
      if (calls_exit(how))
        std::erase_if(victims, [](const Victim& victim) { return victim.threads > 1; });
      for (long i = 0; !victims.empty() && i < kills; ++i) {
        const auto& [program, arguments, threads] =
            victims[static_cast<std::size_t>(chance.number(0, 1000)) % victims.size()];
        const std::string limit = i % 2 == 0 ? "10" : "0";
        TemporaryFolder folder;
        const fs::path archive = folder / "archive";
        MpiJob job{.program = program,
                   .arguments = arguments,
                   .ranks = 4,
                   .threads = threads,
                   .settings = {{"LIMIT", limit}},
                   .environment = chance.environment(how, program, 2000, 600'000)};
        // Before MPI_Init has returned there is no job yet, or no process has joined it; there mpirun, traced
        // or not, waits forever for a rank that ends.
        job.environment["DEATH_ONCE"] = archive / "spool";
        if (const long rank = chance.number(-1, 3); rank >= 0)
          job.environment["DEATH_RANK"] = std::to_string(rank);
        INFO(described(chance, i, program, limit, job.environment));
        const Result result = run_mpi(job, MpiWay::kInside, archive);
        INFO(result.errors);
        CHECK(result.exit_status != 0);
        CHECK_FALSE(result.timed_out);
        recover_job(archive);
      }
    }
}

}  // namespace refrain::test::death_test
