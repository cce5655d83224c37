// The reduced archive is small, and grows with the run by the iterations' marks alone.
//
// What share of the full archive remains depends on the size of an iteration: a mark takes
// some 35 bytes, whatever it marks. The share is measured here for iterations of 43
// regions. For the five short regions of shortloop.c it is about 5 % (6.6 MB to 352 kB for
// 10 000 iterations), and 1.1 % with marks=summary: not within 1 %.
#include <catch2/catch.hpp>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test {
namespace {

// A run of so many iterations of 43 regions: the outer iteration of cg with 8 inner ones.
std::uintmax_t archive_bytes(long iterations, int limit) {
  TemporaryFolder folder;
  Job job{
      "cg_clang", {std::to_string(iterations), "64", "8"}, 2, find_loops_of(128, limit)};
  job.settings["SYMBOLS"] = "parallel";
  const Result result = run_job(job, Way::kRun, folder / "archive");
  INFO(result.errors);
  REQUIRE(result.ok());
  return folder_bytes(folder / "archive");
}

}  // namespace

TEST_CASE("Size: 10 000 iterations of 43 regions - limit 10 takes at most 1 % of the full archive") {
  const std::uintmax_t full = archive_bytes(10000, 0);
  const std::uintmax_t reduced = archive_bytes(10000, 10);
  INFO("full " << full << " bytes, reduced " << reduced << " bytes");
  CHECK(reduced * 100 <= full);
}

TEST_CASE("Size: length of the run - only the marks grow") {
  const std::uintmax_t some = archive_bytes(3000, 10);
  const std::uintmax_t more = archive_bytes(9000, 10);
  CHECK(static_cast<double>(more - some) / 6000 < 64);  // bytes a mark
}

}  // namespace refrain::test
