// One cut for all ranks, messages with both ends: by made-up stretches and numbers.
#include "writer/job/rank_cuts.h"

#include <catch2/catch.hpp>
#include <random>

#include "writer/job/message_plan.h"
#include "writer/job/mpi_comms.h"

namespace refrain::writer {
namespace {

using Range = NumberRanges::Range;

// A rank that held [from, to) of one visit of so many iterations, an anchor an iteration.
RankStretches rank(std::uint64_t iterations, std::vector<Range> held,
                   std::uint64_t first_anchor = 0) {
  RankStretches out;
  RankVisit& visit = out.visits.emplace_back();
  visit.path = {{0, iterations, 0}};
  for (const Range& range : held) {
    visit.held.add(range.begin, range.end);
    visit.anchors.add(first_anchor + range.begin, first_anchor + range.end);
  }
  visit.held.normalize();
  visit.anchors.normalize();
  out.end_anchor = first_anchor + iterations + 1;
  return out;
}

HeldStretches all_of(const std::vector<RankStretches>& ranks) {
  HeldStretches all;
  for (const RankStretches& each : ranks) all = merge(all, held_stretches(each));
  return all;
}

NumberRanges random_ranges(std::mt19937& random) {
  NumberRanges out;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t begin = random() % 60;
    out.add(begin, begin + random() % 12);
  }
  out.normalize();
  return out;
}

}  // namespace

TEST_CASE("NumberRanges: as a set - adding, union, intersection, complement") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const NumberRanges a = random_ranges(random);
    const NumberRanges b = random_ranges(random);
    const NumberRanges both = intersect(a, b);
    const NumberRanges any = unite(a, b);
    const NumberRanges none = complement(a, 5, 70);
    for (std::uint64_t n = 0; n < 80; ++n) {
      REQUIRE(both.contains(n) == (a.contains(n) && b.contains(n)));
      REQUIRE(any.contains(n) == (a.contains(n) || b.contains(n)));
      REQUIRE(none.contains(n) == (!a.contains(n) && n >= 5 && n < 70));
    }
  }
}

