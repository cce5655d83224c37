// The reduced archive is small, and grows with the run by the iterations' marks alone. (The summary has a limited number of rows; how many
// digits they take is the machine's doing.)
//
// The share of the full archive that remains depends on the size of an iteration: a mark
// takes some 35 bytes in any case. The share is measured here for iterations of 43
// regions. For the five short regions of shortloop.c it is about 5 % (6.6 MB to 352 kB for
// 10 000 iterations), and 1.1 % with marks=summary: not within 1 %.
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "summary/run_summary.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::size_test {
namespace {

enum class Of { kAll, kEvents };

std::uintmax_t archive_bytes(Job job, long iterations, int limit, Of which) {
  TemporaryFolder folder;
  job.settings = find_loops_of(128, limit);
  job.settings["SYMBOLS"] = "parallel";
  const Result result = recorded_result(job, folder / "archive");
  INFO(result.errors);
  REQUIRE(result.ok());
  std::uintmax_t bytes = folder_bytes(folder / "archive");
  if (which == Of::kEvents) {
    constexpr std::size_t kMaxRows = 4096;
    for (const auto& summary :
         *summary::read_summaries(folder / "archive", summary::Iterations::kRead))
      for (const auto& location : summary.locations)
        CHECK(location.iterations.rows.size() <= kMaxRows);
    bytes -= folder_bytes(folder / "archive" / "summary");
  }
  WARN(job.program << ", " << iterations << " iterations, limit " << limit << ": " << bytes
                   << " bytes");
  return bytes;
}

// Iterations of 43 regions: the outer one of cg with 8 inner ones.
std::uintmax_t large_iterations(long iterations, int limit, Of which = Of::kAll) {
  return archive_bytes({"cg_clang", {std::to_string(iterations), "64", "8"}, 2}, iterations,
                       limit, which);
}

// Iterations of five empty regions.
std::uintmax_t small_iterations(long iterations) {
  return archive_bytes({"shortloop_clang", {std::to_string(iterations), "100", "20"}, 2},
                       iterations, 10, Of::kEvents);
}

// OTF2's size of a mark: two time stamps (9 bytes each, a leave and an enter have different
// ones), these two, and a parameter with numbers of two bytes (12 together).
constexpr double kMarkBytes = 30;

// What `refrain info` says that the whole archive would have.
double said_whole(const std::filesystem::path& archive) {
  const std::string text = run_refrain({"info", archive}).output;
  constexpr std::string_view kBefore = "full trace: ~";
  const std::size_t at = text.find(kBefore);
  INFO(text);
  REQUIRE(at != std::string::npos);
  std::istringstream number(text.substr(at + kBefore.size()));
  double said = 0;
  std::string unit;
  number >> said >> unit;
  return said * (unit == "MB" ? 1e6 : 1e3);
}

}  // namespace

TEST_CASE(
    "Size: 10 000 iterations of 43 regions - limit 10 takes at most 1 % of the full "
    "archive") {
  CHECK(large_iterations(10000, 10) * 100 <= large_iterations(10000, 0));
}

// An archive of which half is not events: what is said of the whole one is not a multiple of that.
TEST_CASE("Size: what the whole archive would have - as it has then") {
  TemporaryFolder folder;
  const auto record = [&](const char* limit) {
    Job job{"cg_clang", {"120", "64", "4"}, 2, {{"LIMIT", limit}, {"SLOW_FACTOR", "0"}}};
    REQUIRE(run_job(job, Way::kRun, folder / limit).ok());
  };
  record("0");
  const auto whole = static_cast<double>(folder_bytes(folder / "0"));
  for (const char* limit : {"1", "10"}) {
    record(limit);
    CHECK(said_whole(folder / limit) == Approx(whole).epsilon(0.15));
  }
}

// A loop that seems to be the outermost one for 600 iterations has marks of all of these: what is said is no multiple of
// marks, but has those that inner loops would have.
TEST_CASE(
    "Size: what the whole archive would have - of a loop with more marks than events") {
  TemporaryFolder folder;
  const auto record = [&](const char* limit) {
    MpiJob job{"sweep_gcc", {"6", "600", "1"}};
    job.settings = {{"LIMIT", limit}, {"SLOW_FACTOR", "0"}};
    REQUIRE(run_mpi(job, MpiWay::kInside, folder / limit).ok());
  };
  record("0");
  record("10");
  CHECK(said_whole(folder / "10") ==
        Approx(static_cast<double>(folder_bytes(folder / "0"))).epsilon(0.2));
}

TEST_CASE("Size: length of the run - only the marks grow, by OTF2's size of a mark") {
  const auto a_mark = [](std::uintmax_t some, std::uintmax_t more) {
    return static_cast<double>(more - some) / 6000;
  };
  CHECK(a_mark(large_iterations(3000, 10, Of::kEvents),
               large_iterations(9000, 10, Of::kEvents)) < kMarkBytes + 0.5);
  CHECK(a_mark(small_iterations(3000), small_iterations(9000)) < kMarkBytes + 0.5);
}

}  // namespace refrain::test::size_test
