// Jobs of which something is missing or damaged: processes that left nothing, journals that lie
// about their place in MPI_COMM_WORLD.
#include <catch2/catch.hpp>

#include "writer/testing/archive_text.h"
#include "writer/testing/spool_builder.h"

namespace refrain::writer::job_spools_test {
namespace {

using namespace spool;  // NOLINT: names of test builders
using Lines = std::vector<std::string>;

TEST_CASE("Job: a missing rank - has an empty entry, and its messages are dropped") {
  const test::TemporaryFolder folder;
  std::vector<SpoolBuilder> ranks;
  for (const std::uint32_t rank : {0U, 2U}) ranks.emplace_back(1).mpi(rank, 3);
  send(ranks[0], 1, 100, {.peer = 1, .tag = 7, .bytes = 64});
  send(ranks[0], 2, 110, {.peer = 2, .tag = 7, .bytes = 65});
  receive(ranks[1], 1, 100, {.peer = 0, .tag = 7, .bytes = 65});
  allreduce(ranks[0], 3, 200, 0);
  allreduce(ranks[1], 3, 205, 0);
  const Written written = write_and_check(ranks, folder);
  CHECK(written.trace.location_groups.size() == 3);
  CHECK(lines_with(written.trace, 0, " Mpi") ==
        Lines{"111 MpiSend comm 0 peer 2 tag 7 bytes 65"});
  CHECK(lines_with(written.trace, 0, "enter MPI_Allreduce").size() == 1);
  CHECK(written.result.complaints.size() == 1);
}

// One bit of rank 1's place in the world is wrong: two other values are right.
TEST_CASE("Job: a damaged journal - outvoted by the others") {
  struct Damage {
    std::uint8_t kind;
    bool of_rank;
  };
  const auto [kind, of_rank] = GENERATE(Damage{kMpiWorld, false}, Damage{kMpiWorld, true},
                                        Damage{kMpiComm, true}, Damage{kMpiMembers, false});
  const std::uint32_t bit = GENERATE(0, 1, 2, 9, 15, 19, 30);
  CAPTURE(int{kind}, of_rank, bit);
  auto ranks = job(3);
  for (Record& record : ranks[1].journal().log) {
    if (record.kind != kind || record.aux16 != 0) continue;
    if (kind == kMpiWorld && !of_rank) {
      record.payload ^= 1U << bit;
    } else {
      record.aux32 ^= 1U << bit;
    }
  }
  const test::TemporaryFolder folder;
  send(ranks[0], 1, 100, {.peer = 1, .tag = 7, .bytes = 64});
  receive(ranks[1], 1, 90, {.peer = 0, .tag = 7, .bytes = 64});
  for (std::uint32_t rank = 0; rank < 3; ++rank) allreduce(ranks[rank], 2, 200, 0);
  const Written written = write_alone_and_check(ranks, folder);
  REQUIRE(written.trace.location_groups.size() == 3);
  CHECK(written.trace.location_groups.at(1).name == "MPI Rank 1");
  CHECK(written.trace.groups.at(written.trace.comms.at(0).group).members ==
        std::vector<std::uint64_t>{0, 1, 2});
  CHECK(lines_with(written.trace, 0, " MpiSend").size() == 1);
  CHECK(lines_with(written.trace, 1, " MpiRecv").size() == 1);
  for (std::size_t rank = 0; rank < 3; ++rank)
    CHECK(lines_with(written.trace, rank, " MpiCollectiveEnd").size() == 1);
  CHECK(written.result.complaints.size() == (kind == kMpiWorld ? 1 : 0));
}

TEST_CASE("Job: a journal without its rank in the job - gets it from MPI_COMM_WORLD") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  std::erase_if(ranks[1].journal().log,
                [](const Record& record) { return record.kind == kMpiWorld; });
  for (auto& rank : ranks) allreduce(rank, 1, 100, 0);
  const Written written = write_alone_and_check(ranks, folder);
  REQUIRE(written.trace.location_groups.size() == 2);
  for (std::size_t rank = 0; rank < 2; ++rank)
    CHECK(lines_with(written.trace, rank, " MpiCollectiveEnd").size() == 1);
  REQUIRE(written.result.complaints.size() == 1);
  CHECK(written.result.complaints[0] ==
        "the journal of MPI rank 1 of 2 has lost its place in the job");
}

TEST_CASE("Job: a journal that claims many ranks - gets no entries for them") {
  const test::TemporaryFolder folder;
  auto ranks = job(1);
  allreduce(ranks[0], 1, 100, 0);
  std::string complaint;
  SECTION("where it joins the job, and has no size of MPI_COMM_WORLD") {
    for (Record& record : ranks[0].journal().log) {
      if (record.kind == kMpiWorld) record.payload = 1U << 19;
      if (record.kind == kMpiMembers) record.aux32 = 0;
    }
    complaint = "names MPI rank 0 of 524288";
  }
  SECTION("as the size of MPI_COMM_WORLD, and has not joined the job") {
    std::erase_if(ranks[0].journal().log,
                  [](const Record& record) { return record.kind == kMpiWorld; });
    for (Record& record : ranks[0].journal().log)
      if (record.kind == kMpiMembers) record.aux32 = 1U << 19;
    complaint = "has lost its place in the job";
  }
  const Written written = write_alone_and_check(ranks, folder);
  CHECK(written.trace.location_groups.size() == 1);
  CHECK(lines_with(written.trace, 0, "enter") == Lines{"100 enter MPI_Allreduce"});
  REQUIRE(written.result.complaints.size() == 1);
  CHECK(written.result.complaints[0] == "the journal of MPI rank 0 of 1 " + complaint);
}

TEST_CASE("Job: a journal without its rank in the job - nor a folder with it") {
  const test::TemporaryFolder folder;
  std::vector<SpoolBuilder> ranks;
  for (const std::uint32_t rank : {2U, 0U, 1U}) {
    ranks.emplace_back(1).mpi(rank, 3);
    allreduce(ranks.back(), 1, 100 + 10 * rank, 0);
  }
  std::erase_if(ranks[2].journal().log,
                [](const Record& record) { return record.kind == kMpiWorld; });
  const Written written = write_alone_and_check(ranks, folder);
  REQUIRE(written.trace.location_groups.size() == 3);
  CHECK(lines_with(written.trace, 1, "enter") == Lines{"110 enter MPI_Allreduce"});
  for (std::size_t rank = 0; rank < 3; ++rank)
    CHECK(lines_with(written.trace, rank, " MpiCollectiveEnd").size() == 1);
}

// Its directory is there, its place in the job is not recorded yet.
TEST_CASE("Job: killed as they joined - their directories have their ranks") {
  const test::TemporaryFolder folder;
  auto ranks = job(3);
  const bool all = GENERATE(false, true);
  CAPTURE(all);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    if (!all && rank == 1) continue;
    std::erase_if(ranks[rank].journal().log, [](const Record& record) {
      return record.kind == kMpiWorld || record.kind == kMpiComm ||
             record.kind == kMpiMembers;
    });
    ranks[rank].location(0).enter_mpi(100, kTestSend, kSite);
  }
  const Written written = write_alone_and_check(ranks, folder);
  REQUIRE(written.trace.location_groups.size() == 3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(written.trace.location_groups.at(rank).name ==
          "MPI Rank " + std::to_string(rank));
    if (all || rank != 1)
      CHECK(lines_with(written.trace, rank, "enter") == Lines{"100 enter MPI_Send"});
  }
  REQUIRE(written.result.complaints.size() == (all ? 3 : 2));
  CHECK(
      written.result.complaints[0] ==
      "MPI rank 0 of 3 was killed as it joined the job: its rank is that of its directory");
}

