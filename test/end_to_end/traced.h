// Archives of the test programs, as the end-to-end tests need them: traced by the test itself, or recorded once by the
// build (test/runs) and read by many tests.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/runs/run_program.h"
#include "test/support/read_trace.h"
#include "test/support/summary_checks.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// Settings under which a flat window locks on bodies of at most `events` symbols, without a
// minimum gap.
std::map<std::string, std::string> find_loops_of(int events, int limit);

// When to kill a job whatever the machine does meanwhile, for kill_once: when a process records; when each of the
// processes has entered so many regions, as `refrain watch` says.
std::function<bool(const Result&)> has_begun(const std::filesystem::path& archive);
std::function<bool(const Result&)> have_entered(std::uint64_t regions,
                                                const std::filesystem::path& archive,
                                                std::size_t processes = 1);

// Runs the command itself: refrain `arguments`.
Result run_refrain(const std::vector<std::string>& arguments);

// A traced run that must end well, and its archive, which must satisfy every check and
// otf2-print. Fails the test otherwise.
struct Traced {
  Result result;
  Trace trace;
};
Traced trace(const Job& job, const std::filesystem::path& archive, Way way = Way::kRun);

// The same of a run that the build has recorded; `archive` becomes a copy of it, which the test may change. Checks and
// other readers have been at it in recorded_test.
// The long form (test_length.h) has more cases than are recorded: what is not, is traced.
Traced recorded(const Job& job, const std::filesystem::path& archive);
// The output and status alone, whatever that is.
Result recorded_result(const Job& job, const std::filesystem::path& archive);
// The directory of a recorded run; none: there is none of this name. `line`: what runs.bzl should have.
std::optional<std::filesystem::path> recorded_run(const std::string& name,
                                                  const std::string& line);
// Copies its archive, and returns what the program printed and returned.
Result copy_recorded(const std::filesystem::path& run,
                     const std::filesystem::path& archive);
// Directories of all recorded runs in the test's data.
std::vector<std::filesystem::path> recorded_runs();

// Problems that python3-otf2 finds (test/tools/read_with_python.py), of several archives each after the archive's name: of
// a large one it reads the definitions and the first 100 000 events.
Problems check_python_reader(const std::vector<std::filesystem::path>& archives);

// Reads an archive with every check, and with other readers: otf2-print, python3-otf2 (one of five archives of a
// test in the short form). Its summary is compared with its events (summary_checks.h).
enum class Others { kSome, kNone };
Trace read_checked(const std::filesystem::path& archive, Ended ended = Ended::kOrderly,
                   Others others = Others::kSome);

// The command says `why` in one line, nothing else, and ends with status 2.
void check_refused(const std::vector<std::string>& arguments, const std::string& why);

// A property of the archive, as a number; -1: there is none.
long property_number(const Trace& trace, const std::string& name);

// Preloads test/tools/no_memory.so (of the test's data): a dozen of the tracer's allocations fail, one
// of `every`. `report`: file that gets a byte from each process with failures.
std::map<std::string, std::string> no_memory(const std::string& every, int seed,
                                             const std::filesystem::path& report);

}  // namespace refrain::test
