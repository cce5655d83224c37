// profile.cubex of traced programs, read by a reader of another make and compared with the summary:
// the program's time is the run time of each location; visits, bytes and times of all regions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cube/cubex_checks.h"
#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"

namespace refrain::test::cube_test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// By process and thread, of the region with this name.
json visits_of(const json& profile, const std::string& region) {
  json result = json::array();
  for (const json& path : profile["paths"]) {
    const std::string id = std::to_string(path["id"].get<int>());
    if (path["region"] == region && profile["values"]["visits"].contains(id))
      result.push_back(profile["values"]["visits"][id]);
  }
  return result;
}

// The same of all regions that were visited. Workers have other call paths in the analysis of events.
std::map<std::string, std::vector<std::uint64_t>> visits_by_region(const json& file) {
  std::map<std::string, std::vector<std::uint64_t>> result;
  for (const auto& [path, row] : file["values"]["visits"].items()) {
    if (std::ranges::all_of(row, [](const json& value) { return value == 0; })) continue;
    std::vector<std::uint64_t>& sums =
        result[file["paths"][std::stoul(path)]["region"].get<std::string>()];
    sums.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) sums[i] += row[i].get<std::uint64_t>();
  }
  return result;
}

void check_profile(const fs::path& archive, std::size_t locations) {
  REQUIRE(fs::exists(archive / "profile.cubex"));
  CHECK(cubex_problems(archive) == "");
  const json profile = cubex_json(archive / "profile.cubex");
  CHECK(profile["locations"].size() == locations);
  CHECK(profile["values"]["visits"].size() > 5);
}

}  // namespace

TEST_CASE("Cube: OpenMP, most iterations skipped - the profile is that of the whole run") {
  TemporaryFolder folder;
  const Job job{"cg_clang", {"200", "64", "8"}, 2, {{"LIMIT", "10"}}};
  recorded(job, folder / "archive");
  check_profile(folder / "archive", 2);
  const json profile = cubex_json(folder / "archive/profile.cubex");
  CHECK(profile["locations"][0]["name"] == "Master thread");
  CHECK(profile["locations"][1]["name"] == "OMP thread 1");
  CHECK(visits_of(profile, "cg_clang") == json::array({{1, 0}}));
  // As often as in an archive with all events.
  TemporaryFolder whole;
  recorded({"cg_clang", {"200", "64", "8"}, 2, {{"LIMIT", "0"}}}, whole / "archive");
  const json other = cubex_json(whole / "archive/profile.cubex");
  CHECK(other["paths"] == profile["paths"]);
  CHECK(other["values"]["visits"] == profile["values"]["visits"]);
}

TEST_CASE("Cube: tasks and nested teams - the profile agrees with the summary") {
  const auto [program, locations] =
      GENERATE(table<const char*, std::size_t>({{"tasks_clang", 3}, {"nested_clang", 0}}));
  CAPTURE(program);
  TemporaryFolder folder;
  const Job job{program, {}, 3, {{"LIMIT", "2"}}};
  const Traced traced = recorded(job, folder / "archive");
  // How many threads nested teams get is the runtime's choice.
  check_profile(folder / "archive",
                locations != 0 ? locations : traced.trace.locations.size());
}

TEST_CASE("Cube: MPI - one profile of all ranks, calls and bytes") {
  const auto [program, threads] =
      GENERATE(table<const char*, int>({{"halo_gcc", 1}, {"hybrid_clang", 2}}));
  CAPTURE(program);
  TemporaryFolder folder;
  const MpiJob job{.program = program, .threads = threads, .settings = {{"LIMIT", "5"}}};
  const MpiCounts counts = count_mpi(job);
  recorded(job, MpiWay::kInside, folder / "archive");
  check_profile(folder / "archive", 2 * static_cast<std::size_t>(threads));
  const json profile = cubex_json(folder / "archive/profile.cubex");
  CHECK(profile["locations"].back()["process"] == "MPI Rank 1");
  int compared = 0;
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const auto& [name, calls] : counts.calls[rank]) {
      CAPTURE(rank, name);
      std::uint64_t found = 0;
      for (const json& row : visits_of(profile, name))
        for (std::size_t i = 0; i < row.size(); ++i)
          if (profile["locations"][i]["rank"] == rank) found += row[i].get<std::uint64_t>();
      // Polls in a row are one region.
      if (name.find("Test") == std::string::npos && name.find("probe") == std::string::npos)
        CHECK(found == calls);
      ++compared;
    }
  CHECK(compared >= 6);
}

