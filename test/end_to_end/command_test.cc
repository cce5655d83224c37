// The command: its output, and that wrong use gives one clear line and exit status 2.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "filters/settings.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::command_test {
namespace {

namespace fs = std::filesystem;

void check_wrong_use(const std::vector<std::string>& arguments) {
  std::string line = "refrain";
  for (const std::string& word : arguments) line += " " + word;
  INFO(line);
  const Result result = run_refrain(arguments);
  CHECK(result.exit_status == 2);
  CHECK(result.output == "");
  CHECK(result.errors.rfind("refrain: ", 0) == 0);
  CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("Command: wrong use - one line, exit status 2") {
  const std::string program = data_file("test/programs/cg_clang");
  TemporaryFolder folder;
  std::ofstream(folder / "text") << "no archive\n";
  fs::create_directory(folder / "empty");
  check_wrong_use({});
  check_wrong_use({"sing"});
  check_wrong_use({"run"});
  check_wrong_use({"run", "--no-such-option", "--", program});
  check_wrong_use({"run", "-n", "many", "--", program});
  check_wrong_use({"run", "-n", "-1", "--", program});
  check_wrong_use({"run", "--", (folder / "no-such-program").string()});
  check_wrong_use({"run", "-o", "/proc/no/such/place", "--", program});
  check_wrong_use({"run", "-o", (folder / "text").string(), "--", program});
  check_wrong_use({"info"});
  check_wrong_use({"info", (folder / "no-such-archive").string()});
  check_wrong_use({"info", (folder / "text").string()});
  check_wrong_use({"info", (folder / "empty").string()});
  check_wrong_use({"analyze"});
  check_wrong_use({"analyze", (folder / "no-such-archive").string()});
  check_wrong_use({"analyze", (folder / "empty").string()});
  check_wrong_use({"experiment", "mean"});
  check_wrong_use({"experiment", "sum", (folder / "text").string()});
  check_wrong_use({"experiment", "mean", (folder / "text").string()});
  check_wrong_use({"experiment", "mean", (folder / "no-such.cubex").string()});
  check_wrong_use({"recover", (folder / "empty").string()});
  check_wrong_use({"recover", (folder / "no-such-archive").string()});
}

TEST_CASE("Command: wrong use - what may have been meant, and where help is") {
  const auto errors_of = [](const std::vector<std::string>& words) {
    return run_refrain(words).errors;
  };
  CHECK(errors_of({"analyse", "run"}) ==
        "refrain: no command 'analyse': did you mean 'analyze'? (see 'refrain help')\n");
  CHECK(errors_of({"sing"}) == "refrain: no command 'sing' (see 'refrain help')\n");
  CHECK(errors_of({"run", "--overwritte", "--", "/bin/true"}) ==
        "refrain: no option '--overwritte': did you mean '--overwrite'? (see 'refrain run "
        "--help')\n");
  CHECK(errors_of({"info", "run", "again"}) ==
        "refrain: 'again' is one argument too many (see 'refrain info --help')\n");
  CHECK(errors_of({"run", "--", "/no/program"}) ==
        "refrain: no program '/no/program': there is no such file\n");
  CHECK(errors_of({"run", "--", "/"}) == "refrain: no program '/': it is a directory\n");
  CHECK(errors_of({"run", "--memory", "64K", "/bin/true"}) ==
        "refrain: --memory takes its value behind '=': --memory=64K\n");
  CHECK(errors_of({"run", "-n"}) ==
        "refrain: '--limit' needs a value (see 'refrain run --help')\n");
  CHECK(errors_of({"run", "-n", "3", "-n", "4", "/bin/true"}) ==
        "refrain: '--limit' is given more than once (see 'refrain run --help')\n");
  CHECK(
      errors_of({"--overwrite", "run", "/bin/true"}) ==
      "refrain: '--overwrite' belongs behind the command: refrain run --overwrite (see 'refrain "
      "run --help')\n");
  CHECK(
      errors_of({"convert", "archive", "--to", "pdf"}) ==
      "refrain: --to: 'pdf' is not one of {paraver,perfetto,chrome,csv} (see 'refrain convert "
      "--help')\n");
}

TEST_CASE("Command: --version - whatever comes after it") {
  const Result version = run_refrain({"--version"});
  CHECK(version.exit_status == 0);
  CHECK(version.output.starts_with("refrain "));
  for (const char* const more : {"run", "info", "help", "nonsense", "--help", "--quiet"}) {
    INFO(more);
    const Result result = run_refrain({"--version", more});
    CHECK(result.exit_status == 0);
    CHECK(result.output == version.output);
    CHECK(result.errors.empty());
  }
}

TEST_CASE("Command: wrong values - named by the option or variable that was given") {
  const auto errors_of = [](std::vector<std::string> options) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "/bin/true"});
    return run_refrain(options).errors;
  };
  CHECK(errors_of({"-n", "ten"}) ==
        "refrain: -n/--limit: 'ten' is not a number (0 or more)\n");
  CHECK(errors_of({"--limit-policy", "keep"}) ==
        "refrain: --limit-policy: 'keep' is not a choice (suspend or stop)\n");
  CHECK(errors_of({"--max-period", "900", "--window", "100"}) ==
        "refrain: --max-period: 900 is more than --window, 100\n");
  Command command;
  command.arguments = {
      data_file("tools/refrain"), "run", "--window", "100", "--", "/bin/true"};
  command.environment = clean_environment();
  command.environment["REFRAIN_MAX_PERIOD"] = "900";
  CHECK(run(command).errors ==
        "refrain: REFRAIN_MAX_PERIOD: 900 is more than --window, 100\n");
  command.environment["REFRAIN_LIMIT"] = "ten";
  CHECK(run(command).errors ==
        "refrain: REFRAIN_LIMIT: 'ten' is not a number (0 or more)\n");
}

