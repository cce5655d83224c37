// Root causes that `refrain analyze` finds in programs with planted causes, which know what these cost them
// (test/programs/waits/planted.c), in default archives and whole ones; what fixing them gains, by the same programs without them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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
// A busy machine adds causes of its own; the program knows how much, most times. Runs that are taken again:
constexpr int kAttempts = 12;  // of one test
int attempts_left = 120;       // of all
// Runs on a quiet machine of which none is as it should be: that is not chance.
constexpr int kFailures = 5;

struct Case {
  std::string cause;
  int ranks = 0;  // 0: without MPI
  int threads = 1;
  std::string limit = "10";
  std::string microseconds = "1000";
  std::map<std::string, std::string> settings = {};  // more of them
  bool fixed = false;
};

struct Run {
  Json said;  // by the program
  std::vector<Json> causes;
  bool exact = true;  // what the cause costs, by the program's clocks, is what it costs
};

// What does not hold of a run.
class Faults {
 public:
  // Returns true if it holds.
  bool check(bool holds, int line = __builtin_LINE()) {
    if (!holds) lines_ += " " + std::to_string(line);
    return holds;
  }
  bool none() const { return lines_.empty(); }
  // The machine does not let it be known.
  void cannot_be_known() { known_ = false; }
  bool known() const { return known_; }
  // Of this file, each after a space.
  const std::string& lines() const { return lines_; }

 private:
  std::string lines_;
  bool known_ = true;
};

using Check = std::function<void(const Run&, Faults&)>;

bool is_about(const Json& value, double expected, double epsilon, double margin = 0.005) {
  return value.is_number() &&
         value.get<double>() == Approx(expected).epsilon(epsilon).margin(margin);
}

bool starts(const Json& text, const std::string& with) {
  return text.is_string() && text.get<std::string>().starts_with(with);
}

bool has(const Json& text, const std::string& part) {
  return text.is_string() && text.get<std::string>().find(part) != std::string::npos;
}

double seconds_of(const Json& cause) { return cause["seconds"]; }

