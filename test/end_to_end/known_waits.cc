#include "test/end_to_end/known_waits.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kRelative = 0.02;
// A core that is taken away between a reading and its call makes one run wrong, a wrong analysis all of them. On
// two busy cores 4 % of the runs were wrong, of the worst case 30 %.
constexpr int kAttempts = 12;

// What an analyser may find where there is nothing: Scalasca's names.
constexpr std::array kWaits = std::to_array<std::string_view>({
    "mpi_barrier_completion",
    "mpi_barrier_wait",
    "mpi_earlyreduce",
    "mpi_earlyscan",
    "mpi_latebroadcast",
    "mpi_latereceiver",
    "mpi_latesender",
    "mpi_latesender_wo",
    "mpi_lswo_different",
    "mpi_lswo_same",
    "mpi_neighbor_wait",
    "mpi_nonblocking_collective_wait",
    "mpi_nxn_completion",
    "mpi_rma_comm_late_post",
    "mpi_rma_comm_lock_competition",
    "mpi_rma_comm_wait_for_progress",
    "mpi_rma_early_fence",
    "mpi_rma_early_wait",
    "mpi_rma_late_complete",
    "mpi_rma_sync_late_post",
    "mpi_rma_sync_lock_competition",
    "mpi_rma_sync_wait_for_progress",
    "mpi_rma_wait_at_create",
    "mpi_rma_wait_at_fence",
    "mpi_rma_wait_at_free",
    "mpi_wait_nxn",
    "omp_ebarrier_wait",
    "omp_ibarrier_wait",
    "omp_lock_contention_api",
    "omp_lock_contention_critical",
    "omp_taskwait_wait",
    "wavefront_refill",
});

Result run_traced(const KnownWaits& known, const fs::path& archive) {
  const std::string program = "test/programs/waits/" + known.program;
  const std::map<std::string, std::string> settings = {{"LIMIT", "0"}};
  // Threads outnumber the cores: they are to sleep while they wait.
  const std::map<std::string, std::string> environment = {{"OMP_WAIT_POLICY", "passive"}};
  if (known.ranks > 0)
    return run_mpi({.program = program,
                    .arguments = known.arguments,
                    .ranks = known.ranks,
                    .threads = known.threads,
                    .settings = settings,
                    .environment = environment},
                   MpiWay::kInside, archive);
  return run_job({.program = program,
                  .arguments = known.arguments,
                  .threads = known.threads,
                  .settings = settings,
                  .environment = environment},
                 Way::kRun, archive);
}

std::map<std::string, double> analyse(const fs::path& archive) {
  Result result;
  if (const char* other = std::getenv("REFRAIN_TEST_ANALYSER"))
    result = run({.arguments = {"bash", "-c", other + std::string(" \"$0\""), archive}});
  else
    result = run_refrain({"analyze", archive, "--json"});
  INFO("the analyser: " << result.errors);
  REQUIRE(result.exit_status == 0);
  return Json::parse(result.output).at("metrics").get<std::map<std::string, double>>();
}

double value_of(const std::map<std::string, double>& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? 0 : found->second;
}

struct Difference {
  std::string metric;
  double expected = 0, found = 0;
};

std::vector<Difference> differences(const Json& known,
                                    const std::map<std::string, double>& metrics) {
  const auto expected = known.at("expected").get<std::map<std::string, double>>();
  const auto open = known.at("unchecked").get<std::vector<std::string>>();
  const double small = known.at("small").get<double>();
  std::vector<Difference> out;
  const auto check = [&](const std::string& name) {
    if (std::find(open.begin(), open.end(), name) != open.end()) return;
    const double wanted = value_of(expected, name), found = value_of(metrics, name);
    if (std::abs(found - wanted) > kRelative * wanted + small)
      out.push_back({name, wanted, found});
  };
  for (const auto& [name, seconds] : expected) check(name);
  for (const std::string_view name : kWaits)
    if (!expected.contains(std::string(name))) check(std::string(name));
  return out;
}

}  // namespace

std::string check_known_waits(const KnownWaits& known) {
  std::ostringstream text;
  text << known.program;
  for (const std::string& argument : known.arguments) text << ' ' << argument;
  text << ", " << known.ranks << " ranks, " << known.threads << " threads";
  INFO(text.str());
  for (int attempt = 1;; ++attempt) {
    const TemporaryFolder folder;
    const Result result = run_traced(known, folder / "archive");
    INFO("stderr: " << result.errors);
    REQUIRE(result.exit_status == 0);
    const std::size_t line = result.output.find('\n');
    REQUIRE(line != std::string::npos);
    const Json said = Json::parse(result.output.substr(0, line));
    const bool last = attempt == kAttempts;
    if (said.at("disturbed").get<bool>() && !last) continue;
    const std::vector<Difference> wrong = differences(said, analyse(folder / "archive"));
    if (!wrong.empty() && !last) continue;
    for (const Difference& each : wrong) {
      INFO(each.metric << ": expected " << each.expected << " s, found " << each.found
                       << " s");
      CHECK(wrong.empty());
    }
    return result.output.substr(line + 1);
  }
}

}  // namespace refrain::test
