// Wait states that `refrain analyze` finds in archives of programs that know how long they wait.
#include "test/end_to_end/known_waits.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/support/test_length.h"

namespace refrain::test::known_waits_test {
namespace {

const std::string kSleep = "20";  // ms

void check_mpi_case(SomeCases& few, const std::string& name, int ranks) {
  if (!few.runs_next()) return;
  check_known_waits(
      {.program = "waits_mpi_clang", .arguments = {name, kSleep}, .ranks = ranks});
}

void check_openmp_case(const std::string& name, int threads) {
  check_known_waits({.program = "waits_omp_clang",
                     .arguments = {name, kSleep},
                     .ranks = 0,
                     .threads = threads});
}

const std::vector<std::string> kLate = {"sender", "receiver", "nobody"};

}  // namespace

TEST_CASE("Known waits: messages - each way to send") {
  SomeCases few;
  for (const std::string how :
       {"send", "ssend", "bsend", "isend", "issend", "start", "large"})
    for (const std::string& late : kLate)
      check_mpi_case(few, "p2p:" + how + ":recv:" + late, 2);
}

TEST_CASE("Known waits: messages - each way to receive") {
  SomeCases few;
  for (const std::string how : {"any", "wait", "start", "waitall", "waitany", "waitsome",
                                "test", "probe", "mrecv", "posted"})
    for (const std::string& late : {"send:" + how + ":sender", "send:" + how + ":nobody",
                                    "issend:" + how + ":receiver"})
      check_mpi_case(few, "p2p:" + late, 2);
}

TEST_CASE("Known waits: messages - partitioned") {
  SomeCases few;
  for (const std::string& late : kLate)
    check_mpi_case(few, "p2p:partitioned:partitioned:" + late, 2);
}

TEST_CASE("Known waits: collectives - that do not block") {
  SomeCases few;
  for (const std::string op :
       {"barrier", "allreduce", "bcast", "reduce", "scan", "persistent"})
    for (const std::string late : {"last", "root"})
      check_mpi_case(few, "icoll:" + op + ":" + late, 4);
}

TEST_CASE("Known waits: collectives - between two groups") {
  SomeCases few;
  for (const std::string op : {"barrier", "allreduce", "bcast", "reduce"})
    for (const std::string late : {"first", "last"})
      check_mpi_case(few, "coll:" + op + ":" + late + ":inter", 4);
}

TEST_CASE("Known waits: messages - other communicators") {
  SomeCases few;
  for (const std::string comm : {"sub", "inter"})
    for (const std::string& late : kLate)
      check_mpi_case(few, "p2p:ssend:recv:" + late + ":" + comm, 4);
}

TEST_CASE("Known waits: messages - several at once, both ways, and in wrong order") {
  SomeCases few;
  for (const std::string how : {"waitall", "waitany", "waitsome", "issends"})
    check_mpi_case(few, "many:" + how, 4);
  check_mpi_case(few, "sendrecv", 4);
  for (const std::string how : {"same", "different", "right"})
    check_mpi_case(few, "order:" + how, 3);
}

TEST_CASE("Known waits: collectives - all to all") {
  SomeCases few;
  for (const std::string op : {"barrier", "allreduce"})
    for (const std::string late : {"last", "rising", "nobody"})
      check_mpi_case(few, "coll:" + op + ":" + late, 4);
  for (const std::string op : {"alltoall", "alltoallv", "alltoallw", "allgather",
                               "allgatherv", "reduce_scatter", "reduce_scatter_block"})
    check_mpi_case(few, "coll:" + op + ":last", 4);
  check_mpi_case(few, "coll:barrier:rising", 8);
  for (const std::string late : {"last", "rising"})
    check_mpi_case(few, "coll:neighbor:" + late, 4);
}

TEST_CASE("Known waits: collectives - one to all, all to one, prefixes") {
  SomeCases few;
  for (const std::string op :
       {"bcast", "scatter", "scatterv", "reduce", "gather", "gatherv"})
    for (const std::string late : {"root", "others"})
      check_mpi_case(few, "coll:" + op + ":" + late, 4);
  for (const std::string op : {"scan", "exscan"})
    for (const std::string late : {"first", "rising", "falling"})
      check_mpi_case(few, "coll:" + op + ":" + late, 4);
}

TEST_CASE("Known waits: collectives - parts of the ranks, and completion") {
  SomeCases few;
  for (const std::string op : {"barrier", "allreduce", "bcast", "reduce", "scan"})
    check_mpi_case(few, "coll:" + op + ":first:sub", 6);
  for (const int ranks : {2, 4})
    for (const std::string op : {"barrier", "allreduce"})
      check_mpi_case(few, "completion:" + op, ranks);
}

TEST_CASE("Known waits: begin and end of MPI") {
  SomeCases few;
  check_mpi_case(few, "init:rising", 3);
  for (const std::string late : {"last", "rising", "nobody"})
    check_mpi_case(few, "finalize:" + late, 3);
}

TEST_CASE("Known waits: one-sided") {
  SomeCases few;
  for (const std::string how :
       {"create", "free", "fence", "late_post", "early_wait", "lock", "progress", "none"})
    check_mpi_case(few, "rma:" + how, 2);
}

TEST_CASE("Known waits: OpenMP - barriers") {
  std::vector<std::string> names = {"sections", "single"};
  for (const std::string kind : {"barrier", "parallel", "for"})
    for (const std::string late : {"last", "rising", "nobody"})
      names.push_back(kind + ":" + late);
  SomeCases few;
  for (const std::string& name : names)
    for (const int threads : {2, 4})
      if (few.runs_next()) check_openmp_case(name, threads);
}

TEST_CASE("Known waits: OpenMP - locks, tasks, idle threads") {
  for (const std::string name : {"critical:1", "critical:0", "lock:1", "lock:0", "task",
                                 "taskwait", "idle", "limited"}) {
    check_openmp_case(name, 4);
    if (test_length() != TestLength::kShort) check_openmp_case(name, 2);
  }
}

TEST_CASE("Known waits: MPI and OpenMP") {
  for (const std::string name : {"after", "within"})
    for (const int ranks : {2, 4})
      check_known_waits({.program = "waits_hybrid_clang",
                         .arguments = {name},
                         .ranks = ranks,
                         .threads = 2});
}

TEST_CASE("Known waits: wavefront - the corner that it reaches last waits longest") {
  const int dimensions = GENERATE(2, 3);
  const std::string printed =
      check_known_waits({.program = "wavefront_clang",
                         .arguments = {std::to_string(dimensions), "3", "20"},
                         .ranks = 1 << dimensions});
  const nlohmann::json ranks = nlohmann::json::parse(printed).at("ranks");
  REQUIRE(ranks.size() == 1U << dimensions);
  std::size_t directions = 0;
  for (const auto& [direction, of_first] : ranks[0].at("directions").items()) {
    // The corner against which the direction sweeps has nobody behind it.
    std::string last, first;
    for (std::size_t i = 0; i < direction.size(); i += 2)
      last += direction[i] == '+' ? '1' : '0', first += direction[i] == '+' ? '0' : '1';
    for (const nlohmann::json& rank : ranks) {
      std::string at;
      for (const nlohmann::json& coordinate : rank.at("at"))
        at += std::to_string(coordinate.get<int>());
      const double waits = rank.at("directions").at(direction).at("change").get<double>();
      INFO(direction << " at " << at << ": " << waits << " s");
      if (at == first) CHECK(waits == 0);
      // It comes after as many sleeps as there are dimensions, if the machine is not busy.
      if (at == last) CHECK(waits > 0);
    }
    ++directions;
  }
  CHECK(directions == 1U << dimensions);
}

}  // namespace refrain::test::known_waits_test
