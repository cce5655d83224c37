// Target constructs: against a program that counts what it asks devices for. Devices are the host's.
#include <otf2/otf2.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "summary/run_summary.h"
#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::offload_test {
namespace {

using nlohmann::json;

const std::string kConstructs[] = {"!$omp target", "!$omp target enter data",
                                   "!$omp target exit data", "!$omp target update"};

Job job_of(int rounds, const char* limit) {
  Job job{.program = "offload_clang", .arguments = {std::to_string(rounds)}};
  job.settings = {{"LIMIT", limit}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}};
  // libomptarget looks for libomp.so there to find the tool.
  job.environment = {{"LD_LIBRARY_PATH", std::filesystem::path(libomp()).parent_path()}};
  return job;
}

// What the program says that it asked for: "constructs", "kernels", "to", "from".
std::map<std::string, std::uint64_t> asked(const Result& result) {
  std::map<std::string, std::uint64_t> out;
  for (const char* name : {"constructs", "kernels", "to", "from", "devices"}) {
    const std::string key = std::string(" ") + name + "=";
    const std::size_t at = result.output.find(key);
    REQUIRE(at != std::string::npos);
    out[name] = std::stoull(result.output.substr(at + key.size()));
  }
  return out;
}

std::string construct_of(const std::string& region) {
  return region.substr(0, region.find(" @"));
}

bool is_construct(const std::string& name) {
  return std::find(std::begin(kConstructs), std::end(kConstructs), name) !=
         std::end(kConstructs);
}

// By name without the place: visits, and bytes that the regions say that they moved.
struct Regions {
  std::map<std::string, std::uint64_t> visits;
  std::map<std::string, std::uint64_t> bytes;
  std::uint64_t constructs() const {
    std::uint64_t count = 0;
    for (const auto& [name, number] : visits) count += is_construct(name) ? number : 0;
    return count;
  }
};

Regions regions_of(const Trace& trace, OTF2_LocationType type) {
  Regions out;
  for (const Location& location : trace.locations) {
    if (location.type != type) continue;
    std::vector<std::string> open;
    for (const Event& event : location.events) {
      if (event.type == EventType::kEnter) {
        open.push_back(construct_of(trace.regions.at(event.reference).name));
        ++out.visits[open.back()];
      } else if (event.type == EventType::kLeave) {
        open.pop_back();
      } else if (event.type == EventType::kParameterUnsigned) {
        REQUIRE(trace.parameters.at(event.reference).name == "bytes moved");
        REQUIRE_FALSE(open.empty());
        out.bytes[open.back()] += static_cast<std::uint64_t>(event.value);
      }
    }
  }
  return out;
}

Regions regions_of(const std::vector<summary::RunSummary>& summaries) {
  Regions out;
  for (const summary::RunSummary& summary : summaries)
    for (const summary::RunSummary::Location& location : summary.locations)
      for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
        const summary::RunSummary::Node& node = summary.nodes[i];
        if (node.kind != summary::RunSummary::Kind::kRegion) continue;
        const std::string name = construct_of(summary.regions[node.region].name);
        out.visits[name] += location.sums[i].visits;
        out.bytes[name] += location.sums[i].bytes_sent + location.sums[i].bytes_received;
      }
  return out;
}

void check_counts(Regions& regions, std::map<std::string, std::uint64_t>& wanted) {
  CHECK(regions.constructs() == wanted["constructs"]);
  CHECK(regions.visits["!$omp target submit"] == wanted["kernels"]);
  CHECK(regions.bytes["!$omp target data to device"] == wanted["to"]);
  CHECK(regions.bytes["!$omp target data from device"] == wanted["from"]);
  CHECK(regions.visits["!$omp target alloc"] == regions.visits["!$omp target free"]);
}

}  // namespace

TEST_CASE("Offload: a full trace - regions, operations, bytes and streams of devices") {
  TemporaryFolder folder;
  const Traced traced = recorded(job_of(4, "0"), folder / "archive");
  auto wanted = asked(traced.result);
  Regions host = regions_of(traced.trace, OTF2_LOCATION_TYPE_CPU_THREAD);
  check_counts(host, wanted);
  Regions devices = regions_of(traced.trace, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM);
  CHECK(devices.visits["!$omp target kernel"] == wanted["kernels"]);
  CHECK(host.visits["!$omp target kernel"] == 0);
  CHECK(devices.bytes == host.bytes);
  CHECK(devices.constructs() == 0);
  for (const char* operation :
       {"!$omp target alloc", "!$omp target free", "!$omp target data to device",
        "!$omp target data from device"})
    CHECK(devices.visits[operation] == host.visits[operation]);
  // A group for each device that was used, of the program's process.
  std::set<std::uint32_t> groups;
  for (const Location& location : traced.trace.locations)
    if (location.type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM)
      groups.insert(location.group);
  CHECK(groups.size() == 2);
  for (const std::uint32_t group : groups) {
    const LocationGroup& device = traced.trace.location_groups.at(group);
    CHECK(device.type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR);
    CHECK(device.creator == 0);
    CHECK(device.name.starts_with("Device "));
  }
  // Where they are in the program.
  std::set<std::string> functions;
  for (const auto& [ref, region] : traced.trace.regions)
    if (is_construct(construct_of(region.name))) {
      CHECK(region.name.find(" @offload.c:") != std::string::npos);
      functions.insert(region.description);
    }
  CHECK(functions.contains("in enter"));
  CHECK(functions.contains("in update"));
}

