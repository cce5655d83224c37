// refrain loops ARCHIVE, as a user calls it; with --exact: test/end_to_end/loops_exact_test.cc.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "code_profile/samples/sample_file.h"
#include "test/support/files.h"
#include "tools/command/subcommand.h"
#include "tools/output/sampled_loops.h"

namespace refrain::tools::loops_command_test {
namespace {

using code_profile::PlacedSamples;
using code_profile::SampleNode;
using code_profile::SamplePlace;

// main with a loop, 30 of 40 samples in it.
PlacedSamples samples(std::uint32_t process) {
  PlacedSamples out;
  out.process = process;
  out.command = "./app";
  out.period_ns = 10'000'000;
  out.taken = 40;
  out.threads = 1;
  out.places = {
      {.function = "main", .file = "/src/app.c", .line = 1, .module = "/app", .address = 1},
      {.kind = SamplePlace::Kind::kLoop,
       .function = "main",
       .file = "/src/app.c",
       .line = 7,
       .module = "/app",
       .address = 2}};
  out.nodes = {{SampleNode::kThread, 0, 0}, {0, 0, 10}, {1, 1, 30}};
  return out;
}

struct Answer {
  int status = 0;
  std::string text, problem;
};

// Standard error of the process, while it lives.
class Errors {
 public:
  explicit Errors(const std::string& path) : path_(path), kept_(dup(2)) {
    std::fflush(stderr);
    const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(file, 2);
    close(file);
  }
  ~Errors() {
    std::fflush(stderr);
    dup2(kept_, 2);
    close(kept_);
  }
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;

 private:
  std::string path_;
  int kept_;
};

Answer loops_of(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  Answer answer;
  const auto made = make_loops_command();
  Subcommand& command = *made;
  CLI::App app;
  command.add_options(app);
  arguments.insert(arguments.end(), {"-o", folder / "out"});
  std::ranges::reverse(arguments);
  app.parse(arguments);
  {
    const Errors errors(folder / "errors");
    answer.status = command.run();
  }
  if (std::filesystem::exists(folder / "out"))
    answer.text = test::read_file(folder / "out");
  answer.problem = test::read_file(folder / "errors");
  return answer;
}

std::string archive_in(const test::TemporaryFolder& folder) {
  const std::string archive = folder.path().string();
  REQUIRE(code_profile::write_sample_file(archive, samples(0)).ok());
  REQUIRE(code_profile::write_sample_file(archive, samples(1)).ok());
  return archive;
}

void refused(const std::vector<std::string>& arguments, const std::string& why) {
  const Answer answer = loops_of(arguments);
  CHECK(answer.status == kWrongUse);
  CHECK(answer.text.empty());
  CHECK_THAT(answer.problem, Catch::Contains(why));
  CHECK(std::ranges::count(answer.problem, '\n') == 1);
}

TEST_CASE("refrain loops: detected loops - of one place added up, those in it left out") {
  analysis::ArchiveInfo info;
  const auto add = [&](std::uint32_t id, std::int64_t parent, std::uint32_t line,
                       std::uint64_t iterations, std::uint32_t process = 0) {
    analysis::PhaseInfo& phase = info.phases.emplace_back();
    phase.name = "loop " + std::to_string(id);
    phase.file = "/src/app.c";
    phase.line = line;
    phase.process = process;
    phase.id = id;
    phase.parent = parent;
    phase.iterations = iterations;
    phase.total_ns = 1e6 * static_cast<double>(iterations);
  };
  add(1, -1, 7, 10);
  add(2, 1, 9, 20);
  add(3, 2, 7, 1000);  // iterations of another kind of loop 1
  add(4, -1, 7, 5);    // found again
  add(1, -1, 7, 100, 1);
  add(1, -1, 7, 5000, 2);  // of which there are no samples
  add(6, 5, 7, 1);
  add(5, 6, 11, 1);  // a circle
  const code_profile::LoopProfile profile = *sampled_loops({samples(0), samples(1)}, info);
  REQUIRE(profile.detected.size() == 1);
  CHECK(profile.detected[0].number == 1);
  CHECK(profile.detected[0].line == 7);
  CHECK(profile.detected[0].iterations == 115);
  CHECK(profile.detected[0].elapsed_ns == 115e6);
  CHECK(profile.detected[0].samples == 60);
}

TEST_CASE("refrain loops: an archive that is damaged - samples, and what is not known") {
  const test::TemporaryFolder folder;
  const std::string archive = archive_in(folder);
  std::ofstream(archive + "/traces.otf2") << "no archive";
  const Answer text = loops_of({archive});
  CHECK(text.status == kDone);
  CHECK_THAT(text.text, Catch::Contains("80 samples"));
  CHECK_THAT(text.problem, Catch::Contains("detected loops are unknown: "));
}

TEST_CASE("refrain loops: an archive - all processes as text, JSON, graph") {
  const test::TemporaryFolder folder;
  const std::string archive = archive_in(folder);
  const Answer text = loops_of({archive});
  CHECK(text.status == kDone);
  CHECK(text.problem.empty());
  CHECK_THAT(text.text, Catch::Contains("80 samples") && Catch::Contains("0.80 s") &&
                            Catch::Contains("2 processes, 2 threads"));
  CHECK_THAT(
      text.text,
      Catch::Contains(" 75.0%   75.0%       0.60       0.60       60  app.c:7 in main"));
  const nlohmann::json json = nlohmann::json::parse(loops_of({archive, "--json"}).text);
  CHECK(json.at("loops")[0].at("total").at("samples") == 60);
  for (const char* format : {"dot", "graphml", "json"}) {
    const Answer graph = loops_of({archive, "--to", format});
    CHECK(graph.status == kDone);
    CHECK_THAT(graph.text, Catch::Contains("app.c:7"));
    CHECK_THAT(graph.text, !Catch::Contains("entries"));
  }
  // By its anchor file.
  std::ofstream(folder / "traces.otf2") << "";
  CHECK(loops_of({folder / "traces.otf2"}).status == kDone);
}

TEST_CASE("refrain loops: some processes - and lists that are none") {
  const test::TemporaryFolder folder;
  const std::string archive = archive_in(folder);
  CHECK_THAT(loops_of({archive, "--ranks", "1"}).text, Catch::Contains("40 samples"));
  CHECK_THAT(loops_of({archive, "--ranks", "0-1"}).text, Catch::Contains("80 samples"));
  refused({archive, "--ranks", "2"}, "no samples of rank 2");
  refused({archive, "--ranks", "x"}, "not a list of ranks");
  refused({"file", "--ranks", "1"}, "--ranks is for archives");
}

TEST_CASE("refrain loops: archives without samples, or with damaged ones - one line") {
  const test::TemporaryFolder folder;
  const std::string archive = folder.path().string();
  refused({archive}, "is not an archive");
  std::ofstream(folder / "traces.otf2") << "";
  refused({archive}, "was not sampled; 'refrain run --loops' samples");
  archive_in(folder);
  const std::string file = code_profile::sample_file_path(archive, 1);
  const std::string whole = test::read_file(file);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() / 2}) {
    std::ofstream(file) << whole.substr(0, length);
    refused({archive}, "process-1.json has no samples");
  }
  PlacedSamples other = samples(1);
  other.period_ns = 1;
  REQUIRE(code_profile::write_sample_file(archive, other).ok());
  refused({archive}, "another rate");
}

}  // namespace
}  // namespace refrain::tools::loops_command_test
