// Start and end of MPI in a process, also missing ones: the program runs undisturbed, what is
// not traced is reported, nothing is left behind. And callers in symbols.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "summary/run_summary.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/raw_spool.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::mpi_life_test {
namespace {

namespace fs = std::filesystem;

// Of all entries in a directory, hidden or not.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

std::size_t enters_of(const Trace& trace, const std::string& region) {
  std::size_t count = 0;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      count += event.type == EventType::kEnter &&
               trace.regions.at(event.reference).name == region;
  return count;
}

// The outermost iterations of each rank, written ones with a plus.
std::vector<std::string> marks_of_ranks(const Trace& trace) {
  const MpiProcesses processes(trace);
  std::vector<std::string> result(static_cast<std::size_t>(processes.size()));
  for (const Iteration& it : iterations(trace))
    for (int rank = 0; rank < processes.size(); ++rank)
      if (it.depth == 0 &&
          trace.locations[it.location].group == processes.location_group(rank))
        result[static_cast<std::size_t>(rank)] +=
            std::to_string(it.number) + (it.written ? "+ " : "- ");
  return result;
}

// Complete iterations of the outermost loops, by rank.
std::vector<long> iterations_of_ranks(const Trace& trace) {
  const MpiProcesses processes(trace);
  std::vector<long> result(static_cast<std::size_t>(processes.size()));
  for (const Iteration& it : iterations(trace))
    for (int rank = 0; rank < processes.size(); ++rank)
      if (trace.locations[it.location].group == processes.location_group(rank))
        result[static_cast<std::size_t>(rank)] += it.depth == 0 && it.complete();
  return result;
}

}  // namespace

TEST_CASE(
    "MPI life: after MPI_Finalize - the program goes on untraced, which is reported") {
  const MpiWay way = GENERATE(MpiWay::kInside, MpiWay::kOutside);
  const bool more = GENERATE(true, false);
  static SomeCases few;
  if (!few.runs_next()) return;
  TemporaryFolder folder;
  MpiJob job{.program = "after_finalize_gcc",
             .arguments = {"20", more ? "7" : "0"},
             .threads = 2,
             .settings = {{"LIMIT", "0"}}};
  const Result plain = run_mpi(job);
  REQUIRE(plain.ok());
  const Traced traced = trace_mpi(job, way, folder / "archive");
  CHECK(traced.result.output == plain.output);
  CHECK(count_of(traced.result.errors,
                 "nothing is traced after MPI_Finalize: 7 parallel regions") ==
        (more ? 1 : 0));
  CHECK(count_of(traced.result.errors, "\n") == (more ? 1 : 0));
  CHECK(enters_of(traced.trace, "MPI_Allreduce") == 2 * 20);
  CHECK(enters_of(traced.trace, "MPI_Finalized") == 0);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"archive"});
}

TEST_CASE("MPI life: a jump out of a call - ends it, and later calls are recorded") {
  const MpiWay way = GENERATE(MpiWay::kInside, MpiWay::kOutside);
  static SomeCases few;
  if (!few.runs_next()) return;
  TemporaryFolder folder;
  const MpiJob job{.program = "error_jump_gcc", .settings = {{"LIMIT", "0"}}};
  const Result plain = run_mpi(job);
  REQUIRE(plain.ok());
  REQUIRE(plain.output.find("jumps=20") == 0);
  const Traced traced = trace_mpi(job, way, folder / "archive");
  CHECK(traced.result.output == plain.output);
  CHECK(enters_of(traced.trace, "MPI_Comm_call_errhandler") == 2 * 20);
  CHECK(property_number(traced.trace, "EVENTS_SEEN") ==
        property_number(traced.trace, "EVENTS_WRITTEN"));
  CHECK(enters_of(traced.trace, "MPI_Allreduce") == 2 * 20);
  for (const Location& location : traced.trace.locations) {
    std::size_t depth = 0;
    for (const Event& event : location.events) {
      if (event.type == EventType::kEnter) ++depth;
      if (event.type == EventType::kLeave) --depth;
      CHECK(depth <= 2);  // a phase may be around
    }
  }
}

