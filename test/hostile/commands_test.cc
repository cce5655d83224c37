// The command with inputs that are damaged and outputs that cannot be written.
#include <sys/types.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "reader/foreign_archive.h"
#include "reader/small_archive.h"
#include "summary/run_summary.h"
#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::commands_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

test::Result refrain(Words words) {
  words.insert(words.begin(), test::data_file("tools/refrain").string());
  return test::run({.arguments = std::move(words), .time_limit = std::chrono::minutes(2)});
}

// What reads all events of any archive.
std::vector<Words> readers(const std::string& archive,
                           const test::TemporaryFolder& folder) {
  return {
      {"profile", "--events", archive},
      {"profile", "--events", "--messages", archive},
      {"analyze", "--no-cube", archive},
      {"convert", "--to", "csv", "--overwrite", "-o", folder / "out.csv", archive},
      {"convert", "--to", "perfetto", "--overwrite", "-o", folder / "out.pftrace", archive},
      {"convert", "--to", "chrome", "--overwrite", "-o", folder / "out.json", archive},
      {"convert", "--to", "paraver", "--overwrite", "-o", folder / "out.prv", archive},
      {"report", "--overwrite", "-o", folder / "out.html", archive},
      {"compare", archive, archive},
      {"graph", "--events", "--quiet", "--to", "json", archive},
      {"scaling", "--quiet", archive, archive}};
}

// Of the next node.
void add_sums(summary::RunSummary::Location& location, std::uint64_t visits,
              std::uint64_t time) {
  summary::RunSummary::Sums& sums = location.sums.emplace_back();
  sums.visits = visits;
  sums.time = sums.least = sums.greatest = time;
}

// Of two processes, with summaries, as Refrain writes them.
void write_own(const std::string& archive) {
  reader::SmallArchive own(archive, "Refrain");
  own.of_refrain();
  const auto main = own.region("main");
  for (std::uint32_t process = 0; process < 2; ++process) {
    own.process();
    own.enter(0, main);
    own.leave(1000, main);
  }
  own.finish(0, 1000);
  for (std::uint32_t process = 0; process < 2; ++process) {
    summary::RunSummary summary;
    summary.process = summary.rank = process;
    summary.program = "program";
    summary.end = 1000;
    summary.regions.edit().emplace_back().name = "main";
    summary.regions.edit()[0].reference = main;
    summary.nodes.push_back({.region = 0});
    summary::RunSummary::Location& location = summary.locations.emplace_back();
    location.reference = process;
    location.primary = true;
    add_sums(location, 1, 1000);
    REQUIRE(summary::write_summary(archive, summary));
  }
}

