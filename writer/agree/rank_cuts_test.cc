// One cut for all ranks, messages with both ends: with artificial intervals and numbers.
#include "writer/agree/rank_cuts.h"

#include <catch2/catch.hpp>
#include <random>

#include "writer/messages/message_plan.h"
#include "writer/messages/mpi_comms.h"

namespace refrain::writer::rank_cuts_test {
namespace {

using Range = NumberRanges::Range;

// A rank that skipped [from, to) of one visit with this many iterations, an anchor an
// iteration.
RankIntervals rank(std::uint64_t iterations, std::vector<Range> skipped,
                   std::uint64_t first_anchor = 0) {
  RankIntervals out;
  RankVisit& visit = out.visits.emplace_back();
  visit.path = {{0, iterations, 0}};
  for (const Range& range : skipped) {
    visit.skipped.add(range.begin, range.end);
    visit.anchors.add(first_anchor + range.begin, first_anchor + range.end);
  }
  visit.skipped.normalize();
  visit.anchors.normalize();
  out.end_anchor = first_anchor + iterations + 1;
  return out;
}

SkippedIntervals all_of(const std::vector<RankIntervals>& ranks) {
  SkippedIntervals all;
  for (const RankIntervals& each : ranks) all = merge(all, skipped_intervals(each));
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

TEST_CASE("RankCuts: the same intervals - nothing to do") {
  const std::vector<RankIntervals> ranks(4, rank(100, {{10, 98}}));
  for (const RankIntervals& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: different begins and ends - the common part is left") {
  const std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}), rank(100, {{11, 97}}),
                                            rank(100, {{10, 98}})};
  const SkippedIntervals all = all_of(ranks);
  CHECK_FALSE(trim_rank(ranks[0], all).any());
  const RankTrim trim = trim_rank(ranks[1], all);
  CHECK(trim.visits.at(0).more == NumberRanges{{10, 11}, {97, 98}});
  CHECK(trim.visits.at(0).alone.empty());
  CHECK(trim.anchors.empty());
}

TEST_CASE("RankCuts: broken on one rank - it keeps what no other has in part") {
  std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}),
                                      rank(100, {{10, 48}, {52, 98}})};
  ranks[1].visits[0].changed = NumberRanges{{48, 52}, {98, 100}};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  CHECK_FALSE(trim.any());
  CHECK(trim.visits.at(0).alone == NumberRanges{{48, 52}});
}

TEST_CASE("RankCuts: slow on one rank - not kept") {
  const std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}),
                                            rank(100, {{10, 48}, {49, 98}})};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  CHECK(trim.visits.at(0).more == NumberRanges{{48, 49}});
  CHECK(trim.visits.at(0).alone.empty());
}

TEST_CASE("RankCuts: in part - a part that others skipped is left out") {
  std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}), rank(100, {{9, 99}})};
  ranks[1].visits[0].partly = NumberRanges{{9, 10}, {98, 99}};
  const SkippedIntervals all = all_of(ranks);
  CHECK(trim_rank(ranks[1], all).visits.at(0).more == NumberRanges{{9, 10}, {98, 99}});
  CHECK(trim_rank(ranks[0], all).visits.at(0).more == NumberRanges{{9, 10}, {98, 99}});
}

TEST_CASE("RankCuts: a job of one rank - nothing is given up") {
  RankIntervals alone = rank(100, {{9, 99}});
  alone.visits[0].partly = NumberRanges{{9, 10}, {50, 60}, {98, 99}};
  const RankTrim trim = trim_rank(alone, all_of({alone}));
  CHECK_FALSE(trim.any());
  REQUIRE(trim.visits.size() == 1);
  CHECK(trim.visits[0].alone.empty());
}

TEST_CASE("RankCuts: a rank that skipped nothing - follows those that did") {
  const std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}), rank(100, {})};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  CHECK(trim.visits.at(0).more == NumberRanges{{10, 98}});
}

TEST_CASE("RankCuts: other numbers of iterations - by anchors") {
  // Rank 1 detected its loop an iteration late: its iteration 0 is iteration 1 of the
  // others.
  const std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}, 5),
                                            rank(99, {{10, 97}}, 6)};
  const SkippedIntervals all = all_of(ranks);
  const RankTrim first = trim_rank(ranks[0], all);
  const RankTrim second = trim_rank(ranks[1], all);
  CHECK(first.visits.at(0).more.empty());
  CHECK(first.anchors.empty());  // skipped 15..103, the other 16..103
  CHECK(second.anchors == NumberRanges{{15, 16}});
}

// As rank(), but each iteration in `within` has an inner visit of 25 iterations, of which
// the rank skipped [from, 25).
RankIntervals with_inner(RankIntervals rank, std::vector<std::uint64_t> within,
                         std::uint64_t from) {
  for (const std::uint64_t iteration : within) {
    RankVisit& visit = rank.visits.emplace_back();
    visit.path = {rank.visits.front().path.front(), {iteration, 25, 0}};
    if (from < 25) visit.skipped = NumberRanges{{from, 25}};
  }
  return rank;
}

