#include "cube/cubex_file.h"

#include <bit>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "cube/cubex_checks.h"
#include "test/support/files.h"

namespace refrain::cube::cubex_file_test {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

Region region(const std::string& name) {
  return {.name = name,
          .canonical = name + "()",
          .file = "file.c",
          .line = 7,
          .paradigm = "user",
          .role = "function"};
}

// Two trees: 0 (1 (3 (5) 4) 2 (6)) and 7 (8); locations of two processes on two nodes.
Experiment two_trees() {
  Experiment experiment;
  experiment.creator = "a test";
  experiment.machine = "machine M";
  experiment.metrics = {
      {"visits", "Visits", "occ", "", Metric::Type::kCount, false},
      {"time", "Time", "sec", "", Metric::Type::kSeconds, true},
      {"least", "Least", "sec", "", Metric::Type::kMinimum, false},
      {"greatest", "Greatest", "sec", "", Metric::Type::kMaximum, false},
      {"part", "Part", "sec", "", Metric::Type::kSeconds, true, 1},
  };
  experiment.regions = {region("a"), region("b")};
  experiment.paths = {{kNone, 0}, {0, 1}, {0, 0},     {1, 1}, {1, 0},
                      {3, 0},     {2, 0}, {kNone, 1}, {7, 0}};
  experiment.nodes = {"node A", "node B"};
  experiment.processes = {{"P 0", 0, 0}, {"P 1", 1, 1}, {"P 2", 2, 0}};
  experiment.locations = {{"main", 0, 0}, {"worker", 1, 0}, {"main", 0, 1}, {"main", 0, 2}};
  return experiment;
}

}  // namespace

TEST_CASE("Cubex file: values - each comes back at its metric, call path and location") {
  TemporaryFolder folder;
  Experiment experiment = two_trees();
  std::filesystem::create_directories(folder.path());
  for (PathId path; path < experiment.paths.size(); ++path)
    for (LocationId location; location < experiment.locations.size(); ++location) {
      experiment.add(0, path, location, std::uint64_t{100 * path + location + 1});
      if (path != 4) experiment.add(1, path, location, 0.5 + 100.0 * path + location);
    }
  const std::string file = folder / "profile.cubex";
  REQUIRE(write_cubex(experiment, file).ok());
  const json read = test::cubex_json(file);
  for (std::uint32_t path = 0; path < experiment.paths.size(); ++path) {
    CAPTURE(path);
    const std::string name = std::to_string(path);
    const std::uint64_t n = 100 * path;
    CHECK(read["values"]["visits"][name] == json({n + 1, n + 2, n + 3, n + 4}));
    if (path == 4) {
      CHECK(!read["values"]["time"].contains(name));
      continue;
    }
    const double t = 0.5 + 100.0 * path;
    CHECK(read["values"]["time"][name] == json({t, t + 1, t + 2, t + 3}));
  }
  CHECK(read["values"]["least"].empty());
  CHECK(!read["members"].contains("2.data"));
}

TEST_CASE("Cubex file: definitions - trees, regions and the system come back") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  const std::string file = folder / "profile.cubex";
  REQUIRE(write_cubex(two_trees(), file).ok());
  const json read = test::cubex_json(file);
  std::vector<json> parents;
  for (const json& path : read["paths"]) parents.push_back(path["parent"]);
  const json none = nullptr;
  CHECK(parents == std::vector<json>{none, 0, 0, 1, 1, 3, 2, none, 7});
  CHECK(read["paths"][3]["region"] == "b");
  CHECK(read["regions"][1] == json({{"name", "b"},
                                    {"mangled_name", "b()"},
                                    {"paradigm", "user"},
                                    {"role", "function"},
                                    {"file", "file.c"},
                                    {"line", 7}}));
  CHECK(read["metrics"]["part"]["parent"] == "time");
  CHECK(read["metrics"]["least"]["type"] == "MINDOUBLE");
  CHECK(read["metrics"]["greatest"]["type"] == "MAXDOUBLE");
  CHECK(read["metrics"]["visits"]["unit"] == "occ");
  CHECK(read["metrics"]["visits"]["inclusive"] == false);
  REQUIRE(read["locations"].size() == 4);
  CHECK(read["locations"][2] == json({{"id", 2},
                                      {"name", "main"},
                                      {"number", 0},
                                      {"process", "P 1"},
                                      {"rank", 1},
                                      {"node", "node B"},
                                      {"machine", "machine M"}}));
  CHECK(read["locations"][3]["node"] == "node A");
}

