#include "test/end_to_end/traced.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>

#include "test/support/files.h"
#include "test/support/iteration_checks.h"
#include "test/support/summary_checks.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

extern char** environ;

namespace refrain::test {
namespace {

namespace fs = std::filesystem;

std::string program_path(const std::string& name) {
  const bool elsewhere = name.find('/') != std::string::npos;
  return data_file(elsewhere ? name : "test/programs/" + name);
}

bool made_for_libgomp(const std::string& program) {
  return program.find("_gcc") != std::string::npos ||
         program.find("_gfortran") != std::string::npos;
}

std::string flag_of(std::string setting) {
  for (char& c : setting) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
  return "--" + setting;
}

void use_run(Command& command, const Job& job, const fs::path& archive) {
  const std::vector<std::string> words = refrain_run(job.settings, archive);
  command.arguments.insert(command.arguments.begin(), words.begin(), words.end());
}

void use_environment(Command& command, const Job& job, const fs::path& archive) {
  command.environment["REFRAIN_ARCHIVE"] = archive;
  command.environment["REFRAIN_QUIET"] = "yes";
  for (const auto& [name, value] : job.settings)
    command.environment["REFRAIN_" + name] = value;
}

// A folder where the library has the name that the loader needs.
void use_library_folder(Command& command, const TemporaryFolder& folder) {
  fs::create_symlink(data_file("tracer/librefrain.so"), folder / "librefrain.so.0");
  command.environment["LD_LIBRARY_PATH"] = folder.path();
}

}  // namespace

// Removes the environment's settings of OpenMP and tracing.
std::map<std::string, std::optional<std::string>> clean_environment() {
  std::map<std::string, std::optional<std::string>> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (name == "REFRAIN_LIBOMP")
      continue;  // set by the build: that of the programs' compiler
    for (const char* prefix : {"OMP_", "KMP_", "GOMP_", "REFRAIN_", "LD_PRELOAD"})
      if (name.rfind(prefix, 0) == 0 && name.rfind("REFRAIN_TEST_", 0) != 0)
        result[name] = std::nullopt;
  }
  return result;
}

// A library with a sanitizer needs the sanitizer's runtime first in the program. The programs
// themselves are not instrumented. The sanitizer must not print its suppressions: the
// program's stderr is compared.
void put_sanitizer_first(Command& command) {
  const char* runtime = std::getenv("REFRAIN_TEST_RUNTIME");
  if (runtime == nullptr) return;
  std::optional<std::string>& preload = command.environment["LD_PRELOAD"];
  preload = runtime + (preload ? ":" + *preload : std::string());
  const auto use = [&command](const std::string& variable, const std::string& file) {
    const char* given = std::getenv(variable.c_str());
    command.environment[variable] =
        (given != nullptr ? given + std::string(":") : "") +
        "print_suppressions=0:suppressions=" + data_file(file).string();
  };
  use("LSAN_OPTIONS", "test/end_to_end/libomp.lsan");
  // gcc 12's fails in the thread storage of programs whose runtime ends its threads during the
  // leak check ("Tracer caught signal 11").
  command.environment["LSAN_OPTIONS"]->append(":use_tls=0");
  use("TSAN_OPTIONS", "test/end_to_end/libomp.tsan");
  // Programs with threads fork.
  command.environment["TSAN_OPTIONS"]->append(":die_after_fork=0");
}

std::vector<std::string> refrain_run(const std::map<std::string, std::string>& settings,
                                     const fs::path& archive) {
  std::vector<std::string> words = {data_file("tools/refrain"), "run", "--quiet", "-o",
                                    archive};
  for (const auto& [name, value] : settings) {
    // "yes": a switch.
    words.push_back(value == "yes" ? flag_of(name) : flag_of(name) + '=' + value);
  }
  words.push_back("--");
  return words;
}

std::map<std::string, std::string> find_loops_of(int events, int limit) {
  return {{"DETECTOR", "exact"},
          {"SLOW_FACTOR", "0"},
          {"LIMIT", std::to_string(limit)},
          {"WINDOW", std::to_string(events)},
          {"MAX_PERIOD", std::to_string(events)},
          {"MIN_GAP", "0"}};
}

std::string libomp() {
  const char* given = std::getenv("REFRAIN_LIBOMP");
  return given ? given : "/usr/lib/llvm-19/lib/libomp.so.5";
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

Result run_job(const Job& job, Way way, const fs::path& archive) {
  Command command;
  command.arguments = {program_path(job.program)};
  command.arguments.insert(command.arguments.end(), job.arguments.begin(),
                           job.arguments.end());
  command.environment = clean_environment();
  command.environment["OMP_NUM_THREADS"] = std::to_string(job.threads);
  for (const auto& [name, value] : job.environment) command.environment[name] = value;
  command.kill_signal = job.kill_signal;
  command.kill_after = job.kill_after;
  command.kill_once = job.kill_once;
  std::optional<TemporaryFolder> folder;
  if (way == Way::kRun) use_run(command, job, archive);
  if (way == Way::kLinked || way == Way::kPreload) use_environment(command, job, archive);
  if (way == Way::kLinked) use_library_folder(command, folder.emplace());
  if (way == Way::kPreload) {
    std::string libraries = data_file("tracer/librefrain.so");
    if (made_for_libgomp(job.program)) libraries += ":" + libomp();
    command.environment["LD_PRELOAD"] = libraries;
  }
  if (way != Way::kNone) put_sanitizer_first(command);
  if (!job.limits.empty()) {
    const std::string script = "ulimit " + job.limits + " && exec \"$@\"";
    const std::vector<std::string> shell = {"bash", "-c", script, "limited"};
    command.arguments.insert(command.arguments.begin(), shell.begin(), shell.end());
  }
  return run(command);
}

Result run_untraced(const Job& job) { return run_job(job, Way::kNone, {}); }

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
Problems check_python_reader(const fs::path& archive) {
  Command command;
  // It reads some 100 000 events a second.
  const long events = number_from_environment("REFRAIN_TEST_PYTHON_EVENTS", 20000);
  command.arguments = {"/usr/bin/python3", "-I",
                       data_file("test/tools/read_with_python.py"), archive,
                       std::to_string(events)};
  command.environment = clean_environment();
  const Result result = run(command);
  if (result.ok()) return {};
  return {"read_with_python.py: " + result.output + result.errors};
}

Trace read_checked(const fs::path& archive, Ended ended) {
  INFO(archive);
  // The other readers take most of a test's time: they read while this process does, in the short form some archives.
  static SomeCases read_by_others;
  std::future<Problems> printed, read_by_python;
  if (read_by_others.runs_next()) {
    printed = std::async(std::launch::async, check_otf2_print, archive);
    read_by_python = std::async(std::launch::async, check_python_reader, archive);
  }
  Trace result = read_trace(archive);
  CHECK(text(check_all(result)) == "");
  if (printed.valid()) CHECK(text(printed.get()) == "");
  if (read_by_python.valid()) CHECK(text(read_by_python.get()) == "");
  const auto summaries = base::read_summaries(archive, base::Iterations::kRead);
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
