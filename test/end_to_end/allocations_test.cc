// refrain run --memory: counts of a program that knows what it allocates, a killed one too, and from which size on; what info says of
// it; and that nothing is there without it.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::allocations_test {
namespace {

using Json = nlohmann::json;
using Numbers = std::map<std::string, long>;

constexpr const char* kKnown = "test/programs/memory/known_";

Json allocations_of(const std::filesystem::path& archive) {
  const Result result = run_refrain({"info", archive, "--json"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return Json::parse(result.output).at("summary").value("allocations", Json());
}

// By function, of the program's own.
std::map<std::string, Numbers> by_function(const Json& allocations) {
  std::map<std::string, Numbers> out;
  for (const Json& path : allocations.at("paths")) {
    const std::string name =
        path.at("frames").at(path.at("at").get<std::size_t>()).at("function");
    // "(anonymous namespace)::churn(int)".
    const std::size_t begin =
        name.rfind("::") == std::string::npos ? 0 : name.rfind("::") + 2;
    Numbers& numbers = out[name.substr(begin, name.find('(', begin) - begin)];
    for (const auto& [key, value] : path.items())
      if (value.is_number()) numbers[key] += value.get<long>();
  }
  return out;
}

// What known.cc printed.
void check_known(const Json& allocations, const std::string& output) {
  std::map<std::string, Numbers> paths = by_function(allocations);
  std::istringstream lines(output);
  std::size_t checked = 0;
  long known_blocks = -1;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, word;
    words >> name >> word;
    if (name == "path") {
      INFO(word);
      REQUIRE(paths.count(word) == 1);
      Numbers& found = paths[word];
      for (std::string number; words >> number; ++checked) {
        const std::size_t at = number.find('=');
        INFO(number << ", not " << found[number.substr(0, at)]);
        CHECK(found[number.substr(0, at)] == std::stol(number.substr(at + 1)));
      }
      CHECK(found["peak_bytes"] >= found["high_water_bytes"]);
    } else if (name == "high_water_blocks") {
      known_blocks = std::stol(word);
    } else {
      INFO(name);
      CHECK(allocations.at(name) == std::stol(word));
      ++checked;
    }
  }
  CHECK(checked == 11 * 5 + 2);
  CHECK(paths.count("in_child") == 0);
  const long high_water = allocations.at("high_water_bytes");
  REQUIRE(known_blocks > 0);
  CHECK(high_water >= known_blocks * (64 << 10));
  CHECK(high_water < (known_blocks + 8) * (64 << 10));
  // All that was in use at the mark is of somebody.
  long sum = allocations.at("small").at("high_water_bytes").get<long>() +
             allocations.at("rest").at("high_water_bytes").get<long>();
  for (const auto& [function, numbers] : paths) sum += numbers.at("high_water_bytes");
  CHECK(sum == high_water);
  // The blocks of 100 bytes of main and of the threads.
  CHECK(allocations.at("small").at("calls") > 100 + 4 * 2000 * 2);
  CHECK(allocations.at("small").at("current_bytes") >= 100 * 100);
  CHECK(allocations.at("small").at("current_bytes") < 300'000);
}

struct Run {
  TemporaryFolder folder;
  std::filesystem::path archive = folder / "archive";
};

}  // namespace

TEST_CASE(
    "Allocations: counts are what the program knows, and it prints and returns the same") {
  for (const char* compiler : {"gcc", "clang"})
    for (const char* size : {"4K", "65536"}) {
      INFO(compiler << ", " << size);
      const Run at;
      Job job{.program = std::string(kKnown) + compiler};
      const Result untraced = run_untraced(job);
      REQUIRE(untraced.exit_status == 0);
      job.settings = {{"MEMORY", size}};
      const Result result = run_job(job, Way::kRun, at.archive);
      INFO(result.errors);
      CHECK(result.exit_status == 0);
      CHECK(result.output == untraced.output);
      read_checked(at.archive);
      const Json allocations = allocations_of(at.archive);
      CHECK(allocations.at("from_bytes") == (size[0] == '4' ? 4096 : 65536));
      check_known(allocations, result.output);
    }
}

TEST_CASE("Allocations: all blocks are followed, if that is asked for") {
  const Run at;
  Job job{.program = std::string(kKnown) + "gcc"};
  const Result untraced = run_untraced(job);
  job.settings = {{"MEMORY", "1"}};
  const Result result = run_job(job, Way::kRun, at.archive);
  CHECK(result.exit_status == 0);
  CHECK(result.output == untraced.output);
  const Json allocations = allocations_of(at.archive);
  CHECK(allocations.at("small").at("calls") == 0);
  CHECK(allocations.at("untracked") == 0);
  std::map<std::string, Numbers> paths = by_function(allocations);
  CHECK(paths["by_thread"]["calls"] == 4 * 2000 * 4);
  CHECK(paths["by_thread"]["bytes"] == 4 * 2000 * 2 * ((64 << 10) + 100));
  CHECK(paths["by_thread"]["current_bytes"] == 0);
  CHECK(paths["churn"]["calls"] == 1000);
}

TEST_CASE("Allocations: of a killed run all is counted") {
  const Run at;
  Job job{.program = std::string(kKnown) + "gcc"};
  const Result untraced = run_untraced(job);
  job.arguments = {"kill"};
  job.settings = {{"MEMORY", "4K"}};
  const Result result = run_job(job, Way::kRun, at.archive);
  CHECK(result.signal == SIGKILL);
  CHECK(run_refrain({"recover", at.archive}).exit_status == 0);
  const Json allocations = allocations_of(at.archive);
  check_known(allocations, untraced.output);
  // The run had not ended then, though no event is as late. (Of different sums of rounded clock readings.)
  const Json info = Json::parse(run_refrain({"info", at.archive, "--json"}).output);
  CHECK(info.at("duration_s").get<double>() >=
        allocations.at("high_water_s").get<double>() - 1e-6);
}

TEST_CASE("Allocations: info names who has most at the high-water mark, and what is left") {
  const Run at;
  Job job{.program = std::string(kKnown) + "gcc"};
  job.settings = {{"MEMORY", "4K"}};
  REQUIRE(run_job(job, Way::kRun, at.archive).exit_status == 0);
  const Result info = run_refrain({"info", at.archive});
  std::string text;
  std::istringstream lines(info.output);
  for (std::string word; lines >> word;) text += (text.empty() ? "" : " ") + word;
  INFO(info.output);
  const std::size_t begin = text.find("Allocations ");
  REQUIRE(begin != std::string::npos);
  text = text.substr(begin);
  CHECK(text.find("held_at_the_peak known.cc:") != std::string::npos);
  CHECK(text.find("not freed: ") != std::string::npos);
  CHECK(text.find("after_the_peak known.cc:") > text.find("not freed: "));
  const Result paths = run_refrain({"info", at.archive, "--allocations"});
  INFO(paths.output);
  CHECK(paths.exit_status == 0);
  CHECK(paths.output.find("held_at_the_peak known.cc:") != std::string::npos);
}

TEST_CASE("Allocations: without the setting nothing stands before the allocator") {
  const Run at;
  const auto maps = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words = {"run", "--quiet", "--overwrite", "-o", at.archive};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/cat", "/proc/self/maps"});
    const Result result = run_refrain(words);
    REQUIRE(result.exit_status == 0);
    REQUIRE(result.output.find("librefrain.so") != std::string::npos);
    return result.output;
  };
  CHECK(maps({}).find("librefrain_memory") == std::string::npos);
  CHECK(maps({"--memory"}).find("librefrain_memory") != std::string::npos);
  const Run other;
  Job job{.program = std::string(kKnown) + "gcc"};
  job.settings = {{"LOOPS", "100"}};
  CHECK(run_job(job, Way::kRun, other.archive).exit_status == 0);
  CHECK(allocations_of(other.archive).is_null());
}

TEST_CASE(
    "Allocations: a program with an allocator of its own is left alone, and it is said") {
  const Run at;
  Job job{.program = "test/programs/memory/own_gcc"};
  job.settings = {{"MEMORY", "4K"}};
  const Result result = run_job(job, Way::kRun, at.archive);
  INFO(result.errors);
  CHECK(result.exit_status == 0);
  CHECK(result.output == "10\n");
  CHECK(result.errors.find("refrain: allocations are not counted: another allocator comes "
                           "first (the program's own, ") != std::string::npos);
  CHECK(allocations_of(at.archive).is_null());
}

TEST_CASE("Allocations: each rank counts, and info says which had most") {
  for (const MpiWay way : {MpiWay::kInside, MpiWay::kOutside}) {
    const Run at;
    MpiJob job{.program = "test/programs/memory/ranks_gcc", .arguments = {}};
    job.settings = {{"MEMORY", "4K"}};
    trace_mpi(job, way, at.archive);
    const Json allocations = allocations_of(at.archive);
    CHECK(allocations.at("processes") == 2);
    CHECK(allocations.at("high_water_process") == "MPI Rank 1");
    std::map<std::string, Numbers> paths = by_function(allocations);
    // Before MPI is initialized; and 10 blocks in each iteration, by both, of which rank 1 keeps one.
    CHECK(paths["before_mpi"]["calls"] == 2);
    CHECK(paths["before_mpi"]["current_bytes"] == 2 * 1'000'000);
    CHECK(paths["churn"]["calls"] == 2 * 10 * 50);
    CHECK(paths["kept"]["calls"] == 50);
    CHECK(paths["kept"]["current_bytes"] == 50 * 100'000);
    CHECK(paths["kept"]["processes"] == 1);
  }
}

}  // namespace refrain::test::allocations_test
