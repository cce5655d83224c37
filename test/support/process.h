// Runs a command for tests: with an environment and a time limit, its output captured and,
// if wanted, killed at a given moment.
//
// Thread-safety: run() may be called from several threads at once. Errors: a command that
// cannot be started ends with exit status 127 and says why on its stderr;
// std::runtime_error if pipes or processes run out.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace refrain::test {

struct Result;

// Ends a run that hangs, and no other, however busy the machine is.
inline constexpr std::chrono::minutes kTimeLimit{10};

struct Command {
  // The program (looked for in PATH if it has no slash) and its arguments.
  std::vector<std::string> arguments;
  // Changes of this process' environment; without a value: removed.
  std::map<std::string, std::optional<std::string>> environment{};
  std::string folder{};  // where it runs; empty: here
  // It and its descendants (they are one process group) are killed after this.
  std::chrono::microseconds time_limit = kTimeLimit;
  // A signal for the process group at this time after the start, if it still runs.
  int kill_signal = 0;
  std::chrono::microseconds kill_after{0};
  // If there is one, kill_after counts from when it first holds: the program, not a clock, says how far it is. It gets
  // the output so far and the CPU time of the command's own process, and is asked every 10 ms.
  std::function<bool(const Result&)> kill_once{};
  bool discard_output = false;  // stdout to /dev/null
};

struct Result {
  int exit_status = -1;  // -1: ended by a signal
  int signal = 0;        // that ended it; 0: none
  bool timed_out = false;
  bool signalled = false;  // kill_signal was sent
  std::string output;      // stdout
  std::string errors;      // stderr
  double wall_seconds = 0;
  double cpu_seconds = 0;  // user and system, with waited-for descendants

  bool ok() const { return exit_status == 0; }
};

Result run(const Command& command);

// A number from this process' environment, e.g. REFRAIN_TEST_KILLS.
long number_from_environment(const char* name, long otherwise);

// The value of `key=` in the last line of a program's output that has one; empty: none.
std::string output_value(const std::string& output, const std::string& key);
// The same as a number; -1: none.
long output_number(const std::string& output, const std::string& key);

}  // namespace refrain::test
