#include "test/end_to_end/traced.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "test/runs/run_program.h"
#include "test/support/files.h"
#include "test/support/iteration_checks.h"
#include "test/support/summary_checks.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::map<std::string, std::string> find_loops_of(int events, int limit) {
  return {{"DETECTOR", "exact"},
          {"SLOW_FACTOR", "0"},
          {"LIMIT", std::to_string(limit)},
          {"WINDOW", std::to_string(events)},
          {"MAX_PERIOD", std::to_string(events)},
          {"MIN_GAP", "0"}};
}

std::function<bool(const Result&)> has_begun(const fs::path& archive) {
  return [spool = archive / "spool"](const Result&) {
    std::error_code missing;
    return !fs::is_empty(spool, missing) && !missing;
  };
}

std::function<bool(const Result&)> have_entered(std::uint64_t regions,
                                                const fs::path& archive,
                                                std::size_t processes) {
  return [=, begun = has_begun(archive)](const Result& so_far) {
    if (!begun(so_far)) return false;
    const Result watched = run_refrain({"watch", archive, "--once", "--json"});
    if (!watched.ok()) return false;  // a process is about to begin
    const nlohmann::json ranks = nlohmann::json::parse(watched.output).at("ranks");
    return ranks.size() == processes &&
           std::all_of(ranks.begin(), ranks.end(), [&](const nlohmann::json& rank) {
             return rank.at("regions").get<std::uint64_t>() >= regions;
           });
  };
}

std::map<std::string, std::string> no_memory(const std::string& every, int seed,
                                             const std::filesystem::path& report) {
  return {{"LD_PRELOAD", data_file("test/tools/no_memory.so")},
          {"NO_MEMORY_EVERY", every},
          {"NO_MEMORY_SEED", std::to_string(seed)},
          {"NO_MEMORY_FROM", "1"},  // what libstdc++ keeps for exceptions without memory
          {"NO_MEMORY_MOST", "12"},
          {"NO_MEMORY_REPORT", report.string()}};
}

Result run_refrain(const std::vector<std::string>& arguments) {
  Command command;
  command.arguments = {data_file("tools/refrain")};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment = clean_environment();
  if (!arguments.empty() && arguments[0] == "run") put_sanitizer_first(command);
  return run(command);
}

// An independent reader, and checks of what common readers need.
Problems check_python_reader(const std::vector<fs::path>& archives) {
  Command command;
  // It reads some 100 000 events a second.
  const long events = number_from_environment("REFRAIN_TEST_PYTHON_EVENTS", 20000);
  command.arguments = {"/usr/bin/python3", "-I",
                       data_file("test/tools/read_with_python.py")};
  command.arguments.insert(command.arguments.end(), archives.begin(), archives.end());
  command.arguments.push_back(std::to_string(events));
  command.environment = clean_environment();
  const Result result = run(command);
  if (result.ok()) return {};
  return {"read_with_python.py: " + result.output + result.errors};
}

Trace read_checked(const fs::path& archive, Ended ended, Others others) {
  INFO(archive);
  // The other readers take most of a test's time: they read while this process does, in the short form some archives.
  static SomeCases read_by_others;
  std::future<Problems> printed, read_by_python;
  if (others == Others::kSome && read_by_others.runs_next()) {
    printed = std::async(std::launch::async, check_otf2_print, archive);
    read_by_python =
        std::async(std::launch::async, check_python_reader, std::vector{archive});
  }
  Trace result = read_trace(archive);
  CHECK(text(check_all(result)) == "");
  if (printed.valid()) CHECK(text(printed.get()) == "");
  if (read_by_python.valid()) CHECK(text(read_by_python.get()) == "");
  const auto summaries = *summary::read_summaries(archive, summary::Iterations::kRead);
  if (was_recovered(result)) ended = Ended::kAnywhere;
  if (!summaries.empty())
    CHECK(text(check_summary(result, summaries, kind_of(result), ended)) == "");
  CHECK(text(check_rows(summaries)) == "");
  return result;
}

Traced trace(const Job& job, const fs::path& archive, Way way) {
  INFO(job.program << ", " << job.threads << " threads");
  Traced traced;
  traced.result = run_job(job, way, archive);
  INFO("stderr: " << traced.result.errors);
  REQUIRE_FALSE(traced.result.timed_out);
  REQUIRE(traced.result.signal == 0);
  REQUIRE(traced.result.exit_status == 0);
  traced.trace = read_checked(archive);
  return traced;
}

std::optional<fs::path> recorded_run(const std::string& name, const std::string& line) {
  try {
    return data_file("test/runs/" + name);
  } catch (const std::runtime_error&) {
    if (test_length() == TestLength::kShort)
      FAIL_CHECK("not in test/runs/runs.bzl: " << line);
    return std::nullopt;
  }
}

Result copy_recorded(const fs::path& run, const fs::path& archive) {
  fs::create_directories(archive.parent_path());
  fs::copy(run / "archive", archive, fs::copy_options::recursive);
  // Outputs of the build cannot be written to.
  fs::permissions(archive, fs::perms::owner_write, fs::perm_options::add);
  for (const auto& entry : fs::recursive_directory_iterator(archive))
    fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
  Result result;
  result.output = read_file(run / "output");
  result.errors = read_file(run / "errors");
  result.exit_status = std::stoi(read_file(run / "status"));
  return result;
}

Result recorded_result(const Job& job, const fs::path& archive) {
  const auto run = recorded_run(name_of_run(job), line_of_run(job));
  return run ? copy_recorded(*run, archive) : run_job(job, Way::kRun, archive);
}

Traced recorded(const Job& job, const fs::path& archive) {
  INFO(job.program << ", " << job.threads << " threads");
  const auto run = recorded_run(name_of_run(job), line_of_run(job));
  if (!run) return trace(job, archive);
  const Result result = copy_recorded(*run, archive);
  REQUIRE(result.exit_status == 0);
  return {result, read_trace(archive)};
}

std::vector<fs::path> recorded_runs() {
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(data_file("test/runs")))
    if (fs::exists(entry.path() / "archive")) runs.push_back(entry.path());
  std::sort(runs.begin(), runs.end());
  return runs;
}

void check_refused(const std::vector<std::string>& arguments, const std::string& why) {
  const Result result = run_refrain(arguments);
  INFO(result.errors);
  CHECK(result.exit_status == 2);
  CHECK(result.output.empty());
  CHECK(result.errors.find(why) != std::string::npos);
  CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
}

long property_number(const Trace& trace, const std::string& name) {
  const auto found = trace.properties.find("REFRAIN::" + name);
  return found == trace.properties.end() ? -1 : std::atol(found->second.c_str());
}

}  // namespace refrain::test
