// Archives of jobs whose ranks left out intervals: the same iterations on all ranks,
// messages with both ends, clocks.
#include <catch2/catch.hpp>

#include "writer/testing/archive_text.h"
#include "writer/testing/spool_builder.h"

namespace refrain::writer::mpi_cuts_test {
namespace {

using namespace spool;  // NOLINT: names of test builders
using Lines = std::vector<std::string>;

constexpr std::uint64_t kIterations = 20;

// Iteration i in [1000 + 100 i, 1100 + 100 i): a message to the next rank in a ring, one
// from the one before, and an Allreduce. Epochs: three an iteration, from 3 i + 1 on.
struct RingRank {
  SpoolBuilder builder{1};
  std::uint32_t rank;
  std::uint32_t size;
  bool collective = true;

  RingRank(std::uint32_t own, std::uint32_t all) : rank(own), size(all) {
    builder.mpi(rank, size);
  }

  void iteration(std::uint64_t i) {
    const std::uint64_t t = 1000 + 100 * i;
    const auto message = [i](std::uint32_t peer) {
      return Message{.peer = peer, .tag = 1, .number = i, .bytes = 100 + i};
    };
    send(builder, 3 * i + 1, t, message((rank + 1) % size));
    receive(builder, 3 * i + 2, t + 20, message((rank + size - 1) % size));
    if (collective) allreduce(builder, 3 * i + 3, t + 50, static_cast<std::uint32_t>(i));
  }
  void run(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) iteration(i);
  }
  // Marks of all iterations; the detector's first is iteration `begins` of the program.
  void marks(std::uint64_t begins = 0) {
    builder.loop(1, 1000 + 100 * (begins + 2), kSite);
    for (std::uint64_t i = begins; i < kIterations; ++i) {
      if (collective) builder.journal().add(kAnchor, 1000 + 100 * i, 0, i);
      builder.iteration(1, i - begins, 1000 + 100 * i);
    }
    builder.left(1, kIterations - begins, 1000 + 100 * kIterations - 40);
  }
  // Writes all but the iterations [from, to).
  void skip(std::uint64_t from, std::uint64_t to) {
    builder.gap(0, 3 * from + 1, 1000 + 100 * from);
    builder.resumed(0, 3 * to + 1, 1000 + 100 * to);
    run(0, from);
    builder.location(0)
        .add(kSuspend, 1000 + 100 * from + 50, 0, 3 * from + 1)
        .add(kResume, 1000 + 100 * to + 1, 0, 3 * to + 1);
    run(to, kIterations);
  }
};

Written write_ring(const std::vector<RingRank>& ring, const test::TemporaryFolder& folder,
                   WriteOptions options = {}) {
  std::vector<SpoolBuilder> ranks;
  for (const RingRank& rank : ring) ranks.push_back(rank.builder);
  return write_and_check(ranks, folder, std::move(options));
}

// Numbers of the iterations in which a rank sent a message that is in the archive.
Lines sent(const Written& written, std::size_t rank) {
  Lines out;
  for (const std::string& line : lines_with(written.trace, rank, " MpiSend"))
    out.push_back(line.substr(line.rfind(' ') + 1));
  return out;
}

// The same, by the regions.
std::vector<int> written_iterations(const Written& written, std::size_t rank) {
  std::vector<int> out;
  for (const std::string& line : lines_with(written.trace, rank, "enter MPI_Send"))
    out.push_back((std::stoi(line) - 1000) / 100);
  return out;
}

std::vector<int> without(std::uint64_t from, std::uint64_t to) {
  std::vector<int> out;
  for (std::uint64_t i = 0; i < kIterations; ++i)
    if (i < from || i >= to) out.push_back(static_cast<int>(i));
  return out;
}

TEST_CASE("MPI cuts: the same on all ranks - nothing is dropped") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 3}, {1, 3}, {2, 3}};
  for (RingRank& rank : ring) {
    rank.marks();
    rank.skip(5, 18);
  }
  const Written written = write_ring(ring, folder);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(written_iterations(written, rank) == without(5, 18));
    CHECK(sent(written, rank).size() == 7);
    CHECK(lines_with(written.trace, rank, " iteration ").size() == kIterations);
  }
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
  CHECK(written.trace.properties.at("REFRAIN::MESSAGES") == "21");
}

