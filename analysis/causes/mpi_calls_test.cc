// Whose waits are the doing of which calls; what is a poll.
#include "analysis/causes/mpi_calls.h"

#include <otf2/otf2.h>

#include <catch2/catch.hpp>

namespace refrain::analysis::mpi_calls_test {
namespace {

MpiCall call(const char* name, MpiCall::Kind kind, std::vector<double> time_ns) {
  return {.name = name,
          .kind = kind,
          .visits = 10,
          .bytes = 8,
          .fastest_ns = 1000,
          .time_ns = std::move(time_ns),
          .calls = {10, 10},
          .lost_ns = {}};
}

TEST_CASE(
    "Calls of MPI: several receives that wait for slow sends - no more than those take") {
  using enum MpiCall::Kind;
  std::vector<MpiCall> calls = {
      call("MPI_Send", kSend, {0, 6e6}), call("MPI_Recv", kReceive, {6e6, 0}),
      call("MPI_Waitall", kReceive, {6e6, 0}), call("MPI_Testany", kReceive, {12e6, 0})};
  charge_waits(calls, {{}, {}});
  CHECK(calls[0].total_lost() == Approx(6e6));
  CHECK(calls[0].others_ns == Approx(6e6));
  double left = 0;
  for (std::size_t i = 1; i < calls.size(); ++i) left += calls[i].total_lost();
  CHECK(left == Approx(24e6 - 6e6));
  CHECK(calls[1].total_lost() == Approx(4.5e6));
}

TEST_CASE("Calls of MPI: the fastest may have been smaller - not what all could take") {
  MpiCall large = call("MPI_Send", MpiCall::Kind::kSend, {0, 0});
  large.bytes = 1'000'000;
  large.fastest_ns = 100;
  CHECK(large.possible_ns() >= 50'000);
  large.bytes = 8;
  CHECK(large.possible_ns() == Approx(2000).epsilon(0.01));
}

TEST_CASE(
    "Calls of MPI: sizes - as in a profile, also where one rank sends to the others") {
  RunProfile profile;
  profile.processes.resize(2);
  profile.regions = {{.name = "MPI_Bcast", .paradigm = OTF2_PARADIGM_MPI}};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    profile.locations.push_back({.process = rank, .primary = true});
    profile.processes[rank].time = 100;
  }
  RunProfile::Path path{.region = 0, .cls = TimeClass::kMpiCollective};
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    path.sums.push_back({.location = LocationId(rank),
                         .visits = 10,
                         .bytes_sent = rank == 0 ? 160u : 0u,
                         .bytes_received = 80});
  profile.paths = {path};
  const std::vector<MpiCall> calls = mpi_calls(profile);
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].bytes == 12);  // 16 of one rank, 8 of the other
  CHECK(total(profile).mpi.at(0).average_bytes() == 12);
}

TEST_CASE("Calls of MPI: what polls") {
  for (const char* name : {"MPI_Testany @a+0x1", "MPI_Iprobe", "MPI_Test"})
    CHECK(call(name, MpiCall::Kind::kReceive, {}).polls());
  for (const char* name : {"MPI_Waitany @a+0x1", "MPI_Probe", "MPI_Recv"})
    CHECK_FALSE(call(name, MpiCall::Kind::kReceive, {}).polls());
}

}  // namespace
}  // namespace refrain::analysis::mpi_calls_test