TEST_CASE(
    "MPI life: exit on another thread - barriers of the main thread are lost, no more") {
  for (int i = 0; i < 3; ++i) {
    TemporaryFolder folder;
    const MpiJob job{
        .program = "exit_on_thread_gcc", .ranks = 1, .settings = {{"LIMIT", "0"}}};
    const Result result = run_mpi(job, MpiWay::kInside, folder / "archive");
    INFO(result.errors);
    REQUIRE(result.exit_status == 0);
    read_checked(folder / "archive");
    const auto summaries =
        *summary::read_summaries(folder / "archive", summary::Iterations::kRead);
    REQUIRE(summaries.size() == 1);
    CHECK(summaries[0].complete);
    REQUIRE_FALSE(summaries[0].locations.empty());
    CHECK_FALSE(summaries[0].locations[0].iterations.rows.empty());
  }
}

// In most of the runs of one rank the handler interrupts the tracer's own code, so the recording has no regular end.
TEST_CASE("MPI life: exit in a handler - is no kill, and said as what it is") {
  const int ranks = GENERATE(1, 2);
  CAPTURE(ranks);
  for (int i = 0; i < (ranks == 1 ? 4 : 1); ++i) {
    TemporaryFolder folder;
    const std::string archive = folder / "archive";
    const MpiJob job{
        .program = "exit_in_handler_gcc", .ranks = ranks, .settings = {{"LIMIT", "5"}}};
    const Result result = run_mpi(job, MpiWay::kInside, archive);
    INFO(result.errors);
    if (ranks > 1) {
      CHECK(result.errors.find("MPI_Finalize was not called") != std::string::npos);
      REQUIRE(run_refrain({"recover", archive}).exit_status == 0);
    }
    const Result info = run_refrain({"info", archive});
    INFO(info.output);
    REQUIRE(info.exit_status == 0);
    CHECK_THAT(info.output, !Catch::Contains("kill", Catch::CaseSensitive::No));
    const Result causes = run_refrain({"analyze", archive, "--no-cube"});
    INFO(causes.output);
    REQUIRE(causes.exit_status == 0);
    CHECK_THAT(causes.output, !Catch::Contains("kill", Catch::CaseSensitive::No));
  }
}

// The launcher kills the others.
TEST_CASE("MPI life: exit on one of two ranks - which of them was killed is said") {
  TemporaryFolder folder;
  const std::string archive = folder / "archive";
  const MpiJob job{.program = "exit_in_handler_gcc",
                   .arguments = {"0"},
                   .ranks = 2,
                   .settings = {{"LIMIT", "5"}}};
  run_mpi(job, MpiWay::kInside, archive);
  REQUIRE(run_refrain({"recover", archive}).exit_status == 0);
  const Result causes = run_refrain({"analyze", archive, "--no-cube"});
  INFO(causes.output);
  REQUIRE(causes.exit_status == 0);
  CHECK_THAT(causes.output, Catch::Contains("The run was killed: rank 1"));
  CHECK_THAT(causes.output, Catch::Contains("ended by exit()"));
  CHECK_THAT(causes.output, !Catch::Contains("killed: rank 0"));
}

// What the tracer needs a lot of stack for it does on its own: reading the program's code took 12 KiB, a thread's first event 13.
TEST_CASE("MPI life: coroutines, threads and handlers with small stacks - are traced") {
  const std::string on = GENERATE("coroutine", "thread", "handler");
  CAPTURE(on);
  TemporaryFolder folder;
  const MpiJob job{.program = "small_stacks_gcc",
                   .arguments = {on},
                   .ranks = 1,
                   .threads = 2,
                   .settings = {{"LIMIT", "5"}, {"MIN_GAP", "0"}, {"THREADS", "yes"}}};
  const Traced traced = trace_mpi(job, MpiWay::kOutside, folder / "archive");
  INFO(traced.result.errors);
  CHECK(traced.result.output ==
        "total 40, regions " + std::string(on == "handler" ? "0" : "40") + "\n");
  const auto calls = calls_in_summary(folder / "archive", 0);
  CHECK(calls.at("MPI_Allreduce") == 40);
  CHECK(calls.at("MPI_Barrier") == 40);
  // The primary thread is the one that had the first parallel region.
  CHECK((enters_of(traced.trace, "MPI_Allreduce") < 40) == (on != "thread"));
}