TEST_CASE("MPI cuts: skipped an iteration early or late - all ranks have the common ones") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 3}, {1, 3}, {2, 3}};
  for (RingRank& rank : ring) rank.marks();
  ring[0].skip(5, 18);
  ring[1].skip(6, 17);
  ring[2].skip(4, 18);
  SECTION("with collectives") {}
  const Written written = write_ring(ring, folder);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(written_iterations(written, rank) == without(4, 18));
    CHECK(sent(written, rank).size() == 6);
    CHECK(lines_with(written.trace, rank, " off").size() == 1);
    CHECK(lines_with(written.trace, rank, "MpiCollectiveEnd").size() == 6);
  }
  CHECK(written.trace.properties.at("REFRAIN::ITERATIONS_GIVEN_UP") == "4");
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
}

TEST_CASE("MPI cuts: a rank that skipped nothing - is cut like the others") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) rank.marks();
  ring[0].skip(5, 18);
  ring[1].run(0, kIterations);
  const Written written = write_ring(ring, folder);
  CHECK(written_iterations(written, 1) == without(5, 18));
  CHECK(lines_with(written.trace, 1, " iteration ").size() == kIterations);
}

TEST_CASE(
    "MPI cuts: a gap that begins inside an iteration - skips all of it on all ranks") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) rank.marks();
  ring[0].skip(5, 18);
  // Rank 1 suspends at the receive of iteration 4.
  ring[1].builder.gap(0, 14, 1420);
  ring[1].builder.resumed(0, 55, 2800);
  ring[1].run(0, 5);
  RecordBuilder& log = ring[1].builder.location(0);
  log.log.resize(log.log.size() - 8);
  log.add(kSuspend, 1430, 0, 14).add(kResume, 2801, 0, 55);
  ring[1].run(18, kIterations);
  const Written written = write_ring(ring, folder);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(written_iterations(written, rank) == without(4, 18));
    CHECK(sent(written, rank).size() == 6);
  }
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
}

// A slow iteration of an inner loop was written at the start of a skipped one; it took less
// than the slack of iterations' cuts.
TEST_CASE("MPI cuts: the begin of a skipped iteration was written - left out") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) rank.marks();
  ring[0].skip(5, 18);
  ring[1].builder.gap(0, 17, 1501);
  ring[1].builder.resumed(0, 55, 2800);
  ring[1].run(0, 5);
  ring[1]
      .builder.location(0)
      .enter_mpi(1500, kTestSend, kSite, 16)
      .message(kMpiSend, 1500, {.peer = 0, .tag = 1, .number = 5, .bytes = 105})
      .leave_mpi(1500, kTestSend, kSite)
      .enter_mpi(1501, kTestRecv, kSite, 17)
      .add(kSuspend, 1501, 0, 17)
      .add(kResume, 2801, 0, 55);
  ring[1].run(18, kIterations);
  const Written written = write_ring(ring, folder);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(written_iterations(written, rank) == without(5, 18));
    CHECK(sent(written, rank).size() == 7);
  }
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
}

TEST_CASE("MPI cuts: loops that begin at other iterations - compared by anchors") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  ring[0].marks();
  ring[0].skip(5, 18);
  ring[1].marks(1);
  ring[1].skip(6, 18);
  const Written written = write_ring(ring, folder);
  // Anchor 5 is complete within iteration 4, after its message: the cut comes after it.
  CHECK(written_iterations(written, 0) == without(5, 18));
  CHECK(written_iterations(written, 1) == without(5, 18));
  CHECK(sent(written, 0) == sent(written, 1));
}

