// Two ranks, traced: the minimum that must work of MPI. mpi_traced_test has the rest.
#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <tuple>

#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"

namespace refrain::test::mpi_smoke_test {
namespace {

std::map<std::string, int> enters(const Trace& trace) {
  std::map<std::string, int> result;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kEnter) ++result[trace.regions.at(event.reference).name];
  return result;
}

}  // namespace

TEST_CASE("MPI smoke: C and Fortran - regions, and messages with both ends") {
  const auto [program, way] = GENERATE(table<const char*, MpiWay>({
      {"ring_gcc", MpiWay::kInside},
      {"ring_gcc", MpiWay::kOutside},
      {"heat_mpif_gfortran", MpiWay::kInside},
      {"wave_mpi_gfortran", MpiWay::kInside},
      {"ring_f08_gfortran", MpiWay::kInside},
  }));
  CAPTURE(program);
  TemporaryFolder folder;
  const MpiJob job{.program = program, .settings = {{"LIMIT", "0"}}};
  const MpiCounts counts = count_mpi(job);
  const Traced traced = trace_mpi(job, way, folder / "archive");
  CHECK(traced.result.output == counts.output);
  const Replay replayed = replay(traced.trace);
  CHECK(replayed.unmatched() == 0);
  CHECK(replayed.pairs() >= 40);
  std::map<std::string, int> expected;
  for (int rank = 0; rank < 2; ++rank)
    for (const auto& [name, calls] : counts.recorded(rank))
      expected[name] += static_cast<int>(calls);
  REQUIRE(counts.calls[0].size() > 5);
  REQUIRE(expected.size() > 3);
  std::map<std::string, int> found = enters(traced.trace);
  std::erase_if(found, [](const auto& entry) { return entry.first.rfind("MPI_", 0) != 0; });
  CHECK(found == expected);
  for (int rank = 0; rank < 2; ++rank)
    CHECK(calls_in_summary(folder / "archive", rank) ==
          counts.calls[static_cast<std::size_t>(rank)]);
}

TEST_CASE("MPI smoke: local calls - are recorded if that is asked for") {
  TemporaryFolder folder;
  const MpiJob job{.program = "heat_mpif_gfortran",
                   .settings = {{"LIMIT", "0"}, {"LOCAL_CALLS", "yes"}}};
  const MpiCounts counts = count_mpi(job);
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  std::map<std::string, int> found = enters(traced.trace);
  for (const char* name : {"MPI_Comm_rank", "MPI_Comm_size"}) {
    CHECK(found[name] == static_cast<int>(counts.of(0, name) + counts.of(1, name)));
    CHECK(found[name] >= 2);
  }
}

TEST_CASE("MPI smoke: many kinds of calls - each is recorded, each message matched") {
  TemporaryFolder folder;
  const MpiJob job{.program = "calls_gcc", .settings = {{"LIMIT", "0"}}};
  const Result plain = run_mpi(job);
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.output == plain.output);
  const Replay replayed = replay(traced.trace);
  CHECK(replayed.unmatched() == 0);
  CHECK(replayed.pairs() == 2 * (2 + 4 + 4));
  std::map<std::string, int> found = enters(traced.trace);
  for (const char* name :
       {"MPI_Init", "MPI_Isend", "MPI_Cancel", "MPI_Startall", "MPI_Mprobe",
        "MPI_Comm_idup", "MPI_Cart_create", "MPI_Intercomm_merge", "MPI_Win_fence",
        "MPI_Put", "MPI_File_write", "MPI_Finalize"})
    CHECK(found[name] >= 2);
  const std::vector<const char*> own =
      tested_mpi() == "openmpi" ? std::vector{"MPIX_Allreduce_init"}
                                : std::vector{"MPI_Psend_init", "MPI_Isendrecv",
                                              "MPI_Send_c", "MPI_Allreduce_init"};
  for (const char* name : own) CHECK(found[name] >= 2);
}

TEST_CASE("MPI smoke: collectives - bytes count once for each partner, itself included") {
  TemporaryFolder folder;
  const MpiJob job{.program = "allreduce_gcc", .settings = {{"LIMIT", "0"}}};
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  using Bytes = std::pair<std::uint64_t, std::uint64_t>;  // sent, received
  std::map<Bytes, int> found;
  for (const Location& location : traced.trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kMpiCollectiveEnd) ++found[{event.sent, event.received}];
  // Of two ranks: Allreduce of 24 numbers and of one, and Reduce of one to rank 0.
  const std::map<Bytes, int> expected = {
      {{384, 384}, 2 * 20}, {{16, 16}, 2 * 20}, {{8, 16}, 1}, {{8, 0}, 1}};
  CHECK(found == expected);
}

TEST_CASE(
    "MPI smoke: atomic operations on a window - their kinds, bytes both ways, its name") {
  if (tested_mpi() == "openmpi") return;  // made for MPICH alone
  TemporaryFolder folder;
  const MpiJob job{
      .program = "atomics_gcc", .arguments = {"2"}, .settings = {{"LIMIT", "0"}}};
  REQUIRE(run_mpi(job, MpiWay::kInside, folder / "archive").ok());
  const Trace trace = read_trace(folder / "archive");
  std::map<std::tuple<std::int64_t, std::uint64_t, std::uint64_t>, int> found;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kRmaAtomic)
        ++found[{event.extra, event.sent, event.received}];
  const std::map<std::tuple<std::int64_t, std::uint64_t, std::uint64_t>, int> expected = {
      {{OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, 4, 0}, 4},
      {{OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, 4, 4}, 4},
      {{OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, 0, 4}, 4},
      {{OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP, 4, 4}, 4}};
  CHECK(found == expected);
  REQUIRE(trace.windows.size() == 1);
  CHECK(trace.windows.begin()->second.name == "counters");
}

}  // namespace refrain::test::mpi_smoke_test