TEST_CASE("Job: a process outside of the job - has no rank") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  ranks.emplace_back(1).mpi(4, 2);
  for (auto& rank : ranks) allreduce(rank, 1, 100, 0);
  const Written written = write_alone_and_check(ranks, folder);
  REQUIRE(written.trace.location_groups.size() == 3);
  CHECK(written.trace.location_groups.at(1).name == "MPI Rank 1");
  CHECK_FALSE(written.trace.location_groups.at(2).name.starts_with("MPI Rank"));
  CHECK(lines_with(written.trace, 1, " MpiCollectiveEnd").size() == 1);
  CHECK(lines_with(written.trace, 2, " MpiCollectiveEnd").empty());
  CHECK(written.result.complaints.size() == 1);
}

TEST_CASE("Job: rank 0 is missing - the messages of the others are kept") {
  const test::TemporaryFolder folder;
  std::vector<SpoolBuilder> ranks;
  for (const std::uint32_t rank : {1U, 2U}) ranks.emplace_back(1).mpi(rank, 3);
  send(ranks[0], 1, 100, {.peer = 2, .tag = 7, .bytes = 64});
  receive(ranks[1], 1, 90, {.peer = 1, .tag = 7, .bytes = 64});
  const Written written = write_alone_and_check(ranks, folder);
  CHECK(written.trace.location_groups.size() == 3);
  CHECK(lines_with(written.trace, 1, " MpiSend").size() == 1);
  CHECK(lines_with(written.trace, 2, " MpiRecv").size() == 1);
}

}  // namespace
}  // namespace refrain::writer::job_spools_test
