// What a report takes from sampled loops.
#include <catch2/catch.hpp>
#include <fstream>

#include "code_profile/samples/sample_file.h"
#include "test/support/files.h"
#include "tools/report/report_run.h"

namespace refrain::tools::report_loops_test {
namespace {

using code_profile::LoopProfile;
using code_profile::Node;

Node function(const char* name, std::uint64_t self, std::uint64_t total) {
  Node node;
  node.function = name;
  node.file = "/src/app.c";
  node.module = "/app";
  node.self = {self};
  node.total = {total};
  return node;
}

Node loop(std::uint32_t line, std::uint64_t self, std::uint64_t total) {
  Node node = function("main", self, total);
  node.is_loop = true;
  node.line = line;
  node.depth = 1;
  node.threads = {{.process = 0, .thread = 0, .samples = total}};
  return node;
}

// main with a loop of `share` percent, and below it one with a tenth of that.
LoopProfile profile(std::uint64_t samples, std::uint64_t share) {
  LoopProfile out;
  out.unit = code_profile::Unit::kSamples;
  out.sampling.period_ns = 10'000'000;
  out.sampling.taken = samples;
  const std::uint64_t in = samples * share / 100;
  out.nodes = {function("main", samples - in, samples), loop(7, in - in / 10, in),
               loop(9, in / 10, in / 10)};
  out.nodes[2].parent = 1;
  out.edges = {{.from = 0, .to = 1, .total = {in}},
               {.from = 1, .to = 2, .total = {in / 10}}};
  out.total = {samples};
  out.detected = {{.number = 4,
                   .name = "loop 4 @ main app.c:7-9",
                   .file = "/src/app.c",
                   .line = 7,
                   .iterations = 20,
                   .elapsed_ns = 1e9,
                   .samples = in,
                   .parts = {{.node = 1, .samples = in}, {.node = 2, .samples = in / 10}}}};
  return out;
}

TEST_CASE("a report's loops: the profile as refrain loops --json has it") {
  const ReportedLoops out = reported_loops(profile(1000, 60));
  CHECK(out.value.at("format") == "refrain loops");
  CHECK(out.value.at("loops").size() == 2);
  CHECK(out.value.at("loops")[0].at("total").at("samples") == 600);
  CHECK(out.value.at("candidates").size() == 2);
  CHECK(out.value.at("detected")[0].at("parts").size() == 2);
  CHECK(out.limits.empty());
}

TEST_CASE("a report's loops: a finding names large loops, and leads to the largest") {
  const ReportedLoops out = reported_loops(profile(1000, 60));
  REQUIRE(out.findings.size() == 1);
  const report::Finding& finding = out.findings[0];
  CHECK(finding.text ==
        "1 loop of the code takes a tenth of the CPU time or more and runs without OpenMP: "
        "app.c:7 in main (60 %).");
  CHECK_FALSE(finding.seconds);
  CHECK(finding.evidence.at("view") == "loops");
  CHECK(finding.evidence.at("node") == 1);
}

TEST_CASE("a report's loops: no finding of what chance may have made, or of MPI's time") {
  CHECK(reported_loops(profile(90, 60)).findings.empty());
  CHECK(reported_loops(profile(1000, 11)).findings.empty());  // 0.11 - 2 * 0.0099
  CHECK(reported_loops(profile(1000, 13)).findings.size() == 1);
  LoopProfile parallel = profile(1000, 60);
  parallel.nodes[1].parallel_inside = 300;
  CHECK(reported_loops(parallel).findings.empty());
  LoopProfile waits = profile(1000, 60);
  waits.nodes.push_back(function("MPI_Waitall", 50, 50));
  waits.edges.push_back({.from = 1, .to = 3, .total = {50}});
  CHECK(reported_loops(waits).findings.empty());
}

TEST_CASE(
    "a report's loops: of many, those with most samples, and only edges between them") {
  LoopProfile many = profile(1000, 60);
  const ReportedLoops out = reported_loops(many, 2);
  CHECK(out.value.at("loops").size() == 1);
  CHECK(out.value.at("functions").size() == 1);
  CHECK(out.value.at("edges").size() == 1);
  CHECK(out.value.at("candidates").size() == 1);
  CHECK(out.value.at("detected")[0].at("parts").size() == 1);
  REQUIRE(out.limits.size() == 1);
  CHECK_THAT(out.limits[0], Catch::Contains("Of 3 loops and functions of the code the 2"));
}

TEST_CASE("a report's loops: no samples, none; damaged ones, a line that says so") {
  const test::TemporaryFolder folder;
  const std::string archive = folder.path().string();
  CHECK(report_loops(archive, {}).ok());
  CHECK(report_loops(archive, {})->value.is_null());
  code_profile::PlacedSamples samples;
  samples.period_ns = 10'000'000;
  REQUIRE(code_profile::write_sample_file(archive, samples).ok());
  CHECK(report_loops(archive, {})->value.at("format") == "refrain loops");
  std::ofstream(code_profile::sample_file_path(archive, 0)) << "{\"format\":";
  const auto damaged = report_loops(archive, {});
  CHECK_THAT(damaged.error(), Catch::Contains("process-0.json"));
  CHECK(damaged.error().find('\n') == std::string::npos);
}

}  // namespace
}  // namespace refrain::tools::report_loops_test
