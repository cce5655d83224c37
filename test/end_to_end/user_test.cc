// Events that programs report themselves (refrain.h): not linked, preloaded, under `refrain
// run`; and without Refrain.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <set>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::user_test {
namespace {

const std::string kPrograms = "test/programs/user/";

Job job_of(const std::string& program, std::vector<std::string> arguments, int limit) {
  Job job{kPrograms + program, std::move(arguments), 2, {}};
  job.settings = {{"LIMIT", std::to_string(limit)}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}};
  return job;
}

// As trace(), of a program that ends with 7.
Traced trace_regions(const Job& job, const std::filesystem::path& archive,
                     Way way = Way::kRun) {
  INFO(job.program << " " << job.arguments.front());
  Traced traced;
  traced.result = run_job(job, way, archive);
  INFO("stderr: " << traced.result.errors);
  REQUIRE(traced.result.exit_status == 7);
  CHECK(traced.result.output == run_untraced(job).output);
  traced.trace = read_checked(archive);
  return traced;
}

std::vector<Iteration> iterations_of(const Trace& trace, const std::string& phase) {
  for (const std::uint32_t region : phase_regions(trace))
    if (trace.regions.at(region).name == phase) return iterations(trace, region);
  return {};
}

std::vector<std::int64_t> written_of(const std::vector<Iteration>& all) {
  std::vector<std::int64_t> numbers;
  for (const Iteration& it : all)
    if (it.said_written == 1) numbers.push_back(it.number);
  return numbers;
}

const Region& region_named(const Trace& trace, const std::string& name,
                           bool phase = false) {
  for (const auto& [ref, region] : trace.regions)
    if (region.name == name && ((region.flags & 2) != 0) == phase) return region;
  FAIL("no region '" << name << "'");
  return trace.regions.begin()->second;
}

std::vector<std::int64_t> values_of(const Trace& trace, const std::string& parameter) {
  std::vector<std::int64_t> values;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kParameterInt &&
          trace.parameters.at(event.reference).name == parameter)
        values.push_back(event.value);
  return values;
}

std::set<std::string> texts_of(const Trace& trace) {
  std::set<std::string> texts;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kParameterString)
        texts.insert(trace.parameters.at(event.reference).name + "=" +
                     trace.strings.at(static_cast<std::uint32_t>(event.value)));
  return texts;
}

constexpr unsigned kUser = 1;  // OTF2_PARADIGM_USER

}  // namespace

TEST_CASE("User: without Refrain - programs run as they are") {
  for (const char* program :
       {"regions_gcc", "regions_clang", "regions_gcc_static", "regions_clang_static",
        "regions_gcc_nopie", "regions_gcc_slow"})
    CHECK(run_untraced(job_of(program, {"steps"}, 0)).output ==
          run_untraced(job_of("regions_gcc_without", {"steps"}, 0)).output);
  CHECK(run_untraced(job_of("fortran_gfortran", {}, 0)).output ==
        run_untraced(job_of("fortran_gfortran_static", {}, 0)).output);
  // Tracing is not requested: the library is loaded and reports that.
  Job off = job_of("regions_gcc", {"steps"}, 0);
  off.settings["ENABLED"] = "no";
  TemporaryFolder folder;
  CHECK(run_job(off, Way::kPreload, folder / "archive").exit_status == 7);
  CHECK_FALSE(std::filesystem::exists(folder / "archive"));
}

TEST_CASE("User: every region - name, paradigm, file and line, parameters") {
  for (const char* program : {"regions_gcc", "regions_clang", "regions_gcc_nopie",
                              "regions_gcc_slow", "regions_clang_nopie"})
    for (const Way way : {Way::kRun, Way::kPreload}) {
      TemporaryFolder folder;
      const Traced traced =
          trace_regions(job_of(program, {"plain", "30"}, 0), folder / "archive", way);
      REQUIRE(traced.trace.locations.size() == 1);
      const auto names = count_by_name(traced.trace);
      CHECK(names.at("solve") == 30);
      CHECK(names.at("inner") == 90);
      const Region& solve = region_named(traced.trace, "solve");
      CHECK(solve.paradigm == kUser);
      CHECK(solve.file.find("regions.c") != std::string::npos);
      CHECK(solve.begin_line == 31);
      std::vector<std::int64_t> steps(30);
      for (std::size_t i = 0; i < steps.size(); ++i)
        steps[i] = static_cast<std::int64_t>(i);
      CHECK(values_of(traced.trace, "step") == steps);
      CHECK(texts_of(traced.trace) == std::set<std::string>{"parity=even", "parity=odd"});
    }
}

