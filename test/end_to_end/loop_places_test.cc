// Places of loops: the function that contains the loop, even if its body calls functions of other
// files; and what `refrain info` prints of it.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "spool/spool_place.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"

namespace refrain::test::loop_places_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json info_of(const std::string& archive) {
  const Result result = run_refrain({"info", "--json", archive});
  REQUIRE(result.ok());
  return json::parse(result.output);
}

// The line of a source of //test/programs that has this text.
int line_of(const std::string& file, const std::string& text) {
  std::istringstream in(read_file(data_file("test/programs/" + file)));
  int number = 1;
  for (std::string line; std::getline(in, line); ++number)
    if (line.find(text) != std::string::npos) return number;
  FAIL(file << " has no " << text);
  return 0;
}

struct Expected {
  std::string program, steps_file, steps, first, last;
  std::string solver_file, solver, solver_first,
      solver_last;  // the line of the `for` first
};

const Expected kCpp{"stepper_clang",  "stepper.cc",         "main",
                    "long step = 0",  "stepper::account(",  "stepper_parts.cc",
                    "stepper::solve", "int iteration = 0;", "+= field.next[i]"};
const Expected kFortran{"stepper_f_gfortran",  "stepper_f.f90",  "stepper_f",
                        "do step = 1",         "call solve(12)", "stepper_module.f90",
                        "field_module::solve", "do iteration",   "mod(now(i)"};

void check(const Expected& expected) {
  INFO(expected.program);
  const TemporaryFolder folder;
  Job job{expected.program};
  job.settings["MIN_GAP"] = "0";
  recorded(job, folder / "archive");
  const json info = info_of(folder / "archive");
  REQUIRE(info.at("phases").size() == 2);
  const json& steps = info.at("phases")[0];
  const json& solver = info.at("phases")[1];
  CHECK(steps.at("loop") == 1);
  CHECK(steps.at("parent") == -1);
  CHECK(steps.at("iterations") == 60);
  CHECK(steps.at("function") == expected.steps);
  CHECK_THAT(steps.at("file").get<std::string>(), Catch::EndsWith(expected.steps_file));
  CHECK(steps.at("line") == line_of(expected.steps_file, expected.first));
  CHECK(steps.at("last_line") == line_of(expected.steps_file, expected.last));
  CHECK(solver.at("loop") == 2);
  CHECK(solver.at("parent") == 1);
  CHECK(solver.at("iterations") == 60 * 12);
  CHECK(solver.at("function") == expected.solver);
  CHECK_THAT(solver.at("file").get<std::string>(), Catch::EndsWith(expected.solver_file));
  CHECK(solver.at("line") == line_of(expected.solver_file, expected.solver_first));
  // The directive is at most two lines from the statement.
  CHECK(std::abs(solver.at("last_line").get<int>() -
                 line_of(expected.solver_file, expected.solver_last)) <= 2);
  CHECK_FALSE(steps.at("region").get<std::string>().empty());

  const Result text = run_refrain({"info", folder / "archive"});
  CHECK(text.output.find("\n1 " + expected.steps + " " + expected.steps_file + ":") !=
        std::string::npos);
  CHECK(text.output.find("\n  2 " + expected.solver + " " + expected.solver_file + ":") !=
        std::string::npos);
}

}  // namespace

TEST_CASE("Loop places: C++ - main's loop, and the solver's in another file") {
  check(kCpp);
  Expected gcc = kCpp;
  gcc.program = "stepper_gcc";
  check(gcc);
}

TEST_CASE(
    "Loop places: Fortran - the main program's loop, and that of a module's procedure") {
  check(kFortran);
}

TEST_CASE(
    "Loop places: loops of regions by gcc, in one function - each has its own lines") {
  const TemporaryFolder folder;
  recorded({"in_a_row_gcc"}, folder / "archive");
  const json loops = info_of(folder / "archive").at("phases");
  REQUIRE(loops.size() == 4);
  std::size_t number = 0;
  for (const std::string which : {"first", "second", "third", "fourth"}) {
    INFO(which);
    const json& loop = loops[number++];
    CHECK(loop.at("line") == line_of("in_a_row.c", "/* the " + which + " loop */"));
    if (number > 2) continue;  // with lines of what is inlined there
    CHECK(loop.at("last_line") == line_of("in_a_row.c", "/* of the " + which + " loop */"));
  }
}

TEST_CASE("Loop places: any order of detection - the same numbers and names") {
  const TemporaryFolder folder;
  std::vector<std::string> names;
  for (const std::string limit : {"2", "10", "0"}) {
    const std::string archive = folder / ("archive" + limit);
    Job job{"stepper_gcc"};
    job.settings["LIMIT"] = limit;
    recorded(job, archive);
    std::string all;
    const json info = info_of(archive);
    for (const json& loop : info.at("phases"))
      all += loop.at("name").get<std::string>() + "\n";
    names.push_back(all);
  }
  CHECK_THAT(names[0], Catch::StartsWith("loop 1 @ main stepper.cc:"));
  CHECK(names[1] == names[0]);
  CHECK(names[2] == names[0]);
}

TEST_CASE("Info: the terminal's width - no line is longer") {
  const TemporaryFolder folder;
  recorded({"particles_gcc"}, folder / "archive");
  for (const std::string columns : {"80", "100", "120"}) {
    Command command;
    command.arguments = {data_file("tools/refrain"), "info", folder / "archive"};
    command.environment = clean_environment();
    command.environment["COLUMNS"] = columns;
    const Result result = run(command);
    REQUIRE(result.ok());
    std::istringstream lines(result.output);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      CHECK(line.size() <= std::stoul(columns));
    CHECK(count <= 30);
  }
}