// Rank 1's iterations begin elsewhere in the body. It goes back to the anchor before its
// skipped iterations; both go on to the one after.
TEST_CASE("RankCuts: a loop that begins elsewhere on one rank - cut at anchors") {
  const std::uint64_t iterations = GENERATE(100u, 99u);  // of rank 1: iterations or anchors
  std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}), rank(iterations, {{10, 98}})};
  ranks[0].visits[0].begin = kAtAnchor;
  ranks[1].visits[0].begin = kAtCall;
  const SkippedIntervals all = all_of(ranks);
  CHECK(all == merge(skipped_intervals(ranks[1]), skipped_intervals(ranks[0])));
  CHECK(trim_rank(ranks[0], all).anchors == NumberRanges{{98, 99}});
  CHECK(trim_rank(ranks[1], all).anchors == NumberRanges{{10, 99}});
  ranks[0].visits[0].begin = 4711;  // a region
  CHECK(trim_rank(ranks[0], all_of(ranks)).anchors == NumberRanges{{10, 99}});
  // All begin alike: nothing to move.
  ranks[0].visits[0].begin = ranks[1].visits[0].begin = GENERATE(kAtAnchor, kAtCall, 4711u);
  for (const RankIntervals& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: inner loops - one rank skipped less or nothing of a visit") {
  const std::vector<RankIntervals> ranks = {with_inner(rank(100, {{10, 98}}), {0, 1}, 10),
                                            with_inner(rank(100, {{10, 98}}), {0, 1}, 12),
                                            with_inner(rank(100, {{10, 98}}), {0, 1}, 25)};
  const SkippedIntervals all = all_of(ranks);
  CHECK_FALSE(trim_rank(ranks[0], all).any());
  for (const std::size_t inner : {1, 2}) {
    CHECK(trim_rank(ranks[1], all).visits.at(inner).more == NumberRanges{{10, 12}});
    CHECK(trim_rank(ranks[2], all).visits.at(inner).more == NumberRanges{{10, 25}});
  }
  CHECK(trim_rank(ranks[1], all).visits.at(0).more.empty());
  CHECK(all == merge(skipped_intervals(ranks[2]),
                     merge(skipped_intervals(ranks[1]), skipped_intervals(ranks[0]))));
}

TEST_CASE("RankCuts: inner loops - a rank without such a visit keeps its own") {
  const std::vector<RankIntervals> ranks = {with_inner(rank(100, {{10, 98}}), {0}, 10),
                                            with_inner(rank(100, {{10, 98}}), {3}, 10)};
  for (const RankIntervals& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: nothing in common - each rank keeps its own") {
  // No collective at all: anchors do not increase.
  std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}), rank(40, {{10, 38}})};
  for (RankIntervals& each : ranks) {
    each.visits[0].anchors = {};
    each.end_anchor = 1;
  }
  for (const RankIntervals& each : ranks) CHECK_FALSE(trim_rank(each, all_of(ranks)).any());
}

TEST_CASE("RankCuts: a loop on one rank only - does not shift the others") {
  RankIntervals more = rank(100, {{11, 98}});
  more.visits.insert(more.visits.begin(), RankVisit{{{0, 7, 0}}, {}, {}, {}, {}, 0});
  const std::vector<RankIntervals> ranks = {rank(100, {{10, 98}}), more};
  const RankTrim trim = trim_rank(ranks[1], all_of(ranks));
  REQUIRE(trim.visits.size() == 2);
  CHECK(trim.visits[0].more.empty());
  CHECK(trim.visits[1].more == NumberRanges{{10, 11}});
}

TEST_CASE("RankCuts: after the trim - all ranks have the same iterations") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<RankIntervals> ranks;
    for (int i = 0; i < 5; ++i)
      ranks.push_back(rank(100, {{10 + random() % 3, 95 + random() % 3}}));
    const SkippedIntervals all = all_of(ranks);
    NumberRanges expected;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const NumberRanges skipped =
          unite(ranks[i].visits[0].skipped, trim_rank(ranks[i], all).visits[0].more);
      if (i == 0) expected = skipped;
      REQUIRE(skipped == expected);
    }
  }
}

TEST_CASE("RankCuts: merging - in any order and grouping") {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<SkippedIntervals> h;
    for (int i = 0; i < 3; ++i)
      h.push_back(skipped_intervals(
          rank(90 + random() % 3, {{random() % 20, 50 + random() % 20}})));
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
    // A member without a summary has nothing.
    CHECK_FALSE(plan_messages(merge(parts[0], parts[1]), {{9, 3}}).collectives.contains(9));
  }
}

TEST_CASE("CommTable: merging - in any order, unknown members are filled in") {
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
    // Rank 3 is the first of {3, 1}, and died before it recorded that.
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

}  // namespace refrain::writer::rank_cuts_test
