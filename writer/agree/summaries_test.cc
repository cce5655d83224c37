// What processes send each other: as bytes and back, damaged, and settled by many ranks.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "exchange/mailboxes.h"
#include "exchange/tree.h"
#include "summary/merged_flow.h"
#include "writer/agree/logical_clock.h"
#include "writer/agree/mpi_job.h"
#include "writer/agree/rank_cuts.h"
#include "writer/agree/write_options.h"
#include "writer/archive/process_facts.h"
#include "writer/archive/shared_definitions.h"
#include "writer/messages/clock_map.h"
#include "writer/messages/message_times.h"
#include "writer/messages/mpi_comms.h"

namespace refrain::writer::summaries_test {
namespace {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

NumberRanges random_ranges(Random& random) {
  NumberRanges out;
  for (std::uint32_t i = random() % 5; i != 0; --i) {
    const std::uint64_t begin =
        random() % 8 == 0 ? std::uint64_t{random()} << 31 : random() % 60;
    out.add(begin, begin + 1 + random() % 12);
  }
  out.normalize();
  return out;
}

std::vector<std::uint32_t> random_members(Random& random) {
  std::vector<std::uint32_t> out(random() % 20, kNoRank);
  const std::uint32_t first = random() % 100;
  const std::uint32_t step = random() % 4;
  for (std::uint32_t i = 0; i < out.size(); ++i)
    if (random() % 5 != 0) out[i] = random() % 6 == 0 ? random() % 5000 : first + step * i;
  return out;
}

SkippedIntervals random_skipped(Random& random) {
  SkippedIntervals out;
  out.ranks = random() % 100;
  out.anchors = random_ranges(random);
  for (std::uint32_t i = random() % 4; i != 0; --i) {
    VisitPath path;
    for (std::uint32_t level = 1 + random() % 3; level != 0; --level)
      path.push_back({random() % 9, random() % 1000, random() % 3});
    out.visits[path] = {random() % 100, random_ranges(random), random_ranges(random)};
  }
  return out;
}

MpiFacts random_facts(Random& random) {
  MpiFacts out;
  out.size = random();
  for (std::uint32_t i = random() % 4; i != 0; --i) {
    CommFacts& comm = out.comms[std::uint64_t{random()} << 32 | random()];
    comm.kind = static_cast<spool::MpiCommKind>(random() % 4);
    comm.parent = random();
    comm.members = RankList(random_members(random));
    comm.remote = RankList(random_members(random));
    comm.name = random() % 2 == 0 ? "rows" : "";
    comm.topology = random() % 2 == 0 ? "cart 2 1 0 4 4" : "";
  }
  for (std::uint32_t i = random() % 3; i != 0; --i)
    out.windows[random()] = {random(), random() % 2 == 0 ? "halo" : ""};
  return out;
}

MessageSummary random_messages(Random& random) {
  MessageSummary out;
  for (std::uint32_t i = random() % 9; i != 0; --i)
    out.channels[{random() % 3 + 7, random() % 5, random() % 5, random() % 3}] = {
        random_ranges(random), random_ranges(random)};
  for (std::uint32_t i = random() % 3; i != 0; --i)
    out.collectives[random()] = {random() % 9, random_ranges(random)};
  return out;
}

MessagePlan random_plan(Random& random) {
  return plan_messages(random_messages(random), {});
}

SharedDefinitions random_definitions(Random& random) {
  SharedDefinitions out;
  for (std::uint32_t i = random() % 4; i != 0; --i)
    out.regions.push_back(
        {"a", "b", "", "file.c", random(), regions::RegionClass::kLoop, true});
  for (std::uint32_t i = random() % 4; i != 0; --i) out.places.push_back({"c.c", random()});
  for (std::uint32_t i = random() % 4; i != 0; --i)
    out.strings.push_back(std::string(random() % 20, 'x'));
  for (std::uint32_t i = random() % 6; i != 0; --i) out.add({random() % 3, 1, 0});
  return out;
}

TimeSummary random_times(Random& random) {
  MessageTimes times(6);
  for (std::uint32_t i = random() % 9; i != 0; --i) {
    times.sent({7, random() % 3, random() % 3, 1}, random() % 4, random());
    times.received({7, random() % 3, random() % 3, 1}, random() % 4, random());
  }
  return time_summary(message_ends(times, ClockMap()));
}

JobClocks random_clocks(Random& random) {
  JobClocks out;
  for (std::uint32_t i = random() % 4; i != 0; --i) {
    out.ends.push_back(random_times(random).ends);
    std::vector<spool::JournalClockOffset> offsets;
    for (std::uint64_t j = random() % 4; j != 0; --j)
      offsets.push_back({1000 * (4 - j), static_cast<std::int32_t>(random()), random()});
    out.clocks.emplace_back(std::move(offsets));
  }
  return out;
}

summary::MergedFlow random_flow(Random& random) {
  summary::MergedFlow out;
  for (std::uint32_t rank = random() % 4; rank != 0; --rank) {
    summary::FlowGraph graph;
    graph.components = {"site"};
    graph.nodes.emplace_back();
    for (std::uint32_t i = 1 + random() % 3; i != 0; --i) {
      summary::FlowGraph::Node node{.kind = summary::FlowGraph::Kind::kCall,
                                    .name = std::string(1, "abc"[random() % 3]),
                                    .callers = {"x.c:1"}};
      node.to = {summary::FlowGraph::Partner::Kind::kRelative,
                 static_cast<std::int32_t>(random())};
      node.size_least = node.size_greatest = random();
      graph.nodes.push_back(node);
      graph.edges.push_back(
          {.from = random() % i, .to = 1, .count = random() % 3, .time = random()});
    }
    normalize(graph);
    out = merge(std::move(out), merged_flow(graph, rank * 3, 1e9));
  }
  return out;
}

JobFacts random_job(Random& random) {
  JobFacts out;
  for (std::uint32_t i = 1 + random() % 2; i != 0; --i) {
    ProcessFacts& process = out.processes.emplace_back();
    process.host = "node";
    process.rank = random();
    process.uses_mpi = random() % 2 == 0;
    process.locations.resize(random() % 3);
    process.teams.push_back({0, random()});
    process.markers.push_back({random() % 8, random(), random(), "loop 1"});
    process.loops.emplace_back().body = {"x", ""};
    process.complaints.emplace_back("none");
  }
  out.flow = random_flow(random);
  return out;
}

Assignment random_assignment(Random& random) {
  Assignment out;
  out.options.archive = "folder";
  out.options.threads = random();
  out.options.recovered = random() % 2 == 0;
  out.work_folder = std::string(random() % 9, 'w');
  return out;
}

// There and back; each shorter text, and each with a byte changed, is refused or is another
// summary, never a crash.
template <typename Summary>
void check_bytes(Summary (*make)(Random&)) {
  Random random(1);
  std::size_t refused = 0;
  for (int round = 0; round < 100; ++round) {
    const Summary summary = make(random);
    const exchange::Bytes bytes = exchange::to_bytes(std::optional<Summary>(summary));
    const auto back = exchange::from_bytes<Summary>(bytes);
    REQUIRE(back);
    if constexpr (requires { *back == summary; }) REQUIRE(*back == summary);
    REQUIRE(exchange::to_bytes(back) == bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      REQUIRE_FALSE(exchange::from_bytes<Summary>(
          {bytes.begin(), bytes.begin() + std::ptrdiff_t(size)}));
    for (std::size_t i = 0; i < 4 * bytes.size(); ++i) {
      exchange::Bytes damaged = bytes;
      damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
      if (i % 2 == 1) damaged[random() % damaged.size()] = 0xff;
      const auto other = exchange::from_bytes<Summary>(damaged);
      if (!other) ++refused;
      // What was read can be sent on, and is the same then.
      if (other)
        REQUIRE(exchange::to_bytes(exchange::from_bytes<Summary>(
                    exchange::to_bytes(other))) == exchange::to_bytes(other));
    }
  }
  CHECK(refused > 1000);
}

}  // namespace

TEST_CASE("Summaries: as bytes - there and back, damaged ones are refused") {
  SECTION("skipped intervals") { check_bytes(random_skipped); }
  SECTION("communicators") { check_bytes(random_facts); }
  SECTION("event flow graphs") { check_bytes(random_flow); }
  SECTION("messages") { check_bytes(random_messages); }
  SECTION("plans") { check_bytes(random_plan); }
  SECTION("definitions") { check_bytes(random_definitions); }
  SECTION("times") { check_bytes(random_times); }
  SECTION("clocks") { check_bytes(random_clocks); }
  SECTION("processes") { check_bytes(random_job); }
  SECTION("assignments") { check_bytes(random_assignment); }
}

TEST_CASE("Message times: merged in a tree - as one by one") {
  Random random(5);
  constexpr std::uint32_t kProcesses = 5;
  struct Seen {
    std::optional<std::uint64_t> sent;
    std::optional<std::uint64_t> received;
  };
  for (int round = 0; round < 300; ++round) {
    std::map<std::pair<Channel, std::uint64_t>, Seen> messages;
    std::vector<std::vector<MessageTimes>> locations(
        kProcesses, std::vector<MessageTimes>(2, MessageTimes(1000)));
    for (std::uint32_t i = random() % 400; i != 0; --i) {
      const bool send = random() % 2 == 0;
      const Channel channel{7, random() % kProcesses, random() % kProcesses, random() % 2};
      const std::uint64_t number = random() % 10;
      const std::uint64_t ticks = 1000 + random() % 1000;
      Seen& seen = messages[{channel, number}];
      const std::uint32_t process = send ? channel.source : channel.destination;
      std::optional<std::uint64_t>& end = send ? seen.sent : seen.received;
      if (end) continue;
      end = ticks + 100 * process;
      MessageTimes& location = locations[process][random() % 2];
      if (send) location.sent(channel, number, ticks);
      if (!send) location.received(channel, number, ticks);
    }
    std::vector<TimeSummary> summaries;
    for (std::uint32_t i = 0; i < kProcesses; ++i) {
      const ClockMap clock({{0, 100 * i, 0}});
      summaries.push_back(time_summary(merge(message_ends(locations[i][0], clock),
                                             message_ends(locations[i][1], clock))));
    }
    const TimeSummary all = exchange::merge_in_tree(std::move(summaries));
    std::uint64_t checked = 0;
    std::uint64_t violations = 0;
    std::map<std::pair<Channel, std::uint64_t>, std::uint64_t> sent;
    std::map<std::pair<Channel, std::uint64_t>, std::uint64_t> received;
    for (const auto& [message, seen] : messages) {
      checked += seen.sent && seen.received;
      violations += seen.sent && seen.received && *seen.received < *seen.sent;
      if (seen.sent && !seen.received) sent[message] = *seen.sent;
      if (seen.received && !seen.sent) received[message] = *seen.received;
    }
    REQUIRE(all.checked == checked);
    REQUIRE(all.violations == violations);
    const auto left = [](const TimesByChannel& times) {
      std::map<std::pair<Channel, std::uint64_t>, std::uint64_t> out;
      for (const auto& [channel, ends] : times)
        for (const auto& end : ends.ends()) out[{channel, end.number}] = end.ticks;
      return out;
    };
    REQUIRE(left(all.ends.sends) == sent);
    REQUIRE(left(all.ends.receives) == received);
  }
}

TEST_CASE("RankList: as a list - places, filling, members") {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::uint32_t> a = random_members(random);
    const std::vector<std::uint32_t> b = random_members(random);
    RankList list(a);
    list.fill(RankList(b));
    std::vector<std::uint32_t> expected = a;
    expected.resize(std::max(a.size(), b.size()), kNoRank);
    for (std::size_t i = 0; i < b.size(); ++i)
      if (expected[i] == kNoRank) expected[i] = b[i];
    REQUIRE(list.expanded<std::uint32_t>() == expected);
    REQUIRE(list == RankList(expected));
    const auto has = [&](std::uint32_t rank) {
      return std::find(expected.begin(), expected.end(), rank) != expected.end();
    };
    REQUIRE(list.complete() == !has(kNoRank));
    for (std::uint32_t rank = 0; rank < 200; ++rank)
      REQUIRE(list.contains(rank) == has(rank));
    for (std::uint32_t i = 0; i < 25; ++i)
      REQUIRE(list[i] == (i < expected.size() ? expected[i] : kNoRank));
    const auto least = std::min_element(expected.begin(), expected.end());
    REQUIRE(list.least() == (least == expected.end() ? kNoRank : *least));
  }
}

TEST_CASE("RankList: rows and columns - merged one by one in a tree, one run") {
  for (const std::uint32_t step : {1U, 3U, 16U}) {
    std::vector<RankList> parts;
    for (std::uint32_t place = 0; place < 64; ++place)
      parts.push_back(RankList::one(64, place, 5 + step * place));
    for (std::size_t size = 64; size > 1; size /= 2)
      for (std::size_t i = 0; i < size / 2; ++i) {
        parts[i] = parts[2 * i];
        parts[i].fill(parts[2 * i + 1]);
        REQUIRE(parts[i].runs().size() == 1);
      }
    CHECK(parts[0].complete());
  }
}

TEST_CASE("SkippedIntervals: loops of some ranks only - by anchors, without accumulating") {
  SkippedIntervals all;
  std::vector<RankIntervals> ranks;
  for (std::uint64_t i = 0; i < 50; ++i) {
    RankIntervals rank;
    rank.visits.push_back({{{0, 1000, 0}}, {{10, 990}}, {}, {}, {{10, 990}}});
    rank.visits.push_back({{{0, 2000 + i, 0}}, {{10, 1990}}, {}, {}, {{1010 + i, 2990}}});
    rank.end_anchor = 3000;
    ranks.push_back(rank);
    all = merge(all, skipped_intervals(rank));
  }
  CHECK(all.visits.size() == 1);
  CHECK(all.visits.begin()->second.ranks == 50);
  CHECK(all.anchors == NumberRanges{{1010, 2990}});
  // The last one wrote more of its own loop than the first.
  CHECK_FALSE(trim_rank(ranks.front(), all).any());
  CHECK(trim_rank(ranks.back(), all).anchors == NumberRanges{{1010, 1059}});
}

TEST_CASE(
    "MessageSettlement: in a tree - the same plan as with all messages in one place") {
  Random random(4);
  const std::unordered_map<std::uint64_t, std::uint64_t> members = {{7, 0}, {8, 3}, {9, 2}};
  for (const std::uint32_t size : {1U, 2U, 3U, 8U, 13U}) {
    std::unordered_map<std::uint64_t, std::uint64_t> counts = members;
    counts[7] = size;
    std::vector<MessageSummary> own(size);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (std::uint32_t i = 0; i < 12; ++i) {
        const std::uint32_t peer = random() % size;
        own[rank].channels[{7, rank, peer, random() % 2}].sent = random_ranges(random);
        own[rank].channels[{7, peer, rank, random() % 2}].received = random_ranges(random);
      }
      own[rank].collectives[7] = {1, NumberRanges{{0, 10 + random() % 3}}};
      if (rank % 4 == 1)
        own[rank].collectives[8] = {1, NumberRanges{{3, 10 + random() % 3}}};
      if (rank == 1 || rank == 7) own[rank].collectives[9] = {1, NumberRanges{{0, 5}}};
    }
    const MessagePlan all = plan_messages(exchange::merge_in_tree(own), counts);
    exchange::Mailboxes boxes(size);
    std::vector<std::optional<MessagePlan>> plans(size);
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      ranks.emplace_back(
          [&, rank] { plans[rank] = settle_messages(*boxes.of(rank), own[rank], counts); });
    for (std::thread& rank : ranks) rank.join();
    CHECK(boxes.pending() == 0);
    std::size_t matching = 0;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      REQUIRE(plans[rank]);
      for (const auto& [channel, kept] : plans[rank]->channels)
        REQUIRE(all.channels.at(channel) == kept);
      for (const auto& [channel, kept] : all.channels)
        if (channel.source == rank || channel.destination == rank)
          matching += plans[rank]->channels.at(channel) == kept;
      for (const auto& [comm, kept] : all.collectives)
        if (own[rank].collectives.contains(comm))
          REQUIRE(plans[rank]->collectives.at(comm) == kept);
      for (const auto& [comm, kept] : plans[rank]->collectives)
        REQUIRE(all.collectives.at(comm) == kept);
    }
    CHECK(matching >= all.channels.size());
  }
}

TEST_CASE("MessageSettlement: a rank that fails - all learn of it") {
  for (std::uint32_t failing = 0; failing < 6; ++failing) {
    exchange::Mailboxes boxes(6);
    std::vector<std::thread> ranks;
    std::vector<std::optional<MessagePlan>> plans(6, MessagePlan{});
    for (std::uint32_t rank = 0; rank < 6; ++rank)
      ranks.emplace_back([&, rank] {
        std::optional<MessageSummary> own;
        if (rank != failing) own.emplace();
        plans[rank] = settle_messages(*boxes.of(rank), std::move(own), {});
      });
    for (std::thread& rank : ranks) rank.join();
    for (const auto& plan : plans) CHECK_FALSE(plan);
    CHECK(boxes.pending() == 0);
  }
}

}  // namespace refrain::writer::summaries_test