TEST_CASE("NumberRanges: out of order - few ranges stay few") {
  NumberRanges ranges;
  for (std::uint64_t i = 0; i < 100'000; i += 2) {
    ranges.add(i + 1);
    ranges.add(i);
  }
  ranges.normalize();
  CHECK(ranges.ranges() == std::vector<Range>{{0, 100'000}});
}

TEST_CASE("RankCuts: the same stretches - nothing to do") {
  const std::vector<RankStretches> ranks(4, rank(100, {{10, 98}}));
  for (const RankStretches& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: begun and ended apart - the common part is left") {
  const std::vector<RankStretches> ranks = {rank(100, {{10, 98}}), rank(100, {{11, 97}}),
                                            rank(100, {{10, 98}})};
  const HeldStretches all = all_of(ranks);
  CHECK_FALSE(trim_rank(ranks[0], all).any());
  const RankTrim trim = trim_rank(ranks[1], all);
  CHECK(trim.visits.at(0).more == NumberRanges{{10, 11}, {97, 98}});
  CHECK(trim.visits.at(0).alone.empty());
  CHECK(trim.anchors.empty());
}

TEST_CASE("RankCuts: broken on one rank - it keeps what no other has any part of") {
  std::vector<RankStretches> ranks = {rank(100, {{10, 98}}),
                                      rank(100, {{10, 48}, {52, 98}})};
  ranks[1].visits[0].changed = NumberRanges{{48, 52}, {98, 100}};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  CHECK_FALSE(trim.any());
  CHECK(trim.visits.at(0).alone == NumberRanges{{48, 52}});
}

TEST_CASE("RankCuts: slow on one rank - it gives that up") {
  const std::vector<RankStretches> ranks = {rank(100, {{10, 98}}),
                                            rank(100, {{10, 48}, {49, 98}})};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  CHECK(trim.visits.at(0).more == NumberRanges{{48, 49}});
  CHECK(trim.visits.at(0).alone.empty());
}

TEST_CASE("RankCuts: in part - a part that the others do without is left out") {
  std::vector<RankStretches> ranks = {rank(100, {{10, 98}}), rank(100, {{9, 99}})};
  ranks[1].visits[0].partly = NumberRanges{{9, 10}, {98, 99}};
  const HeldStretches all = all_of(ranks);
  CHECK(trim_rank(ranks[1], all).visits.at(0).more == NumberRanges{{9, 10}, {98, 99}});
  CHECK(trim_rank(ranks[0], all).visits.at(0).more == NumberRanges{{9, 10}, {98, 99}});
}

TEST_CASE("RankCuts: a job of one rank - nothing is given up") {
  RankStretches alone = rank(100, {{9, 99}});
  alone.visits[0].partly = NumberRanges{{9, 10}, {50, 60}, {98, 99}};
  const RankTrim trim = trim_rank(alone, all_of({alone}));
  CHECK_FALSE(trim.any());
  REQUIRE(trim.visits.size() == 1);
  CHECK(trim.visits[0].alone.empty());
}

TEST_CASE("RankCuts: a rank that held nothing - follows those that did") {
  const std::vector<RankStretches> ranks = {rank(100, {{10, 98}}), rank(100, {})};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  CHECK(trim.visits.at(0).more == NumberRanges{{10, 98}});
}

TEST_CASE("RankCuts: other numbers of iterations - by anchors") {
  // Rank 1 found its loop an iteration late: its iteration 0 is iteration 1 of the others.
  const std::vector<RankStretches> ranks = {rank(100, {{10, 98}}, 5),
                                            rank(99, {{10, 97}}, 6)};
  const HeldStretches all = all_of(ranks);
  const RankTrim first = trim_rank(ranks[0], all);
  const RankTrim second = trim_rank(ranks[1], all);
  CHECK(first.visits.at(0).more.empty());
  CHECK(first.anchors.empty());  // held 15..103, the other 16..103
  CHECK(second.anchors == NumberRanges{{15, 16}});
}

// As rank(), of which each iteration in `within` has an inner visit of 25 iterations and the
// rank held [from, 25) of it.
RankStretches with_inner(RankStretches rank, std::vector<std::uint64_t> within,
                         std::uint64_t from) {
  for (const std::uint64_t iteration : within) {
    RankVisit& visit = rank.visits.emplace_back();
    visit.path = {rank.visits.front().path.front(), {iteration, 25, 0}};
    if (from < 25) visit.held = NumberRanges{{from, 25}};
  }
  return rank;
}

// Rank 1's iterations begin elsewhere in the body. It goes back to the anchor before its held
// iterations; both go on to the one behind.
TEST_CASE("RankCuts: a loop that begins elsewhere on one rank - cut at anchors") {
  const std::uint64_t iterations = GENERATE(100u, 99u);  // of rank 1: the ruler
  std::vector<RankStretches> ranks = {rank(100, {{10, 98}}), rank(iterations, {{10, 98}})};
  ranks[0].visits[0].begin = kAtAnchor;
  ranks[1].visits[0].begin = kAtCall;
  const HeldStretches all = all_of(ranks);
  CHECK(all == merge(held_stretches(ranks[1]), held_stretches(ranks[0])));
  CHECK(trim_rank(ranks[0], all).anchors == NumberRanges{{98, 99}});
  CHECK(trim_rank(ranks[1], all).anchors == NumberRanges{{10, 99}});
  ranks[0].visits[0].begin = 4711;  // a region
  CHECK(trim_rank(ranks[0], all_of(ranks)).anchors == NumberRanges{{10, 99}});
  // All begin alike: nothing to move.
  ranks[0].visits[0].begin = ranks[1].visits[0].begin = GENERATE(kAtAnchor, kAtCall, 4711u);
  for (const RankStretches& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: inner loops - one rank held less or nothing of a visit") {
  const std::vector<RankStretches> ranks = {with_inner(rank(100, {{10, 98}}), {0, 1}, 10),
                                            with_inner(rank(100, {{10, 98}}), {0, 1}, 12),
                                            with_inner(rank(100, {{10, 98}}), {0, 1}, 25)};
  const HeldStretches all = all_of(ranks);
  CHECK_FALSE(trim_rank(ranks[0], all).any());
  for (const std::size_t inner : {1, 2}) {
    CHECK(trim_rank(ranks[1], all).visits.at(inner).more == NumberRanges{{10, 12}});
    CHECK(trim_rank(ranks[2], all).visits.at(inner).more == NumberRanges{{10, 25}});
  }
  CHECK(trim_rank(ranks[1], all).visits.at(0).more.empty());
  CHECK(all == merge(held_stretches(ranks[2]),
                     merge(held_stretches(ranks[1]), held_stretches(ranks[0]))));
}

TEST_CASE("RankCuts: inner loops - a rank without such a visit keeps its own") {
  const std::vector<RankStretches> ranks = {with_inner(rank(100, {{10, 98}}), {0}, 10),
                                            with_inner(rank(100, {{10, 98}}), {3}, 10)};
  for (const RankStretches& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: nothing in common - each rank keeps its own") {
  // No collective at all: anchors do not move.
  std::vector<RankStretches> ranks = {rank(100, {{10, 98}}), rank(40, {{10, 38}})};
  for (RankStretches& each : ranks) {
    each.visits[0].anchors = {};
    each.end_anchor = 1;
  }
  for (const RankStretches& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: a loop that one rank sees besides - does not shift the others") {
  RankStretches more = rank(100, {{11, 98}});
  more.visits.insert(more.visits.begin(), RankVisit{{{0, 7, 0}}, {}, {}, {}, {}, 0});
  const std::vector<RankStretches> ranks = {rank(100, {{10, 98}}), more};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  REQUIRE(trim.visits.size() == 2);
  CHECK(trim.visits[0].more.empty());
  CHECK(trim.visits[1].more == NumberRanges{{10, 11}});
}

TEST_CASE("RankCuts: after the trim - all ranks have the same iterations") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<RankStretches> ranks;
    for (int i = 0; i < 5; ++i)
      ranks.push_back(rank(100, {{10 + random() % 3, 95 + random() % 3}}));
    const HeldStretches all = all_of(ranks);
    NumberRanges expected;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const NumberRanges held =
          unite(ranks[i].visits[0].held, trim_rank(ranks[i], all).visits[0].more);
      if (i == 0) expected = held;
      REQUIRE(held == expected);
    }
  }
}

TEST_CASE("RankCuts: merging - in any order and grouping") {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<HeldStretches> h;
    for (int i = 0; i < 3; ++i)
      h.push_back(
          held_stretches(rank(90 + random() % 3, {{random() % 20, 50 + random() % 20}})));
    CHECK(merge(merge(h[0], h[1]), h[2]) == merge(h[0], merge(h[1], h[2])));
    CHECK(merge(h[0], h[1]) == merge(h[1], h[0]));
  }
}

TEST_CASE("MessagePlan: merging - in any order and grouping, and what is kept") {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<MessageSummary> parts;
    for (std::uint32_t process = 0; process < 3; ++process) {
      MessageSummary& part = parts.emplace_back();
      for (std::uint32_t peer = 0; peer < 3; ++peer) {
        MessageLog log;
        log.sent[{1, process, peer, 7}] = random_ranges(random);
        log.received[{1, peer, process, 7}] = random_ranges(random);
        log.collectives[9] = random_ranges(random);
        add_location(part, log);
      }
    }
    const MessageSummary all = merge(merge(parts[0], parts[1]), parts[2]);
    REQUIRE(all == merge(parts[0], merge(parts[1], parts[2])));
    REQUIRE(all == merge(parts[2], merge(parts[1], parts[0])));
    const MessagePlan plan = plan_messages(all, {{9, 3}});
    const Channel channel{1, 0, 2, 7};
    const auto& sent = parts[0].channels.at(channel).sent;
    const auto& received = parts[2].channels.at(channel).received;
    for (std::uint64_t n = 0; n < 80; ++n) {
      REQUIRE(plan.keeps(channel, n) == (sent.contains(n) && received.contains(n)));
      bool all_have = true;
      for (const MessageSummary& part : parts)
        all_have = all_have && part.collectives.at(9).common.contains(n);
      REQUIRE(plan.keeps_collective(9, n) == all_have);
    }
    // A member that tells nothing has nothing.
    CHECK_FALSE(plan_messages(merge(parts[0], parts[1]), {{9, 3}}).collectives.contains(9));
  }
}

TEST_CASE(
    "CommTable: facts merge in any order; members that one did not tell are filled in") {
  std::vector<MpiFacts> facts;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    spool::MpiJournal journal;
    journal.known = true;
    journal.rank = rank;
    journal.size = 4;
    spool::JournalComm world;
    world.kind = spool::kMpiCommWorld;
    world.rank = rank;
    world.size = 4;
    world.identity = 1;
    journal.comms[0] = world;
    if (rank == 0) journal.comms[0].members = {0, 1, 2, 3};
    // Rank 3 is the first of {3, 1}, and died before it told so.
    spool::JournalComm pair;
    pair.rank = rank == 3 ? 0 : 1;
    pair.size = 2;
    pair.identity = 5;
    pair.parent = 1;
    if (rank % 2 == 1) journal.comms[1] = pair;
    facts.push_back(mpi_facts(journal));
  }
  const MpiFacts all = merge(merge(facts[0], facts[1]), merge(facts[2], facts[3]));
  CHECK(all == merge(facts[3], merge(facts[2], merge(facts[1], facts[0]))));
  const CommTable table = comm_table(all);
  REQUIRE(table.comms.size() == 2);
  CHECK(table.comms[1].facts.members == RankList{3, 1});
  CHECK(table.comms[1].parent == 0);
}

}  // namespace refrain::writer
