// Places of constructs: each region is named by the line of its construct, also where the runtime's own answer is inside of
// the runtime or in a caller, or where other code had been at its address.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::region_places_test {
namespace {

// "@places.c:12" of the line that has this comment.
std::string at(const std::string& file, const std::string& comment) {
  std::istringstream in(read_file(data_file("test/programs/" + file)));
  int number = 1;
  for (std::string line; std::getline(in, line); ++number)
    if (line.find("/* " + comment + " */") != std::string::npos)
      return "@" + file + ":" + std::to_string(number);
  FAIL(file << " has no " << comment);
  return {};
}

using Counts = std::map<std::string, std::uint64_t>;

// Places are in the program, and each construct has one.
void check_places(const Counts& names) {
  for (const auto& [name, count] : names) {
    INFO(name << " " << count);
    const std::size_t place = name.find(" @");
    if (name.rfind("!$omp", 0) != 0 || name.rfind("!$omp teams barrier", 0) == 0) continue;
    CHECK(place != std::string::npos);
    CHECK(name.find(" @places.c:") != std::string::npos);
  }
}

void check_regions(const Counts& names) {
  const auto count = [&](const std::string& construct, const std::string& comment) {
    const auto found = names.find("!$omp " + construct + " " + at("places.c", comment));
    return found == names.end() ? 0 : found->second;
  };
  constexpr std::uint64_t kThreads = 2;
  constexpr std::uint64_t kIterations = 5;
  for (const char* comment : {"first", "second", "team", "combined", "cancelled"}) {
    INFO(comment);
    CHECK(count("parallel", comment) == kIterations * kThreads);
  }
  CHECK(count("parallel", "f") == 20 * kIterations * kThreads);
  CHECK(count("parallel", "d") == 20 * kIterations * kThreads);
  CHECK(count("teams", "league") == kIterations);
  CHECK(count("taskloop", "combined") == kIterations);
  CHECK(count("task", "combined") == 6 * kIterations);
  // With those of the call outside of all regions.
  CHECK(count("taskloop", "taskloop") == kIterations + 1);
  CHECK(count("taskloop", "other taskloop") == kIterations + 1);
  CHECK(count("create task", "taskloop") == 4 * (kIterations + 1));
  CHECK(count("task", "other taskloop") == 4 * (kIterations + 1));
}

}  // namespace

TEST_CASE(
    "Region places: constructs called from inside the runtime, and tail calls - clang") {
  const TemporaryFolder folder;
  const Traced traced =
      trace({"places_clang", {}, 2, {{"LIMIT", "0"}}}, folder / "archive");
  const Counts names = count_by_name(traced.trace);
  check_places(names);
  check_regions(names);
  CHECK(names.at("!$omp barrier " + at("places.c", "barrier")) == 10);
  CHECK(names.at("!$omp single " + at("places.c", "single")) == 10);
  CHECK(names.at("!$omp implicit barrier " + at("places.c", "single")) == 10);
}

TEST_CASE(
    "Region places: constructs called from inside the runtime, and tail calls - gcc") {
  const TemporaryFolder folder;
  const Traced traced = trace({"places_gcc", {}, 2, {{"LIMIT", "0"}}}, folder / "archive");
  const Counts names = count_by_name(traced.trace);
  check_places(names);
  const auto count = [&](const std::string& construct, const std::string& comment) {
    const auto found = names.find("!$omp " + construct + " " + at("places.c", comment));
    return found == names.end() ? 0 : found->second;
  };
  for (const char* comment : {"first", "second", "team", "combined", "cancelled"}) {
    INFO(comment);
    CHECK(count("parallel", comment) == 10);
  }
  // gcc gives the calls that it adds the lines of statements around them: the loops differ at least.
  std::uint64_t leagues = 0;
  std::uint64_t taskloops = 0;
  std::vector<std::uint64_t> of_each;
  for (const auto& [name, number] : names)
    if (name.rfind("!$omp taskloop @places.c:", 0) == 0) {
      taskloops += number;
      of_each.push_back(number);
    }
  for (const auto& [name, number] : names)
    if (name.rfind("!$omp teams @places.c:", 0) == 0) leagues += number;
  CHECK(leagues == 5);
  std::sort(of_each.begin(), of_each.end());
  CHECK(taskloops == 6 + 6 + 5);
  CHECK(of_each == std::vector<std::uint64_t>{5, 6, 6});
}

TEST_CASE("Region places: functions with the names of types - keep them") {
  const TemporaryFolder folder;
  trace({"places_clang", {}, 2, {{"MIN_GAP", "0"}}}, folder / "archive");
  const Result info = run_refrain({"info", "--all", folder / "archive"});
  REQUIRE(info.ok());
  INFO(info.output);
  CHECK(info.output.find(" f places.c:") != std::string::npos);
  CHECK(info.output.find(" d places.c:") != std::string::npos);
  CHECK(info.output.find("float") == std::string::npos);
  CHECK(info.output.find("double") == std::string::npos);
}

TEST_CASE(
    "Region places: plugins in one place, one after the other - each has its own lines") {
  const TemporaryFolder folder;
  Job job{"plugins_clang", {}, 2, {{"LIMIT", "0"}}};
  job.arguments = {data_file("test/programs/plugin_first.so").parent_path()};
  const Result plain = run_untraced(job);
  REQUIRE(plain.ok());
  const Traced traced = trace(job, folder / "archive");
  CHECK(traced.result.output == plain.output);
  const Counts names = count_by_name(traced.trace);
  CHECK(names.at("!$omp parallel " + at("plugin.c", "first plugin")) == 2 * 3 * 2);
  CHECK(names.at("!$omp parallel " + at("plugin.c", "second plugin")) == 2 * 5 * 2);
  for (const auto& [name, count] : names) {
    INFO(name << " " << count);
    CHECK((name.rfind("!$omp", 0) != 0 || name.find(" @plugin.c:") != std::string::npos));
  }
}

TEST_CASE(
    "Region places: after a plugin was unloaded - the line of the region's function") {
  // gcc gives the call of the second region no line of its own.
  const TemporaryFolder folder;
  Job job{"plugins_clang", {}, 2, {{"LIMIT", "0"}}};
  job.arguments = {data_file("test/programs/plugin_first.so").parent_path(),
                   "./plugin_gcc_loop.so"};
  const Counts names = count_by_name(trace(job, folder / "archive").trace);
  for (const char* comment : {"second plugin", "in a row"}) {
    INFO(comment);
    CHECK(names.at("!$omp parallel " + at("plugin.c", comment)) == 2 * 5 * 2);
  }
}

TEST_CASE("Region places: a library's constructor - its teams do not wait for the loader") {
  // With gcc's library all of its threads' first calls of the runtime are in the constructor.
  for (const std::string library : {"plugin_constructor.so", "plugin_constructor_gcc.so"}) {
    INFO(library);
    const TemporaryFolder folder;
    Job job{"plugins_clang", {}, 2, {{"LIMIT", "0"}}};
    job.arguments = {data_file("test/programs/plugin_first.so").parent_path(),
                     "./" + library};
    const Result plain = run_untraced(job);
    REQUIRE(plain.ok());
    const Traced traced = trace(job, folder / "archive");
    CHECK(traced.result.output == plain.output);
    const Counts names = count_by_name(traced.trace);
    CHECK(names.at("!$omp parallel " + at("plugin.c", "constructor")) == 2 * 2);
  }
}

}  // namespace refrain::test::region_places_test
