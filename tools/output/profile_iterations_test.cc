#include "tools/output/profile_iterations.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/notes.h"
#include "test/support/files.h"

namespace refrain::tools::profile_iterations_test {
namespace {

using analysis::IterationProfile;
using analysis::TimeClass;

constexpr auto kImbalance = static_cast<std::size_t>(TimeClass::kImbalance);

ProfiledIterations example() {
  ProfiledIterations run;
  run.archive = "run";
  IterationProfile& profile = run.profile;
  profile.counters = {"PAPI_TOT_INS", "a \"b\""};
  auto& loop = profile.loops.emplace_back();
  loop = {.number = 3,
          .name = "loop 3 @ solve a.c:7-9",
          .iterations = 12,
          .with_rows = 12,
          .time_ns = 12e6,
          .median_ns = 1e6,
          .slowest_ns = 2e6,
          .slowest_first = 5,
          .slowest_count = 1};
  loop.times[0] = 18e6;
  loop.times[kImbalance] = 6e6;
  loop.memory = {3'000'000, 4'000'000};
  loop.parts = {{0, 6, 1e6, loop.times, 0, {2'000'000, 4'000'000}},
                {6, 6, 1.5e6, loop.times}};
  auto& other = profile.loops.emplace_back();
  other.name = "loop 4";
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    auto& location = profile.locations.emplace_back();
    location.thread = thread;
    location.primary = thread == 0;
    location.worker = thread != 0;
    for (std::uint64_t i = 0; i < 3; ++i) {
      auto& row = location.rows.emplace_back();
      row.loop = i == 0   ? IterationProfile::kNoLoop
                 : i == 1 ? 0
                          : IterationProfile::kSeveral;
      row.first = i;
      row.count = i;
      row.begin_ns = 10.0 * static_cast<double>(i);
      row.end_ns = row.begin_ns + 10;
      row.times[kImbalance] = 10;
      row.counters = {i, thread};
      if (i == 1 && thread == 0) row.memory = {2'000'000, 4'000'000};
    }
  }
  return run;
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("Iterations screen: loops, and the longest part by part; within the width") {
  const auto lines = iterations_screen(example(), 110, false);
  CHECK(has(lines, "loop 3 @ solve a.c:7-9"));
  CHECK(has(lines, "75.0 %"));
  CHECK(has(lines, "  0-5 "));
  CHECK(has(lines, "  6-11 "));
  CHECK(has(lines, "slowest: iteration 5, 2 ms"));
  CHECK_FALSE(has(lines, "MPI"));
  for (const std::string& line : lines) CHECK(line.size() <= 110);
  CHECK(has(lines, "   Manage   Memory     Peak"));
  CHECK(std::ranges::count_if(lines, [](const std::string& line) {
          return line.starts_with("  0-5 ") && line.ends_with("     2 MB     4 MB");
        }) == 1);
  ProfiledIterations unknown = example();
  unknown.profile.loops[0].memory = {};
  CHECK_FALSE(has(iterations_screen(unknown, 110, false), "Memory"));
  ProfiledIterations mpi = example();
  mpi.profile.loops[0].times[static_cast<std::size_t>(TimeClass::kMpiCollective)] = 1;
  CHECK(has(iterations_screen(mpi, 110, false), "MPI"));
}

TEST_CASE("Iterations screen: inner loops are indented below the loop around them") {
  ProfiledIterations run = example();
  CHECK_FALSE(has(iterations_screen(run, 110, false), "indented"));
  auto& loops = run.profile.loops;
  loops[0].with_rows = 11;  // of 12: one has no row
  loops[1].inner = true;
  loops[1].around = 0;
  loops[1].with_rows = loops[1].iterations = 30;
  const auto lines = iterations_screen(run, 110, false);
  const auto at = [&](const std::string& text) {
    return std::ranges::find_if(
        lines, [&](const std::string& line) { return line.starts_with(text); });
  };
  REQUIRE(at("    loop 4 ") != lines.end());
  CHECK(at("  loop 3 ") < at("    loop 4 "));
  CHECK(at("    loop 4 ") < at("  outside of loops"));
  CHECK(at("    loop 4 ")->find("     30 ") != std::string::npos);
  CHECK(has(lines, "       11 "));
  CHECK(has(lines, "  indented: inner loops"));
  CHECK_FALSE(has(lines, "more (--all)"));
  const auto json = nlohmann::json::parse(iterations_json(run));
  CHECK(json["loops"][0]["inner"] == false);
  CHECK(json["loops"][0]["around"].is_null());
  CHECK(json["loops"][0]["iterations"] == 12);
  CHECK(json["loops"][0]["with_rows"] == 11);
  CHECK(json["loops"][1]["around"] == 0);
}

TEST_CASE("Iterations screen: threads without a core - a column, and of the slowest") {
  ProfiledIterations run = example();
  CHECK_FALSE(has(iterations_screen(run, 110, false), "No core"));
  run.profile.time_ns = 24e6;
  run.profile.loops[0].core_wait_ns = 6e6;
  run.profile.loops[0].parts[1].core_wait_ns = 12e6;
  run.profile.loops[0].slowest_core_wait_ns = 1.5e6;
  const auto lines = iterations_screen(run, 110, false);
  CHECK(has(lines, "No core"));
  CHECK(has(lines, "25.0 %"));
  CHECK(has(lines, "50.0 %"));
  CHECK(has(lines, "slowest: iteration 5, 2 ms, 1.5 ms of it without a core"));
  for (const std::string& line : lines) CHECK(line.size() <= 110);
  const auto json = nlohmann::json::parse(iterations_json(run));
  CHECK(json["loops"][0]["slowest_core_wait_ns"] == 1.5e6);
  CHECK(json["loops"][0]["core_wait_ns"] == 6e6);
}

TEST_CASE("Iterations JSON: all rows of all threads") {
  const auto json = nlohmann::json::parse(iterations_json(example()));
  CHECK(json["format"] == "refrain iterations");
  CHECK(json["loops"][0]["slowest_first"] == 5);
  CHECK(json["counters"][1] == "a \"b\"");
  const auto& rows = json["locations"][1]["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["loop"].is_null());
  CHECK(rows[0]["several"] == false);
  CHECK(rows[1]["loop"] == 0);
  CHECK(rows[2]["several"] == true);
  CHECK(rows[2]["counters"] == nlohmann::json({2, 1}));
  CHECK(json["loops"][0]["memory_bytes"] == 3'000'000);
  CHECK(json["loops"][0]["peak_memory_bytes"] == 4'000'000);
  CHECK(json["loops"][1]["memory_bytes"].is_null());
  CHECK(json["locations"][0]["rows"][1]["peak_memory_bytes"] == 4'000'000);
  CHECK(rows[1].contains("memory_bytes") == false);
  CHECK(rows[2]["classes"]["imbalance_ns"] == 10);
}

TEST_CASE("Iterations CSV: a row for each row, as many fields as titles") {
  std::istringstream text(iterations_csv(example()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  REQUIRE(lines.size() == 7);
  for (const std::string& line : lines)
    CHECK(std::count(line.begin(), line.end(), ',') ==
          std::count(lines[0].begin(), lines[0].end(), ','));
  CHECK(lines[0].ends_with(
      ",unknown_ns,memory_bytes,peak_memory_bytes,\"PAPI_TOT_INS\",\"a \"\"b\"\"\""));
  CHECK(lines[2].starts_with("0,,0,3,\"loop 3 @ solve a.c:7-9\",1,1,10.000,20.000,"));
  CHECK(lines[2].ends_with(",2000000,4000000,1,0"));
  CHECK(lines[6].ends_with(",,,2,1"));
}

TEST_CASE("Iterations: no archive, no rows, a bad file - one line") {
  const test::TemporaryFolder folder;
  CHECK(read_iterations(folder / "none", 4).error() ==
        "'" + (folder / "none").string() + "' does not exist");
  const std::string archive = folder / "run";
  std::filesystem::create_directories(archive + "/summary");
  CHECK(read_iterations(archive, 4).error().find("has no summary with iterations") !=
        std::string::npos);
  std::ofstream(archive + "/summary/process-0.json") << "{}";
  base::take_notes();
  CHECK(read_iterations(archive, 4).error().find("has no summary with iterations") !=
        std::string::npos);
  CHECK(base::take_notes().at(0).starts_with(archive +
                                             "/summary/process-0.json is not a summary"));
}

}  // namespace refrain::tools::profile_iterations_test
