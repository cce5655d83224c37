// refrain run --loops and refrain loops ARCHIVE: the shares of loops that know their own, in programs that
// are parallel or not, killed, forked, without symbols.
//
// Programs work until their threads have used a certain CPU time, so how busy the machine is does not
// matter. At a thousand samples a second the kernel's tick may allow fewer, 250 or 100: of two seconds a share of a
// quarter has a standard error of 1.9 to 3.1 %, and the rounds of the program are longer than a tick.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::sampled_loops_test {
namespace {

using nlohmann::json;

constexpr const char* kProgram = "test/programs/loops/sampled_gcc";

// CPU seconds by line.
using Seconds = std::map<long, double>;

Seconds own_seconds(const std::string& output) {
  Seconds seconds;
  std::istringstream in(output);
  long line = 0;
  double ns = 0;
  while (in >> line >> ns) seconds[line] = ns / 1e9;
  return seconds;
}

json profile_of(const std::filesystem::path& archive) {
  const Result result = run_refrain({"loops", "--json", archive.string()});
  INFO(result.errors);
  REQUIRE(result.ok());
  return json::parse(result.output);
}

// Of the loops of a source file: total, in seconds.
Seconds totals(const json& profile, const std::string& source) {
  Seconds seconds;
  for (const json& loop : profile.at("loops"))
    if (loop.at("file").get<std::string>().ends_with(source))
      seconds[loop.at("line")] += loop.at("total").at("seconds").get<double>();
  return seconds;
}

Result run_sampled(const std::filesystem::path& archive,
                   const std::vector<std::string>& arguments, const char* rate = "1000",
                   const char* program = kProgram) {
  Job job;
  job.program = program;
  job.arguments = arguments;
  job.settings["LOOPS"] = rate;
  return recorded_result(job, archive);
}

// Of the loop around all.
double whole(const Seconds& seconds) {
  double all = 0;
  for (const auto& [line, of_line] : seconds) all = std::max(all, of_line);
  return all;
}

TEST_CASE("Sampled loops: serial and with threads - have the time that they took") {
  const std::string how = GENERATE("serial", "threads");
  const TemporaryFolder folder;
  const Result result = run_sampled(folder / "run", {"2000", how});
  INFO(result.errors);
  REQUIRE(result.ok());
  const Seconds own = own_seconds(result.output);
  REQUIRE(own.size() == 3);
  const json profile = profile_of(folder / "run");
  const Seconds found = totals(profile, "sampled.c");
  const double all = whole(own);
  for (const auto& [line, seconds] : own) {
    INFO(how << ", line " << line << ": " << seconds << " s of " << all << '\n'
             << profile.dump(1));
    REQUIRE(found.contains(line));
    CHECK(found.at(line) / whole(found) == Approx(seconds / all).margin(0.1));
  }
  // What the C library does before main, and the last period of each thread.
  CHECK(whole(found) == Approx(all).epsilon(0.05).margin(0.03));
  const json& sampling = profile.at("sampling");
  CHECK(sampling.at("threads") == (how == "serial" ? 1 : 3));
  CHECK(sampling.at("lost") == 0);
  CHECK(sampling.at("threads_without") == 0);
  CHECK(sampling.at("not_followed") == 0);
}

TEST_CASE("Sampled loops: of a nest - the outer one calls the others, across functions") {
  const TemporaryFolder folder;
  const Result result = run_sampled(folder / "run", {"200"});
  REQUIRE(result.ok());
  const long outer = own_seconds(result.output).rbegin()->first;
  const Result text = run_refrain({"loops", (folder / "run").string()});
  REQUIRE(text.ok());
  CHECK(text.output.find("sampled.c:" + std::to_string(outer) + " in work") !=
        std::string::npos);
  const Result graph = run_refrain({"loops", "--to", "json", (folder / "run").string()});
  REQUIRE(graph.ok());
  CHECK(graph.output.find("slow_part") != std::string::npos);
}

TEST_CASE("Sampled loops: without symbols - are there, by their addresses") {
  const TemporaryFolder folder;
  const Result result =
      run_sampled(folder / "run", {"400"}, "1000", "test/programs/loops/sampled_stripped");
  REQUIRE(result.ok());
  const Seconds own = own_seconds(result.output);
  const json profile = profile_of(folder / "run");
  CHECK(profile.at("sampling").at("not_followed") == 0);
  // The outermost has the time of the whole program.
  double most = 0;
  for (const json& loop : profile.at("loops"))
    most = std::max(most, loop.at("total").at("seconds").get<double>());
  CHECK(most == Approx(whole(own)).epsilon(0.05).margin(0.03));
}

TEST_CASE("Sampled loops: killed - what was sampled is recovered", "[alone]") {
  const TemporaryFolder folder;
  Job job;
  job.program = kProgram;
  job.arguments = {"60000", "threads"};
  job.settings["LOOPS"] = "1000";
  job.kill_signal = SIGKILL;
  job.kill_once = [](const Result& so_far) { return so_far.cpu_seconds > 0.5; };
  const Result killed = run_job(job, Way::kRun, folder / "run");
  REQUIRE(killed.signal == SIGKILL);
  REQUIRE(run_refrain({"recover", (folder / "run").string()}).ok());
  const json profile = profile_of(folder / "run");
  CHECK(profile.at("sampling").at("taken") > 0);
  CHECK_FALSE(totals(profile, "sampled.c").empty());
}

TEST_CASE(
    "Sampled loops: blocked signals, own handlers, fork, exec - the program is what it was") {
  const std::string how = GENERATE("blocked", "own-signals", "fork", "exec");
  INFO(how);
  const TemporaryFolder folder;
  const Result result = run_sampled(folder / "run", {"100", how, "echo"});
  INFO(result.errors);
  CHECK(result.exit_status == 0);
  CHECK(result.signal == 0);
  if (how == "exec")
    CHECK(result.output == "done\n");
  else
    CHECK(own_seconds(result.output).size() == 3);
}

TEST_CASE("Sampled loops: OpenMP - loops in parallel regions, on all threads") {
  const std::string program = GENERATE("cg_clang", "cg_gcc");
  INFO(program);
  const TemporaryFolder folder;
  const Result result =
      run_sampled(folder / "run", {"60", "20000", "10"}, "1000", program.c_str());
  INFO(result.errors);
  REQUIRE(result.ok());
  const json profile = profile_of(folder / "run");
  CHECK(profile.at("sampling").at("threads") == 2);
  CHECK(profile.at("sampling").at("taken") > 20);
  const Seconds found = totals(profile, "cg.c");
  CHECK_FALSE(found.empty());
  // The loop of 60 iterations that the detector found is one of the code.
  std::uint64_t iterations = 0;
  for (const json& loop : profile.at("detected")) {
    if (loop.at("iterations") != 60 ||
        !loop.at("file").get<std::string>().ends_with("cg.c"))
      continue;
    iterations = loop.at("iterations");
    CHECK(loop.at("total").at("samples") > 10);
    CHECK(loop.at("parts").size() > 1);
    // The loop itself is in all of its samples.
    const auto is_itself = [&](const json& part) {
      return part.at("total") == loop.at("total") &&
             std::ranges::any_of(profile.at("loops"), [&](const json& code) {
               return code.at("node") == part.at("node") &&
                      code.at("line") == loop.at("line");
             });
    };
    CHECK(std::ranges::any_of(loop.at("parts"), is_itself));
  }
  CHECK(iterations == 60);
  // The archive is as it would be without samples.
  read_checked(folder / "run");
}

TEST_CASE(
    "Sampled loops: MPI and OpenMP - of all ranks and their threads, and of no launcher") {
  const MpiWay way = GENERATE(MpiWay::kInside, MpiWay::kOutside);
  INFO(text(way));
  const TemporaryFolder folder;
  // On a busy machine a thread that computes for some milliseconds only may have no sample: the kernel looks at
  // its time at ticks.
  const MpiJob job{.program = "hybrid_gcc",
                   .arguments = {"3000", "100000"},
                   .threads = 2,
                   .settings = {{"LOOPS", "1000"}}};
  const Result result = recorded_result(job, way, folder / "run");
  INFO(result.errors);
  REQUIRE(result.ok());
  const json profile = profile_of(folder / "run");
  CHECK(profile.at("commands").size() == 2);
  CHECK(profile.at("sampling").at("threads") >= 4);
  for (int rank : {0, 1}) {
    INFO("rank " << rank);
    bool sampled = false;
    for (const json& loop : profile.at("loops"))
      for (const json& thread : loop.at("threads"))
        sampled |= thread.at("process") == rank &&
                   loop.at("file").get<std::string>().ends_with("hybrid.c");
    CHECK(sampled);
  }
  // Next to it there is nothing: the launcher has no archive.
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    entries += entry.path().empty() ? 0 : 1;
  CHECK(entries == 1);
}

TEST_CASE(
    "Sampled loops: a program that waits for any signal - gets its own, and none of ours") {
  const TemporaryFolder folder;
  const Result result = run_sampled(folder / "run", {"400", "waits"});
  INFO(result.errors);
  std::string expected;
  for (int way = 0; way < 4; ++way)
    expected += "way " + std::to_string(way) + ": others 0, signal SIGRTMAX-0, then -1\n";
  CHECK(result.output == expected);
}

TEST_CASE("Sampled loops: --loops with a value after a space - is told what to type") {
  check_refused({"run", "--loops", "1000", "--", "true"}, "--loops=1000");
}

TEST_CASE("Sampled loops: an archive without samples - is refused in a line") {
  const TemporaryFolder folder;
  Job job;
  job.program = "cg_clang";
  job.arguments = {"5"};
  REQUIRE(recorded_result(job, folder / "run").ok());
  check_refused({"loops", (folder / "run").string()}, "sampl");
}

}  // namespace
}  // namespace refrain::test::sampled_loops_test