TEST_CASE("Commands: a file of events or definitions is damaged - the rest, and a line") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "archive";
  reader::write_foreign_archive(archive, {.more_enters = 100'000});
  const fs::path file = fs::path(archive) / "traces" / "7.evt";
  std::string line = " of 200018 events of location 'location 7'";
  bool much_unknown = false;  // too much for efficiencies
  SECTION("events are cut") { fs::resize_file(file, fs::file_size(file) - 100); }
  SECTION("a page of events is zeros") {
    std::string text = test::read_file(file);
    text.replace(40'960, 4096, 4096, '\0');
    std::ofstream(file, std::ios::binary) << text;
    line += " of 'process 21' (7) can be read (its file is damaged: nothing is known from ";
    much_unknown = true;
  }
  SECTION("definitions are cut") {
    const fs::path definitions = fs::path(archive) / "traces.def";
    fs::resize_file(definitions, fs::file_size(definitions) - 30);
    line =
        " definitions can be read: traces.def is truncated or damaged; names of regions,";
  }
  for (const Words& words : readers(archive, folder)) {
    const test::Result result = refrain(words);
    INFO(words[0] << ": " << result.errors);
    const bool refused = much_unknown && words[0] == "scaling";
    CHECK(result.exit_status == (refused ? 2 : 0));
    CHECK(result.errors.find(line) != std::string::npos);
    CHECK(refused ==
          (result.errors.find(" % of the time is not known: ") != std::string::npos));
  }
}

TEST_CASE("Commands: files without an end - refused") {
  const test::TemporaryFolder folder;
  const std::string endless = "/dev/zero";
  const std::vector<Words> all = {
      {"loops", endless},
      {"info", endless},
      {"profile", endless},
      {"analyze", endless},
      {"detect", endless},
      {"compare", endless, endless},
      {"convert", "--to", "csv", "-o", folder / "out", endless},
      {"experiment", "mean", "-o", folder / "out.cubex", endless},
      {"run", "-o", folder / "run", "--filter", endless, "--", "true"}};
  for (const Words& words : all) {
    const test::Result result = refrain(words);
    INFO(words[0] << ": " << result.errors);
    CHECK_FALSE(result.timed_out);
    CHECK(result.exit_status == 2);
    CHECK(std::ranges::count(result.errors, '\n') == 1);
  }
}

TEST_CASE("Commands: definitions without all threads - refused, with how many there are") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "archive";
  write_own(archive);
  const fs::path definitions = fs::path(archive) / "traces.def";
  fs::resize_file(definitions, fs::file_size(definitions) / 3);
  std::vector<Words> all = readers(archive, folder);
  all.push_back({"info", archive});
  for (const Words& words : all) {
    if (words[0] == "scaling") continue;  // it reads summaries
    const test::Result result = refrain(words);
    INFO(words[0] << ": " << result.errors);
    CHECK(result.exit_status == 2);
    CHECK(std::ranges::count(result.errors, '\n') == 1);
    CHECK(result.errors.find(
              " definitions can be read: traces.def is truncated or damaged, and t") !=
          std::string::npos);
  }
}

TEST_CASE("Commands: only streams of devices - converted, else refused in one line") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "archive";
  reader::SmallArchive of_others(archive);
  const auto kernel = of_others.region("kernel");
  of_others.device();
  of_others.enter(0, kernel);
  of_others.leave(1000, kernel);
  of_others.finish(0, 1000);
  for (const Words& words : readers(archive, folder)) {
    const test::Result result = refrain(words);
    INFO(words[0] << ": " << result.errors);
    const bool converts = words[0] == "convert";
    CHECK(result.exit_status == (converts ? 0 : 2));
    CHECK(result.errors == (converts ? ""
                                     : "refrain: " + archive +
                                           ": there are no threads in it; its 2 events are "
                                           "those of 1 locations of devices or of metrics, "
                                           "which 'refrain convert' reads\n"));
  }
}

TEST_CASE("Commands: one summary is damaged - they go on without it, in one line") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "archive";
  write_own(archive);
  std::vector<Words> all = readers(archive, folder);
  all.push_back({"info", archive});
  all.push_back({"profile", archive});
  all.push_back({"graph", "--quiet", "--to", "json", archive});
  for (const Words& words : all) {
    const test::Result result = refrain(words);
    INFO(words[0] << ": " << result.errors);
    CHECK(result.exit_status == 0);
    CHECK(result.errors == "");
  }
  const std::string damaged = summary::summary_path(archive, 1);
  std::ofstream(damaged) << "{";
  for (const Words& words : all) {
    const test::Result result = refrain(words);
    INFO(words[0] << ": " << result.errors);
    CHECK(result.exit_status == 0);
    const bool reads =
        words[0] != "convert" && (words.size() < 2 || words[1] != "--events");
    CHECK((result.errors.find(damaged + " is not a summary") != std::string::npos) ==
          reads);
    CHECK(std::ranges::count(result.errors, '\n') == (reads ? 1 : 0));
  }
  const test::Result cube = refrain({"analyze", "--cube", folder / "a.cubex", archive});
  CHECK(cube.exit_status == 0);
  CHECK(cube.errors.find(damaged + " is not a summary") != std::string::npos);
}

