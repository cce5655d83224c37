// refrain run --files: counts of programs that know what they do with files, killed ones too; slow calls as regions and as OTF2's
// records of I/O; what analyze says of a rank that writes while the others wait; and that nothing is there without it.
#include "test/support/files.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/process.h"

namespace refrain::test::files_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFolder = "test/programs/files/";

struct Folders {
  TemporaryFolder folder;
  fs::path files = folder / "files";
  fs::path archive = folder / "archive";
  Folders() { fs::create_directory(files); }
};

Json summary_of(const fs::path& archive) {
  const Result result = run_refrain({"info", archive, "--json"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return Json::parse(result.output).at("summary");
}

std::map<std::string, Json> by_path(const Json& summary) {
  std::map<std::string, Json> files;
  for (const Json& file : summary.value("files", Json::array()))
    files.emplace(file.at("path"), file);
  return files;
}

std::map<std::string, long> calls_of_regions(const Json& summary) {
  std::map<std::string, long> calls;
  for (const Json& region : summary.at("regions"))
    calls[region.at("name")] += region.at("calls").get<long>();
  return calls;
}

// OTF2's records of I/O as otf2-print has them, and what in them is against OTF2's rules.
struct IoRecords {
  std::map<std::string, std::map<std::string, long>> of;  // by path, as known.cc counts
  std::vector<std::string> problems;
  long handles = 0, streams = 0, pre_created = 0;

  explicit IoRecords(const fs::path& archive) {
    const Result printed =
        run({{"otf2-print", "-A", "-Werror", (archive / "traces.otf2").string()}});
    INFO(printed.errors);
    REQUIRE(printed.exit_status == 0);
    std::istringstream lines(printed.output);
    for (std::string line; std::getline(lines, line);) take(line);
    for (const auto& [number, handle] : open_)
      if (!handle.running.empty()) problems.push_back("an operation without an end");
  }

 private:
  struct Handle {
    std::string path;
    bool active = false;
    std::map<std::string, long> running;  // bytes by matching id
    std::map<std::string, std::string> mode;
  };

  static std::string after(const std::string& line, const std::string& key,
                           const std::string& end) {
    const std::size_t at = line.find(key);
    if (at == std::string::npos) return {};
    const std::size_t from = at + key.size();
    return line.substr(from, line.find_first_of(end, from) - from);
  }

  void take(const std::string& line) {
    if (!line.starts_with("IO_")) return;
    std::istringstream words(line);
    std::string kind, number;
    words >> kind >> number;
    if (kind == "IO_HANDLE") {
      Handle& handle = open_[number];
      handle.path = after(line, "File: \"file://", "\"");
      handle.active = line.find("PRE_CREATED") != std::string::npos;
      ++handles;
      pre_created += handle.active ? 1 : 0;
      streams += line.find("ISO C I/O") != std::string::npos ? 1 : 0;
      return;
    }
    number = after(line, "Handle: ", ",");
    number = after(number, "<", ">");
    if (open_.count(number) == 0) return;  // a definition
    Handle& handle = open_[number];
    std::map<std::string, long>& counts = of[handle.path];
    if (handle.active == (kind == "IO_CREATE_HANDLE")) problems.push_back(line);
    const std::string id = after(line, "Matching Id: ", " ,");
    if (kind == "IO_CREATE_HANDLE") {
      ++counts["opens"];
      handle.active = true;
    } else if (kind == "IO_DESTROY_HANDLE") {
      ++counts["closes"];
      handle.active = false;
      if (!handle.running.empty()) problems.push_back(line);
    } else if (kind == "IO_OPERATION_BEGIN") {
      if (handle.running.count(id) != 0) problems.push_back(line);
      handle.running[id] = std::stol(after(line, "Bytes Request: ", " ,"));
      handle.mode[id] = after(line, " Mode: ", ",");
    } else if (kind == "IO_OPERATION_COMPLETE") {
      if (handle.running.erase(id) == 0) return problems.push_back(line);
      const std::string mode = handle.mode[id];
      const long bytes = std::stol(after(line, "Bytes Result: ", " ,"));
      ++counts[mode == "READ" ? "reads" : mode == "WRITE" ? "writes" : "syncs"];
      counts[mode == "READ"    ? "read_bytes"
             : mode == "WRITE" ? "written_bytes"
                               : "none"] += bytes;
    }
  }

  std::map<std::string, Handle> open_;
};

// What a line of known.cc says, by number; `path` gets the file.
std::map<std::string, long> known_numbers(const std::string& line, std::string& path) {
  std::istringstream words(line);
  std::map<std::string, long> numbers;
  words >> path;
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('=');
    numbers[word.substr(0, at)] = std::stol(word.substr(at + 1));
  }
  return numbers;
}

// Lines of known.cc: "path number=1 ...". Every number that it names; of each file that it does not name all are of others.
void check_counts(const Json& summary, const std::string& known) {
  std::map<std::string, Json> files = by_path(summary);
  std::istringstream lines(known);
  std::size_t checked = 0;
  for (std::string line; std::getline(lines, line);) {
    std::string path;
    const std::map<std::string, long> numbers = known_numbers(line, path);
    INFO(path);
    REQUIRE(files.count(path) == 1);
    const Json& file = files[path];
    std::map<std::string, long> wanted = {{"reads", 0},    {"writes", 0}, {"syncs", 0},
                                          {"errors", 0},   {"seeks", 0},  {"small", 0},
                                          {"unaligned", 0}};
    if (path.ends_with("/cpp.txt")) wanted.clear();
    for (const auto& [name, number] : numbers) wanted[name] = number;
    for (const auto& [name, number] : wanted) {
      INFO(name);
      CHECK(file.at(name) == number);
    }
    files.erase(path);
    ++checked;
  }
  CHECK(checked == 13);
  for (const auto& [path, file] : files) {
    INFO(path);
    CHECK(path.find("/child.dat") == std::string::npos);
    CHECK_FALSE(path.starts_with("/proc/"));
  }
}

std::vector<std::string> known_programs() {
  std::vector<std::string> names;
  for (const char* compiler : {"gcc", "clang"})
    for (const char* suffix : {"", "_fortified", "_large"})
      names.push_back(std::string(kFolder) + "known_" + compiler + suffix);
  return names;
}

}  // namespace

