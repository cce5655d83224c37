// Archives of jobs of several processes: ranks, communicators, messages, requests,
// collectives.
#include <otf2/otf2.h>

#include <catch2/catch.hpp>

#include "writer/testing/archive_text.h"
#include "writer/testing/spool_builder.h"

namespace refrain::writer::mpi_archive_test {
namespace {

using namespace spool;  // NOLINT: names of test builders
using Lines = std::vector<std::string>;

TEST_CASE("MPI: two ranks - regions, messages, a collective") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  send(ranks[0], 1, 100, {.peer = 1, .tag = 7, .bytes = 64});
  receive(ranks[1], 1, 90, {.peer = 0, .tag = 7, .bytes = 64});
  allreduce(ranks[0], 2, 200, 0);
  allreduce(ranks[1], 2, 205, 0);
  const Written written = write_and_check(ranks, folder);
  CHECK(lines(written.trace, 0) == Lines{"1 ProgramBegin", "100 enter MPI_Send",
                                         "101 MpiSend comm 0 peer 1 tag 7 bytes 64",
                                         "105 leave MPI_Send", "200 enter MPI_Allreduce",
                                         "200 MpiCollectiveBegin",
                                         "208 MpiCollectiveEnd 0 11 root -1 bytes 8 80",
                                         "209 leave MPI_Allreduce", "209 ProgramEnd"});
  CHECK(lines_with(written.trace, 1, "Mpi").front() ==
        "94 MpiRecv comm 0 peer 0 tag 7 bytes 64");
  CHECK(written.trace.location_groups.at(1).name == "MPI Rank 1");
  for (const auto& [ref, region] : written.trace.regions) {
    if (!region.name.starts_with("MPI_")) continue;
    CHECK(region.file == "MPI");
    CHECK(region.paradigm == OTF2_PARADIGM_MPI);
    CHECK(region.role == (region.name == "MPI_Allreduce" ? OTF2_REGION_ROLE_COLL_ALL2ALL
                                                         : OTF2_REGION_ROLE_POINT2POINT));
  }
  const test::Comm& world = written.trace.comms.at(0);
  CHECK(world.name == "MPI_COMM_WORLD");
  CHECK(written.trace.groups.at(world.group).members == std::vector<std::uint64_t>{0, 1});
  const test::Comm& self = written.trace.comms.at(1);
  CHECK(written.trace.groups.at(self.group).type == OTF2_GROUP_TYPE_COMM_SELF);
  CHECK(written.trace.comms.size() == 2);
  CHECK(written.result.events_written == written.result.events_seen);
}

TEST_CASE("MPI: call sites - without debug information the object and the offset in it") {
  for (const bool known : {false, true}) {
    const test::TemporaryFolder folder;
    auto ranks = job(1);
    if (known) ranks[0].journal().text(kTextModule, "6000 9000 0 - /no/such/libthing.so");
    allreduce(ranks[0], 2, 200, 0);
    const Written written = write_and_check(ranks, folder);
    std::size_t sites = 0;
    for (const test::Event& event : written.trace.locations.at(0).events)
      for (const test::Attribute& each : event.attributes)
        sites += each.type == OTF2_TYPE_SOURCE_CODE_LOCATION;
    CHECK(sites == (known ? 1 : 0));  // a bare address is none
  }
}

TEST_CASE("MPI: ranks - from the journal, not from the folder's name") {
  const test::TemporaryFolder folder;
  std::vector<SpoolBuilder> ranks;
  for (const std::uint32_t rank : {2U, 0U, 1U}) {
    ranks.emplace_back(1).mpi(rank, 3);
    allreduce(ranks.back(), 1, 100 + 10 * rank, 0);
  }
  const Written written = write_and_check(ranks, folder);
  CHECK(lines_with(written.trace, 2, "enter") == Lines{"120 enter MPI_Allreduce"});
  CHECK(written.trace.location_groups.at(2).name == "MPI Rank 2");
}

TEST_CASE("MPI: requests - begun and completed once, for any numbers in the program") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto& log = ranks[rank].location(0);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const std::uint64_t t = 100 + 100 * i;
      const Message message{.peer = 1 - rank, .tag = 3, .number = i, .bytes = 10 + i};
      log.enter_mpi(t, kTestIrecv, kSite, 1 + 3 * i)
          .add(kMpiPost, t + 1, 0, 5)
          .leave_mpi(t + 2, kTestIrecv, kSite)
          .enter_mpi(t + 10, kTestIsend, kSite, 2 + 3 * i)
          .message(kMpiSend, t + 11, message, 6)
          .leave_mpi(t + 12, kTestIsend, kSite)
          .enter_mpi(t + 20, kTestWaitall, kSite, 3 + 3 * i)
          .add(kMpiTested, t + 21, 0, 5)
          .message(kMpiRecv, t + 28, message, 5)
          .add(kMpiDone, t + 28, 0, 6)
          .leave_mpi(t + 29, kTestWaitall, kSite);
    }
  }
  const Written written = write_and_check(ranks, folder);
  CHECK(lines_with(written.trace, 1, " Mpi") ==
        Lines{"101 MpiIrecvRequest #1", "111 MpiIsend comm 0 peer 0 tag 3 bytes 10 #2",
              "121 MpiRequestTest #1", "128 MpiIrecv comm 0 peer 0 tag 3 bytes 10 #1",
              "128 MpiIsendComplete #2", "201 MpiIrecvRequest #3",
              "211 MpiIsend comm 0 peer 0 tag 3 bytes 11 #4", "221 MpiRequestTest #3",
              "228 MpiIrecv comm 0 peer 0 tag 3 bytes 11 #3", "228 MpiIsendComplete #4"});
}

