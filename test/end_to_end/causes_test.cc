// Root causes that `refrain analyze` finds in programs with planted causes, which know what these cost them
// (test/programs/waits/planted.c), in default archives and whole ones; what fixing them gains, by the same programs without them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::causes_test {
namespace {

using Json = nlohmann::json;

constexpr int kIterations = 100;
// A busy machine adds causes of its own; the program knows how much.
constexpr int kAttempts = 12;
int attempts_left = 120;  // that are not the first of their kind

struct Case {
  std::string cause;
  int ranks = 0;  // 0: without MPI
  int threads = 1;
  std::string limit = "10";
  std::string microseconds = "1000";
  std::map<std::string, std::string> settings = {};  // more of them
  // What is planted is found and measured where others use cores, too, as long as these are not the first cause.
  bool by_clock = false;
};

struct Run {
  Json said;  // by the program
  std::vector<Json> causes;
};

// Without the archive's causes.
Json run_once(const Case& of, bool fixed, const std::filesystem::path& archive) {
  std::vector<std::string> arguments = {of.cause, std::to_string(kIterations),
                                        of.microseconds};
  if (fixed) arguments.emplace_back("fixed");
  std::map<std::string, std::string> settings = of.settings;
  settings["LIMIT"] = of.limit;
  const std::map<std::string, std::string> environment = {{"OMP_WAIT_POLICY", "passive"}};
  const Result result = of.ranks > 0
                            ? run_mpi({.program = "test/programs/waits/planted_mpi_clang",
                                       .arguments = arguments,
                                       .ranks = of.ranks,
                                       .threads = of.threads,
                                       .settings = settings,
                                       .environment = environment},
                                      MpiWay::kInside, archive)
                            : run_job({.program = "test/programs/waits/planted_omp_clang",
                                       .arguments = arguments,
                                       .threads = of.threads,
                                       .settings = settings,
                                       .environment = environment},
                                      Way::kRun, archive);
  INFO("stderr: " << result.errors);
  REQUIRE(result.exit_status == 0);
  return Json::parse(result.output.substr(0, result.output.find('\n')));
}

// All ranks and threads can run at once: otherwise most runs are disturbed, and what a run gains is not what its cause costs.
bool has_cores(const Case& of) {
  return std::max(of.ranks, 1) * of.threads <=
         static_cast<int>(std::thread::hardware_concurrency());
}

// Another attempt is worth it, after so many.
bool again(const Case& of, int attempt) {
  return attempt < (has_cores(of) ? kAttempts : kAttempts / 4) && attempts_left-- > 0;
}

// Of the time of all threads, as the kernel counts it. On a quiet machine up to a twentieth: threads wake up, processes start.
double share_without_core(const std::filesystem::path& archive) {
  const Result result = run_refrain({"info", archive, "--json"});
  REQUIRE(result.exit_status == 0);
  const Json info = Json::parse(result.output);
  double waited = 0;
  for (const Json& process : info["summary"]["processes"])
    waited += process["core_wait_ns"].get<double>();
  return waited / 1e9 / info["duration_s"].get<double>() / info["threads"].get<double>();
}

// Part of what is planted is said of the cores then.
bool much_for_cores(const std::vector<Json>& causes) {
  double cores = 0, others = 0;
  for (const Json& cause : causes)
    (cause["account"] == "cores" ? cores : others) += cause["seconds"].get<double>();
  return cores > 0.05 * others;
}

// Nothing if the machine was busy each time: then others cost more than what is planted.
std::optional<Run> run_planted(const Case& of) {
  for (int attempt = 1;; ++attempt) {
    const TemporaryFolder folder;
    Run run;
    run.said = run_once(of, false, folder / "archive");
    if (run.said["disturbed"].get<bool>()) {
      if (again(of, attempt)) continue;
      WARN("busy machine: not checked, " << of.cause);
      return std::nullopt;
    }
    const Result analysed =
        run_refrain({"analyze", folder / "archive", "--json", "--no-cube"});
    REQUIRE(analysed.exit_status == 0);
    const Json conclusions = Json::parse(analysed.output)["conclusions"];
    run.causes = conclusions["causes"].get<std::vector<Json>>();
    // What the program's own clocks did not notice. With more threads than cores it is true on a quiet machine, too.
    const auto is_cores = [](const Json& cause) { return cause["account"] == "cores"; };
    const bool quiet = has_cores(of) && !of.by_clock;
    const bool without_core =
        quiet ? std::ranges::any_of(run.causes, is_cores) : much_for_cores(run.causes);
    const bool disturbed =
        of.cause != "core" &&
        (without_core || share_without_core(folder / "archive") > (quiet ? 0.06 : 0.25));
    if (disturbed && again(of, attempt)) continue;
    if (disturbed) {
      WARN("busy machine: not checked, " << of.cause);
      return std::nullopt;
    }
    double sum = 0;
    for (const Json& cause : run.causes) sum += cause["share"].get<double>();
    CHECK(sum <= 1);
    return run;
  }
}

// Seconds that the program takes; nothing: the machine was busy each time.
std::optional<double> seconds_of(const Case& of, bool fixed) {
  for (int attempt = 1;; ++attempt) {
    const TemporaryFolder folder;
    const Json said = run_once(of, fixed, folder / "archive");
    if (!said["disturbed"].get<bool>()) return said["seconds"];
    if (!again(of, attempt)) return std::nullopt;
  }
}

// The first cause, which no other one repeats.
Json first_of(const Run& run, const std::string& account) {
  INFO(Json(run.causes).dump(1));
  INFO(run.said.dump());
  REQUIRE(!run.causes.empty());
  const Json& first = run.causes[0];
  CHECK(first["account"] == account);
  // What is left there of the same account is little.
  for (std::size_t i = 1; i < run.causes.size(); ++i)
    if (run.causes[i]["account"] == account && run.causes[i]["loop"] == first["loop"])
      CHECK(run.causes[i]["seconds"].get<double>() < 0.15 * first["seconds"].get<double>());
  return first;
}

// `number`: of the program's causes, where it has several.
void check_costs(const Run& run, const Json& cause, int number = -1) {
  INFO(cause.dump(1) << run.said.dump());
  const auto said = [&](const char* what) -> double {
    return number < 0 ? run.said[what] : run.said[what][static_cast<std::size_t>(number)];
  };
  CHECK(cause["seconds"].get<double>() == Approx(said("lost")).epsilon(0.1).margin(0.005));
  CHECK(cause["gain_seconds"].get<double>() ==
        Approx(said("gain")).epsilon(0.15).margin(0.005));
}

// All that MPI takes is said of, most of it by the first cause.
void check_communication(const Run& run, const Json& cause) {
  INFO(Json(run.causes).dump(1) << run.said.dump());
  double sum = 0;
  for (const Json& each : run.causes)
    if (each["account"] == "communication" || each["account"] == "cores")
      sum += each["seconds"].get<double>();
  CHECK(sum == Approx(run.said["lost"].get<double>()).epsilon(0.15).margin(0.01));
  CHECK(cause["seconds"].get<double>() > 0.75 * sum);
}

// What is said to be gained is what the program gains: by the fastest of some runs, with the cause and without.
void check_gain(const Case& of, const Run& run, const Json& cause) {
  if (!has_cores(of)) return;
  constexpr int kPairs = 5;
  const double said = cause["gain_seconds"];
  double with = run.said["seconds"], without = 0, gained = 0;
  for (int pair = 0; pair < kPairs; ++pair) {
    const std::optional<double> fixed = seconds_of(of, true);
    const std::optional<double> again = pair == 0 ? with : seconds_of(of, false);
    if (!fixed || !again) return;
    without = pair == 0 ? *fixed : std::min(without, *fixed);
    with = std::min(with, *again);
    gained = with - without;
    if (said == Approx(gained).epsilon(0.15).margin(0.005)) break;
  }
  // What it says is of the run that was analysed: other programs may have made that one slower than the fastest.
  if (said != Approx(gained).epsilon(0.15).margin(0.005) &&
      run.said["seconds"].get<double>() > 1.05 * with) {
    WARN("busy machine: gain not checked, " << of.cause);
    return;
  }
  INFO(cause.dump(1));
  CHECK(said == Approx(gained).epsilon(0.15).margin(0.005));
}

// Ranks without a core of their own do less at some times.
void check_shape(const Case& of, const Json& cause, const std::string& shape) {
  if (has_cores(of)) CHECK(cause["when"]["shape"] == shape);
}

std::optional<Json> check_rank(const Case& of, std::uint32_t causer) {
  INFO(of.cause << ", " << of.ranks << " ranks, limit " << of.limit);
  const std::optional<Run> run = run_planted(of);
  if (!run) return std::nullopt;
  const Json cause = first_of(*run, "uneven_ranks");
  check_costs(*run, cause);
  check_gain(of, *run, cause);
  CHECK(cause["ranks"] == Json({causer}));
  CHECK(cause["loop"].get<std::string>().find("planted.c") != std::string::npos);
  CHECK(cause["where"].get<std::string>().starts_with("between"));
  return cause;
}

bool starts(const Json& text, const std::string& with) {
  return text.get<std::string>().starts_with(with);
}

std::optional<Json> check_barriers(const Case& of) {
  const std::optional<Run> run = run_planted(of);
  if (!run) return std::nullopt;
  const Json cause = first_of(*run, "communication");
  INFO(cause.dump(1));
  CHECK(cause["what"] == "Barriers");
  CHECK(starts(cause["where"], "MPI_Barrier"));
  check_communication(*run, cause);
  check_gain(of, *run, cause);
  return cause;
}

}  // namespace

