#include "tools/output/profile_screen.h"

#include <otf2/otf2.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/output/profile_data.h"

namespace refrain::tools::profile_screen_test {
namespace {

using summary::RunSummary;
constexpr std::uint32_t kNone = RunSummary::kNone;

RunSummary::Sums sums(std::uint64_t visits, std::uint64_t time) {
  RunSummary::Sums out;
  out.visits = visits;
  out.time = time;
  out.least = out.greatest = visits == 0 ? 0 : time / visits;
  return out;
}

// One thread, a second: four tenths in 1000 sends of 1 kB, one in a function's loops.
ProfiledRun one_thread() {
  RunSummary run;
  run.rank = 0;
  run.program = "./app";
  run.end = 1'000'000'000;
  run.regions = {{1, "MPI_Send", "MPI", 0, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI},
                 {2, "a \"quoted\", name", "/src/p.c", 7, OTF2_REGION_ROLE_FUNCTION,
                  OTF2_PARADIGM_USER},
                 {3, "!$omp parallel @p.c:9", "/src/p.c", 9, OTF2_REGION_ROLE_PARALLEL,
                  OTF2_PARADIGM_OPENMP}};
  run.sites = {"/src/p.c:20"};
  run.nodes = {{kNone, 1, RunSummary::Kind::kRegion, kNone},
               {0, 0, RunSummary::Kind::kRegion, 0},
               {0, 2, RunSummary::Kind::kFork, kNone},
               {2, 2, RunSummary::Kind::kRegion, kNone}};
  RunSummary::Location location;
  location.primary = true;
  location.sums = {sums(1, 700'000'000), sums(1000, 400'000'000), sums(2, 150'000'000),
                   sums(2, 100'000'000)};
  location.sums[1].bytes_sent = 1'000'000;
  location.sums[1].messages_sent = 1000;
  run.locations = {location};
  ProfiledRun out;
  out.archive = "run";
  out.events_seen = 5000;
  out.events_written = 50;
  out.profile = analysis::merge_summaries({run});
  out.totals = analysis::total(out.profile);
  return out;
}

std::string line_with(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines)
    if (line.find(text) != std::string::npos) return line;
  return "";
}

}  // namespace

TEST_CASE("Profile as text: threads without a core - are said to be in all times") {
  ProfiledRun run = one_thread();
  CHECK(line_with(profile_screen(run, {.width = 200}), "Cores").empty());
  run.profile.core_wait_ns = 0.5 * run.totals.time_ns;
  CHECK(line_with(profile_screen(run, {.width = 200}), "Cores") ==
        "Cores        threads were ready to run, but on no core, for 50.0 % of all times "
        "below (500 ms; refrain analyze says why)");
}

TEST_CASE("Profile screen: numbers with units, in the order of time, no line too long") {
  const ProfiledRun run = one_thread();
  for (const std::size_t width : {80, 100, 160})
    for (const std::string& line : profile_screen(run, {.width = width}))
      CHECK(line.size() <= width);
  const std::vector<std::string> lines = profile_screen(run, {.width = 100});
  const auto has = [&](const std::string& text) {
    INFO(text);
    CHECK(line_with(lines, text) != "");
  };
  CHECK(lines[0] == "Program      ./app");
  CHECK(lines[1] == "Run          1 rank, 1 thread in all, 1 s, 1 s of all threads");
  has("Source       summary of all 5000 events; 50 are in the archive");
  has("Efficiency   parallel 55.0 % = load balance 100.0 % x communication 55.0 %");
  has("             MPI 60.0 % = load balance 100.0 % x communication 60.0 %");
  // 300 ms outside, 150 ms of the function's own, 100 ms of the region's.
  const std::string useful = line_with(lines, "useful computation");
  CHECK(useful.find("550 ms     55.0 %") != std::string::npos);
  CHECK(line_with(lines, "threads, management").find("50 ms      5.0 %") !=
        std::string::npos);
  const std::string send = line_with(lines, "> MPI_Send @p.c:20");
  CHECK(send.find("400 ms     40.0 %       1000     400 us") != std::string::npos);
  const std::string procedure = line_with(lines, "  MPI_Send  ");
  CHECK(procedure.find("1 MB       1 kB") != std::string::npos);
  const std::string region = line_with(lines, "  p.c:9  ");
  CHECK(region.find("2   150 ms  66.7 %   0.0 %   0.0 %   0.0 %  33.3 %   0.0 %") !=
        std::string::npos);
}