TEST_CASE("MPI: a filter - removes polls, not the requests that they complete") {
  const test::TemporaryFolder in_full;
  const test::TemporaryFolder filtered;
  auto ranks = job(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    send(ranks[rank], 1, 100, {.peer = 1 - rank, .tag = 3, .bytes = 10});
    auto& log = ranks[rank].location(0);
    log.enter_mpi(200, kTestIrecv, kSite, 2)
        .add(kMpiPost, 201, 0, 5)
        .leave_mpi(202, kTestIrecv, kSite);
    for (std::uint64_t t = 300; t < 600; t += 10) {
      log.enter_mpi(t, kTestWaitall, kSite, 3);
      if (t < 590) log.add(kMpiTested, t + 1, 0, 5);
      if (t == 590)
        log.message(kMpiRecv, t + 1, {.peer = 1 - rank, .tag = 3, .bytes = 10}, 5);
      log.leave_mpi(t + 2, kTestWaitall, kSite);
    }
  }
  const Written all = write_and_check(ranks, in_full);
  CHECK(lines_with(all.trace, 1, " MpiRequestTest").size() == 29);
  WriteOptions options;
  options.filter = "SCOREP_REGION_NAMES_BEGIN EXCLUDE MPI_Waitall\nSCOREP_REGION_NAMES_END";
  const Written written = write_and_check(ranks, filtered, options);
  CHECK(lines_with(written.trace, 1, " Mpi") ==
        Lines{"101 MpiSend comm 0 peer 0 tag 3 bytes 10", "201 MpiIrecvRequest #1",
              "591 MpiIrecv comm 0 peer 0 tag 3 bytes 10 #1"});
  CHECK(written.result.events_filtered == 2 * 60);
}

TEST_CASE("MPI: coalesced polls - one region, with their number") {
  const test::TemporaryFolder in_full;
  const test::TemporaryFolder filtered;
  auto ranks = job(2);
  for (SpoolBuilder& rank : ranks) {
    auto& log = rank.location(0);
    for (std::uint64_t t = 100; t < 130; t += 10)
      log.enter_mpi(t, kTestWaitall, kSite).leave_mpi(t + 5, kTestWaitall, kSite);
    log.enter_mpi(130, kTestWaitall, kSite).leave_mpi(990, kTestWaitall, kSite);
    log.log.back().set_a48((std::uint64_t{1} << 40) - 1);
  }
  const Written written = write_and_check(ranks, in_full);
  CHECK(written.result.mpi.counts.polls_together == 2 * ((std::uint64_t{1} << 40) - 1));
  CHECK(lines_with(written.trace, 1, " enter").size() == 4);
  CHECK(lines_with(written.trace, 1, "polls") == Lines{"990 polls 1099511627776"});
  CHECK(lines_with(written.trace, 1, "990") ==
        Lines{"990 polls 1099511627776", "990 leave MPI_Waitall", "990 ProgramEnd"});
  WriteOptions options;
  options.filter = "SCOREP_REGION_NAMES_BEGIN EXCLUDE MPI_Waitall\nSCOREP_REGION_NAMES_END";
  const Written without = write_and_check(ranks, filtered, options);
  CHECK(lines_with(without.trace, 1, "polls").empty());
}

