// A traced program prints, computes and returns the same as untraced; in each of the three
// ways to load the tracer, from every compiler.
#include <catch2/catch.hpp>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::transparency_test {
namespace {

namespace fs = std::filesystem;

void check_same(const Result& plain, const Result& traced) {
  CHECK(traced.output == plain.output);
  CHECK(traced.errors == plain.errors);
  CHECK(traced.exit_status == plain.exit_status);
  CHECK(traced.signal == plain.signal);
  CHECK_FALSE(traced.timed_out);
}

void check_same(const Job& job, Way way, const fs::path& archive) {
  check_same(run_untraced(job), run_job(job, way, archive));
}

}  // namespace

TEST_CASE("Transparency: output - the same for every program") {
  for (const std::string program :
       {"cg", "constructs", "irregular", "jacobi", "mutexes", "nested", "norepeat",
        "particles", "phases", "tasks", "threads"})
    for (const std::string compiler : {"clang", "gcc"})
      DYNAMIC_SECTION(program << " " << compiler) {
        const Result plain = run_untraced({program + "_" + compiler});
        for (const std::string limit : {"0", "10"}) {
          INFO("limit " << limit);
          TemporaryFolder folder;
          const Job job{program + "_" + compiler, {}, 2, {{"LIMIT", limit}}};
          check_same(plain, recorded_result(job, folder / "archive"));
        }
      }
}

TEST_CASE("Transparency: OpenMP's first thread has ended - the others go on") {
  for (const std::string program : {"first_ended_clang", "first_ended_gcc"}) {
    INFO(program);
    const TemporaryFolder folder;
    const Job job{program};
    const Result plain = run_untraced(job);
    REQUIRE(plain.output == "result=462\n");
    const Result traced = run_job(job, Way::kRun, folder / "archive");
    CHECK(traced.output == plain.output);
    CHECK(traced.exit_status == 0);
    CHECK(traced.errors.find("critical sections and locks are not recorded") !=
          std::string::npos);
  }
}

TEST_CASE("Transparency: end - exit status and signal are the program's own", "[alone]") {
  const std::vector<std::vector<std::string>> ends = {
      {"return", "0"}, {"return", "3"},
      {"exit", "5"},   {"exit-in-region", "7"},
      {"_exit", "9"},  {"quick-exit", "4"},
      {"abort"},       {"raise", "10"},
      {"raise", "15"}, {"segv"},
      {"exec"}};
  for (const auto& end : ends)
    for (const std::string compiler : {"clang", "gcc"})
      for (const Way way : {Way::kRun, Way::kPreload})
        DYNAMIC_SECTION(end[0] << " " << end.back() << " " << compiler << " way "
                               << static_cast<int>(way)) {
          TemporaryFolder folder;
          check_same({"exitcode_" + compiler, end}, way, folder / "archive");
        }
}

TEST_CASE("Transparency: three ways in - an archive from each, by each compiler",
          "[alone]") {
  const std::vector<std::pair<std::string, std::string>> programs = {
      {"cg_clang", "test/end_to_end/cg_clang_linked"},
      {"cg_gcc", "test/end_to_end/cg_gcc_linked"},
      {"heat_gfortran", "test/end_to_end/heat_gfortran_linked"}};
  for (const auto& [plain, linked] : programs)
    for (const Way way : {Way::kRun, Way::kLinked, Way::kPreload})
      DYNAMIC_SECTION(plain << " way " << static_cast<int>(way)) {
        TemporaryFolder folder;
        const Job job{way == Way::kLinked ? linked : plain, {}, 2, {{"LIMIT", "0"}}};
        const Traced traced = trace(job, folder / "archive", way);
        CHECK(traced.result.output == run_untraced({plain}).output);
        CHECK(traced.result.errors == "");
        CHECK(traced.trace.locations.size() == 2);
        CHECK(count_by_type(traced.trace)[EventType::kThreadFork] >= 600);
      }
}

TEST_CASE("Transparency: tracing cannot start - reported once, and the program goes on",
          "[alone]") {
  const Job job{"cg_clang", {"3"}};
  const Result plain = run_untraced(job);
  const Result traced = run_job(job, Way::kPreload, "/proc/no/such/place");
  CHECK(traced.output == plain.output);
  CHECK(traced.exit_status == 0);
  CHECK(traced.errors.rfind("refrain: ", 0) == 0);
  CHECK(std::count(traced.errors.begin(), traced.errors.end(), '\n') == 1);
}

TEST_CASE(
    "Transparency: many threads - rings get smaller before a thread is not recorded") {
  TemporaryFolder folder;
  const Job job{"threads_clang", {"0", "1", "48"}, 2, {{"MEMORY_LIMIT", "32M"}}};
  const Traced traced = recorded(job, folder / "archive");
  CHECK(traced.result.output == run_untraced({"threads_clang", {"0", "1", "48"}}).output);
  CHECK(traced.result.errors == "");
  CHECK(traced.trace.locations.size() == 48);
}

TEST_CASE("Transparency: a very long command - its beginning is in the archive",
          "[alone]") {
  TemporaryFolder folder;
  Job job{"constructs_clang", {"3"}};
  for (char letter = 'a'; letter <= 'j'; ++letter)
    job.arguments.push_back(std::string(100'000, letter));
  const Traced traced = trace(job, folder / "archive");
  CHECK(traced.result.output == run_untraced(job).output);
  CHECK(traced.result.errors == "");
  CHECK(traced.trace.properties.at("REFRAIN::SHORTENED") == "REFRAIN::COMMAND");
  CHECK(traced.trace.properties.at("REFRAIN::COMMAND").find(" 3 aaaa") !=
        std::string::npos);
  const std::string printed = run_refrain({"info", folder / "archive"}).output;
  CHECK(printed.find("\nShortened    REFRAIN::COMMAND: ") != std::string::npos);
  REQUIRE(printed.starts_with("Program "));
  CHECK(printed.find('\n') <= 100);
}

TEST_CASE("Transparency: switched off - the library does nothing", "[alone]") {
  TemporaryFolder folder;
  Job job{"cg_clang", {"3"}};
  job.settings["ENABLED"] = "no";
  check_same(job, Way::kPreload, folder / "archive");
  CHECK_FALSE(fs::exists(folder / "archive"));
}

TEST_CASE("Transparency: source - regions know their file and line") {
  for (const std::string program : {"cg_clang", "cg_gcc"}) {
    TemporaryFolder folder;
    const Traced traced =
        recorded({program, {"3"}, 2, {{"LIMIT", "0"}}}, folder / "archive");
    int known = 0;
    for (const auto& [reference, region] : traced.trace.regions)
      known += region.name.rfind("!$omp parallel @cg.c:", 0) == 0 &&
               region.file.find("cg.c") != std::string::npos && region.begin_line > 0;
    CHECK(known >= 7);
  }
}

}  // namespace refrain::test::transparency_test