TEST_CASE("User: threads that begin in another order - they have OpenMP's numbers") {
  for (const char* program : {"numbers_gcc_openmp", "numbers_clang_openmp"}) {
    TemporaryFolder folder;
    Job job = job_of(program, {}, 0);
    job.threads = 4;
    const Trace trace = test::trace(job, folder / "archive").trace;
    REQUIRE(trace.locations.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      std::set<std::string> entered;
      for (const Event& event : trace.locations[i].events) {
        if (event.type != EventType::kEnter) continue;
        const std::string& name = trace.regions.at(event.reference).name;
        if (name.starts_with("number ")) entered.insert(name);
      }
      CHECK(entered == std::set<std::string>{"number " + std::to_string(i)});
    }
  }
}

TEST_CASE("User: statically linked - runs, and gives no archive") {
  TemporaryFolder folder;
  const Result result =
      run_job(job_of("regions_gcc_static", {"steps"}, 10), Way::kRun, folder / "archive");
  CHECK(result.exit_status == 7);
  CHECK_FALSE(std::filesystem::exists(folder / "archive"));
}

TEST_CASE("User: phases - N are written with the events between them, all are marked") {
  for (const char* program : {"regions_gcc", "regions_clang_openmp", "regions_gcc_openmp"})
    for (const int limit : {0, 1, 4}) {
      TemporaryFolder folder;
      const Traced traced =
          trace_regions(job_of(program, {"steps", "60"}, limit), folder / "archive");
      const Trace& trace = traced.trace;
      INFO("limit " << limit);
      const auto all = iterations_of(trace, "timestep");
      REQUIRE(all.size() == 60);
      CHECK(phase_regions(trace).size() == 1);
      CHECK(region_named(trace, "timestep", true).begin_line == 61);
      auto names = count_by_name(trace);
      CHECK(names["setup"] == 1);
      CHECK(names["finish"] == 1);
      if (limit == 0) {
        CHECK(property_number(trace, "EVENTS_WRITTEN") ==
              property_number(trace, "EVENTS_SEEN"));
        CHECK(names["solve"] == 60);
        CHECK(names["check"] == 60);
        continue;
      }
      // The first of them, and the last before a new pattern.
      std::vector<std::int64_t> expected;
      for (int i = 0; i < limit; ++i) expected.push_back(i);
      expected.push_back(59);
      CHECK(written_of(all) == expected);
      CHECK(names["solve"] == static_cast<std::uint64_t>(limit) + 1);
      CHECK(names["inner"] == 3 * (static_cast<std::uint64_t>(limit) + 1));
      // No phase extends beyond its end.
      for (std::size_t i = 0; i + 1 < all.size(); ++i) CHECK(all[i].end < all[i + 1].begin);
      if (std::string(program).find("openmp") == std::string::npos) continue;
      CHECK(trace.locations.size() == 2);
      CHECK(names["member"] == 2 * (static_cast<std::uint64_t>(limit) + 1));
    }
}

TEST_CASE("User: phases - the same durations with and without the limit") {
  // A phase's mark begins and ends where the program said, skipped or not: between its region's
  // neighbours, and never shorter than its content.
  TemporaryFolder folder;
  const Traced traced =
      trace_regions(job_of("regions_gcc", {"steps", "60"}, 0), folder / "archive");
  for (const Iteration& it : iterations_of(traced.trace, "timestep")) {
    const auto events = between(traced.trace.locations[it.location], it.begin, it.end + 1);
    long solves = 0;
    long checks = 0;
    for (const Event& event : events) {
      if (event.type != EventType::kEnter) continue;
      solves += traced.trace.regions.at(event.reference).name == "solve";
      checks += traced.trace.regions.at(event.reference).name == "check";
    }
    CHECK(solves == 1);
    CHECK(checks == 0);
  }
}