TEST_CASE("Commands: a full disk - is no success") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "archive";
  write_own(archive);
  const std::string command = test::data_file("tools/refrain").string();
  for (const std::string& words :
       {"info " + archive, "info --json " + archive, "profile " + archive,
        "profile --csv " + archive, "analyze --no-cube " + archive,
        "compare " + archive + " " + archive, "graph --to json " + archive,
        std::string("doctor --no-trial"), std::string("config"), std::string("help"),
        std::string("--version")}) {
    const test::Result result =
        test::run({.arguments = {"sh", "-c", command + " " + words + " > /dev/full"}});
    INFO(words << ": " << result.errors);
    CHECK(result.exit_status == 2);
    CHECK(result.errors.find("cannot write standard output") != std::string::npos);
    CHECK(result.errors.find("No space left on device") != std::string::npos);
  }
}

TEST_CASE("Commands: the end by a signal - nothing is left of what is not complete") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "archive";
  reader::write_foreign_archive(archive, {.more_enters = 3'000'000});
  fs::create_directory(folder / "out");
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder / "out"), fs::directory_iterator());
  };
  for (const int signal : {SIGINT, SIGTERM}) {
    bool there = false;
    const test::Result result =
        test::run({.arguments = {test::data_file("tools/refrain").string(), "convert",
                                 "--to", "csv", "-o", folder / "out" / "a.csv", archive},
                   .kill_signal = signal,
                   .kill_once = [&](const test::Result&) { return there = files() != 0; }});
    CHECK(there);
    CHECK(result.signal == signal);
    CHECK(files() == 0);
  }
}

TEST_CASE("Commands: names with escape sequences - none reaches the terminal") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "archive";
  reader::SmallArchive of_others(archive);
  const auto name = of_others.region("red\x1b[31m\nline\xff");
  of_others.process("p\x1b]0;title\x07");
  of_others.enter(0, name);
  of_others.leave(1000, name);
  of_others.finish(0, 1000);
  for (const Words& words : readers(archive, folder)) {
    const test::Result result = refrain(words);
    INFO(words[0] << ": " << result.errors);
    CHECK(result.exit_status == 0);
    CHECK((result.output + result.errors).find_first_of("\x1b\x07") == std::string::npos);
  }
  const std::string screen = refrain({"profile", archive}).output;
  CHECK(screen.find("red\xef\xbf\xbd[31m line\xef\xbf\xbd") != std::string::npos);
}

TEST_CASE(
    "Commands: minima and maxima of profiles - their difference is that of the totals") {
  const test::TemporaryFolder folder;
  for (const std::uint64_t factor : {1U, 3U}) {
    summary::RunSummary summary;
    summary.program = "program";
    summary.end = 8'000'000'000;
    summary.regions.edit().emplace_back().name = "main";
    summary.regions.edit().emplace_back().name = "f";
    summary.nodes.push_back({.region = 0});
    summary.nodes.push_back({.parent = 0, .region = 1});
    summary.locations.emplace_back().primary = true;
    const std::uint64_t second = 1'000'000'000;
    add_sums(summary.locations[0], 1, 8 * second);
    add_sums(summary.locations[0], 2, 2 * second * factor);
    summary.locations[0].sums[1].least = second * factor / 2;
    summary.locations[0].sums[1].greatest = second * factor;
    REQUIRE(summary::write_summary(folder / std::to_string(factor), summary));
    REQUIRE(refrain({"profile", "--cube", folder / (std::to_string(factor) + ".cubex"),
                     folder / std::to_string(factor)})
                .ok());
  }
  const auto result_of = [&](const std::string& operation) {
    const test::Result result = refrain(
        {"experiment", operation, "--json", folder / "3.cubex", folder / "1.cubex"});
    INFO(result.errors);
    REQUIRE(result.ok());
    const auto at = result.output.find("\"min_time\"");
    REQUIRE(at != std::string::npos);
    const auto value = result.output.find("\"result\": ", at) + 10;
    return std::stod(result.output.substr(value));
  };
  CHECK(result_of("diff") == Approx(1.0));
  CHECK(result_of("mean") == Approx(1.0));
}

}  // namespace
}  // namespace refrain::commands_test