TEST_CASE("Profile screen: from events - says so, and what is missing") {
  ProfiledRun run = one_thread();
  run.from_events = true;
  run.gaps = 3;
  const std::vector<std::string> lines = profile_screen(run, {.width = 200});
  CHECK(line_with(lines, "Source") ==
        "Source       50 events in the archive, which has no summary; 3 intervals were not "
        "written: numbers and times are too small");
  run.asked_for_events = true;
  run.gaps = 0;
  CHECK(line_with(profile_screen(run, {}), "Source") ==
        "Source       50 events in the archive");
}

TEST_CASE("Profile screen: many rows - the largest, and how many more there are") {
  RunSummary run;
  run.end = 1'000'000;
  RunSummary::Location location;
  for (std::uint32_t i = 0; i < 40; ++i) {
    run.regions.push_back({.reference = i,
                           .name = "f" + std::to_string(i),
                           .file = "p.c",
                           .line = 100 + i,
                           .role = OTF2_REGION_ROLE_FUNCTION,
                           .paradigm = OTF2_PARADIGM_COMPILER});
    run.nodes.push_back({kNone, i, RunSummary::Kind::kRegion, kNone});
    location.sums.push_back(sums(1, 10'000 + 100 * i));
  }
  run.locations = {location};
  ProfiledRun profiled;
  profiled.profile = analysis::merge_summaries({run});
  profiled.totals = analysis::total(profiled.profile);
  const auto few = profile_screen(profiled, {});
  CHECK(line_with(few, "f39 @p.c:139") != "");
  CHECK(line_with(few, "f27 ") == "");
  CHECK(line_with(few, "and 28 more (--all)") != "");
  const auto all = profile_screen(profiled, {.all = true});
  CHECK(line_with(all, "f0 @p.c:100") != "");
  CHECK(all.size() == few.size() + 28 - 1);
}

TEST_CASE("Profile data: JSON and CSV - exact ticks, quoted names") {
  const ProfiledRun run = one_thread();
  const auto json = nlohmann::json::parse(profile_json(run));
  CHECK(json["format"] == "refrain profile");
  CHECK(json["paths"].size() == 3);
  CHECK(json["paths"][0]["name"] == "a \"quoted\", name");
  CHECK(json["paths"][0]["locations"][0]["own_ticks"] == 150'000'000);
  CHECK(json["paths"][1]["parent"] == 0);
  CHECK(json["paths"][1]["class"] == "mpi_point_to_point");
  CHECK(json["paths"][2]["locations"][0]["management_ticks"] == 50'000'000);
  CHECK(json["locations"][0]["outside_ticks"] == 300'000'000);
  CHECK(json["classes"]["useful_ns"] == 550e6);
  CHECK(json["mpi"][0]["average_bytes"] == 1000);
  CHECK(json["efficiencies"]["mpi"] == Approx(0.6));
  const std::string csv = profile_csv(run);
  CHECK(csv.find("\n0,,\"a \"\"quoted\"\", name\",\"/src/p.c\",7,\"\",useful,0,0,0,1,"
                 "700000000.000,150000000.000,") != std::string::npos);
  CHECK(csv.find("\n,,,,,,useful,0,0,0,1,1000000000.000,300000000.000,") !=
        std::string::npos);
}

TEST_CASE("Profile data: bytes that are no text - replaced") {
  ProfiledRun run = one_thread();
  run.profile.regions[0].name = "\xff\xfe";
  CHECK(nlohmann::json::parse(profile_json(run))["paths"].size() == 3);
}

}  // namespace refrain::tools::profile_screen_test