TEST_CASE("MPI life: sessions only - untraced, reported once, nothing is left") {
  const MpiWay way = GENERATE(MpiWay::kInside, MpiWay::kOutside);
  static SomeCases few;
  if (!few.runs_next()) return;
  TemporaryFolder folder;
  const MpiJob job{.program = "sessions_gcc"};
  const Result plain = run_mpi(job);
  REQUIRE(plain.ok());
  const Result result = run_mpi(job, way, folder / "archive");
  CHECK(result.exit_status == 0);
  CHECK(result.output == plain.output);
  CHECK(result.errors ==
        "refrain: MPI calls are not traced: the program uses sessions and no MPI_Init\n");
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE(
    "MPI life: MPI_Comm_spawn - the parents are traced, the children not, which is "
    "reported") {
  TemporaryFolder folder;
  const MpiJob job{.program = "spawn_gcc", .settings = {{"LIMIT", "0"}}};
  const Result plain = run_mpi(job);
  REQUIRE(plain.ok());
  const Traced traced = trace_mpi(job, MpiWay::kOutside, folder / "archive");
  CHECK(traced.result.output == plain.output);
  const bool spawned = plain.output.find("spawned=1") != std::string::npos;
  CHECK(count_of(traced.result.errors, "MPI_Comm_spawn makes are not traced") ==
        (spawned ? 1 : 0));
  CHECK(enters_of(traced.trace, "MPI_Comm_spawn") == 2);
  CHECK(enters_of(traced.trace, "MPI_Allreduce") == 2 * 2 * 20);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"archive"});
}

TEST_CASE("MPI life: a spawned process - is not traced, also with OpenMP") {
  TemporaryFolder folder;
  // With the launcher's variables of a spawned process; started alone, MPI asks no parent.
  Command command;
  command.arguments = refrain_run({}, folder / "archive");
  command.arguments.push_back(data_file("test/programs/mpi/after_finalize_gcc"));
  command.environment = clean_environment();
  command.environment["PMI_SPAWNED"] = "1";
  put_mpi_sanitizer_first(command);
  const Result result = run(command);
  CHECK(result.exit_status == 0);
  CHECK(result.output.rfind("value=", 0) == 0);
  CHECK(result.errors == "");
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("MPI life: killed before MPI_Init - recover makes an archive of the recording") {
  TemporaryFolder folder;
  const MpiJob job{
      .program = "early_end_gcc", .ranks = 1, .threads = 2, .settings = {{"LIMIT", "0"}}};
  (void)run_mpi(job, MpiWay::kInside, folder / "archive");
  const std::vector<std::string> left = names_in(folder.path());
  REQUIRE(left.size() == 1);
  CHECK(left[0].rfind(".refrain-early_end_gcc-", 0) == 0);
  const Result recovered = run_refrain({"recover", folder / left[0]});
  CHECK(recovered.errors == "");
  REQUIRE(recovered.exit_status == 0);
  const Trace trace = read_checked(folder / left[0]);
  CHECK(trace.locations.size() == 2);
  std::size_t events = 0;
  for (const Location& location : trace.locations) events += location.events.size();
  CHECK(events > 2 * 2 * 20);
}

TEST_CASE("MPI life: no MPI_Init - each process has its own archive") {
  TemporaryFolder folder;
  const MpiJob job{.program = "early_end_gcc",
                   .arguments = {"0"},
                   .threads = 2,
                   .settings = {{"LIMIT", "0"}}};
  const Result plain = run_mpi(job);
  REQUIRE(plain.ok());
  const Result result = run_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(result.exit_status == 0);
  CHECK(result.output == plain.output);
  CHECK(result.errors == "");
  const std::vector<std::string> names{"archive", "archive.2"};
  REQUIRE(names_in(folder.path()) == names);
  for (const std::string& name : names)
    CHECK(read_checked(folder / name).locations.size() == 2);
}

TEST_CASE("MPI life: helpers - launchers and shells leave nothing") {
  TemporaryFolder folder;
  Command command;
  command.arguments = refrain_run({{"LIMIT", "0"}}, folder / "archive");
  // The program is also the shell's $0, which shows the command that MPI is used.
  const std::string program = data_file("test/programs/mpi/ring_gcc");
  const std::vector<std::string> words{
      "mpirun.mpich", "-n", "2", "sh", "-c", "true; " + program + "; cat /dev/null",
      program};
  for (const std::string& word : words) command.arguments.push_back(word);
  command.environment = clean_environment();
  put_mpi_sanitizer_first(command);
  const Result result = run(command);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(MpiProcesses(read_checked(folder / "archive")).size() == 2);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"archive"});
}

