#include "test/support/process.h"

#include <signal.h>

#include <catch2/catch.hpp>

namespace refrain::test::process_test {

TEST_CASE("Process: run - output, errors and exit status") {
  const Result result = run({{"sh", "-c", "echo out; echo err >&2; exit 3"}});
  CHECK(result.exit_status == 3);
  CHECK(result.signal == 0);
  CHECK(result.output == "out\n");
  CHECK(result.errors == "err\n");
  CHECK_FALSE(result.timed_out);
}

TEST_CASE("Process: run - environment and folder") {
  Command command{{"sh", "-c", "echo $REFRAIN_TEST_X; pwd; echo ${HOME-none}"}};
  command.environment = {{"REFRAIN_TEST_X", "y z"}, {"HOME", std::nullopt}};
  command.folder = std::string("/");
  CHECK(run(command).output == "y z\n/\nnone\n");
}

TEST_CASE("Process: run - output larger than a pipe") {
  const Result result = run({{"sh", "-c", "head -c 3000000 /dev/zero"}});
  CHECK(result.ok());
  CHECK(result.output.size() == 3000000);
}

TEST_CASE("Process: run - killed at a moment, with its descendants") {
  Command command{{"sh", "-c", "sleep 10000 & echo $!; wait"}};
  command.kill_signal = SIGTERM;
  command.kill_after = std::chrono::milliseconds(50);
  command.kill_once = [](const Result& so_far) { return so_far.output.ends_with('\n'); };
  const Result result = run(command);
  CHECK(result.signal == SIGTERM);
  CHECK(result.signalled);
  CHECK_FALSE(result.timed_out);
  // It has ended, though nobody may have waited for it.
  const std::string sleeping = result.output.substr(0, result.output.find('\n'));
  REQUIRE(!sleeping.empty());
  const Result gone = run({{"sh", "-c",
                            "while grep -q '^State:[[:space:]]*[^ZX]' /proc/" + sleeping +
                                "/status 2>/dev/null; do sleep 0.01; done"}});
  CHECK(gone.ok());
}

TEST_CASE("Process: run - killed once something holds, by the CPU time so far") {
  Command command{{"sh", "-c", "while :; do :; done"}};
  command.kill_signal = SIGKILL;
  command.kill_once = [](const Result& so_far) { return so_far.cpu_seconds > 0.05; };
  const Result result = run(command);
  CHECK(result.signal == SIGKILL);
  CHECK(result.signalled);
  CHECK(result.cpu_seconds > 0.05);
}

TEST_CASE("Process: run - ended before the signal") {
  Command command{{"true"}};
  command.kill_signal = SIGKILL;
  command.kill_after = std::chrono::hours(1);
  const Result result = run(command);
  CHECK(result.ok());
  CHECK_FALSE(result.signalled);
}

TEST_CASE("Process: run - time limit") {
  Command command{{"sleep", "10000"}};
  command.time_limit = std::chrono::milliseconds(100);
  const Result result = run(command);
  CHECK(result.timed_out);
  CHECK(result.signal == SIGKILL);
}

TEST_CASE("Process: run - a program that does not exist") {
  const Result result = run({{"/nowhere/to/be/found"}});
  CHECK(result.exit_status == 127);
  CHECK(result.errors.find("/nowhere/to/be/found") != std::string::npos);
}

TEST_CASE("Process: run - finds no leftovers of OpenMP programs that were killed") {
  const auto leave = [](const std::string& process) {
    const Result left = run({{"sh", "-c",
                              "file=/dev/shm/__KMP_REGISTERED_LIB_" + process +
                                  "_$(id -u); echo > $file; echo $file"}});
    REQUIRE(left.ok());
    return left.output;
  };
  CHECK_FALSE(run({{"sh", "-c", "ls " + leave("$$")}}).ok());
  CHECK(run({{"sh", "-c", "rm " + leave("$PPID")}}).ok());  // of this process, which lives
}

TEST_CASE("Process: output values") {
  const std::string output = "x=1\nouter_iterations=4 iterations=750 checksum=0a\n";
  CHECK(output_number(output, "iterations") == 750);
  CHECK(output_value(output, "checksum") == "0a");
  CHECK(output_number(output, "checksum") == -1);
  CHECK(output_value(output, "sum") == "");
}

}  // namespace refrain::test::process_test