TEST_CASE("MPI: requests - one that never completes has no record") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  const Message message{.peer = 1, .tag = 3, .bytes = 10};
  ranks[0]
      .location(0)
      .enter_mpi(100, kTestIsend, kSite, 1)
      .message(kMpiSend, 101, message, 6)
      .leave_mpi(102, kTestIsend, kSite)
      .enter_mpi(110, kTestIrecv, kSite, 2)
      .add(kMpiPost, 111, 0, 7)
      .leave_mpi(112, kTestIrecv, kSite)
      .enter_mpi(120, kTestIrecv, kSite, 3)
      .add(kMpiPost, 121, 0, 8)
      .leave_mpi(122, kTestIrecv, kSite)
      .enter_mpi(130, kTestWaitall, kSite, 4)
      .add(kMpiCancelled, 131, 0, 8)
      .leave_mpi(132, kTestWaitall, kSite);
  receive(ranks[1], 1, 100, {.peer = 0, .tag = 3, .bytes = 10});
  const Written written = write_and_check(ranks, folder);
  CHECK(lines_with(written.trace, 0, " Mpi") ==
        Lines{"101 MpiSend comm 0 peer 1 tag 3 bytes 10", "121 MpiIrecvRequest #3",
              "131 MpiRequestCancelled #3"});
}

namespace {

// Rank 1 posts a receive of any source and one of rank 0, and completes the second when the
// job ends. The first may be complete by then, or cancelled.
Written any_source_job(bool died, std::uint8_t first_ends_with, std::uint32_t post_tag) {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  for (std::uint64_t i = 0; i < 3; ++i)
    send(ranks[0], i + 1, 100 + 10 * i,
         {.peer = 1, .tag = 3, .number = i, .bytes = 10 + i});
  auto& log = ranks[1].location(0);
  receive(ranks[1], 1, 100, {.peer = 0, .tag = 3, .number = 0, .bytes = 10});
  log.enter_mpi(110, kTestIrecv, kSite, 2)
      .add(kMpiPost, 111, 0, std::uint64_t{post_tag} << 32 | 7, kMpiAnySource)
      .leave_mpi(112, kTestIrecv, kSite)
      .enter_mpi(120, kTestIrecv, kSite, 3)
      .add(kMpiPost, 121, 0, 8)
      .leave_mpi(122, kTestIrecv, kSite)
      .enter_mpi(130, kTestWaitall, kSite, 4);
  // If the first took message 1 and died before recording it, the second's number is one
  // too low.
  const bool first_takes = post_tag == 3 && first_ends_with != kMpiCancelled && died;
  const std::uint64_t number = first_ends_with == kMpiRecv ? 2 : 1;
  log.message(kMpiRecv, 131,
              {.peer = 0, .tag = 3, .number = number, .bytes = first_takes ? 12U : 11U}, 8);
  if (first_ends_with == kMpiCancelled) log.add(kMpiCancelled, 132, 0, 7);
  if (first_ends_with == kMpiRecv)
    log.message(kMpiRecv, 132, {.peer = 0, .tag = 3, .number = 1, .bytes = 11}, 7);
  log.leave_mpi(133, kTestWaitall, kSite);
  WriteOptions options;
  options.recovered = died;
  if (died)
    for (SpoolBuilder& rank : ranks) rank.location(0).not_ended();
  return write_and_check(ranks, folder, options);
}

}  // namespace

TEST_CASE("MPI: died with an open receive of any source - certain messages are kept") {
  const auto received = [](bool died, std::uint8_t first_ends_with, std::uint32_t tag) {
    const Written written = any_source_job(died, first_ends_with, tag);
    const std::size_t received = lines_with(written.trace, 1, " bytes ").size();
    CHECK(lines_with(written.trace, 0, " bytes ").size() == received);
    return received;
  };
  CHECK(received(true, 0, 3) == 1);
  CHECK(received(true, 0, 4) == 2);  // takes none of these
  CHECK(received(true, kMpiCancelled, 3) == 2);
  CHECK(received(true, kMpiRecv, 3) == 3);
  CHECK(received(false, 0, 3) == 2);
}