TEST_CASE("Run: no archive - the reason, once", "[alone]") {
  const TemporaryFolder folder;
  const auto errors_of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "-o", folder / "archive", "--"});
    const Result result = run_refrain(arguments);
    CHECK(result.ok());
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
    return result.errors;
  };
  CHECK_THAT(
      errors_of({"/bin/true"}),
      Catch::StartsWith("refrain: no archive: the program was not seen to use OpenMP"));
  CHECK_THAT(errors_of({"/bin/bash", "-c", "/bin/true; /bin/true"}),
             Catch::StartsWith("refrain: no archive: no process of the command used"));
  const Result quiet =
      run_refrain({"run", "--quiet", "-o", folder / "archive", "--", "/bin/true"});
  CHECK(quiet.errors == "");
  const std::string traced = data_file("test/programs/cg_clang");
  const Result of_shell = run_refrain(
      {"run", "-o", folder / "archive", "--", "/bin/bash", "-c", traced + " 2; /bin/true"});
  CHECK(of_shell.errors.find("no archive") == std::string::npos);
}

TEST_CASE(
    "Run: a recording without an archive - the next run, and a shell, print how to make it",
    "[alone]") {
  const TemporaryFolder folder;
  const std::string left = folder / "refrain-left";
  const std::string traced = data_file("test/programs/cg_clang");
  // The shell is the former `refrain run`, and lives on.
  const Result killed =
      run_refrain({"run", "-o", left, "--", "/bin/bash", "-c",
                   traced + " 100000 & until ls " + left +
                       "/spool/process-0/location-* 2>/dev/null; do sleep 0.01; done; kill "
                       "-9 $!; wait; true"});
  CHECK_THAT(killed.errors,
             Catch::Contains("'refrain recover " + left + "' makes the archive"));
  const Result next = run_refrain({"run", "-o", folder / "other", "--", traced, "2"});
  CHECK(next.ok());
  CHECK_THAT(next.errors, Catch::StartsWith("refrain: '" + left +
                                            "' is the recording of a run that was killed"));
  CHECK_THAT(run_refrain({"info", left}).errors,
             Catch::Contains("refrain recover " + left));
  REQUIRE(run_refrain({"recover", left}).ok());
  const Result after = run_refrain({"run", "-o", folder / "third", "--", traced, "2"});
  CHECK(after.errors.find("recover") == std::string::npos);
}

TEST_CASE(
    "Run: a recording with nothing in it - no command offers it, the next run removes it") {
  const TemporaryFolder folder;
  const std::string empty =
      folder / (".refrain-app-" + spool::own_host() + "-999999999");  // no process
  const auto make = [&] {
    std::filesystem::create_directories(std::filesystem::path(empty) / "spool");
    for (const std::string& each : {empty + "/spool", empty})
      std::filesystem::last_write_time(
          each, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  };
  make();
  const auto check = [](const Result& result, const std::string& text) {
    CHECK_FALSE(result.ok());
    CHECK_THAT(result.errors, Catch::Contains(text));
    CHECK(result.errors.find("makes the archive") == std::string::npos);
  };
  for (const char* command : {"info", "analyze", "profile", "report"})
    check(run_refrain({command, empty}), "has nothing to make an archive from");
  check(run_refrain({"recover", empty}), "it was removed");
  CHECK_FALSE(std::filesystem::exists(empty));
  make();
  const std::string traced = data_file("test/programs/cg_clang");
  const Result next = run_refrain({"run", "-o", folder / "run", "--", traced, "2"});
  CHECK(next.ok());
  CHECK(next.errors.find("recover") == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(empty));
}

TEST_CASE("Run: a script - the first traced program has the archive's name, not the shell",
          "[alone]") {
  const std::string traced = data_file("test/programs/cg_clang");
  for (const std::string option : {"--files=1ns", "--loops", "--memory"}) {
    INFO(option);
    const TemporaryFolder folder;
    const std::string archive = folder / "archive";
    const Result ran = run_refrain({"run", option, "-o", archive, "--", "/bin/sh", "-c",
                                    "/bin/true; " + traced + " 2; /bin/true"});
    CHECK(ran.errors.find("no archive") == std::string::npos);
    CHECK(fs::exists(archive + "/traces.otf2"));
    CHECK_FALSE(fs::exists(archive + ".2"));
  }
}

TEST_CASE("Run: --overwrite - replaces all archives of a script, and none of another name",
          "[alone]") {
  const TemporaryFolder folder;
  const std::string archive = folder / "archive", other = archive + ".2";
  const std::string traced = data_file("test/programs/cg_clang").string() + " 2; ";
  const auto run = [](const std::string& name, const std::string& script) {
    REQUIRE(run_refrain({"run", "--quiet", "--overwrite", "-o", name, "--", "/bin/bash",
                         "-c", script + "/bin/true"})
                .ok());
  };
  run(other, traced);  // the user's own, and not of the command below
  const auto written = [](const std::string& name) {
    return fs::last_write_time(name + "/traces.otf2");
  };
  const auto of_other = written(other);
  run(archive, traced + traced);
  REQUIRE(fs::exists(archive + ".3"));
  const auto second = written(archive + ".3");
  run(archive, traced + traced);
  CHECK(written(archive + ".3") != second);
  CHECK_FALSE(fs::exists(archive + ".4"));
  run(archive, traced);
  CHECK_FALSE(fs::exists(archive + ".3"));
  CHECK(written(other) == of_other);
}

}  // namespace refrain::test::loop_places_test