TEST_CASE("Files: counts are what the program knows, and it prints and returns the same") {
  for (const std::string& program : known_programs()) {
    INFO(program);
    Folders at;
    const Job plain{.program = program, .arguments = {at.files}};
    const Result untraced = run_untraced(plain);
    REQUIRE(untraced.exit_status == 0);
    Job job = plain;
    job.settings = {{"FILES", "100us"}};
    const Result result = run_job(job, Way::kRun, at.archive);
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    CHECK(result.output == untraced.output);
    read_checked(at.archive);
    check_counts(summary_of(at.archive), result.output);
  }
}

TEST_CASE("Files: each call is a region, by the name of the file") {
  Folders at;
  Job job{.program = std::string(kFolder) + "known_gcc", .arguments = {at.files}};
  job.settings = {{"FILES", "1ns"}};
  const Traced traced = trace(job, at.archive);
  const Json summary = summary_of(at.archive);
  check_counts(summary, traced.result.output);
  std::map<std::string, long> calls = calls_of_regions(summary);
  CHECK(calls["write posix.dat"] == 16);
  CHECK(calls["pread posix.dat"] == 1);
  CHECK(calls["fsync posix.dat"] == 2);
  CHECK(calls["close posix.dat"] == 2);
  CHECK(calls["write step.#.dat"] == 4);
  CHECK(calls["fprintf stream.txt"] == 1);
  CHECK(calls["write handler.dat"] == 10);
  CHECK(calls["write parent.dat"] == 2);
  // The thread has no events of its own.
  CHECK(calls.count("write thread.dat") == 0);
  // What a region moved, where, and which file it was.
  const Result printed = run({{"otf2-print", (at.archive / "traces.otf2").string()}});
  REQUIRE(printed.exit_status == 0);
  const auto has = [&](const std::string& text) {
    return printed.output.find(text) != std::string::npos;
  };
  CHECK(has("Value: \"" + (at.files / "step.3.dat").string() + "\""));
  CHECK(has("Parameter: \"offset\" <4>, Value: 73728"));
  CHECK(has("Parameter: \"bytes moved\" <1>, Value: 150"));
}

TEST_CASE("Files: OTF2's records of I/O have what the program does") {
  Folders at;
  Job job{.program = std::string(kFolder) + "known_gcc", .arguments = {at.files}};
  job.settings = {{"FILES", "1ns"}, {"THREADS", "yes"}};
  const Traced traced = trace(job, at.archive);
  IoRecords records(at.archive);
  CHECK(records.problems == std::vector<std::string>());
  CHECK(records.handles > 10);
  CHECK(records.streams > 0);
  std::istringstream lines(traced.result.output);
  std::size_t checked = 0;
  for (std::string line; std::getline(lines, line);) {
    std::string path;
    std::map<std::string, long> known = known_numbers(line, path);
    INFO(path);
    if (path.ends_with("/early.dat")) continue;  // before the recording
    std::map<std::string, long>& seen = records.of[path];
    std::vector<std::string> names = {"reads", "writes", "read_bytes", "written_bytes",
                                      "syncs"};
    if (path.ends_with("/cpp.txt")) names = {"read_bytes", "written_bytes"};
    // Its descriptors get other files without a close.
    if (!path.ends_with("/number.dat")) names.insert(names.end(), {"opens", "closes"});
    if (path.ends_with("/cpp.txt")) known["closes"] = known["opens"];
    for (const std::string& name : names) {
      INFO(name);
      CHECK(seen[name] == known[name]);
    }
    ++checked;
  }
  CHECK(checked == 12);
  CHECK(records.of[(at.files / "number.dat").string()]["opens"] == 1);
  // The copy of a descriptor, of which no open is known.
  CHECK(records.pre_created > 0);
}