// The launcher's value, or a script's, would take the place of ours.
TEST_CASE(
    "MPI life: another LD_PRELOAD - ours stays, or it is said why nothing is recorded") {
  const std::string how = GENERATE("genv", "script", "exec");
  CAPTURE(how);
  TemporaryFolder folder;
  TemporaryFolder scripts;
  const std::string program = data_file("test/programs/mpi/ring_gcc");
  const std::string script = scripts / "start";
  std::ofstream(script) << "#!/bin/sh\n"
                        << (how == "exec" ? "export LD_PRELOAD=libdl.so.2; exec "
                                          : "LD_PRELOAD=libdl.so.2 ")
                        << program << "\n";
  fs::permissions(script, fs::perms::owner_all);
  Command command;
  command.arguments = refrain_run({{"LIMIT", "0"}}, folder / "archive");
  std::erase(command.arguments, "--quiet");
  std::vector<std::string> words{"mpirun.mpich", "-n", "2", script};
  if (how == "genv")
    words = {"mpirun.mpich", "-genv", "LD_PRELOAD", "libdl.so.2", "-n", "2", program};
  for (const std::string& word : words) command.arguments.push_back(word);
  command.environment = clean_environment();
  put_mpi_sanitizer_first(command);
  const Result result = run(command);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  if (how == "genv") {
    CHECK(MpiProcesses(read_checked(folder / "archive")).size() == 2);
  } else {
    CHECK(names_in(folder.path()).empty());
    CHECK(count_of(result.errors, "'" + script + "' gives LD_PRELOAD another value") == 1);
  }
}

TEST_CASE("MPI life: MPI in a plugin - a program that loads it late, as Python does") {
  const bool inside = GENERATE(true, false);
  const bool script = GENERATE(true, false);
  static SomeCases few;
  if (!few.runs_next()) return;
  CAPTURE(inside, script);
  TemporaryFolder folder;
  TemporaryFolder programs;
  const std::string text = "import ctypes, sys; sys.exit(ctypes.CDLL('" +
                           data_file("test/tools/mpi_plugin.so").string() + "').run(20))";
  std::vector<std::string> program{"python3", "-c", text};
  if (script) {
    program = {programs / "script"};
    std::ofstream(programs / "script") << "#!/usr/bin/env python3\n" << text << "\n";
    fs::permissions(programs / "script", fs::perms::owner_all);
  }
  const std::vector<std::string> launcher{"mpirun.mpich", "-n", "2"};
  const std::vector<std::string> traced = refrain_run({{"LIMIT", "0"}}, folder / "archive");
  Command command;
  for (const auto& words :
       {inside ? launcher : traced, inside ? traced : launcher, program})
    command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.environment = clean_environment();
  // An mpi4py of another MPI that this Python may have is none of this program's.
  fs::create_directory(programs / "mpi4py");
  std::ofstream(programs / "mpi4py/__init__.py") << "\n";
  command.environment["PYTHONPATH"] = programs.path();
  put_mpi_sanitizer_first(command);
  const Result result = run(command);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(result.output == "sum=" + std::to_string(2 * 190 + 20) + "\n");
  const Trace trace = read_checked(folder / "archive");
  CHECK(MpiProcesses(trace).size() == 2);
  CHECK(enters_of(trace, "MPI_Allreduce") == 2 * 20);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"archive"});
}