TEST_CASE("MPI: messages - one without partner is left out, its region is kept") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  for (std::uint64_t i = 0; i < 4; ++i)
    send(ranks[0], i + 1, 100 + 10 * i, {.peer = 1, .tag = 1, .number = i, .bytes = i});
  for (std::uint64_t i = 2; i < 6; ++i)
    receive(ranks[1], i + 1, 100 + 10 * i, {.peer = 0, .tag = 1, .number = i, .bytes = i});
  const Written written = write_and_check(ranks, folder);
  CHECK(lines_with(written.trace, 0, "enter MPI_Send").size() == 4);
  CHECK(lines_with(written.trace, 0, " MpiSend") ==
        Lines{"121 MpiSend comm 0 peer 1 tag 1 bytes 2",
              "131 MpiSend comm 0 peer 1 tag 1 bytes 3"});
  CHECK(lines_with(written.trace, 1, " MpiRecv").size() == 2);
}

TEST_CASE("MPI: collectives - all members have one, or none") {
  const test::TemporaryFolder folder;
  auto ranks = job(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    for (std::uint32_t i = 0; i < 5; ++i)
      if (rank != 1 || i != 3) allreduce(ranks[rank], i + 1, 100 + 20 * i, i);
  const Written written = write_and_check(ranks, folder);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(lines_with(written.trace, rank, "MpiCollectiveBegin").size() == 4);
    CHECK(lines_with(written.trace, rank, "MpiCollectiveEnd").size() == 4);
  }
  CHECK(lines_with(written.trace, 0, "enter").size() == 5);
}

TEST_CASE("MPI: communicators - unified by identity, peers are ranks in them") {
  const test::TemporaryFolder folder;
  auto ranks = job(3);
  // Rank 2 and rank 0, in this order; their own numbers differ.
  ranks[2].comm(4, kMpiCommIntra, 0, 0xc000, {2, 0}, {}, 0xa000);
  ranks[0].comm(9, kMpiCommIntra, 1, 0xc000, {2, 0}, {}, 0xa000);
  ranks[2].journal().text(kTextTopology, "4 cart 2 1 0 2 1 0 0");
  send(ranks[2], 1, 100, {.peer = 1, .comm = 4, .tag = 1, .bytes = 33});
  receive(ranks[0], 1, 100, {.peer = 0, .comm = 9, .tag = 1, .bytes = 33});
  // Rank 1 on one side, 0 and 2 on the other.
  ranks[1].comm(5, kMpiCommInter, 0, 0xd000, {1}, {0, 2}, 0xa000);
  ranks[0].comm(6, kMpiCommInter, 0, 0xd000, {0, 2}, {1}, 0xa000);
  ranks[2].comm(7, kMpiCommInter, 1, 0xd000, {0, 2}, {1}, 0xa000);
  send(ranks[1], 1, 200, {.peer = 1, .comm = 5, .tag = 2, .bytes = 44});
  receive(ranks[2], 2, 200, {.peer = 0, .comm = 7, .tag = 2, .bytes = 44});
  const Written written = write_and_check(ranks, folder);
  CHECK(lines_with(written.trace, 0, " Mpi") ==
        Lines{"104 MpiRecv comm 2 peer 0 tag 1 bytes 33"});
  CHECK(lines_with(written.trace, 1, " Mpi") ==
        Lines{"201 MpiSend comm 3 peer 1 tag 2 bytes 44"});
  CHECK(lines_with(written.trace, 2, " Mpi").size() == 2);
  REQUIRE(written.trace.comms.size() == 4);
  const test::Comm& inter = written.trace.comms.at(3);
  CHECK(inter.other_group != test::kNoGroup);
  CHECK(written.trace.groups.at(inter.group).members == std::vector<std::uint64_t>{0, 2});
}

