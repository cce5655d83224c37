// Programs compiled with -finstrument-functions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::functions_test {
namespace {

Job job_of(const std::string& program, std::vector<std::string> arguments, int limit) {
  Job job{"test/programs/user/" + program, std::move(arguments), 1, {}};
  job.settings = {{"LIMIT", std::to_string(limit)}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}};
  return job;
}

using Counts = std::map<std::string, std::uint64_t>;

// Calls by name, without the compiler's additions to it.
Counts counts(const Trace& trace) {
  Counts all;
  for (const auto& [name, count] : count_by_name(trace)) {
    const std::string plain = name.substr(0, name.find('('));
    all[plain.substr(plain.rfind(':') == std::string::npos ? 0 : plain.rfind(':') + 1)] +=
        count;
  }
  return all;
}

const std::vector<std::string> kBuilds = {"gcc", "clang", "gcc_slow", "clang_slow"};
constexpr unsigned kCompiler = 2;  // OTF2_PARADIGM_COMPILER

}  // namespace

TEST_CASE("Functions: every call - by name, file and line") {
  for (const std::string& build : kBuilds) {
    TemporaryFolder folder;
    const Job job = job_of("functions_" + build, {"steps", "40"}, 0);
    const Traced traced = trace(job, folder / "archive");
    CHECK(traced.result.output == run_untraced(job).output);
    Counts calls = counts(traced.trace);
    CHECK(calls["main"] == 1);
    CHECK(calls["step"] == 40);
    CHECK(calls["kernel"] == 120);
    CHECK(calls["output"] == 4);
    for (const auto& [ref, region] : traced.trace.regions) {
      if (region.name != "kernel") continue;
      CHECK(region.paradigm == kCompiler);
      CHECK(region.file.find("functions.c") != std::string::npos);
      CHECK(region.begin_line == 23);
    }
    // Nothing is skipped if functions are no symbols.
    Job skipped = job;
    skipped.settings["LIMIT"] = "5";
    CHECK(counts(trace(skipped, folder / "skipped").trace)["step"] == 40);
    skipped.settings["SYMBOLS"] = "functions";
    const Traced reduced = trace(skipped, folder / "reduced");
    INFO(build);
    Counts few = counts(reduced.trace);
    CHECK(few["step"] >= 5);
    CHECK(few["step"] <= 25);
    CHECK(few["main"] == 1);
    Job off = job;
    off.settings["FUNCTIONS"] = "no";
    CHECK(run_job(off, Way::kPreload, folder / "off").exit_status == 0);
    CHECK_FALSE(std::filesystem::exists(folder / "off"));
  }
}

TEST_CASE("Functions: a sequential loop - each iteration is marked, N are written") {
  TemporaryFolder folder;
  Job job = job_of("functions_gcc", {"tiny", "200"}, 5);
  job.settings["SYMBOLS"] = "functions";
  job.settings["FUNCTION_CALLS"] = "0";
  const Traced traced = trace(job, folder / "archive");
  std::uint64_t many = 0;
  for (const std::uint32_t region : phase_regions(traced.trace))
    for (const auto& visit : visits(iterations(traced.trace, region)))
      if (visit.front().depth == 0 && visit.size() > many) many = visit.size();
  CHECK(many >= 195);
  CHECK(counts(traced.trace)["many"] <= 12);
  CHECK(counts(traced.trace)["many"] >= 5);
}

TEST_CASE("Functions: unwound frames - balanced, ended at the next event") {
  for (const std::string& build : kBuilds) {
    TemporaryFolder folder;
    Job job = job_of("functions_" + build, {"jump", "20"}, 0);
    Traced traced = trace(job, folder / "jump");
    Counts calls = counts(traced.trace);
    CHECK(calls["jumping"] == 20);
    CHECK(calls["leap"] == 60);
    CHECK(calls["after_jump"] == 20);
    // Regions after the jump do not lie in those that it left.
    const Location& location = traced.trace.locations.front();
    std::vector<std::string> open;
    for (const Event& event : location.events) {
      if (event.type == EventType::kLeave) open.pop_back();
      if (event.type != EventType::kEnter) continue;
      const std::string name = traced.trace.regions.at(event.reference).name;
      if (name == "after_jump") CHECK(open.back() == "jumping");
      open.push_back(name);
    }
    job.arguments = {"deep"};
    traced = trace(job, folder / "deep");
    CHECK(counts(traced.trace)["after_jump"] == 1);
    CHECK(counts(traced.trace)["deep"] >= 2 * 250);
    CHECK(run_job(job_of("functions_" + build, {"errno"}, 0), Way::kRun, folder / "errno")
              .exit_status == 0);
  }
}