TEST_CASE("MPI life: one untraced process among others - the waiting ones report why") {
  TemporaryFolder folder;
  const bool first = GENERATE(true, false);
  static SomeCases few;
  if (!few.runs_next()) return;
  const std::vector<std::string> program{data_file("test/programs/mpi/ring_gcc")};
  std::vector<std::string> traced = refrain_run({}, folder / "archive");
  traced.insert(traced.end(), program.begin(), program.end());
  Command command;
  command.arguments = {"mpirun.mpich", "-n", "1"};
  const auto add = [&command](const std::vector<std::string>& words) {
    command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  };
  add(first ? traced : program);
  add({":", "-n", "1"});
  add(first ? program : traced);
  command.environment = clean_environment();
  // It waits for ever, and says so.
  command.kill_signal = SIGKILL;
  command.kill_once = [](const Result& so_far) {
    return so_far.errors.find("MPI_Init waits for processes") != std::string::npos;
  };
  command.kill_after = std::chrono::seconds(2);
  put_mpi_sanitizer_first(command);
  const Result result = run(command);
  CHECK(result.signalled);
  CHECK(count_of(result.errors, "MPI_Init waits for processes") == 1);
}

// The first in the loader's order wins; what the others lose is reported.
TEST_CASE("MPI life: the program's own procedures - not recorded, no message is guessed") {
  const MpiWay way = GENERATE(MpiWay::kInside, MpiWay::kOutside);
  static SomeCases few;
  if (!few.runs_next()) return;
  TemporaryFolder folder;
  const MpiJob job{.program = "own_calls_gcc", .settings = {{"LIMIT", "0"}}};
  const Traced traced = trace_mpi(job, way, folder / "archive");
  CHECK(traced.result.output == run_mpi(job).output);
  CHECK(traced.result.errors.rfind("refrain: ", 0) == 0);
  CHECK(count_of(traced.result.errors, "\n") == 1);
  CHECK(
      count_of(traced.result.errors,
               "own_calls_gcc takes MPI_Recv and 1 other procedure of MPI before Refrain: "
               "these calls are not traced, nor are messages and collectives") == 1);
  CHECK(enters_of(traced.trace, "MPI_Send") == 0);
  CHECK(enters_of(traced.trace, "MPI_Isend") == 20);
  CHECK(enters_of(traced.trace, "MPI_Allreduce") == 2 * 20);
  CHECK(replay(traced.trace).pairs() == 0);
  CHECK(traced.trace.properties.at("REFRAIN::MPI_TAKEN") == "MPI_Recv MPI_Send");
  CHECK(count_of(run_refrain({"info", folder / "archive"}).output,
                 "\nNot traced   messages, collectives and calls that were not recorded: "
                 "MPI_Recv MPI_Send\n") == 1);
}

TEST_CASE("MPI life: the program's own MPI_Init - MPI is not traced, which is reported") {
  TemporaryFolder folder;
  const MpiJob job{.program = "own_calls_gcc_init"};
  const Result result = run_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(result.output == run_mpi(job).output);
  CHECK(result.exit_status == 0);
  CHECK(count_of(result.errors, "\n") == 1);
  CHECK(count_of(result.errors, "refrain: MPI calls are not traced: ") == 1);
  CHECK(count_of(result.errors, "own_calls_gcc_init intercepts MPI_Init before Refrain") ==
        1);
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE(
    "MPI life: a preloaded library with procedures of MPI - Refrain wins, which is reported") {
  TemporaryFolder folder;
  const MpiJob job{.program = "ring_gcc",
                   .settings = {{"LIMIT", "0"}},
                   .environment = {{"LD_PRELOAD", data_file("test/tools/own_mpi.so")}}};
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(count_of(traced.result.errors, "\n") == 1);
  CHECK(
      count_of(
          traced.result.errors,
          "own_mpi.so has MPI_Allreduce and 1 other procedure of MPI, but Refrain takes the "
          "calls first: it is not called") == 1);
  CHECK(replay(traced.trace).pairs() > 0);
}

TEST_CASE("MPI life: clocks - also compared during the run") {
  // Two collectives an iteration, and one for the result.
  const auto [every, ranks, measured] = GENERATE(table<const char*, int, std::size_t>(
      {{"0", 2, 2}, {"30", 3, 2 + 6}, {"1", 2, 2 + 201}}));
  TemporaryFolder folder;
  const MpiJob job{.program = "allreduce_gcc",
                   .arguments = {"100"},
                   .ranks = ranks,
                   .settings = {{"CLOCK_EVERY", every}},
                   .environment = {{"REFRAIN_KEEP_SPOOL", "yes"}}};
  const Result plain = run_mpi(job);
  REQUIRE(plain.ok());
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.output == plain.output);
  const RawSpool spool = read_raw_spool(folder / "archive");
  CHECK(std::count_if(spool.journal.begin(), spool.journal.end(),
                      [](const spool::Record& record) {
                        return record.kind == spool::kClockOffset;
                      }) == static_cast<std::ptrdiff_t>(measured));
}