// Only one rank's detector found the first of two loops with as many iterations: one with a collective in each, and
// one with messages alone, where there are no anchors to compare by.
TEST_CASE(
    "MPI cuts: a loop that one rank has - is not taken for a later one without collectives") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  constexpr std::uint64_t kAll = 2 * kIterations, kTo = kAll - 2;
  const auto at = [](std::uint64_t i) { return 1000 + 100 * i; };
  for (RingRank& rank : ring) {
    SpoolBuilder& builder = rank.builder;
    const auto marks = [&](std::uint32_t loop, std::uint64_t first) {
      builder.loop(loop, at(first + 2), kSite);
      for (std::uint64_t i = first; i != first + kIterations; ++i) {
        builder.journal().add(kAnchor, at(i), 0, std::min<std::uint64_t>(i, kIterations));
        builder.iteration(loop, i - first, at(i));
      }
      builder.left(loop, kIterations, at(first + kIterations) - 40);
    };
    if (rank.rank == 1) marks(2, 0);
    marks(1, kIterations);
    const std::uint64_t from = kIterations + 5 + rank.rank;
    builder.gap(0, 3 * from + 1, at(from));
    builder.resumed(0, 3 * kTo + 1, at(kTo));
    rank.run(0, kIterations);
    rank.collective = false;
    rank.run(kIterations, from);
    builder.location(0)
        .add(kSuspend, at(from) + 50, 0, 3 * from + 1)
        .add(kResume, at(kTo) + 1, 0, 3 * kTo + 1);
    rank.run(kTo, kAll);
  }
  const Written written = write_ring(ring, folder);
  CHECK(written_iterations(written, 1) == written_iterations(written, 0));
  CHECK(sent(written, 0).size() == kIterations + 5 + 2);
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
}

// In an iteration that all have one rank has a loop more, as who gathers does, with as many iterations as the loop of all.
TEST_CASE("MPI cuts: an inner loop that one rank has - is not taken for another one") {
  const test::TemporaryFolder folder;
  constexpr std::uint64_t kOuter = 8, kInner = 4;  // iterations of the ring
  const auto at = [](std::uint64_t i) { return 1000 + 100 * i; };
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) {
    rank.collective = false;
    SpoolBuilder& builder = rank.builder;
    // Numbers, headers, calls; elsewhere in memory on each rank.
    const std::string page = rank.rank == 0 ? "7f001" : "7f932";
    for (const std::string code : {"1 PAGE123 PAGE150", "2 PAGE456 PAGE480"}) {
      std::string text = code;
      for (std::size_t i = text.find("PAGE"); i != std::string::npos; i = text.find("PAGE"))
        text.replace(i, 4, page);
      builder.journal().text(kTextLoopCode, text);
    }
    builder.loop(9, at(kOuter), kSite);
    builder.iteration(9, 0, at(0));
    builder.iteration(9, 1, at(kOuter));
    const auto inner = [&](std::uint32_t loop, std::uint64_t first) {
      builder.loop(loop, at(first + 1), kSite, 1);
      for (std::uint64_t i = 0; i != kInner; ++i)
        builder.iteration(loop, i, at(first + i), 1);
      builder.left(loop, kInner, at(first + kInner) - 40);
    };
    if (rank.rank == 0) inner(2, kOuter);
    inner(1, kOuter + kInner);
    builder.left(9, 2, at(2 * kOuter) - 20);
    if (rank.rank == 0) {
      rank.run(0, 2 * kOuter + 2);
      continue;
    }
    // Two of the common loop's iterations are skipped.
    const std::uint64_t from = 2 * kOuter - 2, to = 2 * kOuter;
    builder.gap(0, 3 * from + 1, at(from));
    builder.resumed(0, 3 * to + 1, at(to));
    rank.run(0, from);
    builder.location(0)
        .add(kSuspend, at(from) + 50, 0, 3 * from + 1)
        .add(kResume, at(to) + 1, 0, 3 * to + 1);
    rank.run(to, to + 2);
  }
  const Written written = write_ring(ring, folder);
  CHECK(sent(written, 0).size() == 2 * kOuter);
  CHECK(sent(written, 0) == sent(written, 1));
  CHECK(written_iterations(written, 0) == written_iterations(written, 1));
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
}