TEST_CASE("Functions: exceptions and threads - balanced") {
  for (const std::string& build : kBuilds) {
    TemporaryFolder folder;
    const Job job = job_of("throwing_" + build, {"3", "10"}, 0);
    const Traced traced = trace(job, folder / "archive");
    CHECK(traced.result.output == run_untraced(job).output);
    CHECK(traced.trace.locations.size() == 4);
    Counts calls = counts(traced.trace);
    CHECK(calls["catcher"] == 40);
    CHECK(calls["between"] == 40);
    CHECK(calls["thrower"] == 4 * (5 + 2 * 5));
    CHECK(calls["work"] == 3);
  }
}

TEST_CASE("Functions: Fortran - procedures by name") {
  for (const char* build : {"gfortran", "gfortran_slow"}) {
    TemporaryFolder folder;
    const Traced traced =
        trace(job_of(std::string("procedures_") + build, {}, 0), folder / "archive");
    Counts calls = counts(traced.trace);
    CHECK(calls["sweep"] == 30);
    CHECK(calls["relax"] == 150);
  }
}

TEST_CASE("Functions: called too often - switched off, and reported") {
  TemporaryFolder folder;
  Job job = job_of("functions_gcc", {"tiny", "100"}, 0);
  job.settings["FUNCTION_CALLS"] = "5000";
  job.settings["FUNCTION_MEAN"] = "100us";
  const Traced traced = trace(job, folder / "archive");
  Counts calls = counts(traced.trace);
  CHECK(calls["tiny"] >= 5000);
  CHECK(calls["tiny"] < 5000 + 64);
  CHECK(calls["many"] == 100);
  const std::string off = traced.trace.properties.at("REFRAIN::FUNCTIONS_OFF");
  CHECK(off.find(" tiny") != std::string::npos);
  CHECK(std::count(off.begin(), off.end(), '\n') == 0);
  const Result info = run_refrain({"info", folder / "archive"});
  CHECK(info.output.find("tiny after 50") != std::string::npos);
  // In the summary, too.
  job.settings["ARCHIVE"] = folder / "loud";
  Job loud = job;
  loud.settings.erase("ARCHIVE");
  loud.environment["REFRAIN_QUIET"] = "no";
  const Result said = run_refrain(
      {"run", "-o", folder / "loud", "--function-calls", "5000", "--function-mean", "100us",
       "--", data_file("test/programs/user/functions_gcc"), "tiny", "100"});
  CHECK(said.errors.find("switched off 1 short function") != std::string::npos);
  // Not slow functions.
  job.settings.erase("ARCHIVE");
  job.settings["FUNCTION_MEAN"] = "1ns";
  CHECK(counts(trace(job, folder / "all").trace)["tiny"] == 100000);
}

TEST_CASE("Functions: the filter file - functions named in it are not recorded") {
  TemporaryFolder folder;
  std::ofstream(folder / "filter") << "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE kern*\n"
                                      "SCOREP_REGION_NAMES_END\n";
  Job job = job_of("functions_gcc", {"steps", "40"}, 0);
  job.settings["FILTER"] = folder / "filter";
  const Traced traced = trace(job, folder / "archive");
  Counts calls = counts(traced.trace);
  CHECK(calls["kernel"] == 0);
  CHECK(calls["step"] == 40);
  // Not even counted: main, step and output, in and out.
  CHECK(property_number(traced.trace, "EVENTS_SEEN") == 2 * (1 + 40 + 4));
  CHECK(property_number(traced.trace, "EVENTS_FILTERED") == 0);
}

TEST_CASE("Functions: an allocator of the program's own - instrumented, and called by us") {
  for (const char* functions : {"yes", "no"}) {
    TemporaryFolder folder;
    Job job = job_of("allocator_gcc", {"100"}, 0);
    job.settings["FUNCTIONS"] = functions;
    const Result plain = run_untraced(job);
    const Result traced = run_job(job, Way::kRun, folder / "archive");
    CHECK(traced.output == plain.output);
    CHECK(traced.exit_status == 0);
    CHECK_FALSE(traced.signalled);
    if (functions == std::string("no")) continue;
    CHECK(traced.errors == "");  // nothing was lost
    CHECK(counts(read_checked(folder / "archive"))["work"] == 100);
  }
}

TEST_CASE("Functions: killed - the recording becomes an archive") {
  TemporaryFolder folder;
  Job job = job_of("functions_gcc", {"steps", "100000000"}, 5);
  job.settings["SYMBOLS"] = "functions";
  job.kill_signal = 9;
  job.kill_once = have_entered(1000, folder / "archive");
  CHECK(run_job(job, Way::kRun, folder / "archive").signal == 9);
  REQUIRE(run_refrain({"recover", folder / "archive"}).exit_status == 0);
  CHECK(counts(read_checked(folder / "archive"))["step"] >= 5);
}

}  // namespace refrain::test::functions_test
