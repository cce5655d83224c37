// refrain run --threads: waits of a program that knows how often and how long its threads wait, also of one that is killed or ends in a thread;
// names of threads; the loop of a main thread; locks that OpenMP's threads take; and that nothing is there without it.
#include <otf2/otf2.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::threads_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFolder = "test/programs/threads/";

Json json_of(const char* command, const fs::path& archive) {
  const Result result = run_refrain({command, archive, "--json"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return Json::parse(result.output);
}

struct Calls {
  long visits = 0;
  double us = 0;
};

// By the name of the region, without its place; what is around it does not matter.
std::map<std::string, Calls> calls_of(const Json& profile) {
  std::map<std::string, Calls> all;
  for (const Json& path : profile.at("paths")) {
    if (!path.at("name").is_string()) continue;
    const std::string name = path.at("name");
    Calls& calls = all[name.substr(0, name.find(" @"))];
    calls.visits += path.at("visits").get<long>();
    calls.us += path.at("time_ns").get<double>() / 1e3;
  }
  return all;
}

// Lines of known.cc: "call calls certain us". A call that finds its lock free is no region, and one that waits is one for not
// much longer than the program has seen.
void check_waits(const Json& profile, const std::string& known) {
  std::map<std::string, Calls> certain, most;
  std::istringstream lines(known);
  std::string name;
  for (Calls calls; lines >> name >> calls.visits;) {
    Calls& of = certain[name];
    long waited = 0;
    double us = 0;
    lines >> waited >> us;
    of.visits += waited;
    of.us += us;
    most[name].visits += calls.visits;
  }
  REQUIRE(certain.size() == 7);
  std::map<std::string, Calls> found = calls_of(profile);
  for (const auto& [call, of] : certain) {
    INFO(call);
    CHECK(found[call].visits >= of.visits);
    // Its own clock is read outside of the call; what else waits is short.
    CHECK(found[call].us >= 0.98 * of.us - 1000);
    // The lock of a condition is taken by others, too; two waits for a semaphore are in vain.
    const long more = call == "pthread_mutex_lock"  ? 30
                      : call == "pthread_cond_wait" ? 1
                      : call == "sem_wait"          ? 2
                                                    : 0;
    CHECK(found[call].visits <= most[call].visits + more);
  }
  // keep() has it when wait_for_lock() waits for it.
  CHECK(found["held by keep"].visits +
            found["held by (anonymous namespace)::keep"].visits >=
        certain["pthread_mutex_lock"].visits);
  CHECK(found["pthread_create"].visits == 14 + 80 + 1);
  CHECK(found["pthread_join"].visits == 14 + 80 + 1);
}

std::multiset<std::string> names_of_threads(const Json& info) {
  std::multiset<std::string> names;
  for (const Json& location : info.at("locations")) {
    const std::string name = location.at("name");
    const std::size_t at = name.find(": ");
    std::string function = at == std::string::npos ? name : name.substr(at + 2);
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    if (function.starts_with(kAnonymous)) function = function.substr(kAnonymous.size());
    // As clang calls it.
    names.insert(function == "cpp()::$_0" ? "cpp()::{lambda()#1}" : function);
  }
  return names;
}

}  // namespace

TEST_CASE("Threads: waits are what the program knows, and it prints and returns the same") {
  for (const char* compiler : {"gcc", "clang"}) {
    INFO(compiler);
    TemporaryFolder folder;
    Job job{.program = std::string(kFolder) + "known_" + compiler};
    job.settings = {{"THREADS", "yes"}};
    const Traced traced = trace(job, folder / "archive");
    const Json profile = json_of("profile", folder / "archive");
    check_waits(profile, traced.result.output);
    const Json info = json_of("info", folder / "archive");
    const std::multiset<std::string> names = names_of_threads(info);
    CHECK(names.count("Master thread") == 1);
    for (const char* name : {"keep", "wait_for_lock", "consume", "produce", "wait_in_cpp",
                             "cpp()::{lambda()#1}", "cancelled"}) {
      INFO(name);
      CHECK(names.count(name) == 1);
    }
    // Also where the C++ library's headers make the call.
    for (const Json& path : profile.at("paths"))
      if (const std::string name = path.at("name"); name.starts_with("pthread_"))
        CHECK(name.find(" @known.cc:") != std::string::npos);
    // At most two at a time, of 80.
    CHECK((names.count("step") == 1 || names.count("step") == 2));
    // Who has the lock is said of each mutex that costs something.
    const Json analysed = json_of("analyze", folder / "archive");
    bool any = false;
    for (const Json& cause : analysed.at("conclusions").at("causes")) {
      const std::string where = cause.at("where"), text = cause.at("text");
      if (cause.at("what") != "Lock" || where.find("wait_for_lock") == std::string::npos ||
          where.find("pthread_mutex_lock") == std::string::npos)
        continue;
      any = true;
      INFO(text);
      CHECK(text.find("Who has it when they begin to wait: ") != std::string::npos);
      CHECK(text.find("keep") != std::string::npos);
    }
    // Of less than a hundredth of the time there is none; two places wait for a mutex.
    const double share = calls_of(profile)["pthread_mutex_lock"].us * 1e3 /
                         profile.at("time_ns").get<double>();
    CHECK((any || share < 0.02));
    // The main thread's loop is found by what comes in the same order in every run.
    std::multiset<long> iterations;
    for (const Json& phase : info.at("phases"))
      iterations.insert(phase.at("iterations").get<long>());
    CHECK(iterations.count(40) == 1);
    // There is no time of a thread that does not exist.
    for (const Json& location : profile.at("locations")) {
      CHECK(location.at("temporary") == (location.at("primary") == false));
      if (location.at("temporary") == true) CHECK(location.at("outside_ticks") == 0);
    }
  }
}

TEST_CASE(
    "Threads: of a killed run all waits are there, and of one that ends in a thread the one that goes on") {
  TemporaryFolder folder;
  Job job{.program = std::string(kFolder) + "known_gcc"};
  job.settings = {{"THREADS", "yes"}};
  job.arguments = {"kill"};
  const Result killed = run_job(job, Way::kRun, folder / "killed");
  CHECK(killed.signal == SIGKILL);
  CHECK(run_refrain({"recover", folder / "killed"}).exit_status == 0);
  check_waits(json_of("profile", folder / "killed"), killed.output);
  job.arguments = {"exit"};
  trace(job, folder / "ended");
  bool waits = false;
  const Json profile = json_of("profile", folder / "ended");
  std::set<int> idle;
  for (const Json& path : profile.at("paths")) {
    if (path.at("name").get<std::string>().find("idle") != std::string::npos)
      idle.insert(path.at("path").get<int>());
    if (path.at("parent").is_null() || idle.count(path.at("parent").get<int>()) == 0)
      continue;
    waits = waits || path.at("time_ns").get<double>() > 5e6;
  }
  CHECK(waits);
  job.arguments = {"leave"};
  trace(job, folder / "left");
  CHECK(json_of("info", folder / "left").at("recovered") == false);
}

TEST_CASE("Threads: a script's program has the recording, and no time before it begins") {
  for (const char* option : {"--quiet", "--no-summary"}) {
    INFO(option);
    TemporaryFolder folder;
    const Result result = run_refrain({"run", option, "--threads", "-o", folder / "archive",
                                       "--", "/bin/sh", "-c", "\"$0\"; exit $?",
                                       data_file(std::string(kFolder) + "known_gcc")});
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    const Json info = json_of("info", folder / "archive");
    CHECK(info.at("command").get<std::string>().find("known_gcc") != std::string::npos);
    CHECK(info.at("locations").size() >= 9);
    CHECK(info.at("duration_s").get<double>() < 60);
    CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  }
}

TEST_CASE("Threads: a library whose constructor waits for a thread - is loaded") {
  for (const auto& [setting, value] :
       {std::pair{"THREADS", "yes"}, std::pair{"FILES", "1ns"}}) {
    INFO(setting);
    TemporaryFolder folder;
    Job job{.program = std::string(kFolder) + "loads_gcc",
            .arguments = {data_file(std::string(kFolder) + "plugin.so")}};
    job.settings = {{setting, value}};
    const Result result = run_job(job, Way::kRun, folder / "archive");
    CHECK(result.exit_status == 0);
    CHECK(result.output == "loaded\n");
  }
}

TEST_CASE("Threads: without the setting nothing stands before the program's calls") {
  TemporaryFolder folder;
  Job job{.program = std::string(kFolder) + "known_gcc"};
  job.settings = {{"LOOPS", "100"}};
  CHECK(run_job(job, Way::kRun, folder / "archive").exit_status == 0);
  CHECK(json_of("info", folder / "archive").at("locations").size() == 1);
  for (const bool on : {false, true}) {
    std::vector<std::string> words = {"run", "--quiet", "-o", folder / "maps"};
    if (on) words.push_back("--threads");
    words.insert(words.end(), {"--", "/bin/cat", "/proc/self/maps"});
    CHECK((run_refrain(words).output.find("librefrain_threads") != std::string::npos) ==
          on);
  }
}

TEST_CASE("Threads: C11's threads, locks and conditions") {
  for (const char* compiler : {"gcc", "clang"}) {
    INFO(compiler);
    const TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    Job job{.program = std::string(kFolder) + "c11_" + compiler, .arguments = {"5"}};
    job.settings = {{"THREADS", "yes"}};
    const Result result = run_job(job, Way::kRun, archive);
    INFO(result.errors);
    REQUIRE(result.exit_status == 0);
    CHECK(result.output == "done\n");
    read_checked(archive);
    std::map<std::string, Calls> found = calls_of(json_of("profile", archive));
    CHECK(found["thrd_create"].visits == 5);
    CHECK(found["thrd_join"].visits == 5);
    CHECK(found["mtx_lock"].visits >= 5);
    CHECK(found["mtx_lock"].visits <= 10);
    CHECK(found["cnd_wait"].visits >= 5);
    CHECK(found["held by main thread"].visits >= 5);
    CHECK(found["wait_twice"].visits == 5);
    CHECK(found.count("pthread_mutex_lock") == 0);
  }
}

TEST_CASE(
    "Threads: who begins whom and waits for whom - OTF2's records, in whole archives and reduced ones") {
  constexpr long kThreads = 14 + 80 + 1;
  for (const char* limit : {"0", "2", "filter"}) {
    INFO(limit);
    const TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    Job job{.program = std::string(kFolder) + "known_gcc"};
    job.settings = {{"THREADS", "yes"}, {"LIMIT", limit}};
    if (limit == std::string("filter")) {
      std::ofstream(folder / "filter")
          << "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE *step*\nSCOREP_REGION_NAMES_END\n";
      job.settings = {{"THREADS", "yes"}, {"LIMIT", "0"}, {"FILTER", folder / "filter"}};
    }
    REQUIRE(run_job(job, Way::kRun, archive).exit_status == 0);
    const Trace trace = read_trace(archive);
    Problems problems = check_all(trace);
    append(problems, check_python_reader({archive}));
    append(problems, check_otf2_print(archive));
    CHECK(problems == Problems{});
    std::map<EventType, long> records;
    for (const Location& location : trace.locations)
      for (const Event& event : location.events) ++records[event.type];
    const long begun = records[EventType::kThreadBegin];
    CHECK(records[EventType::kThreadCreate] == begun);
    CHECK(records[EventType::kThreadEnd] == begun);
    CHECK(records[EventType::kThreadWait] == begun);
    if (limit[0] == '0') {
      CHECK(begun == kThreads);
    } else if (limit[0] == 'f') {
      CHECK(begun == 15);  // without those of which only the start by another one is there
    } else {
      CHECK(begun > 14);
      CHECK(begun < kThreads);
    }
    // Somebody else counts the same.
    const Result printed = run(Command{{"otf2-print", anchor_file(archive).string()}});
    std::istringstream lines(printed.output);
    std::map<std::string, long> names;
    for (std::string line; std::getline(lines, line);)
      ++names[line.substr(0, line.find(' '))];
    for (const char* name :
         {"THREAD_CREATE", "THREAD_BEGIN", "THREAD_WAIT", "THREAD_END"}) {
      INFO(name);
      CHECK(names[name] == begun);
    }
    // The group of all, that of the process, and its communicator.
    long groups = 0;
    for (const auto& [ref, group] : trace.groups)
      groups += group.paradigm == OTF2_PARADIGM_PTHREAD ? 1 : 0;
    CHECK(groups == 2);
    const fs::path csv = folder / "csv";
    CHECK(run_refrain({"convert", archive, "--to", "csv", "-o", csv}).exit_status == 0);
    for (const char* command : {"info", "analyze", "profile"})
      CHECK(run_refrain({command, archive}).exit_status == 0);
    CHECK(run_refrain({"compare", archive, archive}).exit_status == 0);
  }
}

TEST_CASE("Threads: names that the program gives them, also of a killed run") {
  for (const bool killed : {false, true}) {
    INFO(killed);
    const TemporaryFolder folder;
    const fs::path archive = folder / "archive";
    Job job{.program = std::string(kFolder) + "names_gcc"};
    job.settings = {{"THREADS", "yes"}};
    if (killed) job.arguments = {"kill"};
    const Result result = run_job(job, Way::kRun, archive);
    INFO(result.output << result.errors);
    if (killed) {
      REQUIRE(result.signal == SIGKILL);
      REQUIRE(run_refrain({"recover", archive}).exit_status == 0);
    } else {
      REQUIRE(result.exit_status == 0);
    }
    std::set<std::string> names;
    const Json info = json_of("info", archive);
    for (const Json& location : info.at("locations")) {
      const std::string name = location.at("name");
      const std::size_t at = name.find(": ");
      names.insert(at == std::string::npos ? name : name.substr(at + 2));
    }
    CHECK(names.count("Master thread") == 1);
    // What the kernel calls them.
    std::istringstream lines(result.output);
    int threads = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t blank = line.find(' ');
      const std::string function = line.substr(0, blank), name = line.substr(blank + 1);
      INFO(line);
      ++threads;
      if (function == "unnamed") {
        CHECK(name == "the main thread");
        CHECK(names.count("unnamed") == 1);
      } else if (function == "one_of_pool") {
        CHECK(names.count("one_of_pool (pool 2 and others)") == 1);
      } else if (function == "hostile") {
        CHECK(names.count("hostile (a\uFFFD\uFFFD[31mb )") == 1);
      } else {
        CHECK(names.count(function + " (" + name + ")") == 1);
      }
    }
    CHECK(threads == (killed ? 8 : 7));
    CHECK(names.size() == (killed ? 8 : 7));
  }
}

}  // namespace refrain::test::threads_test