// One rank's detector saw the loop begin with the receive: the others' iterations begin
// after the collective, and its cuts lie between the two ends of a message.
TEST_CASE("MPI cuts: a loop that begins elsewhere in its body - cut at the collective") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 3}, {1, 3}, {2, 3}};
  for (const std::size_t rank : {0, 2}) {
    ring[rank].marks();
    ring[rank].skip(5, 18);
  }
  SpoolBuilder& builder = ring[1].builder;
  builder.loop(1, 1220, kSite);
  for (std::uint64_t i = 0; i < kIterations; ++i) {
    builder.journal().add(kAnchor, 1020 + 100 * i, 0, i);
    builder.iteration(1, i, 1020 + 100 * i);
  }
  builder.left(1, kIterations, 1000 + 100 * kIterations - 40);
  builder.gap(0, 17, 1520);
  builder.resumed(0, 56, 2820);
  const auto message = [](std::uint64_t i, std::uint32_t peer) {
    return Message{.peer = peer, .tag = 1, .number = i, .bytes = 100 + i};
  };
  ring[1].run(0, 5);
  send(builder, 16, 1500, message(5, 2));
  builder.location(0).add(kSuspend, 1530, 0, 17).add(kResume, 2821, 0, 56);
  receive(builder, 56, 2820, message(18, 0));
  allreduce(builder, 57, 2850, 18);
  ring[1].iteration(19);
  const Written written = write_ring(ring, folder);
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
  CHECK(written.trace.properties.at("REFRAIN::RECEIVES_DROPPED") == "0");
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(written_iterations(written, rank) == without(5, 19));
    CHECK(sent(written, rank).size() == 6);
  }
}

TEST_CASE(
    "MPI cuts: no common loop, no collectives - ranks keep their own, messages match") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  ring[0].collective = ring[1].collective = false;
  ring[0].marks();
  ring[0].skip(5, 18);
  ring[1].run(0, kIterations);
  const Written written = write_ring(ring, folder);
  CHECK(written_iterations(written, 0) == without(5, 18));
  CHECK(written_iterations(written, 1).size() == kIterations);
  CHECK(sent(written, 1).size() == 7);
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "13");
}

TEST_CASE("MPI cuts: a break on one rank - kept, without messages") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) rank.marks();
  ring[0].skip(5, 18);
  ring[1].builder.gap(0, 16, 1500);
  ring[1].builder.resumed(0, 31, 2000);
  ring[1].builder.gap(1, 37, 2200);
  ring[1].builder.resumed(1, 55, 2800);
  ring[1].run(0, 5);
  ring[1].builder.location(0).add(kSuspend, 1550, 0, 16).add(kResume, 2001, 0, 31);
  ring[1].run(10, 12);
  ring[1].builder.location(0).add(kSuspend, 2250, 1, 37).add(kResume, 2801, 1, 55);
  ring[1].run(18, kIterations);
  const Written written = write_ring(ring, folder);
  CHECK(written_iterations(written, 0) == without(5, 18));
  CHECK(written_iterations(written, 1).size() == 9);
  CHECK(sent(written, 1).size() == 7);
  CHECK(written.trace.properties.at("REFRAIN::ITERATIONS_ALONE") == "2");
}