TEST_CASE("MPI life: summary - processes and threads") {
  const auto [program, threads, text, loop] =
      GENERATE(table<const char*, int, const char*, const char*>({
          {"ring_gcc", 1, "%) of 2 processes in ", "\n1 main ring.c:"},
          {"hybrid_gcc", 2, "%) of 2 processes, 4 threads in ", "\n1 main hybrid.c:"},
      }));
  TemporaryFolder folder;
  Command command;
  command.arguments = {data_file("tools/refrain"),
                       "run",
                       "-o",
                       folder / "archive",
                       "--",
                       "mpirun.mpich",
                       "-n",
                       "2",
                       data_file(std::string("test/programs/mpi/") + program)};
  command.environment = clean_environment();
  command.environment["OMP_NUM_THREADS"] = std::to_string(threads);
  put_mpi_sanitizer_first(command);
  const Result result = run(command);
  CAPTURE(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(count_of(result.errors, text) == 1);
  CHECK(count_of(result.errors, " threads in ") == (threads > 1 ? 1 : 0));
  // The same loop on both ranks has one number, one name and one line.
  const std::string printed = run_refrain({"info", "--all", folder / "archive"}).output;
  CAPTURE(printed);
  CHECK(count_of(printed, loop) == 1);
  CHECK(count_of(printed, "\n2 ") == 0);
}

TEST_CASE("MPI life: callers - calls through a function of the program are distinguished") {
  const auto [frames, inner] =
      GENERATE(table<const char*, long>({{"0", 40}, {"1", 20}, {"3", 20}, {"16", 20}}));
  TemporaryFolder folder;
  const MpiJob job{.program = "nocollective_gcc",
                   .ranks = 4,
                   .settings = {{"DETECTOR", "nested"},
                                {"MPI_FRAMES", frames},
                                {"LIMIT", "3"},
                                {"MIN_GAP", "0"}}};
  const Result plain = run_mpi(job);
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.output == plain.output);
  CHECK(replay(traced.trace).unmatched() == 0);
  // The outer ranks have one call a pass.
  CHECK(iterations_of_ranks(traced.trace) == std::vector<long>{20, inner, inner, 20});
  if (inner != 20) return;
  const std::vector<std::string> marks = marks_of_ranks(traced.trace);
  CHECK(marks == std::vector<std::string>(4, marks[0]));
  CHECK(property_number(traced.trace, "SENDS_DROPPED") == 0);
  CHECK(property_number(traced.trace, "RECEIVES_DROPPED") == 0);
}

TEST_CASE("MPI life: callers - recursion of one depth is still one loop") {
  const std::string frames = GENERATE("0", "3", "5", "16");
  static SomeCases few;
  if (!few.runs_next()) return;
  TemporaryFolder folder;
  const MpiJob job{.program = "callers_gcc",
                   .arguments = {"cycle", "100"},
                   .ranks = 1,
                   .settings = {{"MPI_FRAMES", frames}, {"MIN_GAP", "0"}}};
  const Result plain = run_mpi(job);
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CAPTURE(frames);
  CHECK(traced.result.output == plain.output);
  CHECK(iterations_of_ranks(traced.trace) == std::vector<long>{100});
}

TEST_CASE("MPI life: callers - not known for programs without unwind tables") {
  TemporaryFolder folder;
  // (By activations, too: then the nested detector goes on.)
  const std::string detector = GENERATE("nested", "activation");
  CAPTURE(detector);
  const MpiJob job{
      .program = "nocollective_gcc_bare",
      .ranks = 4,
      .settings = {
          {"DETECTOR", detector}, {"MPI_FRAMES", "5"}, {"LIMIT", "3"}, {"MIN_GAP", "0"}}};
  const Result plain = run_mpi(job);
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.output == plain.output);
  CHECK(iterations_of_ranks(traced.trace) == std::vector<long>{20, 40, 40, 20});
}

}  // namespace refrain::test::mpi_life_test
