// Loops of Python code, which its interpreter runs in one C function: what is counted of them, and what they count themselves.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"

namespace refrain::test::python_loops_test {
namespace {

using nlohmann::json;

struct Counts {
  long visits = 0;
  long iterations = 0;
  bool operator==(const Counts&) const = default;
};

}  // namespace

TEST_CASE("Python: loops of a script that calls MPI - as many as it counts itself") {
  const TemporaryFolder folder;
  const std::string script = data_file("test/programs/mpi/loops.py").string();
  Command command;
  // Of any mpi4py that is installed: the script needs none.
  command.arguments =
      refrain_run({{"DETECTOR", "activation"}, {"MPI", "mpich"}}, folder / "archive");
  for (const std::string& word :
       {std::string("mpirun.mpich"), std::string("-n"), std::string("2"),
        std::string("/usr/bin/python3"), script})
    command.arguments.push_back(word);
  command.environment = clean_environment();
  put_mpi_sanitizer_first(command);
  const Result result = run(command);
  INFO(result.errors);
  REQUIRE(result.ok());
  std::map<long, Counts> own;
  std::istringstream lines(result.output);
  long line = 0;
  Counts one;
  while (lines >> line >> one.visits >> one.iterations) {
    own[line].visits += one.visits;
    own[line].iterations += one.iterations;
  }
  CHECK(own.size() == 14);

  read_checked(folder / "archive");
  const Result info = run_refrain({"info", folder / "archive", "--json"});
  REQUIRE(info.ok());
  std::map<long, Counts> found;
  const json all = json::parse(info.output);
  for (const json& loop : all.at("phases")) {
    if (loop.at("process") != 0) continue;
    INFO(loop.dump());
    CHECK(loop.at("file").get<std::string>().ends_with("loops.py"));
    CHECK_FALSE(loop.at("function").get<std::string>().empty());
    found[loop.at("line")].visits += loop.at("visits").get<long>();
    found[loop.at("line")].iterations += loop.at("iterations").get<long>();
  }
  for (const auto& [at, counts] : own) {
    INFO("line " << at);
    CHECK(found[at].iterations == counts.iterations);
    CHECK(found[at].visits == counts.visits);
  }
  CHECK(found.size() == own.size());
}

}  // namespace refrain::test::python_loops_test
