// `refrain doctor`: what it says of this machine, and that it notices what is missing.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::doctor_test {
namespace {

using nlohmann::json;

struct Answer {
  Result result;
  std::map<std::string, json> checks;  // by name
};

Answer doctor(const std::vector<std::string>& words,
              const std::map<std::string, std::optional<std::string>>& environment = {}) {
  const TemporaryFolder folder;
  Command command;
  command.arguments = {data_file("tools/refrain"), "doctor", "--json"};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.environment = environment;
  command.folder = folder.path();
  Answer answer{run(command), {}};
  INFO(answer.result.errors);
  INFO(answer.result.output);
  const json all = json::parse(answer.result.output);
  for (const json& check : all["checks"]) answer.checks[check["name"]] = check;
  CHECK(std::filesystem::is_empty(folder.path()));
  return answer;
}

}  // namespace

TEST_CASE("Doctor: machine - trials with OpenMP and MPI record what they do") {
  const Answer answer = doctor(
      {}, {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  INFO(answer.result.output);
  CHECK(answer.result.exit_status == 0);
  for (const char* name : {"library", "OpenMP", "MPICH", "Open MPI", "directory"})
    CHECK(answer.checks.at(name)["state"] != "problem");
  CHECK_THAT(answer.checks.at("OpenMP")["text"].get<std::string>(),
             Catch::Contains("events of 2 threads"));
  for (const char* name : {"MPICH", "Open MPI"})
    CHECK_THAT(answer.checks.at(name)["text"].get<std::string>(),
               Catch::Contains("events of 2 processes"));
}

TEST_CASE("Doctor: machine - what is missing is a problem, with advice") {
  const Answer without_runtime =
      doctor({"--no-trial"}, {{"REFRAIN_LIBOMP", "/nowhere/libomp.so"}});
  CHECK(without_runtime.result.exit_status == 1);
  CHECK(without_runtime.checks.at("OpenMP")["state"] == "problem");
  CHECK(without_runtime.checks.at("OpenMP")["advice"] != "");

  // Something that is a library, but no OpenMP runtime.
  const Answer wrong_runtime = doctor({}, {{"REFRAIN_LIBOMP", "/bin/sh"}});
  CHECK(wrong_runtime.result.exit_status == 1);
  CHECK(wrong_runtime.checks.at("OpenMP")["state"] == "problem");

  const Answer without_library =
      doctor({}, {{"REFRAIN_LIBRARY", "/nowhere/librefrain.so"}});
  CHECK(without_library.result.exit_status == 1);
  CHECK(without_library.checks.at("library")["state"] == "problem");
}

TEST_CASE("Doctor: programs - how they would be traced") {
  const Answer gcc = doctor({data_file("test/programs/cg_gcc")});
  CHECK(gcc.result.exit_status == 0);
  CHECK_THAT(gcc.checks.at("its OpenMP")["text"].get<std::string>(),
             Catch::Contains("takes its place"));
  CHECK(gcc.checks.at("its MPI")["text"] == "none");

  const Answer mpi = doctor({data_file("test/programs/mpi/halo_gcc")});
  CHECK(mpi.result.exit_status == 0);
  CHECK_THAT(mpi.checks.at("its MPI")["text"].get<std::string>(), Catch::Contains("MPICH"));

  const Answer missing = doctor({"/nowhere/program"});
  CHECK(missing.result.exit_status == 1);
}

TEST_CASE(
    "Version: text - first the version, then what it was built with and what there is") {
  const Result result = run({.arguments = {data_file("tools/refrain"), "--version"}});
  CHECK(result.exit_status == 0);
  CHECK_THAT(result.output, Catch::StartsWith("refrain "));
  CHECK_THAT(result.output, Catch::Contains("\nBuilt with "));
  CHECK_THAT(result.output, Catch::Contains("OTF2 "));
  CHECK_THAT(result.output, Catch::Contains("\nOpenMP runtime: "));
  CHECK_THAT(result.output,
             Catch::Contains("\nMPICH: /") && Catch::Contains("libmpich.so.12"));
  CHECK_THAT(result.output, Catch::Contains("\nOpen MPI: /"));
  CHECK(result.output.find("not traced") == std::string::npos);
}

}  // namespace refrain::test::doctor_test
