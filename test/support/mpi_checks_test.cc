#include "test/support/mpi_checks.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "test/support/message_log.h"
#include "test/support/mpi_archive.h"

namespace refrain::test::mpi_checks_test {
namespace {

// Expects that a check finds one problem, with this text.
void check_finds(const Problems& problems, const std::string& what) {
  INFO(text(problems));
  CHECK(problems.size() == 1);
  CHECK(text(problems).find(what) != std::string::npos);
}

// A good archive with everything it may have; all times in order.
void fill_well(MpiArchive& a) {
  a.send(0, 10, 1, 8);
  a.isend(0, 20, 1, 16, 70);
  a.isend_complete(0, 30, 70);
  a.post(1, 5, 50);
  a.post(1, 6, 51);
  a.tested(1, 7, 51);
  a.irecv(1, 40, 0, 16, 51);  // the second one posted is complete first
  a.irecv(1, 41, 0, 8, 50);
  a.send(0, 50, 0, 24, 3, MpiArchive::kBackwards);  // rank 0 of it is the last process
  a.recv(1, 60, 1, 24, 3, MpiArchive::kBackwards);
  a.post(1, 70, 50);  // a request's number may be reused
  a.cancelled(1, 71, 50);
  a.isend(0, 72, 1, 99, 70);  // never arrives
  a.cancelled(0, 73, 70);
  a.send(1, 74, 0, 4, 9, MpiArchive::kSelf);
  a.recv(1, 75, 0, 4, 9, MpiArchive::kSelf);
  for (int rank = 0; rank < 2; ++rank) {
    a.collective(rank, 80, 90);
    a.collective_request(rank, 91, 60);
    a.collective(rank, 92, 93, OTF2_COLLECTIVE_OP_BCAST, 1);
    a.collective_complete(rank, 94, 60, OTF2_COLLECTIVE_OP_ALLREDUCE);
  }
  a.collective(0, 95, 96, OTF2_COLLECTIVE_OP_BARRIER, OTF2_COLLECTIVE_ROOT_NONE,
               MpiArchive::kSelf);
}

}  // namespace

TEST_CASE("MPI checks: good - an archive with everything") {
  MpiArchive archive(2);
  fill_well(archive);
  const Trace trace = archive.finish();
  CHECK(text(check_mpi(trace)) == "");
  const Replay replayed = replay(trace);
  CHECK(replayed.pairs() == 4);
  CHECK(replayed.unmatched() == 0);
  const Queue& queue = replayed.channels.at({0, 1, MpiArchive::kWorld, 1});
  REQUIRE(queue.receives.size() == 2);
  CHECK(queue.receives[0].time == 41);
  CHECK(queue.receives[1].time == 40);
}

TEST_CASE("MPI checks: messages - faults are found") {
  MpiArchive a(2);
  SECTION("a send without a receive") {
    a.send(0, 10, 1, 8);
    check_finds(check_mpi(a.finish()), "1 sends, 0 receives");
  }
  SECTION("a receive without a send") {
    a.recv(1, 10, 0, 8);
    check_finds(check_mpi(a.finish()), "0 sends, 1 receives");
  }
  SECTION("another tag, another communicator: other channels") {
    a.send(0, 10, 1, 8, 1);
    a.send(0, 11, 1, 8, 2);
    a.recv(1, 20, 0, 8, 1, MpiArchive::kTwin);
    const Trace trace = a.finish();
    CHECK(replay(trace).unmatched() == 3);
    CHECK(check_messages(trace).size() == 3);
  }
  SECTION("the wrong ends are paired: a send is missing in the middle") {
    for (const std::uint64_t bytes : {8, 24}) a.send(0, bytes, 1, bytes);
    for (const std::uint64_t bytes : {8, 16}) a.recv(1, 100 + bytes, 0, bytes);
    check_finds(check_mpi(a.finish()), "message 1 has 24 bytes sent, 16 received");
  }
  SECTION("posted receives count in the order of posting") {
    a.send(0, 10, 1, 8), a.send(0, 11, 1, 16);
    a.post(1, 1, 50), a.post(1, 2, 51);
    a.irecv(1, 20, 0, 8, 51), a.irecv(1, 21, 0, 16, 50);
    CHECK(check_messages(a.finish()).size() == 2);
  }
  SECTION("received before it was sent") {
    a.send(0, 30, 1, 8);
    a.recv(1, 20, 0, 8);
    check_finds(check_mpi(a.finish()), "sent at 30, received at 20");
  }
  SECTION("a rank that the communicator does not have") {
    a.send(0, 10, 2, 8);
    check_finds(check_messages(a.finish()), "has no rank 2");
  }
  SECTION("a communicator that is not defined") {
    a.send(0, 10, 1, 8, 1, static_cast<MpiArchive::Comm>(17));
    check_finds(check_messages(a.finish()), "communicator 17 has no rank 1");
  }
  SECTION("only the first few are reported, and the number") {
    for (std::uint32_t tag = 0; tag < 9; ++tag) a.send(0, 10, 1, 8, tag);
    const Problems problems = check_messages(a.finish());
    CHECK(problems.size() == 6);
    CHECK(problems.back() == "unmatched: 9 in all");
  }
}

TEST_CASE("MPI checks: requests - faults are found") {
  MpiArchive a(2);
  SECTION("never complete") {
    a.isend(0, 10, 1, 8, 7);
    a.recv(1, 20, 0, 8);
    check_finds(check_mpi(a.finish()), "request 7 is never complete");
  }
  SECTION("a collective that is never complete is reported by both checks") {
    for (int rank = 0; rank < 2; ++rank) a.collective_request(rank, 10, 7);
    const Trace trace = a.finish();
    CHECK(check_requests(trace).size() == 2);
    CHECK(check_collectives(trace).size() == 2);
  }
  SECTION("complete without a begin") {
    a.isend_complete(0, 10, 7);
    check_finds(check_mpi(a.finish()), "request 7 is not active");
  }
  SECTION("complete twice") {
    a.post(1, 10, 7), a.cancelled(1, 11, 7), a.cancelled(1, 12, 7);
    check_finds(check_mpi(a.finish()), "at 12, request 7 is not active");
  }
  SECTION("tested without a begin") {
    a.tested(0, 10, 7);
    check_finds(check_mpi(a.finish()), "request 7 is not active");
  }
  SECTION("begun twice") {
    a.post(1, 10, 7), a.post(1, 11, 7), a.cancelled(1, 12, 7);
    check_finds(check_mpi(a.finish()), "request 7 is active already");
  }
  SECTION("begun as one kind, complete as another") {
    a.post(1, 10, 7), a.isend_complete(1, 11, 7);
    check_finds(check_mpi(a.finish()), "was begun by MpiIrecvRequest");
  }
  SECTION("a receive that was never posted is in no channel") {
    a.send(0, 5, 1, 8);
    a.irecv(1, 10, 0, 8, 7);
    const Trace trace = a.finish();
    CHECK(check_messages(trace).size() == 2);
    check_finds(check_requests(trace), "is not active");
  }
}

TEST_CASE("MPI checks: collectives - faults are found") {
  MpiArchive a(3);
  SECTION("a member is missing") {
    a.collective(0, 10, 20), a.collective(1, 10, 20);
    check_finds(check_mpi(a.finish()), "rank 0 has 1, rank 2 has 0");
  }
  SECTION("one has more") {
    for (int rank = 0; rank < 3; ++rank) a.collective(rank, 10, 20);
    a.collective(1, 30, 40);
    check_finds(check_mpi(a.finish()), "rank 0 has 1, rank 1 has 2");
  }
  SECTION("different operations") {
    a.collective(0, 10, 20), a.collective(1, 10, 20);
    a.collective(2, 10, 20, OTF2_COLLECTIVE_OP_ALLTOALL);
    check_finds(check_mpi(a.finish()), "rank 2 has operation 8");
  }
  SECTION("different roots") {
    for (int rank = 0; rank < 3; ++rank)
      a.collective(rank, 10, 20, OTF2_COLLECTIVE_OP_BCAST, rank == 1 ? 1 : 0);
    check_finds(check_collectives(a.finish()), "rank 1 has operation 1 root 1");
  }
  SECTION("different iterations: one enters when another has left") {
    a.collective(0, 10, 20), a.collective(1, 12, 20), a.collective(2, 30, 40);
    const Trace trace = a.finish();
    CHECK(text(check_collectives(trace)) == "");
    CHECK(check_causality(trace).size() == 2);
  }
  SECTION("left before the root entered, and the root before the others") {
    const auto all = [&a](OTF2_CollectiveOp operation) {
      const std::uint64_t from = operation == OTF2_COLLECTIVE_OP_BCAST ? 0 : 100;
      a.collective(0, from + 10, from + 20, operation, 1);
      a.collective(1, from + 30, from + 31, operation, 1);
      a.collective(2, from + 40, from + 50, operation, 1);
    };
    all(OTF2_COLLECTIVE_OP_BCAST);
    all(OTF2_COLLECTIVE_OP_REDUCE);
    const Problems problems = check_causality(a.finish());
    INFO(text(problems));
    REQUIRE(problems.size() == 2);
    CHECK(problems[0].find("rank 0 leaves at 20, rank 1 comes at 30") != std::string::npos);
    CHECK(problems[1].find("rank 1 leaves at 131, rank 2 comes at 140") !=
          std::string::npos);
  }
  SECTION("one that never ends, one that never began") {
    OTF2_EvtWriter_MpiCollectiveBegin(a.writer(0), nullptr, 10);
    OTF2_EvtWriter_MpiCollectiveEnd(a.writer(1), nullptr, 20, OTF2_COLLECTIVE_OP_BARRIER,
                                    MpiArchive::kWorld, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    CHECK(check_collectives(a.finish()).size() == 2);
  }
}

TEST_CASE("MPI checks: order - collectives are ordered by their begin") {
  MpiArchive a(2);
  // An Allreduce that does not block begins before a Barrier on both, and ends after it on
  // one only.
  a.collective_request(0, 10, 1), a.collective_request(1, 10, 1);
  a.collective_complete(0, 20, 1, OTF2_COLLECTIVE_OP_ALLREDUCE);
  a.collective(0, 30, 40, OTF2_COLLECTIVE_OP_BARRIER);
  a.collective(1, 30, 40, OTF2_COLLECTIVE_OP_BARRIER);
  a.collective_complete(1, 50, 1, OTF2_COLLECTIVE_OP_ALLREDUCE);
  CHECK(text(check_mpi(a.finish())) == "");
}

namespace {

// Logs of two ranks.
class Logs {
 public:
  Logs(const std::string& first, const std::string& second) {
    std::ofstream(folder_ / "log.0") << "C MPI_COMM_WORLD 0 1\nC twin 0 1\n" << first;
    std::ofstream(folder_ / "log.1") << "C MPI_COMM_WORLD 0 1\nC twin 0 1\n" << second;
  }
  MessageLog read() const { return read_message_log(folder_ / "log", 2); }

 private:
  TemporaryFolder folder_;
};

const char* const kThreeSent =
    "S 0 1 MPI_COMM_WORLD 1 8 0\nS 0 1 MPI_COMM_WORLD 1 16 1\nS 0 1 MPI_COMM_WORLD 1 24 "
    "2\n";
// As Waitany may complete them.
const char* const kThreeReceived =
    "R 0 1 MPI_COMM_WORLD 1 16 1\nR 0 1 MPI_COMM_WORLD 1 8 0\nR 0 1 MPI_COMM_WORLD 1 24 "
    "2\n";

}  // namespace

TEST_CASE("Message log: logs alone - faults are found") {
  CHECK(text(check_log(Logs(kThreeSent, kThreeReceived).read())) == "");
  CHECK(Logs(kThreeSent, kThreeReceived).read().sends() == 3);
  CHECK_FALSE(check_log(Logs(kThreeSent, "").read()).empty());
  CHECK_FALSE(check_log(Logs("", kThreeReceived).read()).empty());
  CHECK_FALSE(
      check_log(Logs("S 0 1 MPI_COMM_WORLD 1 8 1\n", "R 0 1 MPI_COMM_WORLD 1 8 1\n").read())
          .empty());
  CHECK_FALSE(
      check_log(
          Logs("S 0 1 MPI_COMM_WORLD 1 8 0\n", "R 0 1 MPI_COMM_WORLD 1 16 0\n").read())
          .empty());
  CHECK_THROWS_AS(Logs("S 0 1 MPI_COMM_WORLD\n", "").read(), std::runtime_error);
  TemporaryFolder empty;
  CHECK_THROWS_AS(read_message_log(empty / "log", 1), std::runtime_error);
}

TEST_CASE("Message log: archive - compared, full and reduced") {
  const MessageLog log = Logs(kThreeSent, kThreeReceived).read();
  MpiArchive a(2);
  const auto both = [&a](std::initializer_list<std::uint64_t> lengths,
                         MpiArchive::Comm comm = MpiArchive::kWorld) {
    for (const std::uint64_t bytes : lengths) {
      a.send(0, 10, 1, bytes, 1, comm);
      a.recv(1, 20, 0, bytes, 1, comm);
    }
  };
  const auto compare = [&](bool full, bool reduced) {
    const Trace trace = a.finish();
    CHECK(compare_with_log(trace, log, Extent::kFull).empty() == full);
    CHECK(compare_with_log(trace, log, Extent::kReduced).empty() == reduced);
  };
  SECTION("all") { both({8, 16, 24}), compare(true, true); }
  SECTION("some") { both({8, 24}), compare(false, true); }
  SECTION("none") { compare(false, true); }
  SECTION("out of order") { both({16, 8, 24}), compare(false, false); }
  SECTION("one twice") { both({8, 16, 24, 24}), compare(false, false); }
  SECTION("of another length") { both({8, 16, 32}), compare(false, false); }
  SECTION("on another communicator of the same members") {
    both({8, 16, 24}, MpiArchive::kTwin), compare(false, false);
  }
  SECTION("one end only") {
    both({8, 16});
    a.send(0, 30, 1, 24);
    const Trace trace = a.finish();
    check_finds(compare_with_log(trace, log, Extent::kFull),
                "received: 3 by the log, 2 in the archive");
    CHECK_FALSE(check_messages(trace).empty());
  }
  SECTION("a message that no log has") {
    both({8, 16, 24});
    a.send(1, 30, 0, 8, 5);
    check_finds(compare_with_log(a.finish(), log, Extent::kFull), "is not in the log");
  }
}

TEST_CASE("Message log: archive - an undefined communicator is reported") {
  const MessageLog log = Logs("S 0 1 other 1 8 0\nC other 1\n", "").read();
  MpiArchive a(2);
  check_finds(compare_with_log(a.finish(), log, Extent::kReduced), "no such communicator");
}

}  // namespace refrain::test::mpi_checks_test