TEST_CASE("User: phases - nothing between them or after the last, which is kept") {
  TemporaryFolder folder;
  const Traced traced =
      trace_regions(job_of("regions_gcc", {"bare", "60"}, 3), folder / "archive");
  const auto all = iterations_of(traced.trace, "timestep");
  REQUIRE(all.size() == 60);
  CHECK(written_of(all) == std::vector<std::int64_t>{0, 1, 2, 59});
}

TEST_CASE("User: phases - something new between them is kept, with the phase before") {
  TemporaryFolder folder;
  const Traced traced =
      trace_regions(job_of("regions_gcc", {"rare", "100"}, 3), folder / "archive");
  const auto all = iterations_of(traced.trace, "timestep");
  REQUIRE(all.size() == 100);
  CHECK(count_by_name(traced.trace)["output"] == 1);  // new once
  CHECK(visits(all).size() == 2);
  // Three in the run, then the first of the visit; the last of each.
  CHECK(written_of(all) == std::vector<std::int64_t>{0, 1, 2, 39, 0, 59});
}

TEST_CASE("User: phases - two in turn, and nested") {
  TemporaryFolder folder;
  const Traced two = trace_regions(job_of("regions_gcc", {"two", "50"}, 3), folder / "two");
  CHECK(iterations_of(two.trace, "compute").size() == 50);
  CHECK(iterations_of(two.trace, "store").size() == 50);
  CHECK(count_by_name(two.trace)["solve"] <= 5);
  const Traced nested =
      trace_regions(job_of("regions_gcc", {"nested", "200"}, 3), folder / "nested");
  const auto outer = iterations_of(nested.trace, "outer");
  CHECK(outer.size() == 20);
  for (const Iteration& it : outer) CHECK((it.said_written == 2) == (it.number < 3));
  // In three outer phases ten inner ones each have marks, three and then one of them are
  // written; the last outer phase is whole.
  const auto inner = iterations_of(nested.trace, "inner phase");
  CHECK(inner.size() == 30 + 10);
  CHECK(written_of(inner).size() == 3 + 1 + 1 + 10);
}

TEST_CASE("User: no phases - loops are detected by regions") {
  TemporaryFolder folder;
  for (const char* mode : {"plain", "once"}) {
    const Traced traced =
        trace_regions(job_of("regions_gcc", {mode, "100"}, 5), folder / mode);
    INFO(mode);
    auto names = count_by_name(traced.trace);
    CHECK(names["solve"] >= 5);
    CHECK(names["solve"] <= 8);
  }
}

TEST_CASE("User: pause and resume - left out, and nothing else") {
  TemporaryFolder folder;
  const Traced traced =
      trace_regions(job_of("regions_gcc", {"pause", "50"}, 0), folder / "archive");
  auto names = count_by_name(traced.trace);
  CHECK(names["unseen"] == 0);
  CHECK(names["seen"] == 40);
  CHECK(names["whole"] == 50);
  const Traced skipped =
      trace_regions(job_of("regions_gcc", {"pause", "50"}, 5), folder / "skipped");
  CHECK(count_by_name(skipped.trace)["unseen"] == 0);
  CHECK(count_by_name(skipped.trace)["seen"] < 40);
}

TEST_CASE("User: unmatched calls - balanced, and reported") {
  TemporaryFolder folder;
  const Traced odd = trace_regions(job_of("regions_gcc", {"odd"}, 0), folder / "odd");
  auto names = count_by_name(odd.trace);
  for (const char* name :
       {"outer", "left open", "left open, too", "two lines", "open at the end"})
    CHECK(names[name] == 1);
  CHECK(names.find("never begun") == names.end());
  // "never begun", "left open", "no phase" and "one inside", which were not open.
  CHECK(odd.result.errors.find("4 unmatched_end") != std::string::npos);
  const Traced deep = trace_regions(job_of("regions_gcc", {"deep"}, 0), folder / "deep");
  CHECK(count_by_name(deep.trace)["level"] == 256);
  CHECK(deep.result.errors.find("144 depth") != std::string::npos);
}

