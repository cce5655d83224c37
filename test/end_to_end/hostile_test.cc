// Programs that do in a random order what some tracer did not survive (test/programs/hostile.c): what they wrote, said
// and returned is the same traced and untraced.
//
// REFRAIN_TEST_KILLS: how many programs of each kind (default 8; in tools/check long 100). REFRAIN_TEST_SEED: of the first
// (default 1).
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <random>
#include <sstream>

#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/test_length.h"

namespace refrain::test::hostile_test {
namespace {

namespace fs = std::filesystem;

using Random = std::mt19937_64;
using Steps = std::vector<std::string>;

long lives() {
  return number_from_environment("REFRAIN_TEST_KILLS",
                                 test_length() == TestLength::kShort ? 8 : 100);
}
std::uint64_t first_seed() {
  return static_cast<std::uint64_t>(number_from_environment("REFRAIN_TEST_SEED", 1));
}

const std::string& one_of(Random& random, const Steps& steps) {
  return steps[random() % steps.size()];
}

// Of any program. "regions" is there often, for it is what is traced.
const Steps kSteps = {"regions",    "regions", "regions", "threads",    "threads",
                      "close0",     "close1",  "close2",  "open",       "few-files",
                      "fork-quiet", "again",   "keys",    "again-bare", "shell",
                      "sigwait",    "alarms",  "chdir",   "umask",      "pause"};
// Libgomp's child of a process with threads waits for itself.
const Steps kOfClang = {"fork", "fork-thread", "plugin", "other-plugin"};
const Steps kOutsideOfMpi = {"close-all"};
const Steps kOfMpi = {"m-messages", "m-attributes", "m-errors",
                      "m-comms",    "m-truncated",  "m-messages"};
const Steps kEnds = {"e-return",
                     "e-exit",
                     "e-_exit",
                     "e-quick",
                     "e-abort",
                     "e-term",
                     "e-segv",
                     "e-segv-exit",
                     "e-abort-fork",
                     "e-thread-exit",
                     "e-primary-ends",
                     "e-exec",
                     "e-small-thread-exit",
                     "e-small-handler-exit"};

Steps all_of(std::initializer_list<Steps> lists) {
  Steps all;
  for (const Steps& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Steps random_steps(Random& random, const Steps& from, std::size_t count) {
  Steps steps;
  for (std::size_t i = 0; i < count; ++i) steps.push_back(one_of(random, from));
  return steps;
}

// LLVM's runtime dies of two things, untraced: it wants a key of its own after each fork, and after a hard pause several
// threads with teams of their own are too many for it.
void spare_the_runtime(Steps& steps) {
  const auto last = std::stable_partition(
      steps.begin(), steps.end(),
      [](const std::string& step) { return step != "keys" && !step.starts_with("e-"); });
  if (last != steps.end() && *last == "keys" && steps.back() == "e-abort-fork")
    steps.back() = "e-abort";
  const bool threads = std::any_of(steps.begin(), steps.end(), [](const std::string& step) {
    return step.find("thread") != std::string::npos;
  });
  if (threads) std::erase(steps, "pause");
}

std::map<std::string, std::string> random_settings(Random& random) {
  std::map<std::string, std::string> settings = {{"LIMIT", random() % 2 == 0 ? "0" : "10"}};
  if (random() % 3 == 0) settings["LOOPS"] = "100";
  if (random() % 4 == 0) settings["UNTIL"] = "0.05";
  if (random() % 4 == 0) settings["BUDGET"] = "1M";
  return settings;
}

std::string joined(const Steps& steps, const std::map<std::string, std::string>& settings) {
  std::ostringstream text;
  for (const std::string& step : steps) text << step << " ";
  for (const auto& [name, value] : settings) text << name << "=" << value << " ";
  return text.str();
}

// What the program said, without what the tracer says of itself.
std::string without_notices(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("refrain: ")) kept += line + "\n";
  return kept;
}

// All that the program wrote, by the names of its files.
std::map<std::string, std::string> written(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().filename()] = read_file(entry.path());
  return files;
}

struct Life {
  Result result;
  std::map<std::string, std::string> files;
};

void check_same(const Life& plain, const Life& traced) {
  CHECK_FALSE(plain.result.timed_out);
  CHECK_FALSE(traced.result.timed_out);
  CHECK(traced.result.exit_status == plain.result.exit_status);
  CHECK(traced.result.signal == plain.result.signal);
  CHECK(without_notices(traced.result.output) == without_notices(plain.result.output));
  CHECK(without_notices(traced.result.errors) == without_notices(plain.result.errors));
  for (const auto& [name, text] : plain.files) {
    INFO(name);
    REQUIRE(traced.files.contains(name));
    CHECK(traced.files.at(name) == text);
  }
  CHECK(traced.files.size() == plain.files.size());
  CHECK_FALSE(plain.files.empty());
}

template <typename Run>
Life live(const TemporaryFolder& folder, const std::string& name, const Steps& steps,
          const Run& run) {
  const fs::path place = folder / name;
  fs::create_directories(place / "files");
  Steps arguments = {place / "result", place / "files"};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  Life life;
  life.result = run(arguments);
  life.files = written(place);
  return life;
}

// There is an archive of it, and another reader accepts it. (A child that had a region before its parent has the name
// itself, and its parent that with ".2".)
void check_archive(const Steps& steps, const fs::path& archive) {
  const Steps orderly = {"e-return", "e-exit"};
  if (std::find(orderly.begin(), orderly.end(), steps.back()) == orderly.end()) return;
  fs::path anchor = archive / "traces.otf2";
  if (!fs::exists(anchor)) anchor = archive.string() + ".2/traces.otf2";
  REQUIRE(fs::exists(anchor));
  CHECK(run({.arguments = {"otf2-print", anchor}, .discard_output = true}).ok());
}

}  // namespace

TEST_CASE("Hostile: a life of OpenMP - traced as untraced") {
  for (long i = 0; i < lives(); ++i) {
    const std::uint64_t seed = first_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const bool clang = random() % 3 != 0;
    Steps steps =
        random_steps(random, all_of({kSteps, kOutsideOfMpi, clang ? kOfClang : Steps{}}),
                     4 + random() % 10);
    steps.push_back(one_of(random, kEnds));
    spare_the_runtime(steps);
    const auto settings = random_settings(random);
    const Way way = random() % 2 == 0 ? Way::kRun : Way::kPreload;
    INFO("seed " << seed << ": " << (clang ? "clang " : "gcc ") << joined(steps, settings));
    TemporaryFolder folder;
    const auto run_it = [&](Way of, const Steps& arguments) {
      return run_job({clang ? "hostile_clang" : "hostile_gcc", arguments, 2, settings}, of,
                     folder / "archive");
    };
    const Life plain = live(folder, "plain", steps, [&](const Steps& arguments) {
      return run_it(Way::kNone, arguments);
    });
    const Life traced = live(folder, "traced", steps, [&](const Steps& arguments) {
      return run_it(way, arguments);
    });
    check_same(plain, traced);
    check_archive(steps, folder / "archive");
  }
}

TEST_CASE("Hostile: a life of MPI - traced as untraced") {
  for (long i = 0; i < lives(); ++i) {
    const std::uint64_t seed = first_seed() + static_cast<std::uint64_t>(i);
    Random random(seed + 1'000'000);
    Steps steps = random_steps(random, kSteps, random() % 4);
    steps.push_back("m-init");
    for (const std::string& step :
         random_steps(random, all_of({kSteps, kOfMpi, kOfMpi, kOfMpi}), 4 + random() % 10))
      steps.push_back(step);
    steps.push_back("m-finalize");
    for (const std::string& step : random_steps(random, kSteps, random() % 3))
      steps.push_back(step);
    spare_the_runtime(steps);
    steps.push_back("e-return");
    MpiJob job{"hostile_gcc", {}, 2, 2, random_settings(random)};
    const MpiWay way = random() % 2 == 0 ? MpiWay::kInside : MpiWay::kOutside;
    INFO("seed " << seed << ": " << text(way) << " " << joined(steps, job.settings));
    TemporaryFolder folder;
    const auto run_it = [&](MpiWay of, const Steps& arguments) {
      job.arguments = arguments;
      return run_mpi(job, of, folder / "archive");
    };
    const Life plain = live(folder, "plain", steps, [&](const Steps& arguments) {
      return run_it(MpiWay::kNone, arguments);
    });
    const Life traced = live(folder, "traced", steps, [&](const Steps& arguments) {
      return run_it(way, arguments);
    });
    check_same(plain, traced);
    check_archive(steps, folder / "archive");
  }
}

}  // namespace refrain::test::hostile_test
