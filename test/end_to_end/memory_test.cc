// What analyze says of a program that forgets to free its memory, and of its twin that does not; and what its iterations had.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::memory_test {
namespace {

std::string found(const std::vector<std::string>& arguments,
                  std::map<std::string, std::string> settings = {}) {
  const TemporaryFolder folder;
  const Job job{.program = "leak_clang",
                .arguments = arguments,
                .threads = 2,
                .settings = std::move(settings)};
  REQUIRE(run_job(job, Way::kRun, folder / "archive").exit_status == 0);
  const Result result = run_refrain({"analyze", folder / "archive", "--json"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return nlohmann::json::parse(result.output).at("conclusions").at("memory");
}

}  // namespace

TEST_CASE("Memory: a leak is found, from its iteration on, with its size") {
  const std::string text = found({"600", "200"});
  INFO(text);
  std::smatch match;
  REQUIRE(std::regex_search(
      text, match,
      std::regex("grows by ([0-9.]+) kB in each iteration of main leak.c:[0-9-]+, from "
                 "iteration ([0-9]+) on")));
  // 64 KiB and the allocator's own.
  CHECK(std::stod(match[1]) == Approx(65.5).epsilon(0.1));
  CHECK(std::stod(match[2]) == Approx(200).margin(40));
}

TEST_CASE("Memory: its twin, and a run without events") {
  CHECK(found({"600"}) == "");
  CHECK(found({"600", "0"}, {{"SUMMARY_ONLY", "yes"}}).find("grows by") !=
        std::string::npos);
}

TEST_CASE("Memory: with --memory the leak has a place, and iterations their allocations") {
  const TemporaryFolder folder;
  const Job job{
      .program = "leak_clang",
      .arguments = {"600", "200"},
      .threads = 2,
      .settings = {{"MEMORY", "4K"}, {"COUNTERS", "allocations,allocated_bytes"}}};
  REQUIRE(run_job(job, Way::kRun, folder / "archive").exit_status == 0);
  const auto json_of = [&](const std::vector<std::string>& words) {
    const Result result = run_refrain(words);
    INFO(result.errors);
    REQUIRE(result.exit_status == 0);
    return nlohmann::json::parse(result.output);
  };
  const std::string note =
      json_of({"analyze", folder / "archive", "--json"}).at("conclusions").at("memory");
  INFO(note);
  // 400 blocks of 64 KiB.
  CHECK(note.find(". Not freed at the end: 26.2 MB of step leak.c:21") !=
        std::string::npos);
  const auto profile = json_of({"profile", folder / "archive", "--iterations", "--json"});
  REQUIRE(profile.at("counters").at(0) == "allocations");
  REQUIRE(profile.at("counters").at(1) == "allocated_bytes");
  long iterations = 0;
  for (const auto& location : profile.at("locations"))
    for (const auto& row : location.at("rows")) {
      // OpenMP's runtime allocates in the first ones.
      if (location.at("primary") != true || row.at("loop") != 0 || row.at("first") < 20)
        continue;
      const long count = row.at("count");
      // An iteration is from one region to the next: after the last one nothing is allocated.
      if (row.at("first").get<long>() + count == 600) continue;
      CHECK(row.at("counters").at(0) == count);
      CHECK(row.at("counters").at(1) == count * (64 << 10));
      iterations += count;
    }
  CHECK(iterations > 500);
}

TEST_CASE("Memory: of iterations - what the program has kept by then") {
  const TemporaryFolder folder;
  const Job job{.program = "leak_clang", .arguments = {"300", "0"}, .threads = 2};
  REQUIRE(run_job(job, Way::kRun, folder / "archive").exit_status == 0);
  const Result result =
      run_refrain({"profile", folder / "archive", "--iterations", "--json"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  const auto json = nlohmann::json::parse(result.output);
  double first = -1, first_bytes = 0, last = 0, last_bytes = 0;
  std::uint64_t peak = 0;
  for (const auto& location : json.at("locations"))
    for (const auto& row : location.at("rows")) {
      if (!row.contains("memory_bytes")) continue;
      CHECK(location.at("primary") == true);
      if (row.at("loop") != 0) continue;
      peak = std::max(peak, row.at("peak_memory_bytes").get<std::uint64_t>());
      if (row.at("count") != 1) continue;
      last = row.at("first");
      last_bytes = row.at("memory_bytes");
      if (first >= 0) continue;
      first = last;
      first_bytes = last_bytes;
    }
  REQUIRE(last - first > 100);
  // 64 KiB and the allocator's own in each iteration.
  CHECK((last_bytes - first_bytes) / (last - first) == Approx(65600).epsilon(0.1));
  const auto& loop = json.at("loops").at(0);
  CHECK(loop.at("peak_memory_bytes") == peak);
  CHECK(loop.at("memory_bytes") == peak);
  const Result screen = run_refrain({"profile", folder / "archive", "--iterations"});
  CHECK(screen.output.find("   Memory     Peak\n") != std::string::npos);
}

}  // namespace refrain::test::memory_test