TEST_CASE("Cube: refrain profile --cube - of the summary, or of the events") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  const MpiJob job{.program = "hybrid_clang", .threads = 2, .settings = {{"LIMIT", "0"}}};
  recorded(job, MpiWay::kInside, archive);
  const auto write = [&](const fs::path& file, const std::string& more = "--quiet") {
    const Result result =
        run_refrain({"profile", archive.string(), "--cube", file.string(), more});
    INFO(result.errors);
    CHECK(result.output.empty());
    return result.exit_status;
  };
  REQUIRE(write(folder / "again.cubex") == 0);
  CHECK(read_file(folder / "again.cubex") == read_file(archive / "profile.cubex"));
  // Not over a file, unless that was asked for.
  CHECK(write(folder / "again.cubex") == 2);
  std::ofstream(folder / "again.cubex") << "an old one";
  REQUIRE(write(folder / "again.cubex", "--overwrite") == 0);
  CHECK(read_file(folder / "again.cubex") == read_file(archive / "profile.cubex"));
  CHECK(write(folder / "none" / "x.cubex") == 2);

  // Everything was written, so that the events say the same.
  REQUIRE(write(folder / "events.cubex", "--events") == 0);
  const json events = cubex_json(folder / "events.cubex");
  const json profile = cubex_json(archive / "profile.cubex");
  CHECK(events["locations"].size() == profile["locations"].size());
  int compared = 0;
  for (const json& path : profile["paths"]) {
    const std::string region = path["region"];
    CAPTURE(region);
    CHECK(visits_of(events, region) == visits_of(profile, region));
    ++compared;
  }
  CHECK(compared > 10);
}

TEST_CASE("Cube: recovered after a kill - with a profile; made anew with the archive",
          "[alone]") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  Job job{"cg_clang", {"1000000", "64", "8"}, 2, {{"LIMIT", "10"}}};
  job.kill_signal = 9;
  job.kill_once = have_entered(1000, folder / "archive");
  run_job(job, Way::kRun, archive);
  CHECK(!fs::exists(archive / "profile.cubex"));
  const Result recovered = run_refrain({"recover", archive});
  INFO(recovered.errors);
  REQUIRE(recovered.ok());
  check_profile(archive, 2);
  std::ofstream(archive / "profile.cubex") << "an old one";
  const Result again = run_refrain({"run", "--overwrite", "-o", archive, "--",
                                    data_file("test/programs/cg_clang"), "20", "64", "8"});
  INFO(again.errors);
  REQUIRE(again.ok());
  CHECK(cubex_problems(archive) == "");
}

TEST_CASE("Cube: analyze and experiment - waits as a file of Cube, compared with itself") {
  TemporaryFolder folder;
  recorded({.program = "halo_gcc", .settings = {{"LIMIT", "0"}}}, MpiWay::kInside,
           folder / "archive");
  const std::string archive = folder / "archive", own = folder / "archive/analysis.cubex";
  const auto refrain = [](const std::vector<std::string>& arguments) {
    const Result result = run_refrain(arguments);
    INFO(result.errors);
    REQUIRE(result.ok());
    return json::parse(result.output);
  };
  const json waits = refrain({"analyze", "--json", "--quiet", archive});
  REQUIRE(fs::exists(own));
  const json file = cubex_json(own);
  CHECK(file["locations"].size() == waits["locations"].size());
  // Each metric of the file is that of JSON.
  const json mean = refrain({"experiment", "mean", "--json", "--all", own, own});
  int compared = 0;
  for (const auto& [metric, seconds] : waits["metrics"].items()) {
    CAPTURE(metric);
    REQUIRE(mean["metrics"].contains(metric));
    CHECK(mean["metrics"][metric]["result"].get<double>() ==
          Approx(seconds.get<double>()).margin(1e-12));
    compared += seconds.get<double>() != 0 ? 1 : 0;
  }
  CHECK(compared > 5);
  const std::string result = folder / "difference.cubex";
  const json difference = refrain({"experiment", "diff", "--json", "-o", result, own, own});
  for (const auto& [metric, values] : difference["metrics"].items()) {
    CAPTURE(metric);
    CHECK(values["result"].get<double>() == 0);
  }
  CHECK(cubex_json(result)["locations"] == file["locations"]);
  // Neither an existing file nor one of those read is replaced.
  CHECK(run_refrain({"experiment", "mean", "-o", result, own}).exit_status == 2);
  CHECK(run_refrain({"experiment", "mean", "--overwrite", "-o", own, own}).exit_status ==
        2);
  CHECK(run_refrain({"experiment", "mean", "--overwrite", "-o", result, own}).ok());
  CHECK(run_refrain({"analyze", "--cube", result, archive}).exit_status == 2);
}

TEST_CASE("Cube: analyze - visits are those of the profile, of the whole run") {
  const auto [program, threads, limit] = GENERATE(table<const char*, int, const char*>(
      {{"halo_gcc", 1, "0"}, {"halo_gcc", 1, "5"}, {"hybrid_clang", 2, "5"}}));
  CAPTURE(program, limit);
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  // What is skipped must not depend on how fast the machine is.
  recorded({.program = program,
            .threads = threads,
            .settings = {{"LIMIT", limit}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}}},
           MpiWay::kInside, archive);
  const auto visits = [&] {
    const Result result = run_refrain({"analyze", "--quiet", archive.string()});
    INFO(result.errors);
    REQUIRE(result.ok());
    return visits_by_region(cubex_json(archive / "analysis.cubex"));
  };
  const auto profile = visits_by_region(cubex_json(archive / "profile.cubex"));
  CHECK(profile.size() >= 8);
  CHECK(visits() == profile);
  // Without the summary those of the events, which were all written or not.
  fs::remove_all(archive / "summary");
  const auto seen = visits();
  CHECK(seen.size() == profile.size());
  CHECK((seen == profile) == (std::string(limit) == "0"));
}

}  // namespace refrain::test::cube_test