// Places of the target constructs in the source, as regions say them.
std::set<std::string> constructs_in_source() {
  const std::string directive = "#pragma omp target";
  std::set<std::string> out;
  std::istringstream in(read_file(data_file("test/programs/offload.c")));
  int number = 1;
  for (std::string line; std::getline(in, line); ++number) {
    if (!line.starts_with(directive)) continue;
    std::string name = "!$omp target";
    for (const char* more : {" enter data", " exit data", " update"})
      if (line.find(more) == directive.size()) name += more;
    out.insert(name + " @offload.c:" + std::to_string(number));
  }
  return out;
}

TEST_CASE("Offload: places - the lines of the directives") {
  TemporaryFolder folder;
  const Traced traced = recorded(job_of(2, "0"), folder / "archive");
  std::set<std::string> found;
  for (const auto& [ref, region] : traced.trace.regions)
    if (is_construct(construct_of(region.name))) found.insert(region.name);
  CHECK(found == constructs_in_source());
}

// LLVM's runtime has eight of them by default, which wait as long as the program runs.
TEST_CASE("Offload: helper threads of the runtime - only what they execute counts") {
  TemporaryFolder folder;
  const std::string archive = folder / "archive";
  const Traced traced = recorded(job_of(4, "0"), archive);
  const json profile = json::parse(run_refrain({"profile", "--json", archive}).output);
  const auto run_ticks = profile.at("processes")[0].at("time_ticks").get<std::uint64_t>();
  int helpers = 0, threads = 0;
  for (const json& location : profile.at("locations")) {
    if (!location.at("helper").get<bool>()) {
      ++threads;
      CHECK(location.at("time_ticks") == run_ticks);
      continue;
    }
    ++helpers;
    CHECK(location.at("outside_ticks") == 0);
    CHECK(location.at("time_ticks").get<std::uint64_t>() < run_ticks);
  }
  CHECK(helpers > 0);
  CHECK(threads == 2);
  // Each construct with nowait ran on one of them.
  std::uint64_t constructs = 0;
  for (const Location& location : traced.trace.locations) {
    if (!location.name.starts_with("OpenMP helper thread")) continue;
    for (const Event& event : location.events) {
      if (event.type != EventType::kEnter) continue;
      const std::string name = construct_of(traced.trace.regions.at(event.reference).name);
      CHECK(name.find("parallel") == std::string::npos);
      CHECK(name.find("barrier") == std::string::npos);
      constructs += is_construct(name) ? 1 : 0;
    }
  }
  CHECK(constructs == 4);
  const json info = json::parse(run_refrain({"info", "--json", archive}).output);
  CHECK(info.at("threads") == 2);
  CHECK(info.at("helper_threads") == helpers);
}

TEST_CASE("Offload: a reduced trace - the summary has all, the loop is detected") {
  constexpr int kRounds = 40;
  TemporaryFolder folder;
  const Traced traced = recorded(job_of(kRounds, "3"), folder / "archive");
  auto wanted = asked(traced.result);
  Regions all = regions_of(*summary::read_summaries(folder / "archive"));
  check_counts(all, wanted);
  bool found = false;
  for (const std::uint32_t region : phase_regions(traced.trace))
    found |= iterations(traced.trace, region).size() >= kRounds - 1;
  CHECK(found);
  Regions written = regions_of(traced.trace, OTF2_LOCATION_TYPE_CPU_THREAD);
  CHECK(written.constructs() > 0);
  CHECK(written.constructs() < wanted["constructs"] / 2);
  Regions streams = regions_of(traced.trace, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM);
  CHECK(streams.visits["!$omp target kernel"] > 0);
  CHECK(streams.visits["!$omp target kernel"] < wanted["kernels"] / 2);
}

TEST_CASE("Offload: without target constructs - nothing of devices") {
  TemporaryFolder folder;
  const Traced traced = recorded({.program = "jacobi_clang", .settings = {{"LIMIT", "0"}}},
                                 folder / "archive");
  for (const Location& location : traced.trace.locations)
    CHECK(location.type == OTF2_LOCATION_TYPE_CPU_THREAD);
  CHECK(traced.trace.location_groups.size() == 1);
  for (const auto& [ref, region] : traced.trace.regions)
    CHECK(region.name.find("omp target") == std::string::npos);
}

TEST_CASE("Offload: the commands - profile, waits, Paraver") {
  TemporaryFolder folder;
  const std::string archive = folder / "archive";
  const Traced traced = recorded(job_of(4, "0"), archive);
  auto wanted = asked(traced.result);
  const std::string profile = run_refrain({"profile", archive}).output;
  CHECK(profile.find("devices, data") != std::string::npos);
  CHECK(profile.find("devices, submission of kernels") != std::string::npos);
  const Result waits = run_refrain({"analyze", "--json", archive});
  CHECK(waits.exit_status == 0);
  CHECK(waits.output.find("omp_target_submit") != std::string::npos);
  REQUIRE(run_refrain({"convert", "--to", "paraver", archive, "-o", folder / "trace.prv"})
              .exit_status == 0);
  CHECK(read_file(folder / "trace.pcf").find("OpenMP kernel of a device") !=
        std::string::npos);
}

TEST_CASE("Offload: a killed process - what there was becomes an archive", "[alone]") {
  const int after_ms = GENERATE(0, 100, 300);
  TemporaryFolder folder;
  Job job = job_of(1'000'000, "3");
  job.kill_signal = SIGKILL;
  job.kill_once = has_begun(folder / "archive");
  job.kill_after = std::chrono::milliseconds(after_ms);
  run_job(job, Way::kRun, folder / "archive");
  recover_and_check(folder / "archive", "3");
}

}  // namespace refrain::test::offload_test
