// Runs of the test programs, traced and untraced, as the end-to-end tests need them.
//
// Everything is in the test's `data`: the command //tools:refrain, the library
// //tracer:librefrain.so and the programs of //test/programs. OMP_* and REFRAIN_* variables
// of the environment are removed first, so that only the test's settings apply.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/support/process.h"
#include "test/support/summary_checks.h"
#include "test/support/trace.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// How the tracer is loaded into the program.
enum class Way {
  kNone,     // untraced
  kRun,      // refrain run [options] -- program
  kLinked,   // a program that was linked with the library; options by the environment
  kPreload,  // LD_PRELOAD; options by the environment
};

struct Job {
  std::string program;  // of //test/programs, e.g. "cg_clang"; with a slash: of data
  std::vector<std::string> arguments{};
  int threads = 2;
  // Settings by their names in the environment without REFRAIN_, e.g. {"LIMIT", "2"}.
  std::map<std::string, std::string> settings{};
  std::map<std::string, std::string> environment{};
  int kill_signal = 0;
  std::chrono::microseconds kill_after{0};
  std::function<bool(const Result&)> kill_once{};
  std::string limits{};  // arguments of the shell's ulimit, e.g. "-f 100 -n 20"
};

// Settings under which a flat window locks on bodies of at most `events` symbols, without a
// minimum gap.
std::map<std::string, std::string> find_loops_of(int events, int limit);

// When to kill a job whatever the machine does meanwhile, for kill_once: when a process records; when each of the
// processes has entered so many regions, as `refrain watch` says.
std::function<bool(const Result&)> has_begun(const std::filesystem::path& archive);
std::function<bool(const Result&)> have_entered(std::uint64_t regions,
                                                const std::filesystem::path& archive,
                                                std::size_t processes = 1);

Result run_job(const Job& job, Way way, const std::filesystem::path& archive);
Result run_untraced(const Job& job);

// Runs the command itself: refrain `arguments`.
Result run_refrain(const std::vector<std::string>& arguments);

// A traced run that must end well, and its archive, which must satisfy every check and
// otf2-print. Fails the test otherwise.
struct Traced {
  Result result;
  Trace trace;
};
Traced trace(const Job& job, const std::filesystem::path& archive, Way way = Way::kRun);

// Problems that python3-otf2 finds (test/tools/read_with_python.py): of a large archive it
// reads the definitions and the first 100 000 events.
Problems check_python_reader(const std::filesystem::path& archive);

// Reads an archive with every check, and with other readers: otf2-print, python3-otf2 (one of five archives of a
// test in the short form). Its summary is compared with its events (summary_checks.h).
Trace read_checked(const std::filesystem::path& archive, Ended ended = Ended::kOrderly);

// The command says `why` in one line, nothing else, and ends with status 2.
void check_refused(const std::vector<std::string>& arguments, const std::string& why);

// A property of the archive, as a number; -1: there is none.
long property_number(const Trace& trace, const std::string& name);

// LLVM's OpenMP runtime, which replaces libgomp.
std::string libomp();

// Parts of runs: changes of the environment that remove its settings of OpenMP and tracing;
// `refrain run` with its options, up to the `--`; and, if the test is built with a sanitizer,
// its runtime first in the command's processes.
std::map<std::string, std::optional<std::string>> clean_environment();

// Preloads test/tools/no_memory.so (of the test's data): a dozen of the tracer's allocations fail, one
// of `every`. `report`: file that gets a byte from each process with failures.
std::map<std::string, std::string> no_memory(const std::string& every, int seed,
                                             const std::filesystem::path& report);
std::vector<std::string> refrain_run(const std::map<std::string, std::string>& settings,
                                     const std::filesystem::path& archive);
void put_sanitizer_first(Command& command);

}  // namespace refrain::test