TEST_CASE("Command: help of run - the choices of each option are listed") {
  const Result help = run_refrain({"run", "--help"});
  CHECK(help.output.find("(default: 100 us)") != std::string::npos);
  CHECK(help.output.find("(default: never)") != std::string::npos);
  CHECK(help.output.find("--loops[=NUMBER]") != std::string::npos);
  for (const filters::SettingInfo& info : filters::setting_table()) {
    INFO(info.name);
    std::string option = std::string("\n  --") + info.name + " ";
    std::replace(option.begin(), option.end(), '_', '-');
    if (info.expert) CHECK(help.output.find(option) == std::string::npos);
    if (info.expert || info.type != filters::SettingType::kChoice) continue;
    CHECK(help.output.find(info.choices) != std::string::npos);
  }
  CHECK(help.output.find("--nested {") != std::string::npos);
  CHECK(help.output.find("--limit NUMBER") != std::string::npos);
  CHECK(help.output.find("--budget SIZE") != std::string::npos);
  CHECK(help.output.find("refrain config --expert") != std::string::npos);
  CHECK(help.output.find("--min-gap TIME") != std::string::npos);
}

TEST_CASE("Command: run - ranks of a job do not disturb each other's check of the folder") {
  TemporaryFolder folder;
  Command command;
  command.arguments = {
      "/bin/sh", "-c",
      "for i in 1 2 3 4 5 6 7 8 9 10; do"
      "  for rank in 1 2 3 4; do \"$0\" run --quiet -o \"$1\" -- /bin/true & done; wait;"
      " done",
      data_file("tools/refrain"), folder / "archive"};
  command.environment = clean_environment();
  const Result result = run(command);
  CHECK(result.errors == "");
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("Command: run - an existing archive is only replaced on request") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  const Job job{"cg_clang", {"2"}};
  REQUIRE(run_job(job, Way::kRun, archive).ok());
  const std::string before = read_file(archive / "traces.otf2");
  const Result refused = run_job(job, Way::kRun, archive);
  CHECK(refused.exit_status == 2);
  CHECK(refused.output == "");  // the program did not run
  CHECK(read_file(archive / "traces.otf2") == before);
  const Result replaced =
      run_refrain({"run", "--quiet", "--overwrite", "-o", archive.string(), "--",
                   data_file("test/programs/cg_clang").string(), "2"});
  CHECK(replaced.ok());
  CHECK(read_file(archive / "traces.otf2") != before);
}