// What the program says.
Json run_once(const Case& of, const std::filesystem::path& archive) {
  std::vector<std::string> arguments = {of.cause, std::to_string(kIterations),
                                        of.microseconds};
  if (of.fixed) arguments.emplace_back("fixed");
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

bool has_nothing_planted(const Case& of) {
  const std::vector<std::string> causes = {"none",        "ring",    "bcast",
                                           "nonblocking", "varying", "regions"};
  return std::ranges::count(causes, of.cause) > 0;
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

std::vector<Json> causes_of(const std::filesystem::path& archive) {
  const Result result = run_refrain({"analyze", archive, "--json", "--no-cube"});
  REQUIRE(result.exit_status == 0);
  return Json::parse(result.output)["conclusions"]["causes"].get<std::vector<Json>>();
}

// Part of what is planted is said of the cores then.
double share_of_cores(const std::vector<Json>& causes) {
  double cores = 0, others = 0;
  for (const Json& cause : causes)
    (cause["account"] == "cores" ? cores : others) += seconds_of(cause);
  return cores > 0 ? cores / (cores + others) : 0;
}

// Nothing if other programs cost more than what is planted.
std::optional<Run> run_planted(const Case& of) {
  const TemporaryFolder folder;
  Run run;
  run.said = run_once(of, folder / "archive");
  if (run.said["disturbed"].get<bool>()) return std::nullopt;
  run.causes = causes_of(folder / "archive");
  double sum = 0;
  for (const Json& cause : run.causes) sum += cause["share"].get<double>();
  CHECK(sum <= 1);
  if (of.cause == "core") return run;
  // What the program's own clocks did not notice. With more threads than cores a part of what is planted is the cores' on a quiet
  // machine, too.
  const double of_cores = has_nothing_planted(of) ? 0 : share_of_cores(run.causes);
  const double waited = share_without_core(folder / "archive");
  if (of_cores > (has_cores(of) ? 0.15 : 0.25) || waited > (has_cores(of) ? 0.1 : 0.4))
    return std::nullopt;
  run.exact = has_cores(of) || (of_cores < 0.05 && waited < 0.25);
  return run;
}

// The machine adds no cause to a program without one. The answer for such a program itself would be what is to be tested.
bool is_quiet(const Case& like) {
  if (has_nothing_planted(like)) return true;
  const bool mpi = like.ranks > 0;
  const TemporaryFolder folder;
  const Json said = run_once({.cause = mpi ? "none" : "regions",
                              .ranks = mpi ? 2 : 0,
                              .threads = mpi ? 1 : 2,
                              .microseconds = "10000"},
                             folder / "archive");
  if (said["disturbed"].get<bool>()) return false;
  double share = 0;
  for (const Json& cause : causes_of(folder / "archive"))
    share += cause["share"].get<double>();
  return share < 0.02;
}

// One run of some is as it should be: what other programs do, unnoticed by the program and the kernel's counts, is there in one
// and not in the next, a fault of ours in each.
void test_planted(const Case& of, const Check& check) {
  int disturbed = 0, failures = 0;
  while (true) {
    const std::optional<Run> run = run_planted(of);
    Faults faults;
    if (run) check(*run, faults);
    if (run && faults.none() && faults.known()) return;
    if (run && !faults.none() && is_quiet(of)) {
      if (++failures < kFailures) continue;
      INFO(of.cause << ", " << of.ranks << " ranks, limit " << of.limit);
      INFO(Json(run->causes).dump(1) << run->said.dump());
      FAIL("in each of " << failures << " runs; in the last one, the checks of lines"
                         << faults.lines());
    }
    disturbed += faults.known() ? 1 : kAttempts / 3;  // many runs were
    if (disturbed < (has_cores(of) ? kAttempts : kAttempts / 4) && attempts_left-- > 0)
      continue;
    WARN("busy machine: not checked, " << of.cause);
    return;
  }
}

// The first cause, which no other one repeats; null if there is none.
Json first_of(const Run& run, const std::string& account, Faults& faults) {
  if (!faults.check(!run.causes.empty())) return nullptr;
  const Json& first = run.causes[0];
  faults.check(first["account"] == account);
  // What is left there of the same account is little.
  for (std::size_t i = 1; i < run.causes.size(); ++i)
    if (run.causes[i]["account"] == account && run.causes[i]["loop"] == first["loop"])
      faults.check(seconds_of(run.causes[i]) < 0.15 * seconds_of(first));
  return first;
}

// `number`: of the program's causes, where it has several.
void check_costs(const Run& run, const Json& cause, Faults& faults, int number = -1) {
  const auto said = [&](const char* what) -> double {
    return number < 0 ? run.said[what] : run.said[what][static_cast<std::size_t>(number)];
  };
  if (!run.exact) return;
  faults.check(is_about(cause["seconds"], said("lost"), 0.1));
  faults.check(is_about(cause["gain_seconds"], said("gain"), 0.15));
}

// All that MPI takes is said of, most of it by the first cause.
void check_communication(const Run& run, const Json& cause, Faults& faults) {
  double sum = 0;
  for (const Json& each : run.causes)
    if (each["account"] == "communication" || each["account"] == "cores")
      sum += seconds_of(each);
  if (run.exact) faults.check(is_about(sum, run.said["lost"], 0.15, 0.01));
  faults.check(seconds_of(cause) > 0.75 * sum);
}

// Seconds that the program takes; nothing: the machine is busy.
std::optional<double> seconds_taken(const Case& of) {
  const TemporaryFolder folder;
  const Json said = run_once(of, folder / "archive");
  if (said["disturbed"].get<bool>()) return std::nullopt;
  return said["seconds"].get<double>();
}

// What is said to be gained is what the program gains: by the fastest of some runs, with the cause and without.
void check_gain(const Case& of, const Run& run, const Json& cause, Faults& faults) {
  if (!has_cores(of) || !faults.none()) return;
  constexpr int kPairs = 5;
  Case fixed = of;
  fixed.fixed = true;
  double with = run.said["seconds"];
  std::optional<double> without;
  for (int pair = 0; pair < kPairs; ++pair) {
    if (const std::optional<double> taken = seconds_taken(fixed))
      without = std::min(without.value_or(*taken), *taken);
    if (pair > 0) with = std::min(with, seconds_taken(of).value_or(with));
    if (without && is_about(cause["gain_seconds"], with - *without, 0.15)) return;
  }
  if (!without) return faults.cannot_be_known();  // all runs of it were disturbed
  faults.check(false);
}

// Ranks without a core of their own do less at some times.
void check_shape(const Case& of, const Json& cause, const std::string& shape,
                 Faults& faults) {
  if (has_cores(of)) faults.check(cause["when"]["shape"] == shape);
}

// `check`: what else is said of the cause.
void test_rank(const Case& of, std::uint32_t causer,
               const std::function<void(const Json& cause, Faults&)>& check = {}) {
  test_planted(of, [&](const Run& run, Faults& faults) {
    const Json cause = first_of(run, "uneven_ranks", faults);
    if (cause.is_null()) return;
    check_costs(run, cause, faults);
    faults.check(cause["ranks"] == Json({causer}));
    faults.check(has(cause["loop"], "planted.c"));
    faults.check(starts(cause["where"], "between"));
    if (check) check(cause, faults);
    check_gain(of, run, cause, faults);
  });
}

void test_barriers(const Case& of,
                   const std::function<void(const Json& cause, Faults&)>& check) {
  test_planted(of, [&](const Run& run, Faults& faults) {
    const Json cause = first_of(run, "communication", faults);
    if (cause.is_null()) return;
    faults.check(cause["what"] == "Barriers");
    faults.check(starts(cause["where"], "MPI_Barrier"));
    check_communication(run, cause, faults);
    check(cause, faults);
    check_gain(of, run, cause, faults);
  });
}

}  // namespace

TEST_CASE(
    "Causes: a rank with more work, in all iterations; in the whole archive and a reduced one") {
  for (const int ranks : {2, 3, 4})
    for (const std::string limit : {"10", "0"}) {
      const Case of = {.cause = "rank", .ranks = ranks, .limit = limit};
      test_rank(of, 1, [&](const Json& cause, Faults& faults) {
        check_shape(of, cause, "all", faults);
        if (has_cores(of))
          faults.check(is_about(cause["when"]["after_seconds"], 1.5e-3, 0.2, 0));
      });
    }
}

TEST_CASE(
    "Causes: a rank with more work, whose half of the ranks has an operation of its own") {
  test_rank({.cause = "pairs", .ranks = 4}, 1);
}

TEST_CASE("Causes: a rank with more work, of ranks that read MPI_Wtime meanwhile") {
  for (const std::string limit : {"10", "0"})
    test_rank({.cause = "clock", .ranks = 2, .limit = limit}, 1);
}

TEST_CASE("Causes: a rank with more work, from an iteration on") {
  test_rank({.cause = "since", .ranks = 2}, 1, [](const Json& cause, Faults& faults) {
    faults.check(cause["when"]["shape"] == "since");
    faults.check(is_about(cause["when"]["from"], kIterations / 2, 0, 3));
  });
}

TEST_CASE("Causes: a rank with more work, every tenth iteration") {
  test_rank({.cause = "every", .ranks = 2}, 1, [](const Json& cause, Faults& faults) {
    faults.check(cause["when"]["shape"] == "every");
    faults.check(cause["when"]["period"] == 10);
  });
}

TEST_CASE("Causes: a rank with more and more work") {
  test_rank({.cause = "growing", .ranks = 2}, 1, [](const Json& cause, Faults& faults) {
    faults.check(cause["when"]["shape"] == "growing");
  });
}

TEST_CASE(
    "Causes: a chain of late senders - its first rank, not those that wait themselves") {
  for (const int ranks : {3, 4}) {
    const Case of = {.cause = "chain", .ranks = ranks};
    test_rank(of, 0, [&](const Json& cause, Faults& faults) {
      check_shape(of, cause, "all", faults);
    });
  }
}

TEST_CASE("Causes: a rank that writes a file, one that touches new memory") {
  for (const char* name : {"io", "faults"})
    test_rank({.cause = name, .ranks = 2}, 1, [](const Json& cause, Faults& faults) {
      faults.check(cause["when"]["shape"] == "all");
    });
}

TEST_CASE("Causes: a rank that writes a file, whose calls are recorded - one cause") {
  for (const std::string limit : {"10", "0"})
    test_planted({.cause = "file",
                  .ranks = 2,
                  .limit = limit,
                  .microseconds = "2000",
                  .settings = {{"FILES", "100us"}}},
                 [](const Run& run, Faults& faults) {
                   const Json cause = first_of(run, "uneven_ranks", faults);
                   if (cause.is_null()) return;
                   check_costs(run, cause, faults);
                   faults.check(cause["ranks"] == Json({1}));
                   faults.check(cause["where"] == "in pwrite checkpoint.dat");
                   for (const Json& each : run.causes)
                     faults.check(each["account"] != "file_io");
                 });
}

TEST_CASE("Causes: two ranks with more work, each in its own way - two causes") {
  const Case of = {.cause = "io+growing", .ranks = 4};
  test_planted(of, [&](const Run& run, Faults& faults) {
    if (!faults.check(run.causes.size() >= 2)) return;
    std::vector<std::uint32_t> ranks;
    for (std::size_t i = 0; i < 2; ++i) {
      const Json& cause = run.causes[i];
      faults.check(cause["account"] == "uneven_ranks");
      if (!faults.check(cause["ranks"].size() == 1)) return;
      const std::uint32_t rank = cause["ranks"][0];
      ranks.push_back(rank);
      check_shape(of, cause, rank == 1 ? "all" : "growing", faults);
      if (rank < 1 || rank > 2) continue;
      // Each alone gains what it has more than the other.
      if (run.exact)
        faults.check(is_about(cause["gain_seconds"], run.said["gain"][rank - 1], 0.15));
    }
    std::ranges::sort(ranks);
    faults.check(ranks == std::vector<std::uint32_t>{1, 2});
  });
}

TEST_CASE("Causes: many small calls of MPI") {
  test_planted({.cause = "small", .ranks = 2}, [](const Run& run, Faults& faults) {
    if (!faults.check(!run.causes.empty())) return;
    faults.check(run.causes[0]["what"] == "Many small MPI calls");
    faults.check(starts(run.causes[0]["where"], "MPI_Allreduce"));
  });
}

TEST_CASE(
    "Causes: barriers that nobody needs - not ranks with more work, nor small calls") {
  for (const int ranks : {2, 4})
    test_barriers({.cause = "barrier", .ranks = ranks},
                  [](const Json& cause, Faults& faults) {
                    faults.check(has(cause["text"], " per iteration"));
                  });
}

TEST_CASE(
    "Causes: a barrier within an iteration, whose ranks take turns - with what they wait after it") {
  // With a core for each: of a few written iterations of others the replay says what these were like.
  for (const std::string limit : {"10", "0"})
    test_barriers({.cause = "turns", .ranks = 2, .limit = limit},
                  [](const Json& cause, Faults& faults) {
                    if (faults.check(!cause["waits"].empty()))
                      faults.check(starts(cause["waits"][0]["where"], "MPI_Allreduce"));
                  });
}

TEST_CASE(
    "Causes: messages received in the wrong order - one cause, with who waits for them") {
  for (const int ranks : {2, 4}) {
    // Its many calls are to be less than a tenth of the work, so that what the program takes without the cause is known.
    const Case of = {.cause = "order", .ranks = ranks, .microseconds = "2000"};
    test_planted(of, [&](const Run& run, Faults& faults) {
      const Json cause = first_of(run, "communication", faults);
      if (cause.is_null()) return;
      faults.check(cause["what"] == "Late messages");
      faults.check(starts(cause["where"], "MPI_Recv"));
      faults.check(cause["ranks"] == (ranks == 2 ? Json({1}) : Json({1, 3})));
      check_communication(run, cause, faults);
      if (faults.check(!cause["waits"].empty()))
        faults.check(starts(cause["waits"][0]["where"], "MPI_Allreduce"));
      check_gain(of, run, cause, faults);
    });
  }
}

TEST_CASE("Causes: a slow link - whose sends, not who receives from it") {
  for (const int ranks : {2, 3, 4})
    for (const std::string limit : {"10", "0"}) {
      const Case of = {.cause = "link", .ranks = ranks, .limit = limit};
      test_planted(of, [&](const Run& run, Faults& faults) {
        const Json cause = first_of(run, "communication", faults);
        if (cause.is_null()) return;
        faults.check(cause["what"] == "Slow sends");
        faults.check(starts(cause["where"], "MPI_Send"));
        faults.check(cause["ranks"] == Json({1}));
        check_communication(run, cause, faults);
        check_gain(of, run, cause, faults);
      });
    }
}

TEST_CASE("Causes: ranks on one core - the machine, not the program") {
  test_planted({.cause = "core", .ranks = 2, .microseconds = "5000"},
               [](const Run& run, Faults& faults) {
                 const Json cause = first_of(run, "cores", faults);
                 if (!cause.is_null()) faults.check(cause["what"] == "Too few cores");
               });
}

TEST_CASE("Causes: a thread with more work") {
  const Case of = {.cause = "thread", .threads = 2};
  test_planted(of, [&](const Run& run, Faults& faults) {
    const Json cause = first_of(run, "uneven_threads", faults);
    if (cause.is_null()) return;
    check_costs(run, cause, faults);
    faults.check(cause["thread"] == 1);
    faults.check(has(cause["where"], "planted.c"));
    faults.check(cause["when"]["shape"] == "all");
    check_gain(of, run, cause, faults);
  });
}

TEST_CASE(
    "Causes: a lock - with what is waited at the end of the region, how long it is held") {
  for (const std::string limit : {"10", "0"}) {
    const Case of = {.cause = "lock", .threads = 2, .limit = limit};
    test_planted(of, [&](const Run& run, Faults& faults) {
      const Json cause = first_of(run, "synchronization", faults);
      if (cause.is_null()) return;
      faults.check(cause["what"] == "Lock");
      faults.check(has(cause["where"], "critical @planted.c"));
      faults.check(has(cause["text"], "It is held 1"));
      check_costs(run, cause, faults);
      // The other half of it is no cause of its own.
      for (const Json& each : run.causes)
        if (each["account"] == "uneven_threads")
          faults.check(seconds_of(each) < 0.2 * seconds_of(cause));
      check_gain(of, run, cause, faults);
    });
  }
}

TEST_CASE(
    "Causes: a lock of POSIX threads - who has it; and none where it is held for a short time") {
  Case of = {.cause = "mutex",
             .threads = 2,
             .microseconds = "2000",
             .settings = {{"THREADS", "yes"}}};
  for (const std::string limit : {"10", "0"}) {
    of.limit = limit;
    test_planted(of, [](const Run& run, Faults& faults) {
      const Json cause = first_of(run, "synchronization", faults);
      if (cause.is_null()) return;
      faults.check(cause["what"] == "Lock");
      faults.check(has(cause["where"], "pthread_mutex_lock @planted.c"));
      faults.check(has(cause["text"], "when they begin to wait: renew_list."));
      faults.check(is_about(cause["seconds"], run.said["lost"], 0.1));
    });
  }
  of.fixed = true;
  test_planted(of, [](const Run& run, Faults& faults) {
    faults.check(run.said["lost"].get<double>() < 0.01);
    for (const Json& cause : run.causes) faults.check(cause["what"] != "Lock");
  });
}

TEST_CASE("Causes: a serial part") {
  test_planted({.cause = "serial", .threads = 2}, [](const Run& run, Faults& faults) {
    const Json cause = first_of(run, "serial", faults);
    if (!cause.is_null()) check_costs(run, cause, faults);
  });
}

TEST_CASE("Causes: a rank with more work, and serial parts on all - two causes") {
  // Iterations that are long next to what waking a thread takes: 0.3 ms on some virtual machines.
  test_planted({.cause = "rank+serial", .ranks = 2, .threads = 2, .microseconds = "3000"},
               [](const Run& run, Faults& faults) {
                 if (!faults.check(run.causes.size() >= 2)) return;
                 for (std::size_t i = 0; i < 2; ++i) {
                   const bool serial = run.causes[i]["account"] == "serial";
                   if (!serial) {
                     faults.check(run.causes[i]["account"] == "uneven_ranks");
                     faults.check(run.causes[i]["ranks"] == Json({1}));
                   }
                   check_costs(run, run.causes[i], faults, serial ? 1 : 0);
                 }
                 faults.check(run.causes[0]["account"] != run.causes[1]["account"]);
               });
}

TEST_CASE(
    "Causes: none - nothing of more than a fiftieth, but for what other programs cost") {
  const auto test = [](const Case& of) {
    test_planted(of, [](const Run& run, Faults& faults) {
      for (const Json& cause : run.causes)
        if (cause["account"] != "cores") faults.check(cause["share"].get<double>() < 0.02);
    });
  };
  for (const char* cause : {"none", "ring", "bcast", "nonblocking", "varying"})
    test({.cause = cause, .ranks = 2, .microseconds = "10000"});
  test({.cause = "none", .ranks = 3, .limit = "0", .microseconds = "10000"});
  test({.cause = "regions", .threads = 2, .microseconds = "10000"});
}

}  // namespace refrain::test::causes_test
