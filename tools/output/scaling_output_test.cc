// What is printed of runs of which all is known.
#include "tools/output/scaling_output.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace refrain::tools::scaling_output_test {
namespace {

using analysis::Factors;
using analysis::PlaceLoss;
using analysis::PlaceTime;
using analysis::Scaling;

// Ranks 1, 2, 4, ..., each of two threads; they lose in one call.
Scaling scaling(std::size_t runs) {
  Scaling out;
  out.mpi = true;
  out.weak_why = "as given";
  out.part = "main p.c:7-12";
  PlaceLoss loss;
  loss.kind = PlaceTime::Kind::kCallPath;
  loss.text = "a function with a long name > another one > MPI_Allreduce @p.c:9";
  for (std::size_t i = 0; i < runs; ++i) {
    Factors& f = out.factors.emplace_back();
    f.processes = std::size_t{1} << i;
    f.threads = 2 * f.processes;
    f.time_ns = 1e9;
    f.iterations = 100;
    f.speedup = 1.25;
    f.global = 0.4;
    f.efficiencies.parallel = 0.5;
    f.efficiencies.has_mpi = true;
    f.efficiencies.mpi_communication = 0.7;
    f.transfer = i == 0 ? 0 : 0.8;
    f.computation = 0.8;
    out.names.push_back("run" + std::to_string(i));
    out.all_ns.push_back(2e9);
    loss.ns.push_back(1e8 * static_cast<double>(i + 1));
    loss.lost_ns.push_back(1e8 * static_cast<double>(i));
  }
  out.losses = {loss};
  loss.text = "little";
  std::ranges::fill(loss.lost_ns, 1e6);
  out.losses.push_back(loss);
  out.scales = runs;
  out.findings = {"From 1 rank to 2 ranks 10 points of parallel efficiency are lost."};
  out.notes = {"A note"};
  return out;
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("Scaling output: a screen - what there is, in the width that there is") {
  for (const std::size_t runs : {2, 5, 12})
    for (const std::size_t width : {80, 100, 120}) {
      const auto lines = scaling_screen(scaling(runs), width, false);
      for (const std::string& line : lines) {
        CAPTURE(line);
        CHECK(line.size() <= width);
      }
      CHECK(has(lines, "MPI_Allreduce"));
      CHECK(has(lines, "Global efficiency"));
      CHECK(has(lines, "OpenMP (parallel / MPI)"));
      CHECK(has(lines, "1. From 1 rank"));
      CHECK(has(lines, "A note."));
      CHECK(has(lines, "        serialization" + std::string(20, ' ') + "-    87.5 %"));
      CHECK(has(lines, "        transfer" + std::string(25, ' ') + "-    80.0 %"));
      CHECK_FALSE(has(lines, "little"));
      CHECK_FALSE(has(lines, "instructions"));
    }
  CHECK(has(scaling_screen(scaling(2), 80, true), "little"));
  CHECK(has(scaling_screen(scaling(2), 80, false), "80.0 %"));
}

TEST_CASE("Scaling output: models are printed where there are some") {
  Scaling five = scaling(5);
  five.at = 128;
  analysis::GrowthModel model;
  model.constant = model.factor = model.exponent = 1;
  five.losses[0].time = model;
  five.losses[0].share.value = 0.41;
  five.losses[0].share.low = 0.3;
  five.losses[0].share.high = 0.5;
  const auto lines = scaling_screen(five, 100, false);
  CHECK(has(lines, "grows with p; at 128 threads 41 % of the time (30 to 50 %)"));
  CHECK_FALSE(has(lines, "Models need"));
  CHECK(has(scaling_screen(scaling(2), 100, false), "Models need at least 5"));
  const auto json = nlohmann::json::parse(scaling_json(five));
  CHECK(json["losses"][0]["models"]["time"]["term"] == "p");
  CHECK(json["losses"][1]["models"]["time"].is_null());
}

TEST_CASE("Scaling output: JSON and CSV have everything") {
  const auto json = nlohmann::json::parse(scaling_json(scaling(3)));
  CHECK(json["format"] == "refrain scaling");
  CHECK(json["scaling"] == "strong");
  CHECK(json["loop"] == "main p.c:7-12");
  REQUIRE(json["runs"].size() == 3);
  CHECK(json["runs"][2]["processes"] == 4);
  CHECK(json["runs"][2]["factors"]["computation"] == 0.8);
  CHECK(json["runs"][2]["factors"]["ipc"].is_null());
  CHECK(json["runs"][0]["factors"]["transfer"].is_null());
  CHECK(json["runs"][2]["factors"]["transfer"] == 0.8);
  CHECK(json["runs"][2]["factors"]["mpi_serialization"].get<double>() == Approx(0.875));
  CHECK(json["losses"].size() == 2);
  CHECK(json["losses"][0]["lost_seconds"][2].get<double>() == Approx(0.2));
  CHECK(json["models_at_threads"].is_null());
  const std::string csv = scaling_csv(scaling(3));
  CHECK(csv.starts_with("kind,name,metric,archive,processes,threads,value\n"));
  CHECK(csv.find("run,\"main p.c:7-12\",computation,\"run2\",4,8,0.8\n") !=
        std::string::npos);
  CHECK(csv.find("call_path,\"little\",lost_seconds,\"run1\",2,4,0.001\n") !=
        std::string::npos);
}

}  // namespace refrain::tools::scaling_output_test