TEST_CASE(
    "User: C++ - guards, exceptions, other threads, a library with a life of its "
    "own") {
  for (const char* compiler : {"gcc", "clang"}) {
    TemporaryFolder folder;
    Job job = job_of(std::string("guards_") + compiler,
                     {"3", "12", data_file(kPrograms + "plugin.so").string()}, 0);
    const Traced traced = trace(job, folder / "archive", Way::kRun);
    CHECK(traced.result.output == run_untraced(job).output);
    const Trace& trace = traced.trace;
    CHECK(trace.locations.size() == 4);
    auto names = count_by_name(trace);
    CHECK(names["may_throw"] == 12);
    CHECK(names["may throw"] == 12);
    CHECK(names["worker"] == 3);
    CHECK(names["piece of work"] == 36);
    CHECK(names["left open by the thread"] == 3);
    CHECK(names["plugin"] == 12);
    CHECK(iterations_of(trace, "step").size() == 12);
    for (const Location& location : trace.locations) {
      if (location.name == "Master thread") continue;
      CHECK(location.name.find("Thread ") == 0);
    }
    job.settings["LIMIT"] = "3";
    const Traced skipped = test::trace(job, folder / "skipped");
    CHECK(count_by_name(skipped.trace)["may throw"] <= 5);
  }
}

TEST_CASE("User: Fortran - the module alone is enough") {
  for (const Way way : {Way::kRun, Way::kPreload}) {
    TemporaryFolder folder;
    const Job job = job_of("fortran_gfortran", {"40"}, 4);
    const Traced traced = trace(job, folder / "archive", way);
    const Trace& trace = traced.trace;
    CHECK(traced.result.output == run_untraced(job).output);
    const auto all = iterations_of(trace, "timestep");
    CHECK(all.size() == 40);
    const auto written = written_of(all);
    REQUIRE(written.size() >= 4);
    auto names = count_by_name(trace);
    CHECK(names["solve"] == written.size());
    CHECK(names["something else"] == written.size());
    CHECK(names["unseen"] == 0);
    const Region& solve = region_named(trace, "solve");
    CHECK(solve.file.find("fortran.F90") != std::string::npos);
    CHECK(solve.begin_line == 17);
    CHECK(texts_of(trace) == std::set<std::string>{"method=jacobi"});
    CHECK(values_of(trace, "step").front() == 1);
  }
}

// Interrupts the write calls of the tracer, in recording and in the loop detector.
TEST_CASE("User: jumps out of the tracer - later events are recorded") {
  for (const int limit : {0, 10})
    for (const std::string compiler : {"gcc", "clang"}) {
      TemporaryFolder folder;
      INFO(compiler << " limit " << limit);
      const Job job = job_of("jumps_" + compiler, {}, limit);
      const Traced traced = test::trace(job, folder / "archive");
      INFO(traced.result.errors);
      CHECK(traced.result.output == run_untraced(job).output);
      const std::size_t last = traced.result.errors.find("jumps=");
      REQUIRE(last != std::string::npos);
      const std::string last_lines = traced.result.errors.substr(last);
      const long jumps = output_number(last_lines, "jumps");
      const long steps = output_number(last_lines, "steps");
      REQUIRE(jumps >= 1);
      CHECK(steps == 40000 - jumps);
      auto names = count_by_name(traced.trace);
      // The interrupted event may be recorded or not.
      if (limit == 0) {
        CHECK(static_cast<long>(names["step"]) >= steps);
        CHECK(static_cast<long>(names["inner"]) >= steps);
      }
      CHECK(property_number(traced.trace, "EVENTS_SEEN") >= 4 * steps);
      const long lost = property_number(traced.trace, "LOST::REENTRANT");
      CHECK(lost >= 1);
      CHECK(lost <= jumps);
    }
}

