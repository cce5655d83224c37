#include "test/end_to_end/left_behind.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "test/end_to_end/committed.h"
#include "test/support/mpi_checks.h"
#include "test/support/trace_checks.h"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;

// A location's file gets its name when it is ready for events.
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

std::vector<Victim> wanted(std::vector<Victim> all) {
  if (const char* only = std::getenv("REFRAIN_TEST_VICTIM"))
    std::erase_if(
        all, [only](const Victim& victim) { return only != std::string(victim.program); });
  return all;
}

}  // namespace

const std::vector<Victim>& openmp_victims() {
  static const std::vector<Victim> kAll = wanted({
      {"shortloop_clang", {"100000000", "1000", "200"}, 2},
      {"jacobi_clang", {"100000000"}, 4},
      {"threads_gcc", {"10000000"}, 2},
      {"cg_gcc", {"100000000", "500"}, 2},
      {"tasks_clang", {"100000000"}, 3},
      {"mutexes_gcc", {"100000000"}, 2},
      {"nested_clang", {"100000000"}, 2},
      {"particles_clang", {"100000000"}, 3},
  });
  return kAll;
}

const std::vector<Victim>& mpi_victims() {
  static const std::vector<Victim> kAll = wanted({
      {"ring_gcc", {"1000000", "100"}, 1},
      {"hybrid_gcc", {"1000000"}, 2},
      {"anysource_gcc", {"1000000"}, 1},
      {"waits_gcc", {"turns", "1000000", "3"}, 1},
  });
  return kAll;
}

void recover_and_check(const fs::path& archive, const std::string& limit) {
  if (!left_events(archive)) {  // killed before anything was recorded
    // A journal alone gives an archive without events; without one there can be no archive,
    // which is reported.
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
      CHECK(
          (event.type == EventType::kProgramBegin || event.type == EventType::kProgramEnd));
    return;
  }
  INFO("left behind:" << files_below(archive));
  const RawSpool spool = read_raw_spool(archive);
  if (std::getenv("REFRAIN_TEST_KEEP") != nullptr)
    fs::copy(archive / "spool", archive / "spool-before", fs::copy_options::recursive);
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
    // and the ends that lie in skipped intervals
    CHECK(written >= committed.events - committed.without_epoch);
  }
}

Trace recover_job(const fs::path& archive) {
  // mpirun ends before all of its ranks.
  Result recovery = run_refrain({"recover", archive});
  const auto limit = std::chrono::steady_clock::now() + kTimeLimit;
  while (recovery.errors.find(" still writes to ") != std::string::npos &&
         std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    recovery = run_refrain({"recover", archive});
  }
  INFO("recover: " << recovery.errors);
  REQUIRE(recovery.exit_status == 0);
  Trace trace = read_checked(archive);
  // A killed process is in the middle of something: begun regions need not have ended.
  CHECK(text(check_messages(trace)) == "");
  CHECK(text(check_causality(trace)) == "");
  return trace;
}

}  // namespace refrain::test