// As each rank of `mpirun refrain run` does: one looks while another removes.
TEST_CASE("Command: run - several replace one archive at once") {
  TemporaryFolder folder;
  const std::string archive = folder / "archive";
  for (int round = 0; round < 8; ++round) {
    fs::create_directories(archive + "/spool");
    std::ofstream(archive + "/traces.otf2") << "old";
    for (int i = 0; i < 300; ++i)
      std::ofstream(archive + "/spool/" + std::to_string(i)) << i;
    std::vector<std::future<Result>> runs;
    for (int i = 0; i < 3; ++i)
      runs.push_back(std::async(std::launch::async, [&archive] {
        return run_refrain({"run", "--quiet", "--overwrite", "-o", archive, "--", "true"});
      }));
    for (std::future<Result>& run : runs) {
      const Result result = run.get();
      INFO(result.errors);
      CHECK(result.ok());
    }
  }
}

TEST_CASE("Command: run - the value of a switch is not taken for the program") {
  const std::string program = data_file("test/programs/cg_clang");
  for (const std::string value : {"yes", "no", "1"}) {
    const Result refused = run_refrain({"run", "--overwrite", value, "--", program, "2"});
    CHECK(refused.exit_status == 2);
    CHECK(refused.output == "");
    CHECK(refused.errors == "refrain: --overwrite takes no value: '" + value + " --'\n");
  }
  TemporaryFolder folder;
  const Result ran = run_refrain({"run", "--overwrite", "-o", folder / "a", "echo", "--"});
  CHECK(ran.ok());
  CHECK(ran.output == "--\n");
}

TEST_CASE("Command: run - a summary of a few lines, unless quiet") {
  TemporaryFolder folder;
  const std::string program = data_file("test/programs/cg_clang");
  // Without slow iterations: on a busy machine they may be most of what is written, and a line
  // says so.
  const Result summary = run_refrain(
      {"run", "--slow-factor", "0", "-o", (folder / "a").string(), "--", program});
  REQUIRE(summary.ok());
  const auto lines = std::count(summary.errors.begin(), summary.errors.end(), '\n');
  CHECK(lines == 3);
  CHECK(summary.errors.find((folder / "a").string()) != std::string::npos);
  const Result quiet =
      run_refrain({"run", "--quiet", "-o", (folder / "b").string(), "--", program});
  CHECK(quiet.ok());
  CHECK(quiet.errors == "");
}

TEST_CASE("Command: info - as text and as JSON") {
  TemporaryFolder folder;
  Job job{"cg_clang", {}, 2, find_loops_of(8, 10)};
  job.settings["SYMBOLS"] = "parallel";
  trace(job, folder / "archive");
  const Result text = run_refrain({"info", folder / "archive"});
  CHECK(text.ok());
  CHECK(text.output.find("cg.c:") != std::string::npos);
  const Result json = run_refrain({"info", "--json", folder / "archive"});
  REQUIRE(json.ok());
  CHECK(nlohmann::json::parse(json.output).is_object());
  CHECK(json.output.find("750") != std::string::npos);
}

TEST_CASE(
    "Command: config and help - every setting is listed, those for experts on request") {
  const Result config = run_refrain({"config"});
  const Result all = run_refrain({"config", "--expert"});
  CHECK(config.ok());
  CHECK(all.ok());
  for (const filters::SettingInfo& info : filters::setting_table()) {
    INFO(info.name);
    const std::string line = filters::variable_name(info) + " = ";
    CHECK(all.output.find(line) != std::string::npos);
    CHECK((config.output.find(line) == std::string::npos) == info.expert);
  }
  Command set;
  set.arguments = {data_file("tools/refrain"), "config"};
  set.environment = clean_environment();
  set.environment["REFRAIN_WINDOW"] = "700";
  CHECK(run(set).output.find("REFRAIN_WINDOW = 700 events") != std::string::npos);
  const Result help = run_refrain({"help"});
  CHECK(help.ok());
  for (const std::string name : {"run", "info", "recover", "config"})
    CHECK(help.output.find(name) != std::string::npos);
}

}  // namespace refrain::test::command_test