// With a limit only the loop detector writes during the run: the journal.
TEST_CASE("User: a jump out of the loop detector - and the program ends") {
  TemporaryFolder folder;
  const Job job = job_of("jumps_gcc", {"40000", "3", "1"}, 10);
  const Traced traced = test::trace(job, folder / "archive");
  INFO(traced.result.errors);
  CHECK(traced.result.errors.find("jumps=1 ") != std::string::npos);
  CHECK(traced.result.errors.find("jumped out of the loop detector") != std::string::npos);
  CHECK(count_by_name(traced.trace)["step"] >= 10);
  CHECK(property_number(traced.trace, "LOST::REENTRANT") == 1);
}

// The first thread feeds the detector; what it skips when it falls silent is no measure for the others.
TEST_CASE("User: the main thread waits in a skipped iteration - the others lose nothing") {
  TemporaryFolder folder;
  Job job = job_of("silent_gcc", {"200", "0", "20000"}, 3);
  job.settings["RING"] = "100K";
  const Traced traced = trace(job, folder / "archive");
  CHECK(traced.result.output == "work=40000\n");
  CHECK(traced.result.errors == "");
  auto counts = count_by_name(traced.trace);
  CHECK(counts["work"] == 40000);
  CHECK(counts["setup"] < 20);
}

TEST_CASE("User: a time window - opens and closes while the main thread waits") {
  TemporaryFolder folder;
  Job job = job_of("silent_gcc", {"1", "1", "100"}, 0);
  job.settings["FROM"] = "0.5";
  const Traced from = trace(job, folder / "from");
  const auto of_from =
      static_cast<std::uint64_t>(output_number(from.result.output, "work"));
  CHECK(count_by_name(from.trace)["work"] >= 200);
  CHECK(count_by_name(from.trace)["work"] < of_from);
  job.settings.erase("FROM");
  job.settings["UNTIL"] = "0.5";
  const Traced until = trace(job, folder / "until");
  const auto of_until =
      static_cast<std::uint64_t>(output_number(until.result.output, "work"));
  CHECK(count_by_name(until.trace)["work"] > 0);
  CHECK(count_by_name(until.trace)["work"] <= of_until - 200);
}

TEST_CASE("User: killed while the main thread waits - regions of others have their names") {
  TemporaryFolder folder;
  const Job job = job_of("late_names_gcc", {}, 0);
  const Result killed = run_job(job, Way::kRun, folder / "archive");
  CHECK(killed.signal == SIGKILL);
  REQUIRE(run_refrain({"recover", folder / "archive"}).ok());
  auto counts = count_by_name(read_checked(folder / "archive"));
  CHECK(counts["init"] == 1);
  CHECK(counts["solve"] == 100);
  CHECK(counts["exchange"] == 100);
}

TEST_CASE(
    "User: all keys of POSIX threads are the program's - its values stay, threads end") {
  TemporaryFolder folder;
  const Job job = job_of("keys_gcc", {"5"}, 0);
  const Traced traced = trace(job, folder / "archive");
  CHECK(traced.result.output == run_untraced(job).output);
  CHECK(count_by_name(traced.trace)["work"] == 5);
  CHECK(traced.trace.locations.size() ==
        1);  // each goes on with what the one before gave back
}

TEST_CASE("User: killed - recorded events are in the archive") {
  TemporaryFolder folder;
  Job job = job_of("regions_gcc", {"steps", "100000000"}, 5);
  job.kill_signal = 9;
  job.kill_once = have_entered(5000, folder / "archive");
  const Result result = run_job(job, Way::kRun, folder / "archive");
  CHECK(result.signal == 9);
  REQUIRE(run_refrain({"recover", folder / "archive"}).exit_status == 0);
  const Trace trace = read_checked(folder / "archive");
  const auto all = iterations_of(trace, "timestep");
  CHECK(all.size() > 100);
  CHECK(count_by_name(trace)["solve"] >= 6);
  CHECK(count_by_name(trace)["setup"] == 1);
}

// Its table has less than the header asks for: no call goes there, and the program does what it does.
TEST_CASE("User: a library that is older than the program's header counts as none") {
  for (const char* program : {"older_gcc", "older_clang"}) {
    const Result result = run(
        {.arguments = {data_file(std::string("test/programs/user/") + program).string()}});
    INFO(program << ": " << result.errors);
    CHECK(result.exit_status == 0);
    CHECK(result.output == "done\n");
  }
}

}  // namespace refrain::test::user_test