TEST_CASE("Cubex file: minimum and maximum - no value is neutral, of two the right one") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  Experiment experiment = two_trees();
  for (const double value : {3.0, 2.0, 4.0}) {
    experiment.add(2, PathId(1), LocationId(1), value);
    experiment.add(3, PathId(1), LocationId(1), value);
  }
  const std::string file = folder / "profile.cubex";
  REQUIRE(write_cubex(experiment, file).ok());
  const json read = test::cubex_json(file);
  constexpr double kMax = std::numeric_limits<double>::max();
  CHECK(read["values"]["least"]["1"] == json({kMax, 2.0, kMax, kMax}));
  CHECK(read["values"]["greatest"]["1"] == json({0.0, 4.0, 0.0, 0.0}));
}

TEST_CASE("Cubex file: names - what XML needs escaped comes back") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  Experiment experiment = two_trees();
  const std::string name = "std::vector<int>&& \"a\" 'b' ü%s";
  experiment.regions[0].name = name;
  experiment.regions[0].file = name;
  experiment.regions[1].name = "two\nlines\x01";
  const std::string file = folder / "profile.cubex";
  REQUIRE(write_cubex(experiment, file).ok());
  const json read = test::cubex_json(file);
  CHECK(read["regions"][0]["name"] == name);
  CHECK(read["regions"][0]["file"] == name);
  CHECK(read["regions"][1]["name"] == "two?lines?");
}

// See cubex_file.h: readers differ about such files.
TEST_CASE("Cubex file: sizes - no member is a multiple of 512 bytes") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  Experiment experiment = two_trees();
  experiment.add(0, PathId(0), LocationId(0), std::uint64_t{1});
  while (anchor_text(experiment).size() % 512 != 0) experiment.machine += 'm';
  const std::string file = folder / "profile.cubex";
  REQUIRE(write_cubex(experiment, file).ok());
  const json read = test::cubex_json(file);
  REQUIRE(read["members"].size() == 3);
  for (const json& bytes : read["members"]) CHECK(bytes.get<int>() % 512 != 0);
  CHECK(read["members"]["anchor.xml"] == anchor_text(experiment).size() + 1);
  CHECK(read["values"]["visits"]["0"] == json({1, 0, 0, 0}));
}

TEST_CASE("Cubex file: deep call tree - written and read") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  Experiment experiment = two_trees();
  for (std::uint32_t i = 0; i < 400; ++i)
    experiment.paths.push_back(
        {static_cast<std::uint32_t>(experiment.paths.size() - 1), 0});
  const PathId deepest(experiment.paths.size() - 1);
  experiment.add(1, deepest, LocationId(3), 1.25);
  const std::string file = folder / "profile.cubex";
  REQUIRE(write_cubex(experiment, file).ok());
  const json read = test::cubex_json(file);
  CHECK(read["values"]["time"][std::to_string(deepest)] == json({0.0, 0.0, 0.0, 1.25}));
  // A million deep, without recursion.
  experiment.values.clear();
  for (std::uint32_t i = 0; i < 1'000'000; ++i)
    experiment.paths.push_back(
        {static_cast<std::uint32_t>(experiment.paths.size() - 1), 0});
  CHECK(rows_of(experiment, true).size() == experiment.paths.size());
  CHECK(write_cubex(experiment, file).ok());
}

TEST_CASE("Cubex file: cannot be written - an error with its name") {
  TemporaryFolder folder;
  const std::string file = folder / "no/such/folder/profile.cubex";
  CHECK(write_cubex(two_trees(), file).error() ==
        "cannot write '" + file + "': No such file or directory");
  CHECK(write_cubex(two_trees(), "/dev/full").error() ==
        "'/dev/full' is not a regular file; it is not replaced");
  CHECK(std::filesystem::exists("/dev/full"));
}

}  // namespace refrain::cube::cubex_file_test
