// Unusual behaviour of programs: other processes, short-lived threads, exceptions, signals,
// jumps, libraries that are loaded and unloaded. Traced they behave as untraced, and everything
// recorded is in the archive.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::life_test {
namespace {

namespace fs = std::filesystem;

constexpr long kAsReported = -1;  // the number that the program prints

// One action of a program, and what its archive must have.
struct Deed {
  std::string what;
  long regions = kAsReported;  // at least: recorded parallel regions
  bool whole = true;           // exactly this number
  bool finished = true;        // the archive is written by the program itself
  std::string notice{};        // the start of stderr, which is empty untraced
};

std::vector<fs::path> archives_in(const fs::path& folder) {
  std::vector<fs::path> result;
  for (const auto& entry : fs::directory_iterator(folder)) result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

long regions_of(const Trace& trace) {
  long count = 0;
  for (const Location& location : trace.locations)
    count += std::count_if(location.events.begin(), location.events.end(),
                           [](const Event& e) { return e.type == EventType::kThreadFork; });
  return count;
}

void check_deed(const std::string& program, const Deed& deed, Way way) {
  TemporaryFolder folder;
  Job job{program, {deed.what}, 2, {{"LIMIT", "0"}}, {{"OMP_WAIT_POLICY", "passive"}}};
  // After fork or setuid the leak check is impossible, and prints that.
  if (program.rfind("processes_", 0) == 0)
    job.environment["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0";
  const fs::path archive = folder / "archive";
  const Result plain = run_untraced(job);
  const Result traced = run_job(job, way, archive);
  INFO(traced.errors);
  CHECK(traced.output == plain.output);
  CHECK(traced.exit_status == plain.exit_status);
  CHECK(traced.signal == plain.signal);
  CHECK_FALSE(traced.timed_out);
  if (deed.notice.empty())
    CHECK(traced.errors == plain.errors);
  else
    CHECK(traced.errors.rfind("refrain: " + deed.notice, 0) == 0);
  CHECK(fs::exists(archive / "traces.otf2") == deed.finished);
  if (!deed.finished) REQUIRE(run_refrain({"recover", archive.string()}).ok());
  const long expected =
      deed.regions == kAsReported ? output_number(plain.output, "regions") : deed.regions;
  const long found = regions_of(read_checked(archive));
  CHECK(found >= expected);
  if (deed.whole) CHECK(found == expected);
}

bool starts_team_in_child(const std::string& what) {
  return what.ends_with("fork-openmp") || what == "daemon";
}

// Traced or not: libgomp and the thread sanitizer have no threads in the child of a process that
// had some; libgomp hangs there, the sanitizer ends it.
bool cannot_start_team_in_child(const std::string& compiler) {
  const char* runtime = std::getenv("REFRAIN_TEST_RUNTIME");
  return compiler == "gcc" ||
         (runtime != nullptr && std::string(runtime).find("tsan") != std::string::npos);
}

}  // namespace

TEST_CASE("Life: processes - children, and changes of the process itself") {
  const std::vector<Deed> deeds = {
      {"none"},
      {"fork"},
      {"fork-exit"},
      {"fork-exec"},
      {"fork-in-region"},
      {"vfork"},
      {"spawn"},
      {"system"},
      {"popen"},
      {"fork-openmp"},
      {"daemon", 50, true, false},
      {"pause-hard"},
      {"pause-soft"},
      {"chdir"},
      {"setuid", kAsReported, true, false, "the archive could not be written"},
      {"clearenv"},
      {"close-all", 50, false},
  };
  SomeCases few;
  for (const Deed& deed : deeds)
    for (const std::string compiler : {"clang", "gcc"}) {
      if (!few.runs_next()) continue;
      DYNAMIC_SECTION(deed.what << " " << compiler) {
        if (starts_team_in_child(deed.what) && cannot_start_team_in_child(compiler))
          continue;
        check_deed("processes_" + compiler, deed, Way::kRun);
      }
    }
}

// LLVM's runtime reports the thread to us while it forks.
TEST_CASE("Life: fork - from a thread that has used no OpenMP") {
  for (const std::string compiler : {"clang", "gcc"})
    for (const std::string what : {"thread-fork", "thread-fork-exec", "thread-fork-openmp"})
      if (!starts_team_in_child(what) || !cannot_start_team_in_child(compiler))
        check_deed("processes_" + compiler, {what}, Way::kRun);
}

// LLVM's runtime does not come back from a hard one with its tool.
TEST_CASE("Life: OpenMP is paused - what comes after it is recorded") {
  for (const std::string compiler : {"clang", "gcc"})
    for (const Way way : {Way::kRun, Way::kPreload})
      check_deed("processes_" + compiler, {"pause-hard"}, way);
}

TEST_CASE(
    "Life: the thread that fed the detector has ended - nothing of what follows is lost") {
  for (const std::string compiler : {"clang", "gcc"}) {
    TemporaryFolder folder;
    const Job job{
        "takeover_" + compiler,
        {"400", "3000"},
        2,
        {{"DETECTOR", "nested"}, {"LIMIT", "3"}, {"MIN_GAP", "0"}, {"RING", "100K"}}};
    const Traced traced = trace(job, folder / "archive");
    CHECK(traced.result.output == run_untraced(job).output);
    CHECK(traced.result.errors == "");
    // The main thread's regions do not repeat: all of them are written.
    CHECK(count_by_type(traced.trace)[EventType::kThreadFork] >= 3000);
    CHECK(count_by_type(traced.trace)[EventType::kThreadFork] < 3400);
    CHECK(traced.trace.locations.size() <= 3);
  }
}

TEST_CASE(
    "Life: threads that have loops at once - one feeds the detector, which info says") {
  for (const std::string compiler : {"clang", "gcc"}) {
    const std::string threads = GENERATE("1", "3");
    CAPTURE(compiler, threads);
    TemporaryFolder folder;
    const Job job{"takeover_" + compiler, {"300", "0", threads}, 2, {{"LIMIT", "3"}}};
    const Traced traced = trace(job, folder / "archive");
    CHECK(traced.result.output == run_untraced(job).output);
    const Result info = run_refrain({"info", folder / "archive"});
    INFO(info.output);
    REQUIRE(info.exit_status == 0);
    CHECK((info.output.find("several had some at once") != std::string::npos) ==
          (threads == "3"));
    CHECK((info.output.find("(2 times)") != std::string::npos) == (threads == "3"));
  }
}

TEST_CASE(
    "Life: a library that is unloaded with its runtime - whose threads do not run on in code that is gone") {
  for (int time = 0; time < 5; ++time) {
    TemporaryFolder folder;
    const Job job{"hostile_clang",
                  {folder / "result", folder.path(), "deep-plugin", "regions"}};
    const Result traced = run_job(job, Way::kRun, folder / "archive");
    CHECK(traced.signal == 0);
    CHECK(traced.exit_status == 0);
    CHECK(fs::exists(folder / "archive" / "traces.otf2"));
  }
}

// Writing an archive takes 190 KiB of a stack; and LIMIT is that of the main thread's.
TEST_CASE("Life: an end on a small stack - the archive is written") {
  const auto [limit, end] =
      GENERATE(table<const char*, const char*>({{"unlimited", "e-small-thread-exit"},
                                                {"unlimited", "e-small-handler-exit"},
                                                {"128", "e-exit"}}));
  CAPTURE(limit, end);
  TemporaryFolder folder;
  Job job{"hostile_clang", {folder / "result", folder.path(), "regions", end}};
  job.limits = std::string("-s ") + limit;
  const Result plain = run_untraced(job);
  REQUIRE(plain.exit_status != 0);
  const Result traced = run_job(job, Way::kRun, folder / "archive");
  INFO(traced.errors);
  CHECK(traced.signal == 0);
  CHECK(traced.exit_status == plain.exit_status);
  CHECK(traced.output == plain.output);
  CHECK(regions_of(read_checked(folder / "archive")) == 5);
}

// The shell's redirections, which the program starts with.
Job redirected(const Job& job, const std::string& redirections) {
  Job out = job;
  out.limits = "-c 0 && exec " + redirections;
  return out;
}

TEST_CASE("Life: closed streams - stay closed, and no file of ours is in their place") {
  SomeCases few;
  for (const char* closed : {">&-", "2>&-", "<&-", ">&- 2>&- <&-"})
    for (const Way way : {Way::kRun, Way::kPreload}) {
      if (!few.runs_next()) continue;
      DYNAMIC_SECTION(closed << (way == Way::kRun ? " run" : " preloaded")) {
        TemporaryFolder folder;
        const std::string file = (folder / "result").string();
        Job job{"processes_clang", {"streams", "400", file}, 2, {{"LIMIT", "0"}}};
        job = redirected(job, closed);
        CHECK(run_untraced(job).exit_status == 0);
        const std::string untraced = read_file(file);
        fs::remove(file);
        const Result traced = run_job(job, way, folder / "archive");
        INFO(traced.errors);
        CHECK(traced.exit_status == 0);
        CHECK(traced.signal == 0);
        CHECK(read_file(file) == untraced);
        CHECK(regions_of(read_checked(folder / "archive")) == 400);
      }
    }
}

TEST_CASE("Life: descriptor 2 - a file of the program's has no line of ours") {
  TemporaryFolder folder;
  const std::string file = (folder / "result").string();
  Job job{"processes_clang", {"stderr-is-file", "50", file}};
  job.environment["REFRAIN_QUIET"] = "no";
  const Result traced = run_job(job, Way::kPreload, folder / "archive");
  CHECK(traced.exit_status == 0);
  CHECK(read_file(file) == "descriptor 2 regions=50\n");
  CHECK(fs::exists(folder / "archive/traces.otf2"));
}

TEST_CASE("Life: many files - as many as the limit leaves, with many threads") {
  for (const char* limits : {"-S -n 256", "-n 256"}) {
    TemporaryFolder folder;
    Job job{"processes_clang", {"many-files"}, 64, {{"LIMIT", "0"}, {"RING", "64k"}}};
    job.limits = limits;
    const Result traced = run_job(job, Way::kRun, folder / "archive");
    INFO(traced.errors);
    CHECK(traced.exit_status == 0);
    CHECK(read_checked(folder / "archive").locations.size() == 64);
  }
}

TEST_CASE("Life: exceptions, signals, jumps and threads") {
  const std::vector<Deed> deeds = {
      {"none"},           {"caught"},
      {"through"},        {"uncaught", kAsReported, true, false},
      {"signals"},        {"signal-region"},
      {"jump"},           {"roots"},
      {"at-exit"},        {"many"},
      {"thread-exit"},    {"cancelled"},
      {"cancelled-busy"},
  };
  SomeCases few;
  for (const Deed& deed : deeds)
    for (const std::string compiler : {"clang", "gcc"})
      for (const Way way : {Way::kRun, Way::kPreload}) {
        if (!few.runs_next()) continue;
        DYNAMIC_SECTION(deed.what << " " << compiler << " way " << static_cast<int>(way)) {
          check_deed("unruly_" + compiler, deed, way);
        }
      }
}

// Events of the others after the end of recording, before the process ends, are lost and
// reported; nothing else is.
TEST_CASE("Life: exit inside a region - while the others go from barrier to barrier") {
  const std::regex late("(refrain: lost events, by cause: [0-9]+ late_thread\n)?");
  SomeCases few;
  for (const std::string compiler : {"clang", "gcc"})
    for (const Way way : {Way::kRun, Way::kPreload}) {
      if (!few.runs_next()) continue;
      DYNAMIC_SECTION(compiler << " way " << static_cast<int>(way)) {
        const Job job{
            "exitcode_" + compiler, {"exit-at-barrier", "7"}, 2, {{"LIMIT", "0"}}};
        const Result plain = run_untraced(job);
        for (int i = 0; i < (test_length() == TestLength::kShort ? 2 : 5); ++i) {
          TemporaryFolder folder;
          const Result traced = run_job(job, way, folder / "archive");
          CHECK(traced.output == plain.output);
          CHECK(traced.exit_status == 7);
          INFO(traced.errors);
          CHECK(std::regex_match(traced.errors, late));
          CHECK(regions_of(read_checked(folder / "archive")) == 101);
        }
      }
    }
}

TEST_CASE("Life: a thread that goes on with regions - while the process ends") {
  // LLVM's runtime itself dies in one of some hundred such ends; it died in most of them where the
  // tracer had it end before the archive was written.
  SomeCases few;
  for (const std::string compiler : {"clang", "gcc"})
    for (const Way way : {Way::kRun, Way::kPreload}) {
      if (!few.runs_next()) continue;
      DYNAMIC_SECTION(compiler << " way " << static_cast<int>(way)) {
        const Job job{"unruly_" + compiler, {"detached"}, 2, {{"LIMIT", "0"}}};
        const std::string expected = run_untraced(job).output;
        int died = 0;
        for (int i = 0; i < (test_length() == TestLength::kShort ? 4 : 10); ++i) {
          TemporaryFolder folder;
          const Result traced = run_job(job, way, folder / "archive");
          CHECK(traced.output == expected);
          died += traced.exit_status != 0;
          if (traced.exit_status != 0) continue;
          // Events of the thread before the losses were counted.
          if (traced.errors.find("refrain: ") != std::string::npos)
            CHECK(traced.errors.find(" late_thread\n") != std::string::npos);
          CHECK(regions_of(read_checked(folder / "archive")) >
                output_number(expected, "regions"));
        }
        CHECK(died <= 1);
      }
    }
}

TEST_CASE("Life: children that are traced - an archive of each, none replaces another") {
  SomeCases few;
  const std::vector<std::pair<std::string, long>> children = {
      {"fork-exec", 40}, {"spawn", 40}, {"fork-openmp", 50}, {"daemon", 50}};
  for (const auto& [what, regions] : children)
    for (const Way way : {Way::kRun, Way::kPreload}) {
      if (!few.runs_next()) continue;
      DYNAMIC_SECTION(what << " way " << static_cast<int>(way)) {
        if (starts_team_in_child(what) && cannot_start_team_in_child("clang")) continue;
        TemporaryFolder folder;
        const Job job{
            "processes_clang", {what}, 2, {{"LIMIT", "0"}}, {{"REFRAIN_OVERWRITE", "yes"}}};
        const fs::path archive = folder / "archive";
        for (int i = 0; i < 2; ++i) {  // the second time there is something to replace
          REQUIRE(run_job(job, way, archive).ok());
          if (what == "daemon") {
            REQUIRE(fs::exists(archive / "spool"));
            REQUIRE(run_refrain({"recover", archive.string()}).ok());
          }
          const bool ended = what != "daemon";
          CHECK(regions_of(read_checked(archive)) == (ended ? 100 : 50));
          // `refrain run` replaces those of all programs of a run, the library its own.
          const bool again = i != 0 && way != Way::kRun;
          const fs::path child = folder / (again ? "archive.3" : "archive.2");
          CHECK(regions_of(read_checked(child)) == regions);
        }
        CHECK(archives_in(folder.path()).size() == (way == Way::kRun ? 2 : 3));
      }
    }
}

// LLVM's runtime asks the first tool in the loader's order: the program's own, and ours only
// if that declines.
TEST_CASE(
    "Life: a program with an OMPT tool of its own - that tool wins, which is reported") {
  for (const Way way : {Way::kRun, Way::kPreload})
    DYNAMIC_SECTION("way " << static_cast<int>(way)) {
      TemporaryFolder folder;
      const Job job{"own_tool_clang", {}, 2, {{"LIMIT", "0"}}};
      const Result traced = run_job(job, way, folder / "archive");
      CHECK(traced.output == run_untraced(job).output);
      CHECK(traced.output.find(" counted=50 ") != std::string::npos);
      CHECK(traced.errors.rfind(
                "refrain: parallel regions are not traced: OpenMP's runtime uses "
                "the OMPT tool of ",
                0) == 0);
      CHECK(traced.errors.find("own_tool_clang\n") == traced.errors.size() - 15);
      CHECK(archives_in(folder.path()).empty());
    }
  TemporaryFolder folder;
  const Job declining{"own_tool_clang", {"no"}, 2, {{"LIMIT", "0"}}};
  const Result traced = run_job(declining, Way::kRun, folder / "archive");
  CHECK(traced.output == run_untraced(declining).output);
  CHECK(traced.errors == "");
  CHECK(regions_of(read_checked(folder / "archive")) == 50);
}

// A runtime takes one tool.
TEST_CASE("Life: OMPT tools after ours - are not asked, which is reported") {
  const std::string tool = data_file("test/tools/empty_tool.so");
  const std::string line =
      "refrain: " + tool +
      " is not used as an OMPT tool: OpenMP's runtime uses only one, Refrain\n";
  const Job job{"jacobi_clang", {"20"}, 2, {{"LIMIT", "0"}}};
  const Result plain = run_untraced(job);
  for (const std::string variable : {"OMP_TOOL_LIBRARIES", "LD_PRELOAD"})
    for (const Way way : {Way::kRun, Way::kPreload}) {
      if (variable == "LD_PRELOAD" && way == Way::kPreload) continue;  // is set for that
      INFO(variable << ", way " << static_cast<int>(way));
      TemporaryFolder folder;
      Job with = job;
      with.environment[variable] = tool;
      const Result traced = run_job(with, way, folder / "archive");
      CHECK(traced.output == plain.output);
      CHECK(traced.errors == line);
      CHECK(regions_of(read_checked(folder / "archive")) > 0);
    }
  // Our library by another name is no other tool; the one after it is.
  TemporaryFolder folder;
  fs::create_symlink(data_file("tracer/librefrain.so"), folder / "ours.so");
  Job with = job;
  with.environment = {{"LD_LIBRARY_PATH", folder.path()},
                      {"OMP_TOOL_LIBRARIES", "ours.so"}};
  CHECK(run_job(with, Way::kPreload, folder / "alone").errors == "");
  with.environment["OMP_TOOL_LIBRARIES"] = "ours.so:" + tool;
  CHECK(run_job(with, Way::kPreload, folder / "with another").errors == line);
}

TEST_CASE("Life: a program with functions that have POSIX' names - none is called") {
  for (const char* program : {"own_names_gcc", "own_names_clang"}) {
    INFO(program);
    TemporaryFolder folder;
    const Job job{program, {}, 2, {{"LIMIT", "0"}}};
    const Result traced = run_job(job, Way::kRun, folder / "archive");
    INFO(traced.errors);
    CHECK(traced.output == "right\n");
    CHECK(traced.exit_status == 0);
    CHECK(regions_of(read_checked(folder / "archive")) >= 50);
  }
}

TEST_CASE("Life: a library with OpenMP - loaded late, unloaded, and loaded again") {
  for (const Way way : {Way::kRun, Way::kPreload}) {
    TemporaryFolder folder;
    const Job job{
        "loader_clang", {data_file("test/programs/loaded_clang.so")}, 2, {{"LIMIT", "0"}}};
    const Result plain = run_untraced(job);
    const Result traced = run_job(job, way, folder / "archive");
    CHECK(plain.output != "");
    CHECK(traced.output == plain.output);
    CHECK(traced.errors == "");
    CHECK(traced.exit_status == 0);
    CHECK(regions_of(read_checked(folder / "archive")) ==
          output_number(plain.output, "regions"));
  }
}

}  // namespace refrain::test::life_test
