// Profiles of archives on disk: of other tools, and without loops.
#include <catch2/catch.hpp>

#include "analysis/comparison/comparison.h"
#include "reader/foreign_archive.h"
#include "test/support/files.h"

namespace refrain::analysis::profile_archive_test {

TEST_CASE("Profile: an archive of another tool - a GPU's stream is no thread") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const TraceProfile profile = *read_trace_profile(folder / "a");
  CHECK(profile.processes == 2);
  CHECK(profile.threads == 3);  // 7 and 1000000007 of rank 0, 42 of rank 1
  // That of each process, as in a profile.
  CHECK(profile.thread_ns == 2 * profile.duration_ns + 2400 * 0.4);
  double exclusive = 0;
  for (const RegionProfile& region : profile.regions) {
    CHECK(region.name.find("kernel") == std::string::npos);
    exclusive += region.exclusive_ns;
  }
  // main is 2500 ticks of 0.4 ns on one thread, 2400 on the other.
  CHECK(exclusive == Approx((2500 + 2400) * 0.4));
}

TEST_CASE("Profile: a limit without marks of iterations - an error") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const auto result = read_trace_profile(folder / "a", {.suspend_after = 10});
  CHECK(result.error().find("no marks of iterations") != std::string::npos);
}

}  // namespace refrain::analysis::profile_archive_test
