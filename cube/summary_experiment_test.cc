#include <otf2/otf2.h>

#include <bit>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/notes.h"
#include "cube/cubex_checks.h"
#include "cube/write_cube.h"
#include "test/support/files.h"

namespace refrain::cube::summary_experiment_test {
namespace {

using summary::RunSummary;
using test::TemporaryFolder;
using Kind = RunSummary::Kind;

constexpr std::uint32_t kTop = RunSummary::kNone;

RunSummary::Sums sums(std::uint64_t visits, std::uint64_t time, std::uint64_t least,
                      std::uint64_t greatest) {
  RunSummary::Sums sums;
  sums.visits = visits;
  sums.time = time;
  sums.least = least;
  sums.greatest = greatest;
  return sums;
}

// main thread: solve ( fork ( parallel ( barrier ) ), MPI_Send from two places, other )
// worker: parallel ( barrier )
RunSummary process(std::uint32_t rank) {
  RunSummary summary;
  summary.process = summary.rank = rank;
  summary.host = rank % 2 == 0 ? "even" : "odd";
  summary.program = "/bin/solver";
  summary.ticks_per_second = 1000;
  summary.begin = 100;
  summary.end = 1100 + rank;
  summary.regions = {
      {0, "solve", "s.c", 3, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER,
       "_Z5solvev"},
      {1, "parallel", "s.c", 5, OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP},
      {2, "barrier", "s.c", 9, OTF2_REGION_ROLE_IMPLICIT_BARRIER, OTF2_PARADIGM_OPENMP},
      {3, "MPI_Send", "MPI", 0, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI}};
  summary.sites = {"s.c:20", "s.c:30"};
  summary.nodes = {
      {kTop, 1, Kind::kRegion}, {0, 2, Kind::kRegion},    {kTop, 0, Kind::kRegion},
      {2, 1, Kind::kFork},      {3, 1, Kind::kRegion},    {4, 2, Kind::kRegion},
      {2, 3, Kind::kRegion, 0}, {2, 3, Kind::kRegion, 1}, {2, kTop, Kind::kOther}};
  RunSummary::Location main;
  main.primary = true;
  main.sums = {{},
               {},
               sums(1, 900, 900, 900),
               sums(2, 500, 200, 300),
               sums(2, 480, 190, 290),
               sums(2, 60, 20, 40),
               sums(4, 40, 5, 15),
               sums(1, 3, 3, 3),
               sums(7, 70, 10, 10)};
  main.sums[6].bytes_sent = 400;
  main.sums[7].bytes_sent = 100;
  main.sums[4].time_elsewhere = 30;  // under a region and under a fork
  main.sums[4].regions_elsewhere = 3;
  main.sums[3].time_elsewhere = 5;
  main.sums[3].regions_elsewhere = 1;
  RunSummary::Location worker;
  worker.reference = std::uint64_t{1} << 32;
  worker.number = 1;
  worker.sums.resize(summary.nodes.size());
  worker.sums[0] = sums(2, 470, 180, 290);
  worker.sums[1] = sums(2, 90, 30, 60);
  worker.outside.time_elsewhere = 8;
  worker.outside.regions_elsewhere = 2;
  summary.locations = {main, worker};
  return summary;
}

// Values of a metric by the names of the call path: "solver/solve".
std::map<std::string, std::vector<double>> values(const Experiment& experiment,
                                                  const std::string& metric) {
  std::map<std::string, std::vector<double>> result;
  for (std::size_t m = 0; m < experiment.metrics.size(); ++m) {
    if (experiment.metrics[m].name != metric || m >= experiment.values.size()) continue;
    for (std::size_t path = 0; path < experiment.values[m].size(); ++path) {
      std::string name;
      for (auto at = static_cast<std::uint32_t>(path); at != kNone;
           at = experiment.paths[at].parent)
        name = experiment.regions[experiment.paths[at].region].name +
               (name.empty() ? "" : "/" + name);
      for (const std::uint64_t bits : experiment.values[m][path])
        result[name].push_back(experiment.metrics[m].is_count()
                                   ? static_cast<double>(bits)
                                   : std::bit_cast<double>(bits));
    }
  }
  return result;
}

using Values = std::map<std::string, std::vector<double>>;

}  // namespace

TEST_CASE(
    "Summary to experiment: one process - forks lifted, workers where they were forked") {
  const std::vector<RunSummary> run = {process(0)};
  const Experiment experiment = experiment_of(run);
  CHECK(values(experiment, "visits") == Values{{"solver", {1, 0}},
                                               {"solver/solve", {1, 0}},
                                               {"solver/other", {0, 2}},
                                               {"solver/solve/parallel", {2, 2}},
                                               {"solver/solve/parallel/barrier", {2, 2}},
                                               {"solver/solve/parallel/other", {3, 0}},
                                               {"solver/solve/MPI_Send", {5, 0}},
                                               {"solver/solve/other", {8, 0}}});
  const Values time = values(experiment, "time");
  CHECK(time.at("solver") == std::vector<double>{1, 1});
  // The worker's region counts for the function that opened it.
  CHECK(time.at("solver/solve") == std::vector<double>{0.9, 0.47});
  CHECK(time.at("solver/solve/parallel") == std::vector<double>{0.48, 0.47});
  CHECK(time.at("solver/solve/other")[0] == Approx(0.075));
  CHECK(time.at("solver/other") == std::vector<double>{0, 0.008});
  const double least = values(experiment, "min_time").at("solver/solve/MPI_Send")[0];
  CHECK(least == Approx(0.003));
  CHECK(values(experiment, "max_time").at("solver/solve/MPI_Send")[0] == Approx(0.015));
  CHECK(values(experiment, "min_time").at("solver/solve/parallel") ==
        std::vector<double>{0.19, 0.18});
  CHECK(values(experiment, "bytes_sent").at("solver/solve/MPI_Send") ==
        std::vector<double>{500, 0});
}

TEST_CASE("Summary to experiment: names - as in Score-P's profiles") {
  const std::vector<RunSummary> run = {process(0), process(1)};
  const Experiment experiment = experiment_of(run);
  std::vector<std::string> names;
  for (const Metric& metric : experiment.metrics) names.push_back(metric.name);
  CHECK(names == std::vector<std::string>{"visits", "time", "min_time", "max_time",
                                          "bytes_sent", "bytes_received"});
  CHECK(experiment.nodes == std::vector<std::string>{"node even", "node odd"});
  REQUIRE(experiment.processes.size() == 2);
  CHECK(experiment.processes[1].name == "MPI Rank 1");
  REQUIRE(experiment.locations.size() == 4);
  CHECK(experiment.locations[2].name == "Master thread");
  CHECK(experiment.locations[3].name == "OMP thread 1");
  REQUIRE(experiment.regions.size() == 6);
  CHECK(experiment.regions[0].name == "solver");
  CHECK(experiment.regions[0].canonical == "/bin/solver");
  CHECK(experiment.regions[0].role == "artificial");
  for (const Region& region : experiment.regions) {
    if (region.name == "solve") CHECK(region.canonical == "_Z5solvev");
    if (region.name == "parallel") CHECK(region.paradigm == "openmp");
    if (region.name == "barrier") CHECK(region.role == "implicit barrier");
    if (region.name == "MPI_Send") CHECK(region.role == "point2point");
  }
}

TEST_CASE(
    "Summary to experiment: two places that open a region - workers stay at the top") {
  RunSummary summary = process(0);
  summary.nodes.push_back({kTop, 1, Kind::kFork});
  for (RunSummary::Location& location : summary.locations) location.sums.emplace_back();
  const std::vector<RunSummary> run = {summary};
  const Values visits = values(experiment_of(run), "visits");
  CHECK(visits.at("solver/solve/parallel") == std::vector<double>{2, 0});
  CHECK(visits.at("solver/parallel") == std::vector<double>{0, 2});
}

TEST_CASE("Summary to experiment: regions that open each other - an end is found") {
  RunSummary summary;
  summary.program = "p";
  summary.regions = {{0, "A", "", 1, 0, OTF2_PARADIGM_OPENMP},
                     {1, "B", "", 2, 0, OTF2_PARADIGM_OPENMP}};
  summary.nodes = {{kTop, 0, Kind::kRegion},
                   {0, 1, Kind::kFork},
                   {kTop, 1, Kind::kRegion},
                   {2, 0, Kind::kFork},
                   {0, 0, Kind::kFork}};
  RunSummary::Location location;
  for (std::uint64_t i = 0; i < 5; ++i) location.sums.push_back(sums(i + 1, 1, 1, 1));
  summary.locations = {location};
  const std::vector<RunSummary> run = {summary};
  double visits = 0;
  for (const auto& [name, row] : values(experiment_of(run), "visits"))
    for (const double value : row) visits += value;
  CHECK(visits == 1 + 3);
}

TEST_CASE("Summary to profile: several processes - the file agrees with the summary") {
  TemporaryFolder folder;
  const std::string archive = folder / "archive";
  for (std::uint32_t rank = 0; rank < 5; ++rank)
    REQUIRE(summary::write_summary(archive, process(rank)));
  REQUIRE(write_cube(archive, archive + "/" + kProfileName));
  CHECK(test::cubex_problems(archive) == "");
  // What the check is good for: one visit more, and one byte more.
  RunSummary changed = process(3);
  ++changed.locations[1].sums[1].visits;
  REQUIRE(summary::write_summary(archive, changed));
  CHECK(test::cubex_problems(archive).find(
            "location 7, visits of barrier: 2 instead of 3") != std::string::npos);
  changed = process(3);
  ++changed.locations[0].sums[6].bytes_sent;
  ++changed.end;
  REQUIRE(summary::write_summary(archive, changed));
  const std::string problems = test::cubex_problems(archive);
  CHECK(problems.find("bytes_sent of MPI_Send: 500 instead of 501") != std::string::npos);
  CHECK(problems.find("the program takes 1.003 instead of 1.004") != std::string::npos);
}

TEST_CASE("Summary to profile: nothing or damaged files - an error") {
  TemporaryFolder folder;
  const std::string archive = folder / "archive";
  CHECK(write_cube(archive, folder / "a.cubex").error() == archive + " has no summary");
  REQUIRE(summary::write_summary(archive, process(0)));
  std::ofstream(summary::summary_path(archive, 0)) << "{}";
  base::take_notes();
  CHECK(write_cube(archive, folder / "a.cubex").error() == archive + " has no summary");
  CHECK(base::take_notes().at(0).starts_with(summary::summary_path(archive, 0) +
                                             " is not a summary"));
  CHECK(!std::filesystem::exists(folder / "a.cubex"));
}

}  // namespace refrain::cube::summary_experiment_test
