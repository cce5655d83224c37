// Functions of Python code: as often as the standard library's own profiler counts them, in a run that is not traced.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::python_functions_test {
namespace {

using nlohmann::json;

const std::string kScript = "test/programs/user/functions.py";

Result run_words(std::vector<std::string> words) {
  Command command;
  command.arguments = std::move(words);
  command.environment = clean_environment();
  return run(command);
}

// By line.
using Counts = std::map<long, long>;

Counts counted_by_python() {
  const Result result = run_words({"/usr/bin/python3", kScript, "count"});
  REQUIRE(result.ok());
  std::istringstream output(result.output);
  std::string line;
  std::getline(output, line);  // its own
  Counts counts;
  for (long at = 0, number = 0; output >> at >> number;) counts[at] = number;
  return counts;
}

Result traced(const std::map<std::string, std::string>& settings,
              const std::filesystem::path& archive) {
  std::vector<std::string> words = refrain_run(settings, archive);
  words.insert(words.end(), {"/usr/bin/python3", kScript});
  return run_words(std::move(words));
}

}  // namespace

TEST_CASE(
    "Python functions: as many calls as Python's profiler counts; the program is as it was") {
  const Counts expected = counted_by_python();
  REQUIRE(expected.size() == 10);
  const Result plain = run_words({"/usr/bin/python3", kScript});
  const std::string symbols = GENERATE("auto", "functions");
  TemporaryFolder folder;
  const Result result =
      traced({{"PYTHON", "yes"}, {"SYMBOLS", symbols}, {"FUNCTION_CALLS", "0"}},
             folder / "archive");
  INFO(result.errors);
  CHECK(result.exit_status == 5);
  CHECK(result.output == plain.output);
  const Result profile = run_refrain({"profile", folder / "archive", "--json"});
  REQUIRE(profile.ok());
  const json paths = json::parse(profile.output).at("paths");
  Counts counts;
  std::map<long, std::string> names;
  for (const json& path : paths) {
    REQUIRE(path.at("file").get<std::string>().ends_with("functions.py"));
    const long line = path.at("line");
    names[line] = path.at("name");
    for (const json& location : path.at("locations"))
      counts[line] += location.at("visits").get<long>();
  }
  // The script, and the body of its class, which the profiler was not there for.
  CHECK(counts[1] == 1);
  CHECK(names[1] == "functions.py");
  counts.erase(1);
  long classes = 0;
  for (const auto& [line, name] : names)
    if (name == "Solver") {
      CHECK(counts[line] == 1);
      counts.erase(line);
      ++classes;
    }
  CHECK(classes == 1);
  CHECK(counts == expected);
  long steps = 0;
  for (const auto& [line, name] : names) steps += name == "Solver.step" ? 1 : 0;
  CHECK(steps == 1);
  if (symbols == "auto") return;
  const Result info = run_refrain({"info", folder / "archive"});
  INFO(info.output);
  CHECK(info.output.find("functions.py:") != std::string::npos);
}

TEST_CASE("Python functions: only with the setting, and none of the library") {
  TemporaryFolder folder;
  const Result result = traced({}, folder / "archive");
  CHECK(result.exit_status == 5);
  CHECK_FALSE(std::filesystem::exists(folder / "archive"));
}

}  // namespace refrain::test::python_functions_test