TEST_CASE("Files: OTF2's records of I/O of a part of the calls are valid") {
  Folders at;
  MpiJob job{.program = std::string(kFolder) + "checkpoint_gcc",
             .arguments = {at.files, "40", "1"}};
  // Those of a few iterations.
  job.settings = {{"FILES", "1ns"}, {"LIMIT", "2"}};
  trace_mpi(job, MpiWay::kInside, at.archive);
  IoRecords records(at.archive);
  CHECK(records.problems == std::vector<std::string>());
  CHECK(records.of[(at.files / "out.0.dat").string()]["writes"] == 1);
  // Opened before MPI starts, and closed then.
  CHECK(records.of[(at.files / "input.dat").string()]["opens"] == 0);
  CHECK(records.of[(at.files / "input.dat").string()]["closes"] == 2);
  CHECK(records.pre_created >= 2);
}

TEST_CASE("Files: of a killed run all is counted") {
  Folders at;
  Job job{.program = std::string(kFolder) + "known_gcc", .arguments = {at.files}};
  const Result untraced = run_untraced(job);
  job.arguments = {at.files, "kill"};
  job.settings = {{"FILES", "100us"}};
  const Result result = run_job(job, Way::kRun, at.archive);
  CHECK(result.signal == SIGKILL);
  CHECK(run_refrain({"recover", at.archive}).exit_status == 0);
  check_counts(summary_of(at.archive), untraced.output);
}

TEST_CASE("Files: a script that becomes the program leaves no recording of the shell") {
  const Folders in;
  const std::string program = std::string(kFolder) + "known_gcc";
  for (const char* option : {"--files=1", "--loops"}) {
    const Result result =
        run_refrain({"run", option, "-o", in.archive, "--overwrite", "--", "/bin/sh", "-c",
                     "exec /bin/sh -c 'exec \"$0\" \"$1\"' \"" + program + "\" \"" +
                         in.files.string() + "\""});
    INFO(result.errors);
    CHECK(result.errors.find("no archive") == std::string::npos);
    CHECK(fs::exists(in.archive / "traces.otf2"));
    CHECK_FALSE(fs::exists(in.archive.string() + ".2"));
    CHECK(run_refrain({"info", in.archive}).output.find("known_gcc") != std::string::npos);
  }
}

// What only starts another program has nothing to record, and that one is recorded in its place.
TEST_CASE(
    "Files: a program that another one starts has the archive's name, and is recorded") {
  const Folders in;
  const std::string program = std::string(kFolder) + "known_gcc";
  using Words = std::vector<std::string>;
  for (const Words& wrapper : {Words{"timeout", "600"}, Words{"env", "A=b"}, Words{"nice"},
                               Words{"timeout", "600", "nice", "timeout", "600"}}) {
    CAPTURE(wrapper);
    Words words{"run", "--files=1", "-o", in.archive, "--overwrite", "--"};
    words.insert(words.end(), wrapper.begin(), wrapper.end());
    words.push_back(program);
    words.push_back(in.files);
    const Result result = run_refrain(words);
    INFO(result.errors);
    CHECK(result.errors.find("no archive") == std::string::npos);
    CHECK(fs::exists(in.archive / "traces.otf2"));
    CHECK_FALSE(fs::exists(in.archive.string() + ".2"));
    CHECK_THAT(run_refrain({"info", in.archive}).output,
               Catch::StartsWith("Program      " + program));
  }
}

// timeout closes its stderr before what it started is missed.
TEST_CASE("Files: a program whose time is up - how its archive is made is said") {
  const Folders in;
  const Result result = run_refrain(
      {"run", "--files", "-o", in.archive, "--", "timeout", "3", "/bin/sleep", "600"});
  INFO(result.errors);
  CHECK(result.errors.find("refrain recover") != std::string::npos);
}