TEST_CASE(
    "Causes: a rank with more work, in all iterations; in the whole archive and a reduced one") {
  for (const int ranks : {2, 3, 4})
    for (const std::string limit : {"10", "0"}) {
      const auto cause = check_rank({.cause = "rank", .ranks = ranks, .limit = limit}, 1);
      if (!cause) continue;
      check_shape({.cause = "rank", .ranks = ranks}, *cause, "all");
      CHECK((*cause)["when"]["after_seconds"].get<double>() == Approx(1.5e-3).epsilon(0.2));
    }
}

TEST_CASE(
    "Causes: a rank with more work, whose half of the ranks has an operation of its own") {
  check_rank({.cause = "pairs", .ranks = 4}, 1);
}

TEST_CASE("Causes: a rank with more work, of ranks that read MPI_Wtime meanwhile") {
  for (const std::string limit : {"10", "0"})
    check_rank({.cause = "clock", .ranks = 2, .limit = limit}, 1);
}

TEST_CASE("Causes: a rank with more work, from an iteration on") {
  const auto cause = check_rank({.cause = "since", .ranks = 2}, 1);
  if (!cause) return;
  CHECK((*cause)["when"]["shape"] == "since");
  CHECK((*cause)["when"]["from"].get<double>() == Approx(kIterations / 2).margin(3));
}

