// Root causes that `refrain analyze` finds in programs with one planted cause, which know what it costs them
// (test/programs/waits/planted.c), in default archives.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::causes_test {
namespace {

using Json = nlohmann::json;

constexpr int kIterations = 100;
// A busy machine adds causes of its own; the program knows how much.
constexpr int kAttempts = 24;

struct Run {
  Json said;  // by the program
  std::vector<Json> causes;
};

// ranks: 0: without MPI.
Run run_planted(const std::string& cause, int ranks, int threads, const std::string& limit,
                const std::string& microseconds = "1000") {
  for (int attempt = 1;; ++attempt) {
    const TemporaryFolder folder;
    const std::vector<std::string> arguments = {cause, std::to_string(kIterations),
                                                microseconds};
    const std::map<std::string, std::string> settings = {{"LIMIT", limit}};
    const std::map<std::string, std::string> environment = {{"OMP_WAIT_POLICY", "passive"}};
    const Result result = ranks > 0
                              ? run_mpi({.program = "test/programs/waits/planted_mpi_clang",
                                         .arguments = arguments,
                                         .ranks = ranks,
                                         .threads = threads,
                                         .settings = settings,
                                         .environment = environment},
                                        MpiWay::kInside, folder / "archive")
                              : run_job({.program = "test/programs/waits/planted_omp_clang",
                                         .arguments = arguments,
                                         .threads = threads,
                                         .settings = settings,
                                         .environment = environment},
                                        Way::kRun, folder / "archive");
    INFO("stderr: " << result.errors);
    REQUIRE(result.exit_status == 0);
    Run run;
    run.said = Json::parse(result.output.substr(0, result.output.find('\n')));
    if (run.said["disturbed"].get<bool>() && attempt < kAttempts) continue;
    const Result analysed =
        run_refrain({"analyze", folder / "archive", "--json", "--no-cube"});
    REQUIRE(analysed.exit_status == 0);
    const Json conclusions = Json::parse(analysed.output)["conclusions"];
    run.causes = conclusions["causes"].get<std::vector<Json>>();
    return run;
  }
}

// The first cause, which no other one repeats.
Json first_of(const Run& run, const std::string& account) {
  INFO(Json(run.causes).dump(1));
  INFO(run.said.dump());
  REQUIRE(!run.causes.empty());
  const Json& first = run.causes[0];
  CHECK(first["account"] == account);
  for (std::size_t i = 1; i < run.causes.size(); ++i)
    CHECK((run.causes[i]["account"] != account || run.causes[i]["loop"] != first["loop"]));
  return first;
}

void check_costs(const Run& run, const Json& cause) {
  if (run.said["disturbed"].get<bool>()) return;  // each time: others cost something, too
  INFO(cause.dump(1));
  const double lost = run.said["lost"], gain = run.said["gain"];
  CHECK(cause["seconds"].get<double>() == Approx(lost).epsilon(0.1).margin(0.005));
  CHECK(cause["gain_seconds"].get<double>() == Approx(gain).epsilon(0.15).margin(0.005));
}

Json check_rank(const std::string& name, int ranks, std::uint32_t causer,
                const std::string& limit = "10") {
  INFO(name << ", " << ranks << " ranks, limit " << limit);
  const Run run = run_planted(name, ranks, 1, limit);
  const Json cause = first_of(run, "uneven_ranks");
  check_costs(run, cause);
  CHECK(cause["ranks"] == Json({causer}));
  CHECK(cause["loop"].get<std::string>().find("planted.c") != std::string::npos);
  CHECK(cause["where"].get<std::string>().starts_with("between"));
  return cause;
}

}  // namespace

TEST_CASE(
    "Causes: a rank with more work, in all iterations; in the whole archive and a reduced one") {
  for (const std::string limit : {"10", "0"}) {
    const Json cause = check_rank("rank", 2, 1, limit);
    CHECK(cause["when"]["shape"] == "all");
    CHECK(cause["when"]["after_seconds"].get<double>() == Approx(1.5e-3).epsilon(0.2));
  }
}

TEST_CASE("Causes: a rank with more work, from an iteration on") {
  const Json cause = check_rank("since", 2, 1);
  CHECK(cause["when"]["shape"] == "since");
  CHECK(cause["when"]["from"].get<double>() == Approx(kIterations / 2).margin(3));
}

TEST_CASE("Causes: a rank with more work, every tenth iteration") {
  const Json cause = check_rank("every", 2, 1);
  CHECK(cause["when"]["shape"] == "every");
  CHECK(cause["when"]["period"] == 10);
}

TEST_CASE("Causes: a rank with more and more work") {
  CHECK(check_rank("growing", 2, 1)["when"]["shape"] == "growing");
}

TEST_CASE(
    "Causes: a chain of late senders - its first rank, not those that wait themselves") {
  CHECK(check_rank("chain", 3, 0)["when"]["shape"] == "all");
}

TEST_CASE("Causes: a rank that writes a file") {
  CHECK(check_rank("io", 2, 1)["when"]["shape"] == "all");
}

TEST_CASE("Causes: many small calls of MPI") {
  const Run run = run_planted("small", 2, 1, "10");
  REQUIRE(!run.causes.empty());
  CHECK(run.causes[0]["what"] == "Many small MPI calls");
  CHECK(run.causes[0]["where"].get<std::string>().starts_with("MPI_Allreduce"));
}

TEST_CASE("Causes: a thread with more work") {
  const Run run = run_planted("thread", 0, 2, "10");
  const Json threads = [&] {
    for (const Json& cause : run.causes)
      if (cause["account"] == "uneven_threads") return cause;
    return Json();
  }();
  INFO(Json(run.causes).dump(1));
  REQUIRE(!threads.is_null());
  check_costs(run, threads);
  CHECK(threads["thread"] == 1);
  CHECK(threads["where"].get<std::string>().find("planted.c") != std::string::npos);
  CHECK(threads["when"]["shape"] == "all");
}

TEST_CASE("Causes: a serial part") {
  const Run run = run_planted("serial", 0, 2, "10");
  check_costs(run, first_of(run, "serial"));
}

TEST_CASE("Causes: none - nothing of more than a fiftieth") {
  const Run run = run_planted("none", 2, 1, "10", "5000");
  INFO(Json(run.causes).dump(1));
  if (run.said["disturbed"].get<bool>()) return;  // twelve times
  for (const Json& cause : run.causes) CHECK(cause["share"].get<double>() < 0.02);
}

}  // namespace refrain::test::causes_test