TEST_CASE("Files: serial programs of a script - why they are not recorded is said") {
  const Folders in;
  for (const bool files : {true, false}) {
    std::vector<std::string> words{"run", "-o", in.archive, "--overwrite"};
    if (files) words.push_back("--files");
    for (const char* word : {"--", "/bin/sh", "-c", "/bin/true; /bin/true"})
      words.push_back(word);
    const Result result = run_refrain(words);
    INFO(result.errors);
    CHECK(result.errors.find("no archive") != std::string::npos);
    CHECK((result.errors.find("only where the shell becomes it (exec PROGRAM)") !=
           std::string::npos) == files);
  }
}

TEST_CASE("Files: without the setting nothing stands before the program's calls") {
  const auto maps = [](const std::vector<std::string>& options, const fs::path& archive) {
    std::vector<std::string> words = {"run", "--quiet", "-o", archive};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/cat", "/proc/self/maps"});
    const Result result = run_refrain(words);
    REQUIRE(result.exit_status == 0);
    REQUIRE(result.output.find("librefrain.so") != std::string::npos);
    return result.output;
  };
  Folders at;
  CHECK(maps({}, at.archive).find("librefrain_files") == std::string::npos);
  CHECK(maps({"--files"}, at.archive).find("librefrain_files") != std::string::npos);
  Folders other;
  Job job{.program = std::string(kFolder) + "known_gcc", .arguments = {other.files}};
  job.settings = {{"LOOPS", "100"}};
  CHECK(run_job(job, Way::kRun, other.archive).exit_status == 0);
  CHECK(by_path(summary_of(other.archive)).empty());
}

TEST_CASE("Files: rank 0 writes, the others wait, and loops stay as they are", "[alone]") {
  constexpr long kIterations = 60, kMegabytes = 16, kWrites = kIterations / 10;
  const auto run = [&](const fs::path& files, const fs::path& archive, bool recorded) {
    MpiJob job{
        .program = std::string(kFolder) + "checkpoint_gcc",
        .arguments = {files, std::to_string(kIterations), std::to_string(kMegabytes)}};
    if (recorded) job.settings = {{"FILES", "100us"}};
    trace_mpi(job, MpiWay::kInside, archive);
    const Result result = run_refrain({"info", archive, "--json"});
    return Json::parse(result.output);
  };
  Folders at, without;
  const Json info = run(at.files, at.archive, true);
  std::map<std::string, Json> files = by_path(info.at("summary"));
  const auto file = [&](const std::string& name) { return files[at.files / name]; };
  const Json checkpoint = file("checkpoint.dat");
  CHECK(checkpoint["writes"] == kWrites * kMegabytes);
  CHECK(checkpoint["written_bytes"] == kWrites * kMegabytes << 20);
  CHECK(checkpoint["syncs"] == kWrites);
  CHECK(checkpoint["opens"] == kWrites);
  CHECK(checkpoint["processes"] == 1);
  CHECK(checkpoint["most_time_process"] == "MPI Rank 0");
  for (const char* name : {"out.0.dat", "out.1.dat"}) {
    CHECK(file(name)["writes"] == 1);
    CHECK(file(name)["written_bytes"] == 4096);
  }
  // Opened and written before MPI starts, and closed then.
  for (const char* number : {"opens", "writes", "closes", "processes"})
    CHECK(file("input.dat")[number] == 2);
  // MPI's own calls count for the file, and are no regions.
  CHECK(file("together.dat")["written_bytes"] == 2 * 4096);
  bool any = false;
  for (const auto& [name, calls] : calls_of_regions(info.at("summary"))) {
    CHECK(name.find("together.dat") == std::string::npos);
    any = any || name == "fsync checkpoint.dat";
  }
  CHECK(any);
  const auto iterations = [](const Json& of) {
    std::multiset<long> counts;
    for (const Json& phase : of.at("phases"))
      counts.insert(phase.at("iterations").get<long>());
    return counts;
  };
  CHECK(iterations(info) == iterations(run(without.files, without.archive, false)));
  CHECK(iterations(info).count(kIterations) == 2);

  // On a busy machine cores may be missing as well.
  const Result analyzed = run_refrain({"analyze", at.archive, "--json", "--no-cube"});
  REQUIRE(analyzed.exit_status == 0);
  const Json causes = Json::parse(analyzed.output).at("conclusions").at("causes");
  Json found;
  for (const Json& cause : causes)
    if (found.is_null() && cause.at("account") == "uneven_ranks") found = cause;
  INFO(causes.dump(1));
  REQUIRE_FALSE(found.is_null());
  const std::string text = found.at("text");
  CHECK(text.find("Rank 0 computes") != std::string::npos);
  CHECK(text.find("write") != std::string::npos);
  CHECK(text.find("of checkpoint.dat") != std::string::npos);
}

}  // namespace refrain::test::files_test