// Ranks that broke in iteration 10: it ends with a loop that is spent. What that rank skips goes on in iteration 11;
// the other found it too short for a gap.
TEST_CASE(
    "MPI cuts: a break, and a spent loop at the end - kept on all ranks, but the loop") {
  const test::TemporaryFolder folder;
  const int short_on = GENERATE(-1, 0, 1);
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) {
    rank.marks();
    rank.builder.loop(2, 2051, kSite, 1);
    rank.builder.iteration(2, 0, 2050, 1);
    rank.builder.left(2, 1, 2059);
    const bool whole = static_cast<int>(rank.rank) == short_on;
    const std::uint64_t from = whole ? 34 : 33;
    const std::uint64_t from_ticks = whole ? 2100 : 2050;
    rank.builder.gap(0, 16, 1500);
    rank.builder.resumed(0, 31, 2000);
    rank.builder.gap(1, from, from_ticks);
    rank.builder.resumed(1, 55, 2800, kGapIterations);
    rank.run(0, 5);
    rank.builder.location(0).add(kSuspend, 1550, 0, 16).add(kResume, 2001, 0, 31);
    rank.collective = whole;
    rank.iteration(10);
    rank.collective = true;
    rank.builder.location(0)
        .add(kSuspend, from_ticks + 5, 1, from)
        .add(kResume, 2801, 1, 55);
    rank.run(18, kIterations);
  }
  const Written written = write_ring(ring, folder);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(written_iterations(written, rank) == std::vector<int>{0, 1, 2, 3, 4, 10, 18, 19});
    CHECK(sent(written, rank).size() == 8);
    CHECK(lines_with(written.trace, rank, "enter MPI_Allreduce").size() == 7);
  }
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
  CHECK(written.trace.properties.at("REFRAIN::ITERATIONS_GIVEN_UP") == "0");
  CHECK(written.trace.properties.at("REFRAIN::ITERATIONS_ALONE") == "0");
}

// The spent loop is at its begin: of the time before the break it has no mark.
TEST_CASE("MPI cuts: a break after a spent loop - kept on all ranks") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) {
    rank.marks();
    rank.builder.gap(0, 16, 1500);
    rank.builder.resumed(0, 33, 2050);
    rank.builder.gap(1, 34, 2100);
    rank.builder.resumed(1, 55, 2800, kGapIterations);
    rank.run(0, 5);
    rank.builder.location(0).add(kSuspend, 1550, 0, 16).add(kResume, 2051, 0, 33);
    allreduce(rank.builder, 33, 2050, 10);
    rank.builder.location(0).add(kSuspend, 2150, 1, 34).add(kResume, 2801, 1, 55);
    rank.run(18, kIterations);
  }
  const Written written = write_ring(ring, folder);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(written_iterations(written, rank) == without(5, 18));
    CHECK(lines_with(written.trace, rank, "MpiCollectiveEnd").size() == 8);
  }
  CHECK(written.trace.properties.at("REFRAIN::SENDS_DROPPED") == "0");
}

TEST_CASE("MPI cuts: requests across an edge - decided by their start") {
  const test::TemporaryFolder folder;
  std::vector<SpoolBuilder> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    SpoolBuilder& builder = ranks.emplace_back(1).mpi(rank, 2);
    builder.gap(0, 3, 200);
    builder.resumed(0, 6, 500);
    RecordBuilder& log = builder.location(0);
    // Sent and posted before the gap, complete after it; the second, both inside.
    log.enter_mpi(100, kTestIrecv, kSite, 1)
        .add(kMpiPost, 101, 0, 1)
        .leave_mpi(102, kTestIrecv, kSite)
        .enter_mpi(110, kTestIsend, kSite, 2)
        .message(kMpiSend, 111, {.peer = 1 - rank, .tag = 1, .number = 0, .bytes = 10}, 2)
        .leave_mpi(112, kTestIsend, kSite)
        .add(kSuspend, 201, 0, 3)
        .add(kResume, 501, 0, 6)
        .enter_mpi(500, kTestWaitall, kSite, 6)
        .message(kMpiRecv, 508, {.peer = 1 - rank, .tag = 1, .number = 1, .bytes = 11}, 3)
        .message(kMpiRecv, 508, {.peer = 1 - rank, .tag = 1, .number = 0, .bytes = 10}, 1)
        .leave_mpi(509, kTestWaitall, kSite);
  }
  const Written written = write_and_check(ranks, folder);
  CHECK(lines_with(written.trace, 0, " Mpi") ==
        Lines{"101 MpiIrecvRequest #1", "111 MpiSend comm 0 peer 1 tag 1 bytes 10",
              "508 MpiIrecv comm 0 peer 1 tag 1 bytes 10 #1"});
}

