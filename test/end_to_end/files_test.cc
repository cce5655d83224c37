// refrain run --files: counts of programs that know what they do with files, killed ones too; slow calls as regions; what
// analyze says of a rank that writes while the others wait; and that nothing is there without it.
#include "test/support/files.h"

#include <catch2/catch.hpp>
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

// Lines of known.cc: "path number=1 ...". Every number that it names; of each file that it does not name all are of others.
void check_counts(const Json& summary, const std::string& known) {
  std::map<std::string, Json> files = by_path(summary);
  std::istringstream lines(known);
  std::size_t checked = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string path, word;
    words >> path;
    INFO(path);
    REQUIRE(files.count(path) == 1);
    const Json& file = files[path];
    std::map<std::string, long> wanted = {{"reads", 0},    {"writes", 0}, {"syncs", 0},
                                          {"errors", 0},   {"seeks", 0},  {"small", 0},
                                          {"unaligned", 0}};
    if (path.ends_with("/cpp.txt")) wanted.clear();
    while (words >> word) {
      const std::size_t at = word.find('=');
      wanted[word.substr(0, at)] = std::stol(word.substr(at + 1));
    }
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