TEST_CASE("Causes: a rank with more work, every tenth iteration") {
  const auto cause = check_rank({.cause = "every", .ranks = 2}, 1);
  if (!cause) return;
  CHECK((*cause)["when"]["shape"] == "every");
  CHECK((*cause)["when"]["period"] == 10);
}

TEST_CASE("Causes: a rank with more and more work") {
  if (const auto cause = check_rank({.cause = "growing", .ranks = 2}, 1))
    CHECK((*cause)["when"]["shape"] == "growing");
}

TEST_CASE(
    "Causes: a chain of late senders - its first rank, not those that wait themselves") {
  for (const int ranks : {3, 4})
    if (const auto cause = check_rank({.cause = "chain", .ranks = ranks}, 0))
      check_shape({.cause = "chain", .ranks = ranks}, *cause, "all");
}

TEST_CASE("Causes: a rank that writes a file, one that touches new memory") {
  for (const char* name : {"io", "faults"})
    if (const auto cause = check_rank({.cause = name, .ranks = 2}, 1))
      CHECK((*cause)["when"]["shape"] == "all");
}

TEST_CASE("Causes: a rank that writes a file, whose calls are recorded - one cause") {
  for (const std::string limit : {"10", "0"}) {
    const Case of = {.cause = "file",
                     .ranks = 2,
                     .limit = limit,
                     .microseconds = "2000",
                     .settings = {{"FILES", "100us"}},
                     .by_clock = true};
    const std::optional<Run> run = run_planted(of);
    if (!run) continue;
    const Json cause = first_of(*run, "uneven_ranks");
    check_costs(*run, cause);
    CHECK(cause["ranks"] == Json({1}));
    CHECK(cause["where"] == "in pwrite checkpoint.dat");
    for (const Json& each : run->causes) CHECK(each["account"] != "file_io");
  }
}