TEST_CASE("MPI cuts: killed ranks - the common part of logs and rings") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) {
    rank.builder.loop(1, 1200, kSite);
    for (std::uint64_t i = 0; i < kIterations; ++i)
      rank.builder.iteration(1, i, 1000 + 100 * i);
    rank.builder.gap(0, 16, 1500);
    rank.run(0, 5);
    rank.builder.location(0).add(kSuspend, 1550, 0, 16).not_ended().suspend_in_ring();
    rank.run(rank.rank == 0 ? 5 : 12, kIterations);
  }
  WriteOptions options;
  options.recovered = true;
  const Written written = write_ring(ring, folder, options);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(written_iterations(written, rank) == without(5, 18));
    CHECK(sent(written, rank).size() == 7);
  }
}

TEST_CASE(
    "MPI clocks: offsets - readers see one clock, receives before sends are counted") {
  const test::TemporaryFolder folder;
  std::vector<RingRank> ring = {{0, 2}, {1, 2}};
  for (RingRank& rank : ring) rank.run(0, kIterations);
  // Rank 1's clock is 50 behind rank 0's at first, and runs slow: 200 more 2000 later.
  const std::uint64_t offsets[] = {50, 250};
  ring[1].builder.journal().add(kClockOffset, 1, 3, offsets[0]);
  ring[1].builder.journal().add(kClockOffset, 2001, 3, offsets[1]);
  const Written written = write_ring(ring, folder);
  const Lines enters = lines_with(written.trace, 1, "enter MPI_Send");
  CHECK(enters.front() == "1150 enter MPI_Send");
  CHECK(enters.at(10) == "2250 enter MPI_Send");
  CHECK(lines_with(written.trace, 0, "enter MPI_Send").at(10) == "2000 enter MPI_Send");
  // From rank 1 all arrive too early, as rank 1 sends 22 and more after rank 0 received.
  CHECK(written.trace.properties.at("REFRAIN::CLOCK_VIOLATIONS") == "20");
  CHECK(written.trace.properties.at("REFRAIN::CLOCK_CHECKED") == "40");
}

// The flight times of messages from rank 1 to rank 0, as a reader sees them; ascending by
// number.
std::vector<std::int64_t> flights(const Written& written, std::size_t from,
                                  std::size_t to) {
  const auto times = [](const Lines& lines) {
    std::vector<std::int64_t> out;
    for (const std::string& line : lines) out.push_back(std::stoll(line));
    return out;
  };
  const auto sends = times(lines_with(written.trace, from, " MpiSend"));
  const auto receives = times(lines_with(written.trace, to, " MpiRecv"));
  REQUIRE(sends.size() == receives.size());
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < sends.size(); ++i) out.push_back(receives[i] - sends[i]);
  return out;
}

TEST_CASE("MPI clocks: logical - readers see no message arrive before it was sent") {
  const test::TemporaryFolder folder;
  const std::uint32_t size = GENERATE(2, 3);
  const bool offsets = GENERATE(true, false);
  std::vector<RingRank> ring;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    ring.emplace_back(rank, size).run(0, kIterations);
    if (!offsets || rank == 0) continue;
    ring[rank].builder.journal().add(kClockOffset, 1, 3, 50 * rank);
    ring[rank].builder.journal().add(kClockOffset, 4001, 3, 450 * rank);
  }
  // Without offsets the clocks are right; one message is read too early anyway.
  if (!offsets) {
    auto& log = ring[0].builder.location(0).log;
    for (std::size_t i = 8 * 5; i < log.size(); ++i) log[i].ticks += 40;
  }
  WriteOptions options;
  options.logical_clock = true;
  const Written written = write_ring(ring, folder, options);
  const auto number = [&](const char* name) {
    return std::stol(written.trace.properties.at(std::string("REFRAIN::") + name));
  };
  CHECK(number("CLOCK_REPAIRED") > 0);
  CHECK(number("CLOCK_VIOLATIONS") == 0);
  CHECK(number("CLOCK_CHECKED") == static_cast<long>(size * kIterations));
  for (std::size_t rank = 0; rank < size; ++rank)
    for (const std::int64_t flight : flights(written, rank, (rank + 1) % size))
      CHECK(flight >= 0);
}

}  // namespace
}  // namespace refrain::writer::mpi_cuts_test
