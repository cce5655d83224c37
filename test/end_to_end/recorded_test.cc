// Every recorded run (test/runs), once: each archive satisfies every check, and is read by other readers. (Each part of the
// test has some of the runs in its data.)

#include <catch2/catch.hpp>
#include <future>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/mpi_processes.h"

namespace refrain::test::recorded_test {

namespace fs = std::filesystem;

TEST_CASE("Recorded runs: archives - every check, and every other reader") {
  const std::vector<fs::path> runs = recorded_runs();
  REQUIRE(runs.size() > 50);
  std::vector<fs::path> archives;
  for (const fs::path& run : runs) {
    const fs::path archive = run / "archive";
    if (fs::exists(archive / "traces.otf2"))
      archives.push_back(archive);
    else  // a Paraver trace was all that was wanted, or the program became another one
      CHECK((fs::exists(archive / "traces.prv") || fs::exists(archive / "spool")));
  }
  auto by_python = std::async(std::launch::async, check_python_reader, archives);
  for (const fs::path& archive : archives) {
    INFO(archive);
    auto printed = std::async(std::launch::async, check_otf2_print, archive);
    const Trace trace = read_checked(archive, Ended::kOrderly, Others::kNone);
    if (MpiProcesses(trace).size() > 0) CHECK(text(check_mpi(trace)) == "");
    CHECK(text(printed.get()) == "");
  }
  const std::string complaints = text(by_python.get());
  for (const fs::path& archive : archives) {
    INFO(complaints);
    CHECK(complaints.find(archive.string() + ": ") == std::string::npos);
  }
  CHECK(complaints == "");
}

}  // namespace refrain::test::recorded_test