TEST_CASE("MPI: non-blocking collectives and one-sided operations") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  for (SpoolBuilder& rank : ranks) {
    rank.comm(3, kMpiCommWindow, 0, 0xe000, {0, 1}, {}, 0xa000);
    rank.location(0)
        .enter_mpi(100, kTestIbarrier, kSite, 1)
        .collective(101, kMpiBarrier, 0, 0, true, 4)
        .leave_mpi(102, kTestIbarrier, kSite)
        .enter_mpi(110, kTestPut, kSite, 2)
        .add(kMpiRma, 111, std::uint64_t{3} << 32 | 1, 256, kMpiRmaPut)
        .leave_mpi(112, kTestPut, kSite)
        .enter_mpi(120, kTestFence, kSite, 3)
        .add(kMpiRma, 128, std::uint64_t{3} << 32 | kMpiNoRoot, 0, kMpiRmaComplete)
        .leave_mpi(129, kTestFence, kSite)
        .enter_mpi(130, kTestWaitall, kSite, 4)
        .add(kMpiDone, 138, 0, 4, 1)
        .leave_mpi(139, kTestWaitall, kSite);
  }
  const Written written = write_and_check(ranks, folder);
  Lines events = lines_with(written.trace, 1, "NonBlocking");
  CHECK(events == Lines{"101 NonBlockingCollectiveRequest #1",
                        "138 NonBlockingCollectiveComplete 0 0 root -1 bytes 8 80"});
  CHECK(lines_with(written.trace, 1, " Rma") ==
        Lines{"111 RmaPut window 0 target 1 bytes 256 0 #0",
              "128 RmaOpCompleteBlocking window 0 #0"});
}

TEST_CASE("MPI: epochs, locks and fences of windows") {
  const test::TemporaryFolder folder;
  auto ranks = job(2);
  const bool one_lacks_a_fence = GENERATE(false, true);
  for (SpoolBuilder& rank : ranks) {
    const bool first = &rank == &ranks[0];
    const std::uint32_t other = first ? 1 : 0;
    rank.comm(3, kMpiCommWindow, 0, 0xe000, {0, 1}, {}, 0xa000);
    rank.comm(4, kMpiCommGroup, 0, first ? 0xf001 : 0xf003, {other});
    const std::uint64_t window = std::uint64_t{3} << 32;
    rank.location(0)
        .enter_mpi(120, kTestFence, kSite, 1)
        .add(kMpiRma, 128, window | kMpiNoRoot, 0, kMpiRmaComplete)
        .collective(128, kMpiBarrier, 3, one_lacks_a_fence && first ? 1 : 0, false)
        .leave_mpi(129, kTestFence, kSite)
        .enter_mpi(130, kTestPut, kSite, 2)
        .add(kMpiRma, 138, window | 4, kMpiRmaSyncProcess, kMpiRmaGroupSync)
        .leave_mpi(139, kTestPut, kSite)
        .enter_mpi(140, kTestPut, kSite, 3)
        .add(kMpiRma, 148, window | 4, kMpiRmaSyncProcess | kMpiRmaSyncMemory,
             kMpiRmaGroupSync)
        .leave_mpi(149, kTestPut, kSite)
        .enter_mpi(150, kTestPut, kSite, 4)
        .add(kMpiRma, 150, window | other, 1, kMpiRmaRequestLock)
        .leave_mpi(159, kTestPut, kSite)
        .enter_mpi(160, kTestPut, kSite, 5)
        .add(kMpiRma, 168, window | other, 0, kMpiRmaReleaseLock)
        .leave_mpi(169, kTestPut, kSite);
  }
  const Written written = write_and_check(ranks, folder);
  // Groups are in the order of their identities; one of threads and that of MPI's locations come before.
  const std::uint32_t group = 3;
  CHECK(written.trace.groups.at(group).members == std::vector<std::uint64_t>{0});
  CHECK(written.trace.groups.at(group - 1).members == std::vector<std::uint64_t>{1});
  CHECK(written.trace.comms.size() == 2);
  Lines expected = {"138 RmaGroupSync window 0 1 3", "148 RmaGroupSync window 0 3 3",
                    "150 RmaRequestLock window 0 0 0", "168 RmaReleaseLock window 0 0 0"};
  if (!one_lacks_a_fence)
    expected.insert(expected.begin(),
                    {"120 RmaCollectiveBegin", "128 RmaCollectiveEnd 0 0"});
  CHECK(lines_with(written.trace, 1, " Rma") == expected);
}

}  // namespace
}  // namespace refrain::writer::mpi_archive_test