TEST_CASE("Causes: two ranks with more work, each in its own way - two causes") {
  const Case of = {.cause = "io+growing", .ranks = 4};
  const std::optional<Run> run = run_planted(of);
  if (!run) return;
  INFO(Json(run->causes).dump(1) << run->said.dump());
  REQUIRE(run->causes.size() >= 2);
  std::vector<std::uint32_t> ranks;
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(run->causes[i]["account"] == "uneven_ranks");
    REQUIRE(run->causes[i]["ranks"].size() == 1);
    const std::uint32_t rank = run->causes[i]["ranks"][0];
    ranks.push_back(rank);
    check_shape(of, run->causes[i], rank == 1 ? "all" : "growing");
    if (rank < 1 || rank > 2) continue;
    // Each alone gains what it has more than the other.
    CHECK(run->causes[i]["gain_seconds"].get<double>() ==
          Approx(run->said["gain"][rank - 1].get<double>()).epsilon(0.15).margin(0.005));
  }
  std::ranges::sort(ranks);
  CHECK(ranks == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("Causes: many small calls of MPI") {
  const std::optional<Run> run = run_planted({.cause = "small", .ranks = 2});
  if (!run) return;
  INFO(Json(run->causes).dump(1));
  REQUIRE(!run->causes.empty());
  CHECK(run->causes[0]["what"] == "Many small MPI calls");
  CHECK(starts(run->causes[0]["where"], "MPI_Allreduce"));
}

TEST_CASE(
    "Causes: barriers that nobody needs - not ranks with more work, nor small calls") {
  for (const int ranks : {2, 4})
    if (const auto cause = check_barriers({.cause = "barrier", .ranks = ranks}))
      CHECK((*cause)["text"].get<std::string>().find(" per iteration") !=
            std::string::npos);
}

TEST_CASE(
    "Causes: a barrier within an iteration, whose ranks take turns - with what they wait after it") {
  // With a core for each: of a few written iterations of others the replay says what these were like.
  for (const std::string limit : {"10", "0"}) {
    const auto cause = check_barriers({.cause = "turns", .ranks = 2, .limit = limit});
    if (!cause) continue;
    REQUIRE(!(*cause)["waits"].empty());
    CHECK(starts((*cause)["waits"][0]["where"], "MPI_Allreduce"));
  }
}

TEST_CASE(
    "Causes: messages received in the wrong order - one cause, with who waits for them") {
  for (const int ranks : {2, 4}) {
    const Case of = {.cause = "order", .ranks = ranks};
    const std::optional<Run> run = run_planted(of);
    if (!run) continue;
    const Json cause = first_of(*run, "communication");
    INFO(cause.dump(1));
    CHECK(cause["what"] == "Late messages");
    CHECK(starts(cause["where"], "MPI_Recv"));
    CHECK(cause["ranks"] == (ranks == 2 ? Json({1}) : Json({1, 3})));
    check_communication(*run, cause);
    check_gain(of, *run, cause);
    REQUIRE(!cause["waits"].empty());
    CHECK(starts(cause["waits"][0]["where"], "MPI_Allreduce"));
  }
}

TEST_CASE("Causes: a slow link - whose sends, not who receives from it") {
  for (const int ranks : {2, 3, 4})
    for (const std::string limit : {"10", "0"}) {
      const Case of = {.cause = "link", .ranks = ranks, .limit = limit};
      const std::optional<Run> run = run_planted(of);
      if (!run) continue;
      const Json cause = first_of(*run, "communication");
      INFO(cause.dump(1));
      CHECK(cause["what"] == "Slow sends");
      CHECK(starts(cause["where"], "MPI_Send"));
      CHECK(cause["ranks"] == Json({1}));
      check_communication(*run, cause);
      check_gain(of, *run, cause);
    }
}

TEST_CASE("Causes: ranks on one core - the machine, not the program") {
  const std::optional<Run> run =
      run_planted({.cause = "core", .ranks = 2, .microseconds = "5000"});
  if (!run) return;
  const Json cause = first_of(*run, "cores");
  CHECK(cause["what"] == "Too few cores");
}

TEST_CASE("Causes: a thread with more work") {
  const Case of = {.cause = "thread", .threads = 2};
  const std::optional<Run> run = run_planted(of);
  if (!run) return;
  const Json cause = first_of(*run, "uneven_threads");
  check_costs(*run, cause);
  check_gain(of, *run, cause);
  CHECK(cause["thread"] == 1);
  CHECK(cause["where"].get<std::string>().find("planted.c") != std::string::npos);
  CHECK(cause["when"]["shape"] == "all");
}

TEST_CASE(
    "Causes: a lock - with what is waited at the end of the region, how long it is held") {
  for (const std::string limit : {"10", "0"}) {
    const Case of = {.cause = "lock", .threads = 2, .limit = limit};
    const std::optional<Run> run = run_planted(of);
    if (!run) continue;
    const Json cause = first_of(*run, "synchronization");
    INFO(cause.dump(1));
    CHECK(cause["what"] == "Lock");
    CHECK(cause["where"].get<std::string>().find("critical @planted.c") !=
          std::string::npos);
    CHECK(cause["text"].get<std::string>().find("It is held 1") != std::string::npos);
    check_costs(*run, cause);
    check_gain(of, *run, cause);
    // The other half of it is no cause of its own.
    for (const Json& each : run->causes)
      if (each["account"] == "uneven_threads")
        CHECK(each["seconds"].get<double>() < 0.2 * cause["seconds"].get<double>());
  }
}

TEST_CASE(
    "Causes: a lock of POSIX threads - who has it; and none where it is held for a short time") {
  Case of = {.cause = "mutex",
             .threads = 2,
             .microseconds = "2000",
             .settings = {{"THREADS", "yes"}},
             .by_clock = true};
  for (const std::string limit : {"10", "0"}) {
    of.limit = limit;
    const std::optional<Run> run = run_planted(of);
    if (!run) continue;
    const Json cause = first_of(*run, "synchronization");
    INFO(cause.dump(1));
    CHECK(cause["what"] == "Lock");
    CHECK(cause["where"].get<std::string>().find("pthread_mutex_lock @planted.c") !=
          std::string::npos);
    CHECK(cause["text"].get<std::string>().find("when they begin to wait: renew_list.") !=
          std::string::npos);
    CHECK(cause["seconds"].get<double>() ==
          Approx(run->said["lost"].get<double>()).epsilon(0.1).margin(0.005));
  }
  for (int attempt = 1;; ++attempt) {
    const TemporaryFolder folder;
    const Json said = run_once(of, true, folder / "archive");
    if (said["disturbed"].get<bool>()) {
      if (again(of, attempt)) continue;
      WARN("busy machine: not checked, mutex fixed");
      return;
    }
    CHECK(said["lost"].get<double>() < 0.01);
    const Result analysed =
        run_refrain({"analyze", folder / "archive", "--json", "--no-cube"});
    REQUIRE(analysed.exit_status == 0);
    for (const Json& cause : Json::parse(analysed.output)["conclusions"]["causes"])
      CHECK(cause["what"] != "Lock");
    return;
  }
}

TEST_CASE("Causes: a serial part") {
  const Case of = {.cause = "serial", .threads = 2};
  const std::optional<Run> run = run_planted(of);
  if (!run) return;
  check_costs(*run, first_of(*run, "serial"));
}

TEST_CASE("Causes: a rank with more work, and serial parts on all - two causes") {
  const std::optional<Run> run =
      run_planted({.cause = "rank+serial", .ranks = 2, .threads = 2});
  if (!run) return;
  INFO(Json(run->causes).dump(1) << run->said.dump());
  REQUIRE(run->causes.size() >= 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const bool serial = run->causes[i]["account"] == "serial";
    if (!serial) CHECK(run->causes[i]["account"] == "uneven_ranks");
    if (!serial) CHECK(run->causes[i]["ranks"] == Json({1}));
    check_costs(*run, run->causes[i], serial ? 1 : 0);
  }
  CHECK(run->causes[0]["account"] != run->causes[1]["account"]);
}

TEST_CASE(
    "Causes: none - nothing of more than a fiftieth, but for what other programs cost") {
  const auto check = [](const Case& of) {
    const std::optional<Run> run = run_planted(of);
    if (!run) return;
    INFO(of.cause << ", " << of.ranks << " ranks, limit " << of.limit);
    INFO(Json(run->causes).dump(1));
    for (const Json& cause : run->causes)
      if (cause["account"] != "cores") CHECK(cause["share"].get<double>() < 0.02);
  };
  for (const char* cause : {"none", "ring", "bcast", "nonblocking", "varying"})
    check({.cause = cause, .ranks = 2, .microseconds = "10000"});
  check({.cause = "none", .ranks = 3, .limit = "0", .microseconds = "10000"});
  check({.cause = "regions", .threads = 2, .microseconds = "10000"});
}

}  // namespace refrain::test::causes_test
