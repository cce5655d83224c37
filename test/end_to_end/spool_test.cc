// Compares the archive with its spool, record by record: every program, written in full and
// with skipped intervals. Counts that the counting tool cannot give, because two runs differ
// (which tasks are cancelled, who runs them), are exact here.
#include <catch2/catch.hpp>

#include "test/end_to_end/committed.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::spool_test {
namespace {

// Returns the skipped intervals.
std::size_t check_against_spool(Job job) {
  INFO(job.program);
  TemporaryFolder folder;
  job.environment["REFRAIN_KEEP_SPOOL"] = "yes";
  const Traced traced = trace(job, folder / "archive");
  const RawSpool spool = read_raw_spool(folder / "archive");
  const Committed committed = check_committed(spool, traced.trace, false);
  CHECK(text(committed.problems) == "");
  const auto written =
      static_cast<std::uint64_t>(property_number(traced.trace, "EVENTS_WRITTEN"));
  CHECK(property_number(traced.trace, "LOST") == 0);
  const std::size_t skipped = skipped_intervals(spool, false).size();
  if (skipped == 0) {
    CHECK(written == committed.events);
    CHECK(property_number(traced.trace, "EVENTS_SEEN") == static_cast<long>(written));
  } else {
    // and the ends that lie in skipped intervals
    CHECK(written >= committed.events - committed.without_epoch);
    CHECK(property_number(traced.trace, "EVENTS_SEEN") > static_cast<long>(written));
  }
  return skipped;
}

const std::vector<std::string>& programs() {
  static const std::vector<std::string> kAll = {
      "cg_clang",        "cg_gcc",        "constructs_clang", "constructs_gcc",
      "irregular_clang", "irregular_gcc", "jacobi_clang",     "jacobi_gcc",
      "mutexes_clang",   "mutexes_gcc",   "nested_clang",     "nested_gcc",
      "particles_clang", "particles_gcc", "phases_clang",     "phases_gcc",
      "tasks_clang",     "tasks_gcc",     "threads_clang",    "threads_gcc",
      "heat_gfortran"};
  return kAll;
}

}  // namespace

TEST_CASE("Spool: limit off - every record is in the archive, and nothing else") {
  for (const std::string& program : programs())
    CHECK(check_against_spool({program, {}, 4, {{"LIMIT", "0"}}}) == 0);
}

TEST_CASE("Spool: cancellation - every record is in the archive, and nothing else") {
  for (const std::string program : {"constructs_clang", "constructs_gcc"})
    CHECK(check_against_spool(
              {program, {}, 4, {{"LIMIT", "0"}}, {{"OMP_CANCELLATION", "true"}}}) == 0);
}

TEST_CASE("Spool: skipped intervals - cut exactly where the journal says") {
  std::size_t skipped = 0;
  for (const std::string& program : programs())
    skipped += check_against_spool({program, {}, 4, find_loops_of(8, 2)});
  CHECK(skipped >= 20);
}

}  // namespace refrain::test::spool_test
