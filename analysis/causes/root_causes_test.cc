// Runs made by hand, whose causes and amounts are known.
#include "analysis/causes/root_causes.h"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analysis/ideal/ideal_network.h"

namespace refrain::analysis::root_causes_test {
namespace {

using summary::FlowGraph;
using summary::IterationRows;
using summary::RunSummary;

constexpr auto kCollective = static_cast<std::size_t>(TimeClass::kMpiCollective);
constexpr auto kManagementOfMpi = static_cast<std::size_t>(TimeClass::kMpiManagement);
constexpr auto kImbalance = static_cast<std::size_t>(TimeClass::kImbalance);
constexpr std::int64_t kCall = 20;     // an Allreduce without waiting
constexpr std::int64_t kInit = 10000;  // MPI_Init

RunSummary::Region region(const char* name, std::uint32_t role, std::uint32_t paradigm) {
  return {.reference = 0,
          .name = name,
          .file = "p.c",
          .line = 5,
          .role = role,
          .paradigm = paradigm};
}

// What a thread computes in an iteration.
using Work = std::function<std::int64_t(std::size_t rank, std::size_t iteration)>;

// Ranks that compute and meet in an Allreduce, with which iterations begin: what a rank waits in it is of the iteration after that in
// which others were late. `threads` in each, of which the others do nothing.
std::vector<RunSummary> ranks(std::size_t number, std::size_t iterations, const Work& work,
                              std::size_t threads = 1) {
  std::vector<RunSummary> out(number);
  for (std::size_t rank = 0; rank < number; ++rank) {
    RunSummary& run = out[rank];
    run.process = run.rank = static_cast<std::uint32_t>(rank);
    run.regions = {
        region("MPI_Init", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI),
        region("MPI_Allreduce", OTF2_REGION_ROLE_COLL_ALL2ALL, OTF2_PARADIGM_MPI),
        region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP)};
    run.sites = {"src/p.c:9"};
    run.nodes.edit().resize(2);
    run.nodes.edit()[0].region = 0;
    run.nodes.edit()[1].region = 1;
    run.nodes.edit()[1].site = 0;
    run.loops = {{1, "loop 1 @ main p.c:7-12"}};
    run.locations.resize(threads);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      RunSummary::Location& location = run.locations[thread];
      location.number = static_cast<std::uint32_t>(thread);
      location.primary = thread == 0;
      location.sums.resize(run.nodes.size());
    }
    RunSummary::Location& primary = run.locations[0];
    primary.sums[0].visits = 1;
    primary.sums[0].time = kInit;
    std::uint64_t at = kInit;
    auto& rows = primary.iterations.rows;
    rows.push_back({.begin = 0, .counters = {}});
    rows.back().times[kManagementOfMpi] = kInit;
    std::int64_t waited = 0, gaps = 0;
    for (std::size_t i = 0; i < iterations; ++i) {
      std::int64_t most = 0;
      for (std::size_t other = 0; other < number; ++other)
        most = std::max(most, work(other, i));
      auto& row = rows.emplace_back();
      row = {.begin = at, .loop = 0, .first = i, .count = 1, .counters = {}};
      row.times[kCollective] = waited + kCall;
      row.times[IterationRows::kOutside] = work(rank, i);
      at += static_cast<std::uint64_t>(waited + kCall + work(rank, i));
      ++primary.sums[1].visits;
      primary.sums[1].time += static_cast<std::uint64_t>(waited + kCall);
      gaps += work(rank, i);
      waited = most - work(rank, i);
    }
    // The last Allreduce.
    auto& last = rows.emplace_back();
    last = {.begin = at, .counters = {}};
    last.times[kCollective] = waited + kCall;
    at += static_cast<std::uint64_t>(waited + kCall);
    ++primary.sums[1].visits;
    primary.sums[1].time += static_cast<std::uint64_t>(waited + kCall);
    run.end = primary.iterations.end = at;
    for (std::size_t thread = 1; thread < threads; ++thread) {
      auto& idle = run.locations[thread].iterations;
      idle = primary.iterations;
      for (auto& row : idle.rows) {
        const std::int64_t all =
            std::accumulate(row.times.begin(), row.times.end(), std::int64_t{0});
        row.times = {};
        row.times[IterationRows::kOutside] = all;
      }
    }
    if (threads > 1) {
      // So that they count as workers.
      run.nodes.edit().emplace_back().region = 2;
      for (auto& location : run.locations) {
        location.sums.emplace_back();
        location.sums.back().visits = 1;
      }
    }
    FlowGraph& flow = primary.flow;
    flow.nodes.resize(2);
    flow.nodes[1] = {
        .kind = FlowGraph::Kind::kCall, .name = "MPI_Allreduce", .site = "src/p.c:9"};
    flow.edges = {
        {.from = 1, .to = 1, .count = iterations, .gap = static_cast<std::uint64_t>(gaps)}};
  }
  return out;
}

double of(const Conclusions& conclusions, Account account) {
  return conclusions.ledger[static_cast<std::size_t>(account)];
}

// The ledger has every second of every thread, once; and no finding says more than there is.
void check_sums(const Conclusions& conclusions, const std::vector<RunSummary>& runs) {
  double time = 0;
  for (const RunSummary& run : runs)
    time += static_cast<double>((run.end - run.begin) * run.locations.size());
  CHECK(conclusions.time_ns == Approx(time));
  CHECK(std::accumulate(conclusions.ledger.begin(), conclusions.ledger.end(), 0.0) ==
        Approx(time));
  for (const double ns : conclusions.ledger) CHECK(ns >= -1e-6);
  Ledger lost{};
  for (const RootCause& cause : conclusions.causes)
    lost[static_cast<std::size_t>(cause.account)] += cause.lost_ns;
  for (std::size_t i = 0; i < kAccounts; ++i)
    CHECK(lost[i] <= conclusions.ledger[i] * (1 + 1e-9) + 1e-6);
}

}  // namespace

TEST_CASE(
    "Root causes: a rank with more work - who, where, when, how much, what it would gain") {
  const auto runs =
      ranks(4, 100, [](std::size_t rank, std::size_t) { return rank == 2 ? 1500 : 1000; });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  CHECK(of(found, Account::kStart) == 4 * kInit);
  CHECK(of(found, Account::kUseful) == 100 * (3 * 1000 + 1500));
  CHECK(of(found, Account::kCommunication) == Approx(4 * 101 * kCall).margin(1500));
  REQUIRE_FALSE(found.causes.empty());
  const RootCause& cause = found.causes[0];
  CHECK(cause.account == Account::kUnevenRanks);
  CHECK(cause.ranks == std::vector<std::uint32_t>{2});
  CHECK(cause.thread == RootCause::kNone);
  CHECK(cause.loop == "loop 1 @ main p.c:7-12");
  CHECK(cause.when.kind == TimeShape::Kind::kAll);
  CHECK(cause.when.after == Approx(500));
  CHECK(cause.others_ns == Approx(1000));
  CHECK(cause.lost_ns == Approx(100 * 3 * 500));
  CHECK(cause.most_lost_ns == Approx(100 * 3 * 500));
  CHECK(cause.gain_ns == Approx(100 * 500));
  CHECK(cause.shared_gain_ns == Approx(100 * (500 - 500 / 4.0)));
  CHECK_THAT(cause.gain, Catch::Contains("; if what it does more were shared among all, "));
  CHECK(cause.where == "between one MPI_Allreduce (p.c:9) and the next");
  REQUIRE(cause.evidence.size() == 1);
  CHECK(cause.evidence[0].where == "MPI_Allreduce @p.c:9");
  CHECK(cause.text.starts_with(
      "Rank 2 computes 500 ns longer than the other ranks (1.5 us instead of 1 us per "
      "iteration"));
}

// Before the loop the rank is longer still.
TEST_CASE(
    "Root causes: a rank with more work at one place, in a loop and before it was known - one cause") {
  const Work work = [](std::size_t rank, std::size_t) { return rank == 1 ? 3000 : 1000; };
  std::vector<RunSummary> runs = ranks(4, 40, work);
  for (RunSummary& run : runs)
    for (auto& row : run.locations[0].iterations.rows)
      if (row.count == 1 && row.first < 10)
        row.loop = IterationRows::Row{}.loop;
      else if (row.count == 1)
        row.first -= 10;
  const Conclusions found = conclude(runs);
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  CHECK(cause.ranks == std::vector<std::uint32_t>{1});
  CHECK(cause.lost_ns == Approx(40 * 3 * 2000).epsilon(0.01));
  CHECK(cause.outside_ns == Approx(10 * 2000).epsilon(0.01));
  CHECK(cause.gain_ns == Approx(40 * 2000).epsilon(0.01));
  CHECK(cause.shared_gain_ns == Approx(40 * 1500).epsilon(0.01));
  CHECK(cause.of_ns == Approx(40 * 3020).epsilon(0.02));
  CHECK_THAT(
      cause.text,
      Catch::Contains(
          "in all 30 iterations of main p.c:7-12, and 20 us longer in all before it was known or outside of it"));
  CHECK_THAT(cause.gain,
             Catch::Contains("the run without start and end of MPI would take"));
}

TEST_CASE(
    "Root causes: iterations before the loop was known - count once, in the loop or outside of it") {
  const std::uint64_t unknown = GENERATE(1u, 2u);
  std::vector<RunSummary> runs =
      ranks(4, 10, [](std::size_t rank, std::size_t) { return rank == 1 ? 3000 : 1000; });
  for (RunSummary& run : runs)
    for (auto& row : run.locations[0].iterations.rows)
      if (row.count == 1 && row.first < unknown) {
        row.loop = IterationRows::Row{}.loop;
        row.first = row.count = 0;
      }
  const Conclusions found = conclude(runs);
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  CHECK(cause.iterations == 10);
  CHECK(cause.outside_ns == Approx(static_cast<double>(unknown) * 2000).epsilon(0.01));
  CHECK_THAT(
      cause.text,
      Catch::Contains(
          unknown == 1
              ? "in 9 of 10 iterations of main p.c:7-12, and 2 us longer in all in the one before it was known or outside of it"
              : "in 8 of 10 iterations of main p.c:7-12, and 4 us longer in all in the 2 before it was known or outside of it"));
}

TEST_CASE("Root causes: a rank with more work in a loop - where is in the loop") {
  const std::uint64_t count = GENERATE(1u, 100u);
  auto runs =
      ranks(4, 100, [](std::size_t rank, std::size_t) { return rank == 2 ? 1500 : 1000; });
  for (std::size_t rank = 0; rank < 4; ++rank) {
    FlowGraph& flow = runs[rank].locations[0].flow;
    flow.nodes.push_back(
        {.kind = FlowGraph::Kind::kCall, .name = "MPI_Bcast", .site = "src/p.c:3"});
    flow.edges.push_back({.from = 1, .to = 2, .count = count});
    flow.edges.push_back(
        {.from = 2, .to = 1, .count = count, .gap = rank == 2 ? 90000u : 1000u});
  }
  const Conclusions found = conclude(runs);
  REQUIRE_FALSE(found.causes.empty());
  CHECK(found.causes[0].where ==
        (count == 1 ? "between one MPI_Allreduce (p.c:9) and the next"
                    : "between MPI_Bcast (p.c:3) and MPI_Allreduce (p.c:9)"));
}

TEST_CASE("Root causes: a rank with more work in a loop - where is not in another loop") {
  // In that rank 2 has more as often, which the others wait for elsewhere. Its calls are in a function, or in lines of the loop and
  // next to calls of both loops.
  const bool function = GENERATE(true, false);
  auto runs =
      ranks(4, 100, [](std::size_t rank, std::size_t) { return rank == 2 ? 1500 : 1000; });
  for (std::size_t rank = 0; rank < 4; ++rank) {
    runs[rank].loops.push_back({2, "loop 2 @ main p.c:15-18"});
    RunSummary::Location& primary = runs[rank].locations[0];
    auto& last = primary.iterations.rows.back();
    last.loop = last.count = 1;
    FlowGraph& flow = primary.flow;
    flow.nodes.push_back({.kind = FlowGraph::Kind::kCall,
                          .name = "MPI_Send",
                          .site = function ? "src/p.c:43" : "src/p.c:16"});
    flow.edges.push_back(
        {.from = 2, .to = 2, .count = 100, .gap = rank == 2 ? 90000u : 1000u});
    flow.edges.push_back({.from = 1, .to = 2, .count = 100});
    if (!function) flow.edges.push_back({.from = 2, .to = 1, .count = 100});
  }
  const Conclusions found = conclude(runs);
  REQUIRE_FALSE(found.causes.empty());
  CHECK_THAT(found.causes[0].text, Catch::Contains("iterations of main p.c:7-12"));
  CHECK(found.causes[0].where == "between one MPI_Allreduce (p.c:9) and the next");
}

TEST_CASE(
    "Root causes: a rank with more work at times - from then on, every so many, growing") {
  const auto shape = [](const Work& work) {
    const auto runs = ranks(3, 200, work);
    const Conclusions found = conclude(runs);
    check_sums(found, runs);
    REQUIRE_FALSE(found.causes.empty());
    CHECK(found.causes[0].account == Account::kUnevenRanks);
    CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{1});
    return found.causes[0];
  };
  const RootCause since = shape(
      [](std::size_t rank, std::size_t i) { return rank == 1 && i >= 120 ? 2000 : 1000; });
  CHECK(since.when.kind == TimeShape::Kind::kSince);
  CHECK(since.when.from == 120);
  CHECK(since.gain_ns == Approx(80 * 1000));
  const RootCause every = shape([](std::size_t rank, std::size_t i) {
    return rank == 1 && i % 10 == 9 ? 6000 : 1000;
  });
  CHECK(every.when.kind == TimeShape::Kind::kEvery);
  CHECK(every.when.period == 10);
  CHECK(every.when.from == 9);
  // Waited for in the iterations after; the last one's after the loop.
  CHECK(every.lost_ns == Approx(20 * 2 * 5000));
  CHECK(every.gain_ns == Approx(20 * 5000));
  const RootCause growing = shape([](std::size_t rank, std::size_t i) {
    return 1000 + (rank == 1 ? static_cast<std::int64_t>(10 * i) : 0);
  });
  CHECK(growing.when.kind == TimeShape::Kind::kGrowing);
  CHECK(growing.when.after == Approx(1990).margin(20));
}

namespace {

// Ranks that meet at the ends of stretches of time: of a loop, of iterations that all have 100, or outside of them.
std::vector<RunSummary> stretches(std::size_t number, const std::vector<bool>& is_loop,
                                  const Work& work) {
  std::vector<RunSummary> out = ranks(number, 1, work);
  for (std::size_t rank = 0; rank < number; ++rank) {
    RunSummary& run = out[rank];
    IterationRows& iterations = run.locations[0].iterations;
    iterations.rows.clear();
    run.loops.clear();
    run.locations[0].sums[0] = {};
    run.locations[0].sums[1] = {};
    run.locations[0].flow = {};
    std::uint64_t at = 0;
    for (std::size_t stretch = 0; stretch < is_loop.size(); ++stretch) {
      const auto loop = static_cast<std::uint32_t>(run.loops.size());
      if (is_loop[stretch])
        run.loops.push_back({loop + 1, "loop " + std::to_string(loop + 1) +
                                           " @ l.c:" + std::to_string(loop + 1)});
      std::int64_t most = 0;
      for (std::size_t other = 0; other < number; ++other)
        most = std::max(most, work(other, stretch));
      const std::size_t rows = is_loop[stretch] ? 20 : 1;
      for (std::size_t i = 0; i < rows; ++i) {
        auto& row = iterations.rows.emplace_back();
        row = {.begin = at, .counters = {}};
        if (is_loop[stretch]) {
          row.loop = loop;
          row.first = i;
          row.count = 1;
        }
        row.times[IterationRows::kOutside] = work(rank, stretch);
        row.times[kCollective] = most - work(rank, stretch) + kCall;
        at += static_cast<std::uint64_t>(most + kCall);
        ++run.locations[0].sums[1].visits;
        run.locations[0].sums[1].time += static_cast<std::uint64_t>(row.times[kCollective]);
      }
    }
    run.end = iterations.end = at;
  }
  return out;
}

}  // namespace

TEST_CASE("Root causes: outside of loops, each stretch of time has its causes") {
  const Work work = [](std::size_t rank, std::size_t stretch) -> std::int64_t {
    if (stretch % 2 == 1) return 10000;  // loops
    return stretch == 0 && rank == 0 ? 400000 : stretch == 2 && rank == 1 ? 300000 : 100000;
  };
  const auto runs = stretches(4, {false, true, false, true, false}, work);
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 2);
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{0});
  CHECK(found.causes[0].lost_ns == Approx(3 * 300000));
  CHECK(found.causes[0].gain_ns == Approx(300000));
  CHECK(found.causes[0].text.find(
            "longer than the other ranks, between 0 ns and 400 us of the run.") !=
        std::string::npos);
  CHECK(found.causes[1].ranks == std::vector<std::uint32_t>{1});
  CHECK(found.causes[1].lost_ns == Approx(3 * 200000));
  CHECK(found.causes[1].gain_ns == Approx(200000));
  // Likewise where there are two ranks, which have as much in all.
  const auto equal = stretches(2, {false, true, false},
                               [](std::size_t rank, std::size_t stretch) -> std::int64_t {
                                 if (stretch == 1) return 10000;
                                 return rank == stretch / 2 ? 400000 : 100000;
                               });
  const Conclusions both = conclude(equal);
  REQUIRE(both.causes.size() == 2);
  for (const RootCause& cause : both.causes) {
    CHECK(cause.what == "Uneven work between ranks");
    CHECK(cause.lost_ns == Approx(300000));
  }
}

TEST_CASE("Root causes: outside of loops, from one meeting of all ranks to the next") {
  // Eight steps, without a loop: rank 0 is late in the second one, rank 1 in the sixth. Rank 1 has rows of every second meeting only.
  std::vector<RunSummary> runs = stretches(
      2, std::vector<bool>(8), [](std::size_t rank, std::size_t step) -> std::int64_t {
        return (rank == 0 && step == 1) || (rank == 1 && step == 5) ? 400000 : 100000;
      });
  for (RunSummary& run : runs) {
    auto& rows = run.locations[0].iterations.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].first = i;
  }
  auto& merged = runs[1].locations[0].iterations.rows;
  for (std::size_t i = 6; i > 0; i -= 2) {
    for (std::size_t cls = 0; cls < merged[i].times.size(); ++cls)
      merged[i].times[cls] += merged[i + 1].times[cls];
    merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const RootCause& cause =
        *std::ranges::find(found.causes, std::vector{rank}, &RootCause::ranks);
    CHECK(cause.lost_ns == Approx(300000));
    CHECK(cause.gain_ns == Approx(300000));
    CHECK(cause.from_ns == Approx(rank == 0 ? 100020 : 700080));
    CHECK(cause.until_ns == Approx(rank == 0 ? 500040 : 1200120));
    CHECK(cause.where.empty());
  }
  // As much at each place in all: the longest time at one, which is no longer than that stretch.
  const auto where = [&](std::uint64_t longest, std::uint64_t elsewhere) {
    std::string places;
    for (RunSummary& run : runs) {
      FlowGraph& flow = run.locations[0].flow;
      flow.nodes = {
          {.kind = FlowGraph::Kind::kStart},
          {.kind = FlowGraph::Kind::kCall, .name = "MPI_Allreduce", .site = "p.c:9"},
          {.kind = FlowGraph::Kind::kCall, .name = "MPI_Bcast", .site = "p.c:8"}};
      flow.edges = {
          {.from = 1, .to = 1, .count = 5, .gap = 800000, .gap_greatest = longest},
          {.from = 1, .to = 2, .count = 2, .gap = 600000, .gap_greatest = elsewhere}};
    }
    for (const RootCause& cause : conclude(runs).causes) places += cause.where + ";";
    return places;
  };
  const std::string after = "between one MPI_Allreduce (p.c:9) and the next;";
  CHECK(where(400000, 100000) == after + after);
  CHECK(where(400000, 600000) == after + after);
  CHECK(where(400000, 300000) == ";;");
  CHECK(where(200000, 100000) == ";;");
  // Nothing is known of when: as much in all.
  for (RunSummary& run : runs)
    for (auto& row : run.locations[0].iterations.rows) row.first = 0;
  for (const RootCause& cause : conclude(runs).causes)
    CHECK(cause.account != Account::kUnevenRanks);
}

TEST_CASE("Root causes: the same rank in several stretches outside of loops is one cause") {
  const auto runs = stretches(3, {false, true, false, true, false, true, false},
                              [](std::size_t rank, std::size_t stretch) -> std::int64_t {
                                return stretch % 2 == 0 && rank == 2 ? 40000 : 10000;
                              });
  const Conclusions found = conclude(runs);
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{2});
  CHECK(found.causes[0].lost_ns == Approx(2 * 4 * 30000));
  CHECK(found.causes[0].gain_ns == Approx(4 * 30000));
  CHECK(found.causes[0].when.after == Approx(4 * 30000));
  // Of many short ones, too.
  std::vector<bool> many;
  for (int i = 0; i < 240; ++i) many.push_back(i % 2 == 1);
  const Conclusions short_ones = conclude(
      stretches(4, many, [](std::size_t rank, std::size_t stretch) -> std::int64_t {
        return stretch % 2 == 1 ? 1000 : rank == stretch / 2 % 2 ? 40000 : 10000;
      }));
  REQUIRE(short_ones.causes.size() == 1);
  CHECK(short_ones.causes[0].ranks == std::vector<std::uint32_t>{0, 1});
  CHECK(short_ones.causes[0].lost_ns == Approx(3 * 120 * 30000));
}

TEST_CASE("Root causes: several ranks with more work; another one each time") {
  const auto two = ranks(6, 100, [](std::size_t rank, std::size_t) {
    return rank == 1 || rank == 4 ? 2000 : 1000;
  });
  Conclusions found = conclude(two);
  check_sums(found, two);
  REQUIRE_FALSE(found.causes.empty());
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{1, 4});
  CHECK(found.causes[0].gain_ns == Approx(100 * 1000));
  const auto turns = ranks(
      6, 120, [](std::size_t rank, std::size_t i) { return rank == i % 6 ? 2000 : 1000; });
  found = conclude(turns);
  check_sums(found, turns);
  REQUIRE_FALSE(found.causes.empty());
  CHECK(found.causes[0].account == Account::kUnevenRanks);
  CHECK(found.causes[0].ranks.empty());
  CHECK(found.causes[0].what == "Work varies between ranks");
  CHECK(found.causes[0].gain_ns == Approx(120 * (2000 - 7000.0 / 6)));
}

TEST_CASE(
    "Root causes: ranks with as much more work as each other, in different iterations") {
  // Rank 1 computes from iteration 40 on, rank 0 writes a file in every 20th; both cost the same.
  const auto runs = ranks(2, 118, [](std::size_t rank, std::size_t i) {
    const auto noise = static_cast<std::int64_t>((7 * i + 3 * rank) % 5);
    if (rank == 0) return 7000 + noise + (i % 20 == 19 ? 60000 : 0);
    return 7000 + noise + (i >= 40 ? 4200 : 0);
  });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  for (const RootCause& each : found.causes) UNSCOPED_INFO(each.text);
  REQUIRE(found.causes.size() == 2);
  const bool file_first = found.causes[0].when.kind == TimeShape::Kind::kEvery;
  const RootCause& file = found.causes[file_first ? 0 : 1];
  const RootCause& since = found.causes[file_first ? 1 : 0];
  CHECK(file.what == "Uneven work between ranks");
  CHECK(file.ranks == std::vector<std::uint32_t>{0});
  CHECK(file.when.kind == TimeShape::Kind::kEvery);
  CHECK(file.when.period == 20);
  CHECK(file.when.from == 19);
  CHECK(file.when.after == Approx((2 * 60000 + 3 * (60000 - 4200)) / 5.0).margin(10));
  CHECK(file.gain_ns == Approx(2 * 60000 + 3 * (60000 - 4200)).margin(2000));
  CHECK(since.ranks == std::vector<std::uint32_t>{1});
  CHECK(since.when.kind == TimeShape::Kind::kSince);
  CHECK(since.when.from == 40);
  CHECK(since.when.after == Approx(4200).margin(300));
  CHECK(since.others_ns == Approx(7000).margin(10));
  CHECK(since.gain_ns == Approx(75 * 4200).margin(1000));
}

// Others differ, too, by what a busy machine takes from them: that makes nobody wait while the one with more works.
TEST_CASE("Root causes: a rank with more work among many that differ - all that it costs") {
  const auto runs = ranks(8, 100, [](std::size_t rank, std::size_t i) {
    return 2000 +
           (rank == 1 ? 3000 : static_cast<std::int64_t>((5 * rank + 3 * i) % 7) * 50);
  });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{1});
  double waited = 0;
  for (std::size_t i = 0; i < 100; ++i)
    for (const std::size_t rank : {0, 2, 3, 4, 5, 6, 7})
      waited += 3000 - static_cast<double>((5 * rank + 3 * i) % 7) * 50;
  CHECK(found.causes[0].lost_ns == Approx(waited).epsilon(0.05));
}

// Of 1000 ns, on two threads: `lost_ns` of both.
RootCause waits_in(const char* call, double lost_ns) {
  RootCause cause;
  cause.account = Account::kCommunication;
  cause.waits = RootCause::Waits::kForAll;
  cause.where = call;
  cause.lost_ns = lost_ns;
  cause.share = lost_ns / 2000;
  cause.of_ns = 1000;
  cause.gain_ns = 1000;
  cause.hint = "Remove it.";
  cause.text = fmt::format("{}. Lost: {:.0f} ns, {:.0f} % of the time of all threads.",
                           call, lost_ns, 100 * cause.share);
  return cause;
}

TEST_CASE("Root causes: the gain of a replay - what is saved, and where waits go") {
  const auto said = [&](double gain, const char* to, double moved) {
    Conclusions conclusions;
    conclusions.causes = {waits_in("MPI_Barrier @p.c:5", 800)};
    CHECK(set_replayed_gains(conclusions, {0},
                             {{.gain_ns = gain,
                               .moved_to = to,
                               .moved = moved,
                               .saved = std::max(0.0, 1 - moved),
                               .gone = {1}}}));
    return conclusions.causes.at(0);
  };
  const RootCause most = said(300, "MPI_Recv @p.c:9", 0.1);
  CHECK(most.gain_ns == 300);
  CHECK(most.gain ==
        "Without these waits, by a replay of the events, the run would take about 700 ns "
        "instead of 1 us (30 % less).");
  CHECK(most.hint == "Remove it.");
  CHECK(said(900, "", 0).gain_ns == 400);
  const RootCause half = said(200, "MPI_Recv @p.c:9", 0.5);
  CHECK(half.gain.ends_with("(20 % less). 50 % of them are in MPI_Recv @p.c:9 then."));
  const RootCause none = said(0, "MPI_Recv @p.c:9", 1.5);
  CHECK(none.gain_ns == 0);
  CHECK(none.gain ==
        "Without these waits, by a replay of the events, the run is not shorter. 100 % of "
        "them are in MPI_Recv @p.c:9 then.");
  CHECK(none.hint ==
        "What makes ranks late before MPI_Recv @p.c:9 is to be changed: without this call "
        "they wait there.");
  // The time of a replay of few iterations may say something: its waits have all come back.
  CHECK(said(80, "MPI_Recv @p.c:9", 1).gain_ns == 0);
}

TEST_CASE("Root causes: waits that are gone with a barrier's are the barrier's") {
  const auto found = [](double gone_with_barrier, double gone_with_other) {
    Conclusions conclusions;
    conclusions.causes = {waits_in("MPI_Allreduce @p.c:9", 620),
                          waits_in("MPI_Barrier @p.c:5", 600)};
    // As it says of all time there.
    conclusions.causes[1].evidence = {{"MPI_Allreduce @p.c:9", 700}};
    const double other = gone_with_other * 600, barrier = gone_with_barrier * 620;
    CHECK(set_replayed_gains(conclusions, {0, 1},
                             {{.gain_ns = 310 + other / 2,
                               .moved_to = {},
                               .saved = 1 + other / 620,
                               .gone = {1, gone_with_other}},
                              {.gain_ns = 300 + barrier / 2,
                               .moved_to = {},
                               .saved = 1 + barrier / 600,
                               .gone = {gone_with_barrier, 1}}}));
    return conclusions.causes;
  };
  // Either does: the barrier carries no data.
  const auto either = found(1, 1);
  REQUIRE(either.size() == 1);
  CHECK(either[0].where == "MPI_Barrier @p.c:5");
  CHECK(either[0].lost_ns == Approx(1220));
  CHECK(either[0].share == Approx(0.61));
  CHECK(either[0].gain_ns == Approx(610));
  REQUIRE(either[0].evidence.size() == 1);
  CHECK(evidence_text(either[0]) ==
        "Because of it, ranks also wait in MPI_Allreduce @p.c:9 (620 ns).");
  const auto only_other = found(0, 1);
  REQUIRE(only_other.size() == 1);
  CHECK(only_other[0].where == "MPI_Allreduce @p.c:9");
  CHECK(only_other[0].gain_ns == Approx(610));
  const auto half = found(0.5, 0);
  REQUIRE(half.size() == 2);
  CHECK(half[0].where == "MPI_Barrier @p.c:5");
  CHECK(half[0].lost_ns == Approx(910));
  CHECK(half[0].gain_ns == Approx(455));
  CHECK(half[1].lost_ns == Approx(310));
  CHECK(half[1].gain_ns == Approx(155));
  CHECK(half[1].text ==
        "MPI_Allreduce @p.c:9. Lost: 310 ns, 16 % of the time of all threads, without what "
        "is because of MPI_Barrier @p.c:5.");
  CHECK(found(0.9, 0).size() == 1);
  const auto each = found(0, 0);
  REQUIRE(each.size() == 2);
  CHECK(each[0].where == "MPI_Allreduce @p.c:9");
  CHECK(each[0].gain_ns == Approx(310));
  CHECK(each[0].evidence.empty());
  // Without a replay of each nothing is changed.
  Conclusions conclusions;
  conclusions.causes = {waits_in("MPI_Barrier @p.c:5", 800)};
  CHECK_FALSE(set_replayed_gains(conclusions, {0}, {}));
  CHECK(conclusions.causes[0].gain_ns == 1000);
}

// Each is late in turn, with no order in it: without the operation in each iteration that evens out.
TEST_CASE("Root causes: work that varies - what it costs that ranks meet each time") {
  const auto found = [](const char* call, double part) {
    auto runs = ranks(2, 200, [](std::size_t rank, std::size_t i) {
      std::size_t drawn = i * 31 + rank * 7919 + 17;
      for (const unsigned shift : {13U, 17U, 5U}) drawn ^= drawn << shift & 0xffffffff;
      return 2000 + static_cast<std::int64_t>(drawn % 3 * 4000);
    });
    for (RunSummary& run : runs) {
      run.regions.edit()[1].name = call;
      run.locations[0].flow.nodes[1].name = call;
    }
    Conclusions out = conclude(runs);
    check_sums(out, runs);
    REQUIRE(out.causes.size() == 1);
    CHECK(out.causes[0].what == "Work varies between ranks");
    CHECK(out.causes[0].call() == call + std::string(" @p.c:9"));
    const double gain = part * out.causes[0].gain_ns;
    CHECK(set_replayed_gains(
        out, {0}, {{.gain_ns = gain, .moved_to = {}, .saved = part, .gone = {1}}}));
    return out.causes[0];
  };
  const RootCause barrier = found("MPI_Barrier", 0.9);
  INFO(barrier.gain << " | " << barrier.hint);
  CHECK(barrier.gain.find(
            " less). Without the waits in MPI_Barrier @p.c:9, by a replay of the "
            "events, the loop would take about ") != std::string::npos);
  CHECK(barrier.hint.ends_with("remove the barrier, unless the results need it."));
  CHECK(
      evidence_text(barrier).starts_with("Over the whole run, others are in MPI_Barrier"));
  CHECK(
      found("MPI_Allreduce", 0.9).hint.ends_with("use fewer or non-blocking operations."));
  // The waits come back elsewhere.
  const RootCause none = found("MPI_Barrier", 0.2);
  CHECK(none.gain.find("replay") == std::string::npos);
  CHECK(none.hint == "The work varies over time, or other programs run on the same cores.");
}

// Rank 1 has 5 us more, at two places; rank 0 does in a way of its own what both do.
TEST_CASE("Root causes: more work at several places - which part is where") {
  using Kind = FlowGraph::Kind;
  const auto found = [](std::uint64_t first, std::uint64_t second) {
    constexpr std::uint64_t kIterations = 100;
    auto runs = ranks(2, kIterations, [](std::size_t rank, std::size_t) {
      return rank == 1 ? 6000 : 1000;
    });
    for (RunSummary& run : runs) {
      FlowGraph& flow = run.locations[0].flow;
      flow.nodes.resize(3);
      flow.nodes[2] = {.kind = Kind::kCall,
                       .name = run.rank == 1 ? "MPI_Recv" : "MPI_Send",
                       .site = "src/p.c:11"};
      const bool more = run.rank == 1;
      flow.edges = {{.from = 1,
                     .to = 2,
                     .count = kIterations,
                     .gap = kIterations * (more ? 1000 + first : 1000)},
                    {.from = 2,
                     .to = 1,
                     .count = kIterations,
                     .gap = kIterations * (more ? second : 0)}};
    }
    const Conclusions out = conclude(runs);
    REQUIRE(out.causes.size() == 1);
    return out.causes[0];
  };
  const RootCause both = found(3000, 2000);
  CHECK(both.where == "between MPI_Allreduce (p.c:9) and MPI_Recv (p.c:11)");
  REQUIRE(both.places.size() == 2);
  CHECK(both.places[0].share == Approx(0.6));
  CHECK(both.places[1].share == Approx(0.4));
  CHECK_THAT(both.text,
             Catch::Contains(
                 ": 60 % of it between MPI_Allreduce (p.c:9) and MPI_Recv (p.c:11), "
                 "40 % between MPI_Recv (p.c:11) and MPI_Allreduce (p.c:9). Waiting "));
  const RootCause one = found(4500, 500);
  CHECK(one.places.empty());
  CHECK_THAT(
      one.text,
      Catch::Contains(", between MPI_Allreduce (p.c:9) and MPI_Recv (p.c:11). Waiting "));
}

TEST_CASE("Root causes: what is another cause's, is said there") {
  Conclusions conclusions;
  conclusions.causes = {waits_in("MPI_Barrier @p.c:5", 800),
                        waits_in("MPI_Allreduce @p.c:9", 200)};
  conclusions.causes[1].account = Account::kUnevenRanks;
  conclusions.ledger[static_cast<std::size_t>(Account::kCommunication)] = 1000;
  charge_to(conclusions, 1, 0, 0.75);
  CHECK(of(conclusions, Account::kCommunication) == Approx(400));
  CHECK(of(conclusions, Account::kUnevenRanks) == Approx(600));
  CHECK(conclusions.causes[0].text ==
        "MPI_Barrier @p.c:5. Lost: 200 ns, 10 % of the time of all threads.");
  CHECK(conclusions.causes[1].text ==
        "MPI_Allreduce @p.c:9. Lost: 800 ns, 40 % of the time of all threads.");
  CHECK(conclusions.causes[1].share == Approx(0.4));
  charge_to(conclusions, 1, 0, 1);
  sort_causes(conclusions);
  REQUIRE(conclusions.causes.size() == 1);
  CHECK(conclusions.causes[0].lost_ns == Approx(1000));
}

TEST_CASE("Root causes: a killed run - where its ranks were, and since when") {
  std::vector<RunSummary> runs =
      ranks(4, 10, [](std::size_t, std::size_t) { return 1000; });
  CHECK(conclude(runs).killed.empty());
  for (RunSummary& run : runs) {
    run.complete = false;
    run.locations[0].killed_in = run.rank == 2 ? 0 : 1;
    run.locations[0].killed_since = run.begin + 4000 + run.rank;
  }
  runs[3].locations[0].killed_in = RunSummary::kNone;
  const Conclusions found = conclude(runs);
  REQUIRE(found.last_seen.size() == 3);
  CHECK(found.last_seen[0].where == "MPI_Allreduce @p.c:9");
  CHECK(found.last_seen[0].ranks == std::vector<std::uint32_t>{0, 1});
  CHECK(found.last_seen[0].since_ns == 4000);
  CHECK_THAT(found.killed,
             Catch::Contains("killed: ranks 0-1 in MPI_Allreduce @p.c:9, from 4 us on"));
  CHECK_THAT(found.killed, Catch::Contains("rank 2 in MPI_Init"));
  CHECK_THAT(found.killed, Catch::Contains("rank 3 in no region"));
  CHECK(found.exited.empty());
  // One that has ended was not where the run was killed.
  for (RunSummary& run : runs) run.complete = run.rank != 2;
  const Conclusions one = conclude(runs);
  REQUIRE(one.last_seen.size() == 1);
  CHECK(one.last_seen[0].ranks == std::vector<std::uint32_t>{2});
  CHECK(one.exited == "Ranks 0-1,3 ended by exit() without MPI_Finalize");
  // By exit(), while an event was recorded.
  for (RunSummary& run : runs) {
    run.exited = run.rank == 0;
    run.complete = run.rank > 1;
  }
  const Conclusions both = conclude(runs);
  CHECK_THAT(both.killed, Catch::StartsWith("The run was killed: rank 1 in MPI_Allreduce"));
  CHECK_THAT(both.exited,
             Catch::StartsWith("The run ended by exit() while an event was "
                               "recorded: rank 0 in MPI_Allreduce @p.c:9, from 4 us on"));
  CHECK_THAT(both.exited,
             Catch::EndsWith("Ranks 2-3 ended by exit() without MPI_Finalize"));
  runs[1].complete = true;
  CHECK(conclude(runs).killed.empty());
  for (RunSummary& run : runs) run.exited = false;
  runs[0].complete = true;
  CHECK(conclude(runs).exited.empty());
}

TEST_CASE(
    "Root causes: a rank that writes more - one finding; where all write, that of the files") {
  constexpr std::int64_t kAll = 900, kIterations = 100;
  // `opens`: what of kAll is to open the file.
  const auto with_files = [](std::uint32_t first, std::uint32_t last,
                             std::int64_t opens = 0) {
    auto runs = ranks(2, kIterations, [](std::size_t rank, std::size_t) {
      return rank == 1 ? 2000 : 1000;
    });
    for (std::uint32_t rank = first; rank <= last; ++rank) {
      RunSummary& run = runs[rank];
      RunSummary::Location& location = run.locations[0];
      const auto add = [&](const char* name, std::int64_t each) {
        run.nodes.edit().emplace_back().region =
            static_cast<std::uint32_t>(run.regions.size());
        run.regions.push_back(
            region(name, OTF2_REGION_ROLE_FILE_IO, OTF2_PARADIGM_UNKNOWN));
        location.sums.emplace_back();
        location.sums.back().visits = kIterations;
        location.sums.back().time = static_cast<std::uint64_t>(kIterations * each);
      };
      add("write a.dat", kAll - opens);
      if (opens != 0) add("open a.dat", opens);
      for (auto& row : location.iterations.rows) {
        if (row.loop != 0) continue;
        row.times[static_cast<std::size_t>(TimeClass::kFileIo)] = kAll;
        row.times[IterationRows::kOutside] -= kAll;
      }
    }
    const Conclusions conclusions = conclude(runs);
    check_sums(conclusions, runs);
    return conclusions;
  };
  const Conclusions one = with_files(1, 1);
  REQUIRE(one.causes.size() == 1);
  CHECK(one.causes[0].account == Account::kUnevenRanks);
  CHECK(one.causes[0].where == "in write a.dat @p.c:5");
  CHECK(of(one, Account::kFileIo) == Approx(kIterations * kAll));
  // With a call that hardly counts it is the same place.
  CHECK(with_files(1, 1, 20).causes.at(0).where == "in write a.dat @p.c:5");
  CHECK(with_files(1, 1, 300).causes.at(0).where == "in write and open of a.dat");
  CHECK(has_cause(with_files(0, 1), Account::kFileIo));
  CHECK(has_cause(with_files(0, 0), Account::kFileIo));
}

TEST_CASE("Root causes: nothing is uneven - nothing is found") {
  const auto runs = ranks(4, 200, [](std::size_t, std::size_t i) {
    return 4000 + static_cast<std::int64_t>(i % 7);
  });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  CHECK(found.causes.empty());
  CHECK(of(found, Account::kUnevenRanks) == 0);
}

TEST_CASE(
    "Root causes: threads without work - while MPI waits, it is of that; else serial, once") {
  const auto runs = ranks(
      2, 100, [](std::size_t rank, std::size_t) { return rank == 1 ? 1500 : 1000; }, 2);
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  CHECK(of(found, Account::kStart) == 2 * 2 * kInit);
  // What rank 1 has more leaves its other thread without work, too: of the same cause.
  CHECK(of(found, Account::kSerial) == Approx(2 * 100 * 1000));
  REQUIRE(found.causes.size() >= 2);
  CHECK(found.causes[0].account == Account::kSerial);
  CHECK(found.causes[0].lost_ns == Approx(2 * 100 * 1000));
  CHECK(found.causes[0].gain_ns == Approx(100 * 1000 / 2));
  CHECK(found.causes[1].account == Account::kUnevenRanks);
  CHECK(found.causes[1].ranks == std::vector<std::uint32_t>{1});
  CHECK(found.causes[1].lost_ns == Approx(100 * 2 * 500 + 100 * 500));
  CHECK_THAT(found.causes[1].text,
             Catch::Contains("Waiting for it costs 150 us with idle threads, "));
}

namespace {

using Waits = std::array<std::int64_t, 4>;

// Of four threads the last one has twice the work of the others in a parallel region, 100 times. `waits`: for it, each time.
RunSummary uneven_threads(const Waits& waits = {1000, 1000, 1000, 0}) {
  RunSummary run;
  run.rank = RunSummary::kNone;
  run.regions = {
      region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP),
      region("!$omp ibarrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER, OTF2_PARADIGM_OPENMP)};
  run.nodes.edit().resize(3);
  run.nodes.edit()[0] = {.region = 0, .kind = RunSummary::Kind::kFork};
  run.nodes.edit()[1] = {.parent = 0, .region = 0};
  run.nodes.edit()[2] = {.parent = 1, .region = 1};
  run.loops = {{1, "loop 1 @ main p.c:7-12"}};
  run.end = 100 * 2000;
  run.locations.resize(4);
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    RunSummary::Location& location = run.locations[thread];
    location.number = thread;
    location.primary = thread == 0;
    location.sums.resize(3);
    const std::int64_t wait = waits[thread];
    for (int node = thread == 0 ? 0 : 1; node < 2; ++node) {
      location.sums[node].visits = 100;
      location.sums[node].time = run.end;
    }
    location.sums[2].visits = 100;
    location.sums[2].time = static_cast<std::uint64_t>(100 * wait);
    for (std::uint64_t i = 0; i < 100; ++i) {
      auto& row = location.iterations.rows.emplace_back();
      row = {.begin = 2000 * i, .loop = 0, .first = i, .count = 1, .counters = {}};
      row.times[kImbalance] = wait;
      row.times[0] = 2000 - wait;
    }
    location.iterations.end = run.end;
  }
  return run;
}

}  // namespace

TEST_CASE("Root causes: a thread with more work, in a parallel region") {
  RunSummary run = uneven_threads();
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  CHECK(of(found, Account::kUnevenThreads) == 3 * 100 * 1000);
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  CHECK(cause.account == Account::kUnevenThreads);
  CHECK(cause.thread == 3);
  CHECK(cause.lost_ns == Approx(3 * 100 * 1000));
  CHECK(cause.gain_ns == Approx(100 * 1000));
  CHECK(cause.shared_gain_ns == Approx(100 * 750));
  CHECK_THAT(cause.gain, Catch::Contains("; if all threads had as much work, about "));
  CHECK(cause.when.kind == TimeShape::Kind::kAll);
  CHECK(cause.loop == "loop 1 @ main p.c:7-12");
  // A run without MPI has no start and end of it.
  for (auto& location : run.locations) location.iterations = {};
  const Conclusions whole = conclude({run});
  REQUIRE_FALSE(whole.causes.empty());
  for (const RootCause& each : whole.causes)
    CHECK(each.gain.find(", the run would take about ") != std::string::npos);
}

TEST_CASE("Root causes: threads with more and more work - who is next is waited for then") {
  const RunSummary run = uneven_threads({1500, 1000, 500, 0});
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].thread == 3);
  CHECK(found.causes[0].lost_ns == Approx(3000 * 100));
  CHECK(found.causes[0].gain_ns == Approx(500 * 100));
  CHECK(found.causes[0].shared_gain_ns == Approx(750 * 100));
}

TEST_CASE("Root causes: a thread with less work - none of the others has more") {
  const RunSummary run = uneven_threads({0, 1000, 0, 0});
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].thread == RootCause::kNone);
  CHECK_THAT(
      found.causes[0].text,
      Catch::Contains("thread 1 has less work than the others: 100 us instead of 200 us"));
}

TEST_CASE("Root causes: regions of fewer threads than there are - no serial part") {
  RunSummary run = uneven_threads({0, 0, 0, 0});
  for (const std::uint32_t thread : {2U, 3U}) {
    RunSummary::Location& location = run.locations[thread];
    for (auto& sums : location.sums) sums.time = 0;
    location.iterations.rows = {{.begin = 0, .counters = {}}};
    location.iterations.rows[0].times[IterationRows::kOutside] =
        static_cast<std::int64_t>(run.end);
  }
  run.locations[0].sums[0].time = run.end;
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  INFO(cause.text);
  CHECK(cause.account == Account::kSerial);
  CHECK(cause.what == "Threads without work");
  CHECK(cause.lost_ns == Approx(2 * 100 * 2000));
  CHECK(cause.when.kind == TimeShape::Kind::kAll);
}

namespace {

constexpr auto kLimited = static_cast<std::size_t>(TimeClass::kLimitedParallelism);
constexpr auto kSynchronization = static_cast<std::size_t>(TimeClass::kSynchronization);

// What a thread does in a parallel region, 100 times, 2000 ns each.
struct InRegion {
  std::int64_t block = 0;  // in the block of `single`
  std::int64_t tasks = 0;  // in tasks
  std::uint64_t number_of_tasks = 0;
  std::int64_t wait = 0;  // after that; the rest is work of all threads
};
enum class Wait { kAfterSingle, kAtEnd, kTaskwait, kBarrierAfterMaster };

RunSummary with_blocks(const std::vector<InRegion>& threads, Wait wait,
                       bool tasks_in_block = false) {
  RunSummary run;
  run.rank = RunSummary::kNone;
  const bool master = wait == Wait::kBarrierAfterMaster;
  const auto openmp = [](const char* name, std::uint32_t role) {
    return region(name, role, OTF2_PARADIGM_OPENMP);
  };
  run.regions = {
      openmp("!$omp parallel", OTF2_REGION_ROLE_PARALLEL),
      openmp("!$omp single", OTF2_REGION_ROLE_SINGLE),
      master ? openmp("!$omp masked", OTF2_REGION_ROLE_MASTER)
             : openmp("!$omp single sblock", OTF2_REGION_ROLE_SINGLE_SBLOCK),
      wait == Wait::kTaskwait ? openmp("!$omp taskwait", OTF2_REGION_ROLE_BARRIER)
      : master                ? openmp("!$omp barrier", OTF2_REGION_ROLE_BARRIER)
               : openmp("!$omp implicit barrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER),
      openmp("!$omp task", OTF2_REGION_ROLE_TASK)};
  auto& nodes = run.nodes.edit();
  nodes.resize(6);
  nodes[0] = {.region = 0, .kind = RunSummary::Kind::kFork};
  nodes[1] = {.parent = 0, .region = 0};
  nodes[2] = {.parent = 1, .region = 1};
  nodes[3] = {.parent = master ? 1U : 2U, .region = 2};
  nodes[4] = {.parent = 1, .region = 3};
  nodes[5] = {.parent = tasks_in_block ? 3U : 4U, .region = 4};
  run.loops = {{1, "loop 1 @ main p.c:7-12"}};
  run.end = 100 * 2000;
  run.locations.resize(threads.size());
  for (std::uint32_t thread = 0; thread < threads.size(); ++thread) {
    const InRegion& does = threads[thread];
    RunSummary::Location& location = run.locations[thread];
    location.number = thread;
    location.primary = thread == 0;
    location.sums.resize(6);
    const auto set = [&](std::size_t node, std::int64_t each, std::uint64_t visits = 100) {
      location.sums[node].visits = visits;
      location.sums[node].time = static_cast<std::uint64_t>(100 * each);
    };
    if (thread == 0) set(0, 2000);
    set(1, 2000);
    const std::int64_t in_block = does.block + (tasks_in_block ? does.tasks : 0);
    if (!master) set(2, in_block);
    if (in_block > 0) set(3, in_block);
    set(4, does.wait + (tasks_in_block ? 0 : does.tasks));
    if (does.number_of_tasks > 0) set(5, does.tasks, 100 * does.number_of_tasks);
    if (wait == Wait::kAfterSingle) location.edges = {{.from = 2, .to = 4, .count = 100}};
    if (master) location.edges = {{.from = thread == 0 ? 3U : 1U, .to = 4, .count = 100}};
    for (std::uint64_t i = 0; i < 100; ++i) {
      auto& row = location.iterations.rows.emplace_back();
      row = {.begin = 2000 * i, .loop = 0, .first = i, .count = 1, .counters = {}};
      row.times[wait == Wait::kAfterSingle ? kLimited
                : wait == Wait::kAtEnd     ? kImbalance
                                           : kSynchronization] = does.wait;
      row.times[0] = 2000 - does.wait;
    }
    location.iterations.end = run.end;
  }
  return run;
}

// No gain leaves less than what computation takes on all threads.
void check_gains(const Conclusions& conclusions, double computation) {
  for (const RootCause& cause : conclusions.causes) {
    INFO(cause.text + " " + cause.gain);
    CHECK(cause.of_ns - cause.gain_ns >= computation * (1 - 1e-9));
  }
}

}  // namespace

TEST_CASE("Root causes: one thread works in a block, the others wait for it") {
  const Wait wait = GENERATE(Wait::kAfterSingle, Wait::kBarrierAfterMaster);
  const RunSummary run =
      with_blocks({{.block = 1500}, {.wait = 1500}, {.wait = 1500}, {.wait = 1500}}, wait);
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  check_gains(found, 100 * (500 + 1500 / 4.0));
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  INFO(cause.text);
  CHECK(cause.account ==
        (wait == Wait::kAfterSingle ? Account::kSerial : Account::kSynchronization));
  CHECK(cause.what == "Serial part of a parallel region");
  CHECK_THAT(cause.text, Catch::StartsWith("One thread works in ") &&
                             Catch::Contains(wait == Wait::kAfterSingle
                                                 ? "in single @p.c:5, in all 100 iterations"
                                                 : "in masked @p.c:5, and the others"));
  CHECK(cause.lost_ns == Approx(3 * 100 * 1500));
  CHECK(cause.gain_ns == Approx(100 * 1500 * 3 / 4.0));
  if (wait != Wait::kAfterSingle) return;
  // What is lost before the loop is none of its gain, though there is something else to gain in it.
  RunSummary before = run;
  for (RunSummary::Location& location : before.locations)
    for (auto& row : location.iterations.rows) {
      row.times[0] -= 400;
      row.times[kImbalance] += 400;
      if (row.first < 30)
        row = {.begin = row.begin, .times = row.times, .counters = {}};
      else
        row.first -= 30;
    }
  const Conclusions of_loop = conclude({before});
  check_sums(of_loop, {before});
  REQUIRE(of_loop.causes.size() == 1);
  CHECK(of_loop.causes[0].of_ns == Approx(70 * 2000));
  CHECK(of_loop.causes[0].gain_ns == Approx(70 * 1500 * 3 / 4.0));
}

TEST_CASE(
    "Root causes: threads that come late to a block of little work - not the block's") {
  const RunSummary run = with_blocks(
      {{.block = 10}, {.wait = 1000}, {.wait = 1000}, {.wait = 1000}}, Wait::kAfterSingle);
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].account == Account::kUnevenThreads);
  CHECK(found.causes[0].thread == 0);
  CHECK(of(found, Account::kSerial) == Approx(100 * 30).epsilon(0.01));
}

TEST_CASE(
    "Root causes: threads wait for tasks of others - few tasks, one thread's, small ones") {
  const auto found_in = [](const std::vector<InRegion>& threads, Wait wait,
                           bool in_block = false) {
    const RunSummary run = with_blocks(threads, wait, in_block);
    const Conclusions found = conclude({run});
    check_sums(found, {run});
    REQUIRE_FALSE(found.causes.empty());
    INFO(found.causes[0].what + ": " + found.causes[0].text);
    CHECK(found.causes.size() == 1);
    return found.causes[0];
  };
  const Wait wait = GENERATE(Wait::kAfterSingle, Wait::kAtEnd);
  // Seven tasks for four threads: one has one only.
  const RootCause few = found_in({{.tasks = 2000, .number_of_tasks = 2},
                                  {.tasks = 2000, .number_of_tasks = 2},
                                  {.tasks = 2000, .number_of_tasks = 2},
                                  {.tasks = 1000, .number_of_tasks = 1, .wait = 1000}},
                                 wait);
  CHECK(few.what == "Waiting for tasks");
  CHECK_THAT(few.text,
             Catch::Contains("700 tasks (7 each time, for 4 threads), 1 us each"));
  CHECK(few.lost_ns == Approx(100 * 1000));
  CHECK(few.gain_ns == Approx(100 * 1000 / 4.0));
  // Tasks that take as long as to create one.
  const std::vector<InRegion> creates = {
      {.block = 1000, .tasks = 900, .number_of_tasks = 90, .wait = 100},
      {.tasks = 300, .number_of_tasks = 30, .wait = 1700}};
  const RootCause small = found_in(creates, wait);
  CHECK(small.what == "Small tasks");
  CHECK_THAT(small.text, Catch::Contains("12000 tasks, 10 ns each") &&
                             Catch::Contains("threads need 23 ns more for each"));
  CHECK(small.lost_ns == Approx(100 * 1800));
  // But the tasks themselves are left.
  CHECK(small.of_ns - small.gain_ns == Approx(100 * 1200 / 2.0));
  const RootCause waits = found_in(creates, Wait::kTaskwait);
  CHECK(waits.what == "Small tasks");
  CHECK(waits.account == Account::kSynchronization);
  // Tasks that their creator executes.
  if (wait != Wait::kAfterSingle) return;
  const RootCause own = found_in(
      {{.block = 10, .tasks = 1990, .number_of_tasks = 2}, {.wait = 2000}}, wait, true);
  CHECK(own.what == "Serial part of a parallel region");
  CHECK_THAT(own.text, Catch::Contains("with 200 tasks of 995 ns each"));
}

TEST_CASE("Root causes: gains leave what computation takes on the cores that there are") {
  // A thread of a nested team: of three threads two have cores.
  RunSummary run = uneven_threads({0, 0, 0, 0});
  run.locations.pop_back();
  for (RunSummary::Location& location : run.locations) {
    location.use.core_ns = run.end;
    location.use.cores = base::CoreSet::parse("0-1");
  }
  RunSummary::Location& idle = run.locations[2];
  for (auto& sums : idle.sums) sums.time /= 2;
  for (auto& row : idle.iterations.rows) {
    row.times[0] = 1000;
    row.times[IterationRows::kOutside] = 1000;
  }
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].what == "Threads without work");
  CHECK(found.causes[0].gain_ns == 0);
  for (RunSummary::Location& location : run.locations)
    location.use.cores = base::CoreSet::parse("0-2");
  CHECK(conclude({run}).causes[0].gain_ns == Approx(100 * 1000 / 3.0));
}

TEST_CASE("Root causes: workers of nested teams that begin late - of the ledger once") {
  // Thread 1 opens a region in the outer one, to which threads 2 and 3 come late, for want of cores; of their rows that is time in
  // no region.
  RunSummary run = uneven_threads({0, 0, 0, 0});
  auto& nodes = run.nodes.edit();
  RunSummary::Region inner =
      region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP);
  inner.line = 8;
  run.regions.push_back(inner);
  nodes.push_back({.parent = 1, .region = 2, .kind = RunSummary::Kind::kFork});
  nodes.push_back({.parent = 3, .region = 2});
  nodes.push_back({.region = 2});
  for (RunSummary::Location& location : run.locations) {
    location.sums.resize(6);
    location.use.core_ns = run.end / 4;
    location.use.core_wait_ns = run.end * 3 / 4;
    location.use.cores = base::CoreSet::parse("0");
    if (location.number == 1)
      for (const int node : {3, 4}) location.sums[node] = {.visits = 100, .time = run.end};
    if (location.number < 2) continue;
    for (const int node : {1, 2}) location.sums[node] = {};
    location.sums[5] = {.visits = 100, .time = run.end / 4};
    for (auto& row : location.iterations.rows) {
      row.times[0] = 500;
      row.times[IterationRows::kOutside] = 1500;
    }
  }
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  CHECK(of(found, Account::kSerial) == Approx(0).margin(1));
  CHECK(of(found, Account::kManagement) == Approx(0).margin(1));
  CHECK(of(found, Account::kCores) == Approx(4 * 0.75 * 200'000));
  CHECK_FALSE(has_cause(found, Account::kSerial));
}

// Also of numbers that contradict each other: no account has less than nothing, and none is in two.
TEST_CASE("Root causes: whatever the input - each second is in one account") {
  std::mt19937 random(20261201);  // NOLINT(cert-msc51-cpp): the same each time
  const auto any = [&](std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(0, to)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<RunSummary> runs = ranks(
        static_cast<std::size_t>(1 + any(3)), 10,
        [&](std::size_t rank, std::size_t i) {
          return 500 + static_cast<std::int64_t>(rank * 37 + i * 91 + 13) % 700;
        },
        static_cast<std::size_t>(1 + any(2)));
    for (RunSummary& run : runs) {
      if (run.nodes.size() < 3) run.nodes.edit().emplace_back().region = 2;
      auto& nodes = run.nodes.edit();
      nodes.push_back({.region = 2, .kind = RunSummary::Kind::kFork});
      nodes.push_back({.parent = 3, .region = 2});
      for (RunSummary::Location& location : run.locations) {
        location.sums.resize(5);
        for (const std::size_t node : {2, 4})
          location.sums[node] = {.visits = static_cast<std::uint64_t>(any(9)),
                                 .time = static_cast<std::uint64_t>(any(9000))};
        location.sums[3] = {.visits = location.primary ? 5U : 0U,
                            .time = location.primary ? 20'000U : 0U};
        location.use.core_wait_ns = static_cast<std::uint64_t>(any(40'000));
        location.use.core_ns = static_cast<std::uint64_t>(any(40'000));
        for (auto& row : location.iterations.rows) {
          std::int64_t& from = row.times[static_cast<std::size_t>(any(4))];
          std::int64_t& to = row.times[static_cast<std::size_t>(any(4))];
          const std::int64_t moved = any(1500) * (round % 3 == 0 ? 4 : 1) - 200;
          from -= moved;
          to += moved;
          std::int64_t& outside = row.times[IterationRows::kOutside];
          const std::int64_t in_region = any(std::max<std::int64_t>(0, outside));
          outside -= in_region;
          row.times[static_cast<std::size_t>(any(4))] += in_region;
        }
      }
    }
    check_sums(conclude(runs), runs);
  }
}

// A serial part as long as the region, in which there is another one: its time counts once.
TEST_CASE("Root causes: a serial part, and regions in each other - it is serial") {
  RunSummary run = uneven_threads({0, 0, 0, 0});
  run.end *= 2;
  run.nodes.push_back({.parent = 1, .region = 0, .kind = RunSummary::Kind::kFork});
  run.nodes.push_back({.parent = 3, .region = 0});
  for (RunSummary::Location& location : run.locations) {
    const std::uint64_t inside = location.primary ? run.end / 2 : 0;
    for (int node = 3; node < 5; ++node)
      location.sums.push_back({.visits = inside == 0 ? 0U : 100U, .time = inside});
    location.sums[1].time = run.end / 2;
    auto& serial = location.iterations.rows.emplace_back();
    serial = {.begin = run.end / 2, .counters = {}};
    serial.times[IterationRows::kOutside] = static_cast<std::int64_t>(run.end / 2);
    location.iterations.end = run.end;
  }
  run.locations[0].sums[0].time = run.end / 2;
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE_FALSE(found.causes.empty());
  INFO(found.causes[0].text);
  CHECK(found.causes[0].what == "Serial parts");
}

TEST_CASE(
    "Root causes: without rows the run is one iteration; without anything there is nothing") {
  auto runs =
      ranks(4, 100, [](std::size_t rank, std::size_t) { return rank == 2 ? 1500 : 1000; });
  for (RunSummary& run : runs)
    for (auto& location : run.locations) location.iterations = {};
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE_FALSE(found.causes.empty());
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{2});
  CHECK(found.causes[0].loop.empty());
  CHECK(found.causes[0].lost_ns == Approx(100 * 3 * 500));
  CHECK(conclude({}).causes.empty());
  CHECK(conclude({RunSummary{}}).causes.empty());
}

namespace {

// In each iteration `rank` is `ns` longer in a call that sends or receives, and the others wait for it in the Allreduce.
void add_call(std::vector<RunSummary>& runs, std::size_t rank, const char* name, bool sends,
              std::uint64_t ns) {
  constexpr auto kMessages = static_cast<std::size_t>(TimeClass::kMpiPointToPoint);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RunSummary& run = runs[i];
    RunSummary::Location& primary = run.locations[0];
    auto& rows = primary.iterations.rows;
    const std::uint64_t iterations = rows.size() - 2;
    for (std::size_t row = 1; row < rows.size(); ++row) {
      rows[row].begin += (row - 1) * ns;
      if (row <= iterations)
        rows[row].times[i == rank ? kMessages : kCollective] +=
            static_cast<std::int64_t>(ns);
    }
    run.end += iterations * ns;
    primary.iterations.end = run.end;
    run.regions.push_back(region(name, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI));
    run.nodes.push_back({.region = static_cast<std::uint32_t>(run.regions.size() - 1)});
    RunSummary::Sums& call = primary.sums.emplace_back();
    if (i != rank) {
      primary.sums[1].time += iterations * ns;
      continue;
    }
    call = {.visits = iterations, .time = iterations * ns, .least = ns, .greatest = ns};
    (sends ? call.bytes_sent : call.bytes_received) = 8 * iterations;
  }
}

}  // namespace

// Each rank waits in the Allreduce, and for a share of that in a Bcast.
TEST_CASE("Root causes: waits in several calls - a bound by all of them is of large ones") {
  const auto found = [](std::uint64_t in_bcast) {
    constexpr std::uint64_t kAll = 1'000'000, kIterations = 100;
    auto runs = ranks(2, kIterations, [](std::size_t, std::size_t) { return 1'000'000; });
    for (RunSummary& run : runs) {
      RunSummary::Location& primary = run.locations[0];
      auto& rows = primary.iterations.rows;
      for (std::size_t row = 1; row < rows.size(); ++row) {
        rows[row].begin += (row - 1) * kAll;
        if (row <= kIterations) rows[row].times[kCollective] += kAll;
      }
      run.end = primary.iterations.end = run.end + kIterations * kAll;
      primary.sums[1].time += kIterations * (kAll - in_bcast);
      run.regions.push_back(
          region("MPI_Bcast", OTF2_REGION_ROLE_COLL_ONE2ALL, OTF2_PARADIGM_MPI));
      run.nodes.push_back({.region = static_cast<std::uint32_t>(run.regions.size() - 1)});
      primary.sums.push_back({.visits = kIterations,
                              .time = kIterations * in_bcast,
                              .least = 100,
                              .greatest = 2 * in_bcast});
    }
    const Conclusions out = conclude(runs);
    check_sums(out, runs);
    REQUIRE(out.causes.size() == 2);
    CHECK_THAT(out.causes[0].gain,
               Catch::StartsWith("At best, without it and what ranks "));
    return out.causes[1];
  };
  const RootCause small = found(100'000);
  CHECK(small.where.starts_with("MPI_Bcast"));
  CHECK_THAT(small.gain, Catch::StartsWith("Without these waits alone, "));
  CHECK(small.gain_ns == Approx(100 * 100e3).epsilon(0.02));
  CHECK_THAT(found(400'000).gain, Catch::StartsWith("At best, without it and what ranks "));
}

TEST_CASE(
    "Root causes: a rank that is long in its messages - with those that wait for it elsewhere") {
  constexpr std::uint64_t kLong = 500'000;
  for (const bool sends : {true, false}) {
    auto runs = ranks(3, 100, [](std::size_t, std::size_t) { return 1'000'000; });
    add_call(runs, 1, sends ? "MPI_Send" : "MPI_Recv", sends, kLong);
    const Conclusions found = conclude(runs);
    check_sums(found, runs);
    REQUIRE(found.causes.size() == 1);
    const RootCause& cause = found.causes[0];
    CHECK(cause.account == Account::kCommunication);
    CHECK(cause.what == (sends ? "Slow sends" : "Late messages"));
    CHECK(cause.where == (sends ? "MPI_Send @p.c:5" : "MPI_Recv @p.c:5"));
    CHECK(cause.ranks == std::vector<std::uint32_t>{1});
    CHECK(cause.lost_ns == Approx(100 * 3 * kLong).epsilon(0.01));
    CHECK(cause.gain_ns == Approx(100 * kLong).epsilon(0.03));
    REQUIRE(cause.evidence.size() == 1);
    CHECK(cause.evidence[0].where == "MPI_Allreduce @p.c:9");
  }
}

// Sums do not say how much of a receive is waiting, unless all took about as long.
TEST_CASE("Root causes: small calls - whether they wait is said where it is known") {
  for (const std::uint64_t fastest : {9'000, 600}) {
    auto runs = ranks(2, 2000, [](std::size_t, std::size_t) { return 100'000; });
    add_call(runs, 1, "MPI_Recv", false, 10'000);
    runs[1].locations[0].sums.back().least = fastest;
    const Conclusions found = conclude(runs);
    REQUIRE_FALSE(found.causes.empty());
    CAPTURE(found.causes[0].text);
    CHECK(found.causes[0].what == "Many small MPI calls");
    CHECK((found.causes[0].text.find("Little of this is waiting for others.") !=
           std::string::npos) == (fastest == 9'000));
    CHECK((found.causes[0].text.find("is not known from totals") != std::string::npos) ==
          (fastest == 600));
  }
}

TEST_CASE("Root causes: the calls of the only rank wait for nobody") {
  for (const char* const name : {"MPI_Bcast", "MPI_Barrier", "MPI_Recv", "MPI_Send"}) {
    auto runs = ranks(1, 100, [](std::size_t, std::size_t) { return 1'000'000; });
    add_call(runs, 0, name, name == std::string("MPI_Send"), 500'000);
    runs[0].locations[0].sums.back().least = 900;
    const Conclusions found = conclude(runs);
    check_sums(found, runs);
    REQUIRE_FALSE(found.causes.empty());
    CAPTURE(name, found.causes[0].text);
    CHECK(found.causes[0].account == Account::kCommunication);
    CHECK(found.causes[0].what == "Communication");
    CHECK(found.causes[0].text.find("one rank: none of this is waiting") !=
          std::string::npos);
    for (const RootCause& cause : found.causes)
      CHECK(cause.waits == RootCause::Waits::kNone);
  }
}

// 100 iterations; of 457 calls some are elsewhere.
TEST_CASE("Root causes: calls of an iteration - where all can be in it") {
  for (const std::uint64_t visits : {400, 457}) {
    auto runs = ranks(2, 100, [](std::size_t, std::size_t) { return 1'000'000; });
    add_call(runs, 1, "MPI_Send", true, 500'000);
    runs[1].locations[0].sums.back().visits = visits;
    const Conclusions found = conclude(runs);
    REQUIRE_FALSE(found.causes.empty());
    const std::string& text = found.causes[0].text;
    CAPTURE(text);
    CHECK(text.find(std::to_string(visits) + " calls") != std::string::npos);
    CHECK((text.find("(4 per iteration of ") != std::string::npos) == (visits == 400));
    CHECK((text.find("per iteration") != std::string::npos) == (visits == 400));
  }
}

// Where cores are very few, who stays longest in its sends is not to blame; where they are few, it still is.
TEST_CASE(
    "Root causes: slow sends of one rank - unless threads had no core for much of the time") {
  double all = 0;
  for (const double without : {0.0, 0.25, 0.5}) {
    auto runs = ranks(3, 100, [](std::size_t, std::size_t) { return 100'000; });
    add_call(runs, 1, "MPI_Send", true, 900'000);
    for (RunSummary& run : runs)
      run.locations[0].use.core_wait_ns =
          static_cast<std::uint64_t>(without * static_cast<double>(run.end));
    const Conclusions found = conclude(runs);
    check_sums(found, runs);
    CAPTURE(without);
    REQUIRE_FALSE(found.causes.empty());
    CHECK((found.causes[0].account == Account::kCores) == (without == 0.5));
    if (without == 0.5) continue;
    CHECK(found.causes[0].where == "MPI_Send @p.c:5");
    if (without == 0) all = found.causes[0].lost_ns;
    CHECK(found.causes[0].lost_ns == Approx(all).epsilon(0.02));
  }
}

TEST_CASE("Root causes: who receives from slow sends is no cause") {
  constexpr std::uint64_t kLong = 500'000;
  auto runs = ranks(2, 100, [](std::size_t, std::size_t) { return 1'000'000; });
  add_call(runs, 1, "MPI_Send", true, kLong);
  // What rank 0 waited in the Allreduce it waits in a receive.
  RunSummary& other = runs[0];
  RunSummary::Location& primary = other.locations[0];
  for (auto& row : primary.iterations.rows)
    if (row.loop == 0) {
      row.times[kCollective] -= kLong;
      row.times[static_cast<std::size_t>(TimeClass::kMpiPointToPoint)] += kLong;
    }
  other.regions.edit().back().name = "MPI_Recv";
  primary.sums[1].time -= 100 * kLong;
  primary.sums.back() = {.visits = 100,
                         .time = 100 * kLong,
                         .least = kLong,
                         .greatest = kLong,
                         .bytes_received = 800};
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].where == "MPI_Send @p.c:5");
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{1});
  CHECK(found.causes[0].lost_ns == Approx(100 * 2 * kLong).epsilon(0.01));
}

TEST_CASE(
    "Root causes: ranks with more work in ways of their own are causes of their own") {
  const auto runs = ranks(6, 200, [](std::size_t rank, std::size_t i) {
    return 1000 + (rank == 1 ? 1000 : rank == 4 ? static_cast<std::int64_t>(10 * i) : 0);
  });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() >= 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const RootCause& cause = found.causes[i];
    REQUIRE(cause.ranks.size() == 1);
    CHECK(cause.when.kind ==
          (cause.ranks[0] == 4 ? TimeShape::Kind::kGrowing : TimeShape::Kind::kAll));
    CHECK(cause.others_ns == Approx(1000));
    // One alone gains what it has more than the other one.
    const double gain = cause.ranks[0] == 4 ? 100 * 495 : 100 * 505;
    CHECK(cause.gain_ns == Approx(gain).epsilon(0.02));
  }
  CHECK(found.causes[0].ranks != found.causes[1].ranks);
}

TEST_CASE(
    "Root causes: threads that wait for a lock, or their turn, and then for those that got it "
    "late") {
  const bool ordered = GENERATE(false, true);
  RunSummary run;
  run.rank = RunSummary::kNone;
  run.regions = {
      region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP),
      region("!$omp ibarrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER, OTF2_PARADIGM_OPENMP),
      region(ordered ? "!$omp ordered" : "!$omp critical",
             ordered ? OTF2_REGION_ROLE_ORDERED : OTF2_REGION_ROLE_CRITICAL,
             OTF2_PARADIGM_OPENMP),
      region(ordered ? "!$omp ordered sblock" : "!$omp critical sblock",
             ordered ? OTF2_REGION_ROLE_ORDERED_SBLOCK : OTF2_REGION_ROLE_CRITICAL_SBLOCK,
             OTF2_PARADIGM_OPENMP)};
  run.nodes.edit().resize(5);
  run.nodes.edit()[0] = {.region = 0, .kind = RunSummary::Kind::kFork};
  run.nodes.edit()[1] = {.parent = 0, .region = 0};
  run.nodes.edit()[2] = {.parent = 1, .region = 1};
  run.nodes.edit()[3] = {.parent = 1, .region = 2};
  run.nodes.edit()[4] = {.parent = 3, .region = 3};
  run.loops = {{1, "loop 1 @ main p.c:7-12"}};
  // Each thread works for 500, has the lock for 500, and waits for 500: the first one in the barrier.
  run.end = 100 * 1500;
  run.locations.resize(2);
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    RunSummary::Location& location = run.locations[thread];
    location.number = thread;
    location.primary = thread == 0;
    location.sums.resize(5);
    for (std::size_t node = thread == 0 ? 0 : 1; node < 5; ++node)
      location.sums[node].visits = 100;
    if (thread == 0) location.sums[0].time = run.end;
    location.sums[1].time = run.end;
    location.sums[2].time = thread == 0 ? 50'000 : 0;
    location.sums[3].time = thread == 0 ? 50'000 : 100'000;
    location.sums[4].time = 50'000;
    auto& row = location.iterations.rows.emplace_back();
    row = {.begin = 0, .loop = 0, .first = 0, .count = 100, .counters = {}};
    row.times[thread == 0 ? kImbalance
                          : static_cast<std::size_t>(TimeClass::kSynchronization)] = 50'000;
    row.times[0] = 100'000;
    location.iterations.end = run.end;
  }
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  CHECK(cause.account == Account::kSynchronization);
  CHECK(cause.what == (ordered ? "Waiting for their turn" : "Lock"));
  CHECK(cause.lost_ns == Approx(100'000));
  CHECK(cause.gain_ns == Approx(50'000));
  CHECK(cause.text.find(
            ordered
                ? " The ordered part takes 500 ns each time, 100 us in all. Lost"
                : "It is held 500 ns each time, 100 us in all, by all threads in turn") !=
        std::string::npos);
}

TEST_CASE("Root causes: a loop inside of a region - its end is not the last iteration's") {
  const bool inside = GENERATE(true, false);  // or a region in each iteration
  constexpr std::uint64_t kCount = 100, kWork = 1000, kMore = 60'000;
  RunSummary run;
  run.rank = RunSummary::kNone;
  run.regions = {
      region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP),
      region("!$omp ibarrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER, OTF2_PARADIGM_OPENMP)};
  run.nodes.edit().resize(3);
  run.nodes.edit()[0] = {.region = 0, .kind = RunSummary::Kind::kFork};
  run.nodes.edit()[1] = {.parent = 0, .region = 0};
  run.nodes.edit()[2] = {.parent = 1, .region = 1};
  run.loops = {{1, "loop 1 @ main p.c:7-12"}};
  run.end = kCount * kWork + kMore;
  run.locations.resize(2);
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    RunSummary::Location& location = run.locations[thread];
    location.number = thread;
    location.primary = thread == 0;
    location.sums.resize(3);
    for (std::size_t node = thread == 0 ? 0 : 1; node < 3; ++node)
      location.sums[node].visits = inside ? 1 : kCount;
    if (thread == 0) location.sums[0].time = run.end;
    location.sums[1].time = run.end;
    location.sums[2].time = thread == 0 ? kMore : 0;
    // The first thread waits in the last one for all that the other one has more.
    for (std::uint64_t i = 0; i < kCount; ++i) {
      auto& row = location.iterations.rows.emplace_back();
      row = {.begin = i * kWork, .loop = 0, .first = i, .count = 1, .counters = {}};
      row.times[0] = kWork;
      if (i + 1 == kCount) row.times[thread == 0 ? kImbalance : 0] += kMore;
    }
    location.iterations.end = run.end;
  }
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].thread == 1);
  CHECK((found.causes[0].text.find("in 1 of 100 iterations") == std::string::npos) ==
        inside);
}

// Waits in tasks in waits: each depth has a path, and a fifth of it.
TEST_CASE("Root causes: waits in a recursion of tasks - one cause") {
  constexpr std::uint32_t kDepths = 5, kEach = 10'000;
  RunSummary run;
  run.rank = RunSummary::kNone;
  run.regions = {region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP),
                 region("!$omp taskwait", OTF2_REGION_ROLE_TASK_WAIT, OTF2_PARADIGM_OPENMP),
                 region("!$omp task", OTF2_REGION_ROLE_TASK, OTF2_PARADIGM_OPENMP)};
  run.nodes.edit().resize(2 + 2 * kDepths);
  run.nodes.edit()[0] = {.region = 0, .kind = RunSummary::Kind::kFork};
  for (std::uint32_t node = 1; node < run.nodes.size(); ++node)
    run.nodes.edit()[node] = {.parent = node - 1, .region = node == 1 ? 0U : 1 + node % 2};
  run.end = 2 * kDepths * kEach;
  run.locations.resize(2);
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    RunSummary::Location& location = run.locations[thread];
    location.number = thread;
    location.primary = thread == 0;
    location.sums.resize(run.nodes.size());
    for (std::uint32_t node = thread == 0 ? 0 : 1; node < run.nodes.size(); ++node) {
      location.sums[node].visits = 10;
      location.sums[node].time = run.end - std::max(2U, node) * kEach + 2 * kEach;
    }
    auto& row = location.iterations.rows.emplace_back();
    row = {.begin = 0, .counters = {}};
    row.times[0] = row.times[static_cast<std::size_t>(TimeClass::kSynchronization)] =
        kDepths * kEach;
    location.iterations.end = run.end;
  }
  const Conclusions found = conclude({run});
  check_sums(found, {run});
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].account == Account::kSynchronization);
  CHECK(found.causes[0].lost_ns == Approx(2 * kDepths * kEach));
  INFO(found.causes[0].text);
  CHECK(found.causes[0].text.find(", and in recursion there: 100 times, 1 us each") !=
        std::string::npos);
}

TEST_CASE("Root causes: threads without a core - of what nobody in particular causes") {
  const auto turns = [](std::uint64_t core_wait) {
    auto runs = ranks(6, 120, [](std::size_t rank, std::size_t i) {
      return rank == i % 6 ? 2000 : 1000;
    });
    for (RunSummary& run : runs) run.locations[0].use.core_wait_ns = core_wait;
    return runs;
  };
  Conclusions found = conclude(turns(0));
  const double lost = of(found, Account::kUnevenRanks);
  CHECK_FALSE(has_cause(found, Account::kCores));
  auto runs = turns(static_cast<std::uint64_t>(lost / 6 / 2));
  found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(has_cause(found, Account::kCores));
  CHECK(of(found, Account::kCores) == Approx(lost / 2).epsilon(0.1));
  CHECK(of(found, Account::kUnevenRanks) == Approx(lost / 2).epsilon(0.1));
  // A rank that is longer for it has no more work.
  auto longer =
      ranks(4, 100, [](std::size_t rank, std::size_t) { return rank == 2 ? 1500 : 1000; });
  longer[2].locations[0].use.core_wait_ns = 100 * 500 * 5 / 4;
  found = conclude(longer);
  check_sums(found, longer);
  CHECK_FALSE(has_cause(found, Account::kUnevenRanks));
  REQUIRE(has_cause(found, Account::kCores));
  CHECK(of(found, Account::kCores) >= 100 * 3 * 500);
  // Ranks on one core: which comes first is no work of its own, if it is little.
  for (const std::uint64_t more : {100U, 400U}) {
    auto crowded = ranks(2, 100, [more](std::size_t rank, std::size_t) {
      return rank == 1 ? 2000 + more : 2000;
    });
    for (RunSummary& run : crowded) run.locations[0].use.core_wait_ns = 100 * 1000;
    found = conclude(crowded);
    check_sums(found, crowded);
    CHECK(has_cause(found, Account::kUnevenRanks) == (more == 400));
    for (const RootCause& cause : found.causes)
      if (cause.account == Account::kUnevenRanks)
        CHECK_THAT(cause.text,
                   Catch::Contains(" Rank 1 had no core for ") &&
                       Catch::EndsWith(" of the run: that may be a part of it."));
  }
  // Threads that compute all the time and have no core for half of it.
  auto alone = ranks(2, 100, [](std::size_t, std::size_t) { return 4000; });
  for (RunSummary& run : alone) run.locations[0].use.core_wait_ns = run.end / 2;
  found = conclude(alone);
  check_sums(found, alone);
  REQUIRE_FALSE(found.causes.empty());
  CHECK(found.causes[0].account == Account::kCores);
  CHECK(found.causes[0].share == Approx(0.5).margin(0.02));
}

// Six ranks that have more work in turn, on half of the cores that they need when they do not sleep.
TEST_CASE(
    "Root causes: too few cores explain what ranks had none for at work, not while they polled") {
  const auto found = [](bool sleep) {
    auto runs = ranks(6, 120, [](std::size_t rank, std::size_t i) {
      return rank == i % 6 ? 2'000'000 : 1'000'000;
    });
    for (RunSummary& run : runs) {
      run.counters = {{"core_ns", "ns"}, {"core_wait_ns", "ns"}};
      for (auto& row : run.locations[0].iterations.rows) {
        const auto work = static_cast<std::uint64_t>(row.times[IterationRows::kOutside]);
        const std::uint64_t busy =
            static_cast<std::uint64_t>(row.times[kCollective]) + (sleep ? work / 10 : work);
        row.counters = {busy / 2, busy / 2};
        run.locations[0].use.core_wait_ns += busy / 2;
      }
    }
    const Conclusions out = conclude(runs);
    check_sums(out, runs);
    return out;
  };
  // Each waits 1 ms in five of six iterations, which is the sum of what they lose.
  constexpr double kLost = 120 * 5e6;
  const auto varying = [](const Conclusions& out) {
    double lost = 0, gain = 0;
    for (const RootCause& cause : out.causes) {
      if (cause.account == Account::kUnevenRanks) lost = cause.lost_ns;
      if (cause.account == Account::kCores) gain = cause.gain_ns;
    }
    return std::pair{lost, gain};
  };
  const auto [asleep, gain_asleep] = varying(found(true));
  CHECK(asleep == Approx(kLost).epsilon(0.1));
  CHECK(gain_asleep < 0.1 * 120 * 2e6);
  const auto [busy, gain_busy] = varying(found(false));
  CHECK(busy == Approx(kLost / 2).epsilon(0.1));
  CHECK(gain_busy == Approx(120 * 1e6).epsilon(0.1));
}

// Two ranks with equal work, of which either has no core most of the time: 50 us of work, 950 us in MPI.
TEST_CASE("Root causes: too few cores where ranks do little but MPI - not communication") {
  constexpr std::int64_t kAll = 1'000'000;
  const auto found = [](std::int64_t work, std::int64_t without) {
    auto runs = ranks(2, 1000, [](std::size_t, std::size_t) { return kAll; });
    for (RunSummary& run : runs) {
      run.counters = {{"core_ns", "ns"}, {"core_wait_ns", "ns"}};
      RunSummary::Location& primary = run.locations[0];
      for (auto& row : primary.iterations.rows) {
        row.counters = {0, 0};
        if (row.loop != 0) continue;
        row.times[IterationRows::kOutside] -= kAll - work;
        row.times[kCollective] += kAll - work;
        primary.sums[1].time += static_cast<std::uint64_t>(kAll - work);
        row.counters = {static_cast<std::uint64_t>(kAll - without),
                        static_cast<std::uint64_t>(without)};
        primary.use.core_wait_ns += static_cast<std::uint64_t>(without);
      }
    }
    const Conclusions out = conclude(runs);
    check_sums(out, runs);
    return out;
  };
  const Conclusions few = found(50'000, 900'000);
  REQUIRE(has_cause(few, Account::kCores));
  CHECK(few.causes[0].account == Account::kCores);
  CHECK(of(few, Account::kCores) == Approx(2 * 1000 * 900e3).epsilon(0.02));
  CHECK(few.causes[0].gain_ns == Approx(1000 * 900e3).epsilon(0.05));
  // Half of the time each waits for what the other one does: no more than the rest is for want of cores.
  const Conclusions work = found(500'000, 400'000);
  CHECK(of(work, Account::kCommunication) > 0.5 * 2 * 1000 * 500e3);
}

TEST_CASE("Root causes: a rank with slower cores - not its work") {
  // 2 GHz instead of 3 make half as much again.
  const bool slower = GENERATE(true, false);
  auto runs = ranks(4, 100, [](std::size_t rank, std::size_t) {
    return rank == 2 ? 1'500'000 : 1'000'000;
  });
  for (RunSummary& run : runs) {
    run.counters = {{"core_ns", "ns"}, {"core_cycles", "#"}};
    for (auto& row : run.locations[0].iterations.rows)
      row.counters = {1'000'000, slower && run.rank == 2 ? 2'000'000U : 3'000'000U};
  }
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  INFO(cause.text);
  CHECK(cause.ranks == std::vector<std::uint32_t>{2});
  CHECK(cause.what == (slower ? "Slower cores" : "Uneven work between ranks"));
  CHECK((cause.shared_gain_ns > 0) == !slower);
  CHECK((cause.text.find(
             "Cores of rank 2 ran at 2.00 GHz, those of the others at 3.00 GHz.") !=
         std::string::npos) == slower);
}

// Short iterations have what many of them had, at each look.
TEST_CASE("Root causes: threads without a core - from which iteration on") {
  const std::int64_t each = GENERATE(20'000'000, 2'000'000);
  const std::uint64_t together = each > 10'000'000 ? 1 : 5;
  constexpr std::uint64_t kIterations = 1000, kSince = 600;
  const auto found = [&](const auto& waits) {
    auto runs = ranks(2, kIterations, [each](std::size_t, std::size_t) { return each; });
    for (RunSummary& run : runs) {
      run.counters = {{"core_ns", "ns"}, {"core_wait_ns", "ns"}};
      for (auto& row : run.locations[0].iterations.rows) {
        row.counters = {0, 0};
        if (row.loop != 0 || row.first % together != 0) continue;
        for (std::uint64_t i = row.first; i < row.first + together; ++i)
          row.counters[1] += waits(i);
        run.locations[0].use.core_wait_ns += row.counters[1];
      }
    }
    const Conclusions all = conclude(runs);
    check_sums(all, runs);
    return all;
  };
  const auto half = static_cast<std::uint64_t>(each / 2);
  Conclusions out =
      found([&](std::uint64_t i) { return i >= kSince ? half + i % 7 : i % 5; });
  INFO(out.cores);
  CHECK(
      out.cores.find(" of the time of all threads, from iteration 600 on, of 1000 of main "
                     "p.c:7-12, mostly ") != std::string::npos);
  REQUIRE(has_cause(out, Account::kCores));
  CHECK(out.causes[0].when.kind == TimeShape::Kind::kSince);
  CHECK(out.causes[0].when.from == kSince);
  CHECK(out.causes[0].loop == "loop 1 @ main p.c:7-12");
  out = found([&](std::uint64_t i) { return half + i % 7; });
  CHECK(out.cores.find("iteration") == std::string::npos);
  CHECK_FALSE(out.cores.empty());
}

TEST_CASE("Root causes: a thread without a core in a region computes no more than others") {
  for (const bool has_core : {true, false}) {
    RunSummary run = uneven_threads();
    if (!has_core) run.locations[3].use.core_wait_ns = 100 * 900;
    const Conclusions found = conclude({run});
    check_sums(found, {run});
    CHECK(has_cause(found, Account::kUnevenThreads) == has_core);
    if (has_core) continue;
    REQUIRE(found.causes.size() == 1);
    CHECK(found.causes[0].account == Account::kCores);
    CHECK(found.causes[0].lost_ns == Approx(3 * 100 * 1000 + 100 * 900));
  }
}

// Its own time is said without start and end of MPI, as all shares are.
TEST_CASE("Root causes: time without a core and what is lost have one denominator") {
  auto runs = ranks(2, 100, [](std::size_t, std::size_t) { return 4000; });
  for (RunSummary& run : runs) {
    auto& rows = run.locations[0].iterations.rows;
    constexpr std::int64_t kLonger = 4 * 100 * 4000;
    rows[0].times[kManagementOfMpi] += kLonger;
    for (std::size_t i = 1; i < rows.size(); ++i) rows[i].begin += kLonger;
    run.locations[0].sums[0].time += kLonger;
    run.locations[0].iterations.end = run.end += kLonger;
    run.locations[0].use.core_wait_ns = run.end / 2;
  }
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 1);
  const RootCause& cause = found.causes[0];
  REQUIRE(cause.account == Account::kCores);
  INFO(cause.text);
  CHECK(cause.share == Approx(0.5).margin(0.01));
  CHECK(cause.text.find("no core for 402 us, 50 % of the time of all threads") !=
        std::string::npos);
  CHECK(cause.text.find("another finding: 398 us, 49 % of the time of all threads") !=
        std::string::npos);
}

TEST_CASE(
    "Root causes: iterations are as many as info says - the first one without a row") {
  const std::uint64_t visits = GENERATE(1u, 2u);
  const auto work = [](std::size_t rank, std::size_t) { return rank == 1 ? 1500 : 1000; };
  auto runs = ranks(3, 100, work);
  for (RunSummary& run : runs) {
    auto& rows = run.locations[0].iterations.rows;
    for (std::size_t i = 1; i <= 100; ++i) {
      rows[i].first = (i - 1) % (100 / visits);
      if (rows[i].first != 0) continue;
      rows[i].loop = IterationRows::kNoLoop;
      rows[i].first = rows[i].count = 0;
    }
  }
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE_FALSE(found.causes.empty());
  CHECK(found.causes[0].iterations == 100);
  CHECK(found.causes[0].text.find("in all 100 iterations of main p.c:7-12") !=
        std::string::npos);
}

TEST_CASE("Root causes: until an iteration, between two - with what is more in these") {
  const auto found = [](const Work& work) {
    const auto runs = ranks(3, 200, work);
    const Conclusions out = conclude(runs);
    check_sums(out, runs);
    REQUIRE_FALSE(out.causes.empty());
    return out.causes[0];
  };
  const RootCause until = found(
      [](std::size_t rank, std::size_t i) { return rank == 1 && i < 60 ? 7000 : 4000; });
  CHECK_THAT(until.text,
             Catch::StartsWith("Rank 1 computes 3 us longer than the other ranks "
                               "(7 us instead of 4 us per iteration, 75 % more), "
                               "until iteration "));
  // The others have less of it then, too.
  const RootCause between = found([](std::size_t rank, std::size_t i) {
    return i < 80 || i >= 120 ? 4000 : rank == 1 ? 5000 : 2000;
  });
  CHECK(between.when.kind == TimeShape::Kind::kBetween);
  CHECK_THAT(between.text,
             Catch::StartsWith("Rank 1 computes 3 us longer than the other "
                               "ranks (5 us instead of 2 us per iteration, 150 "
                               "% more), in iterations 80 to 119, of 200 of "));
  const RootCause second = found([](std::size_t rank, std::size_t i) {
    return rank == 1 && i % 2 == 1 ? 7000 : 4000;
  });
  CHECK_THAT(second.text, Catch::Contains("in every 2nd iteration (1, 3, ...), of 200 of"));
}

TEST_CASE("Root causes: few iterations - what is more in those that have work") {
  // The last one begins with the call at the end of the loop.
  for (const std::size_t iterations : {3, 5}) {
    auto runs = ranks(2, iterations, [&](std::size_t rank, std::size_t i) {
      return i + 1 == iterations ? 0 : rank == 1 ? 1400000 : 1000000;
    });
    const Conclusions found = conclude(runs);
    REQUIRE_FALSE(found.causes.empty());
    CHECK_THAT(found.causes[0].text,
               Catch::Contains("(1.4 ms instead of 1 ms per iteration, 40 % more)"));
  }
}

TEST_CASE(
    "Root causes: a rank has less than all others, and which of these more is chance") {
  const auto runs = ranks(4, 100, [](std::size_t rank, std::size_t i) {
    return rank == 0 ? 3000 : 9000 + static_cast<std::int64_t>((rank * 7 + i * 5) % 11);
  });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].ranks.empty());
  CHECK(found.causes[0].what == "Uneven work between ranks");
  CHECK(found.causes[0].lost_ns == Approx(100 * 6000).epsilon(0.01));
  CHECK_THAT(found.causes[0].text,
             Catch::Contains("rank 0 has less work than ranks 1-3: 300 us instead of 90"));
}

// What others cause at times, as much each, hides nobody.
TEST_CASE(
    "Root causes: a rank with more, and others that are late at times - it is named") {
  const auto runs = ranks(4, 120, [](std::size_t rank, std::size_t i) {
    const std::size_t drawn = (i * 2654435761U >> 7) % 12;
    return rank == 0 ? 2000 : drawn == rank - 1 ? 3800 : 1000;
  });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE_FALSE(found.causes.empty());
  INFO(found.causes[0].text);
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{0});
}

TEST_CASE(
    "Root causes: another rank with more in iterations of its own - is one more cause") {
  const auto runs = ranks(2, 250, [](std::size_t rank, std::size_t i) {
    if (rank == 0) return i % 25 == 24 ? 9000 : 3000;
    return i >= 60 && i < 120 && i % 25 != 24 ? 6000 : 3000;
  });
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 2);
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{1});
  CHECK(found.causes[0].when.kind == TimeShape::Kind::kBetween);
  CHECK(found.causes[1].ranks == std::vector<std::uint32_t>{0});
  CHECK(found.causes[1].when.period == 25);
  CHECK(found.causes[1].lost_ns == Approx(10 * 6000).epsilon(0.01));
}

TEST_CASE("Root causes: two ranks with as much in iterations of their own - two causes") {
  const auto check = [](const Work& work, std::uint64_t first, std::uint64_t second) {
    const auto runs = ranks(2, 200, work);
    const Conclusions found = conclude(runs);
    check_sums(found, runs);
    REQUIRE(found.causes.size() == 2);
    for (const RootCause& cause : found.causes) {
      REQUIRE(cause.ranks.size() == 1);
      CHECK(cause.when.number + (cause.when.kind == TimeShape::Kind::kUntil ? 80 : 0) ==
            (cause.ranks[0] == 0 ? first : second));
    }
  };
  check([](std::size_t rank, std::size_t i) { return i % 4 == 2 * rank ? 10000 : 4000; },
        50, 50);
  // Every third one, and until one of them.
  check(
      [](std::size_t rank, std::size_t i) {
        return (rank == 0 && i % 3 == 0) || (rank == 1 && i < 80) ? 10000 : 4000;
      },
      40, 53);
}

TEST_CASE("Root causes: what is waited in MPI_Finalize is for who comes last") {
  auto runs = ranks(3, 100, [](std::size_t, std::size_t) { return 4000; });
  for (RunSummary& run : runs) {
    const std::int64_t work = run.rank == 0 ? 300000 : 0, waits = 300000 - work + 500;
    run.regions.push_back(
        region("MPI_Finalize", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI));
    run.nodes.push_back({.region = static_cast<std::uint32_t>(run.regions.size() - 1)});
    RunSummary::Location& location = run.locations[0];
    location.sums.push_back({.visits = 1, .time = static_cast<std::uint64_t>(waits)});
    auto& row = location.iterations.rows.back();
    row.times[kManagementOfMpi] += waits;
    row.times[IterationRows::kOutside] += work;
    run.end = location.iterations.end += 300500;
  }
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].what == "Uneven work between ranks");
  CHECK(found.causes[0].ranks == std::vector<std::uint32_t>{0});
  CHECK(found.causes[0].lost_ns == Approx(2 * 300000));
  CHECK(found.causes[0].gain_ns == Approx(300000).epsilon(0.01));
  CHECK(of(found, Account::kStart) == Approx(3 * (10000 + 500)));
}

TEST_CASE("Root causes: several visits - from which iteration on, as rows are numbered") {
  auto runs = ranks(3, 200, [](std::size_t rank, std::size_t i) {
    return rank == 1 && i >= 150 ? 3000 : 1000;
  });
  for (RunSummary& run : runs) {
    auto& rows = run.locations[0].iterations.rows;
    for (std::size_t i = 1; i <= 200; ++i) {
      rows[i].first = (i - 1) % 100;
      if (rows[i].first != 0) continue;
      rows[i].loop = IterationRows::kNoLoop;
      rows[i].first = rows[i].count = 0;
    }
  }
  const Conclusions found = conclude(runs);
  REQUIRE_FALSE(found.causes.empty());
  INFO(found.causes[0].text);
  CHECK(found.causes[0].when.from == 150);
  CHECK(found.causes[0].text.find("from iteration 150 on, of 200 of main p.c:7-12") !=
        std::string::npos);
}

TEST_CASE("Root causes: time that nothing is known of - is said, causes are of the rest") {
  const auto found = [](std::uint64_t percent) {
    auto runs = ranks(2, 100, [](std::size_t, std::size_t) { return 4000; });
    for (RunSummary& run : runs) {
      RunSummary::Location& location = run.locations[0];
      location.iterations = {};
      location.outside.time_elsewhere = (run.end - run.begin) * percent / 100;
      run.end += location.outside.time_elsewhere;
    }
    return conclude(runs);
  };
  CHECK(found(1).unknown.empty());
  const std::string text = found(90).unknown;
  INFO(text);
  CHECK(text.find(
            "of the time of all threads, is not known: it is in call paths for which the "
            "summary had no room") != std::string::npos);
}

// A part of one rank's file of events is damaged: what it did then may be work, or not.
TEST_CASE(
    "Root causes: time that is not known of one rank - is no more work than others'") {
  // All are late in turn.
  const auto found = [](std::int64_t of_one, std::uint64_t percent) {
    auto runs = ranks(4, 100, [&](std::size_t rank, std::size_t i) {
      return (i % 4 == rank ? 2000 : 1000) + (rank == 1 ? of_one : 0);
    });
    for (RunSummary& run : runs) run.locations[0].iterations = {};
    // Of its calls as much is lost.
    RunSummary& run = runs[1];
    RunSummary::Location& location = run.locations[0];
    location.outside.time_elsewhere = (run.end - run.begin) * percent / 100;
    location.sums[1].time -= location.sums[1].time * percent / 100;
    return conclude(runs);
  };
  const auto named = [](const Conclusions& conclusions) {
    return std::ranges::count_if(conclusions.causes, [](const RootCause& cause) {
      return cause.account == Account::kUnevenRanks && cause.ranks.size() == 1;
    });
  };
  CHECK(named(found(0, 0)) == 0);
  for (const std::uint64_t percent : {3U, 5U, 20U, 50U})
    CHECK(named(found(0, percent)) == 0);
  // What is known to be more is a finding all the same.
  CHECK(named(found(1000, 0)) == 1);
  CHECK(named(found(1000, 5)) == 1);
}

TEST_CASE(
    "Root causes: a thread of which all time is known - has no more work than others") {
  auto run = uneven_threads({500, 500, 500, 500});
  for (RunSummary::Location& location : run.locations) {
    location.iterations = {};
    if (location.number == 3) continue;
    // Half of what it did is lost.
    for (auto& sums : location.sums) sums.time /= 2;
    location.outside.time_elsewhere = run.end / 2;
  }
  const Conclusions found = conclude({run});
  REQUIRE_FALSE(found.causes.empty());
  for (const RootCause& cause : found.causes) {
    INFO(cause.text);
    CHECK(cause.thread == RootCause::kNone);
  }
}

// Not "another schedule of the loop": its worker waits at the end of regions because its primary thread has more to do.
TEST_CASE("Root causes: uneven work between ranks is none between threads") {
  auto runs = ranks(
      2, 100, [](std::size_t rank, std::size_t) { return rank == 1 ? 1500 : 1000; }, 2);
  for (RunSummary& run : runs) {
    run.regions.push_back(
        region("!$omp ibarrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER, OTF2_PARADIGM_OPENMP));
    run.nodes.push_back({.parent = 2, .region = 3});
    for (RunSummary::Location& location : run.locations) location.sums.emplace_back();
  }
  RunSummary::Location& worker = runs[1].locations[1];
  worker.sums[2].time = worker.sums[3].time = 100 * 500;
  worker.sums[3].visits = 100;
  for (auto& row : worker.iterations.rows) {
    if (row.count == 0) continue;
    row.times[IterationRows::kOutside] -= 500;
    row.times[kImbalance] += 500;
  }
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  CHECK_FALSE(has_cause(found, Account::kUnevenThreads));
  REQUIRE(has_cause(found, Account::kUnevenRanks));
  for (const RootCause& each : found.causes) {
    CHECK(each.hint.find("schedule") == std::string::npos);
    if (each.account != Account::kUnevenRanks) continue;
    CHECK(each.ranks == std::vector<std::uint32_t>{1});
    CHECK(each.lost_ns == Approx(100 * 2 * 500 + 100 * 500));
  }
}

// Not "50 % in MPI_Get_count", nor in another call: what asks for a number waits for nobody.
TEST_CASE("Root causes: time in local calls of MPI is not communication") {
  auto runs = ranks(2, 1000, [](std::size_t, std::size_t) { return 100'000; });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    constexpr std::int64_t kEach = 100'000;
    RunSummary& run = runs[rank];
    auto& location = run.locations[0];
    auto& rows = location.iterations.rows;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      rows[i].begin += (i - 1) * kEach;
      if (rows[i].count != 0) rows[i].times[kManagementOfMpi] += kEach;
    }
    run.end = location.iterations.end += 1000 * kEach;
    run.regions.push_back(
        region("MPI_Get_count", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI));
    run.nodes.push_back({.region = static_cast<std::uint32_t>(run.regions.size() - 1)});
    location.sums.push_back({.visits = 100'000, .time = 1000 * kEach});
  }
  const Conclusions found = conclude(runs);
  check_sums(found, runs);
  for (const RootCause& each : found.causes) UNSCOPED_INFO(each.text);
  CHECK(found.causes.empty());
}

TEST_CASE(
    "Root causes: time in the kernel - by page faults, by calls, in start and end of MPI, or little") {
  const auto found = [](std::uint64_t percent, std::uint64_t faults,
                        std::uint64_t bytes = 0) {
    auto runs = ranks(2, 100, [](std::size_t, std::size_t) { return 4000; });
    base::ThreadUse& use = runs[1].locations[0].use;
    use.core_ns = runs[1].end;
    use.kernel_ns = use.core_ns * percent / 100;
    use.page_faults = faults;
    runs[1].peak_memory_bytes = bytes;
    return conclude(runs).kernel;
  };
  CHECK(found(5, 1000).empty());
  CHECK(found(12, 1000).empty());  // kInit is a part of it
  CHECK(found(40, 20).find("(40 %) were in the kernel, mostly rank 1, thread 0") !=
        std::string::npos);
  CHECK(found(40, 20).find("with 20 page faults: memory is") != std::string::npos);
  CHECK(found(40, 10).find("system calls") != std::string::npos);
  CHECK(found(40, 1, 1 << 20).find("page faults: memory is") != std::string::npos);
}

TEST_CASE(
    "Root causes: memory that grows - by how much, from where on, and on which ranks") {
  const auto found = [](std::size_t growing, std::uint64_t left_mib = 0) {
    auto runs = ranks(4, 200, [](std::size_t, std::size_t) { return 4000; });
    if (left_mib != 0) {
      base::MemoryCalls& calls = runs[3].allocations;
      calls.from_bytes = 4096;
      calls.places = {{"operator new(unsigned long)", "", 0, "libstdc++.so.6"},
                      {"collect(int)", "/src/p.c", 10, "p"}};
      calls.current_bytes = left_mib << 20;
      calls.small.current_bytes = (left_mib << 20) - 1;
      calls.paths = {{.frames = {0, 1}, .at = 1, .use = {.current_bytes = left_mib << 20}}};
    }
    for (std::size_t rank = 0; rank < runs.size(); ++rank)
      for (std::size_t i = 0; i < 200; i += 2) {
        const std::uint64_t more = rank < 4 - growing || i < 100 ? 0 : (i - 100) << 20;
        runs[rank].memory.push_back({runs[rank].locations[0].iterations.rows[i + 1].begin,
                                     (std::uint64_t{100} << 20) + more});
      }
    return conclude(runs).memory;
  };
  CHECK(found(0).empty());
  CHECK(found(1).starts_with(
      "Memory grows by 1.05 MB in each iteration of main p.c:7-12, from iteration 100 on, "
      "on rank 3, from 105 MB to 208 MB; on the others it does not"));
  CHECK(found(1).ends_with("(refrain run --memory names the place)"));
  CHECK(
      found(1, 90).ends_with("does not. Not freed at the end: 94.4 MB of collect p.c:10"));
  CHECK(found(1, 10).find(". Blocks of malloc have only 10.5 MB of it at the end: ") !=
        std::string::npos);
  CHECK(found(2).find("; it also grows on 1 of the other 3") != std::string::npos);
  CHECK(found(4).find("; on the others it grows, too") != std::string::npos);
}

TEST_CASE("Root causes: what Refrain itself took - said where it is not little") {
  const auto found = [](std::uint64_t percent) {
    auto runs = ranks(2, 100, [](std::size_t, std::size_t) { return 4000; });
    for (RunSummary& run : runs) run.locations[0].use.tracing_ns = run.end * percent / 100;
    runs[1].locations[0].use.tracing_ns += 1;
    return conclude(runs);
  };
  CHECK(found(1).tracing.empty());
  CHECK(found(1).tracing_ns > 0);
  const std::string text = found(10).tracing;
  INFO(text);
  CHECK(text.starts_with("Refrain itself took about "));
  CHECK(text.find("(10 % of the time of all threads), mostly rank 1, thread 0") !=
        std::string::npos);
}

TEST_CASE("Root causes: threads without a core - who shares which cores, and what to do") {
  const auto found = [](std::size_t number, std::size_t threads, const auto& cores_of) {
    auto runs = ranks(number, 100, [](std::size_t, std::size_t) { return 4000; });
    for (std::size_t rank = 0; rank < number; ++rank) {
      RunSummary& run = runs[rank];
      run.host = rank < 4 ? "first" : "second";
      run.locations.resize(1);
      while (run.locations.size() < threads) run.locations.push_back(run.locations[0]);
      for (std::size_t thread = 0; thread < threads; ++thread) {
        run.locations[thread].number = static_cast<std::uint32_t>(thread);
        base::ThreadUse& use = run.locations[thread].use;
        use.core_ns = run.end / 2;
        use.core_wait_ns = run.end / 2;
        use.cores = base::CoreSet::parse(cores_of(rank, thread));
      }
    }
    return conclude(runs);
  };
  const auto says = [](const Conclusions& conclusions, const std::string& text) {
    INFO(conclusions.cores << " | " << conclusions.cores_hint);
    return conclusions.cores.find(text) != std::string::npos ||
           conclusions.cores_hint.find(text) != std::string::npos;
  };
  // Open MPI gives each rank one core, whatever the number of its threads.
  Conclusions out =
      found(2, 4, [](std::size_t rank, std::size_t) { return rank == 0 ? "0" : "1"; });
  CHECK(says(out, "): 4 threads of rank 0 may use core 0 only"));
  CHECK(says(out, "--map-by slot:PE=4"));
  CHECK(out.causes.at(0).account == Account::kCores);
  // All may use all cores, which are fewer.
  out = found(3, 2, [](std::size_t, std::size_t) { return "0-3"; });
  CHECK(says(out, "): 6 threads of ranks 0, 1 and 2 may use 4 cores only (0-3)"));
  CHECK(says(out, "--cpus-per-task=2"));
  // Two ranks on one core, the others alone.
  out = found(4, 1, [](std::size_t rank, std::size_t) {
    return rank == 3 ? "2" : rank == 2 ? "2" : rank == 1 ? "1" : "0";
  });
  CHECK(says(out, "): 2 threads of ranks 2 and 3 may use core 2 only"));
  CHECK(says(out, "a core of its own"));
  out = found(4, 1, [](std::size_t, std::size_t) { return "0-1"; });
  CHECK(says(out, "4 threads of 4 ranks may use 2 cores only (0-1)"));
  CHECK(says(out, "fewer ranks"));
  // Core 0 of one host is not that of another.
  out = found(6, 1, [](std::size_t rank, std::size_t) {
    return rank % 4 == 0 ? "0" : rank % 4 == 1 ? "1" : "2-3";
  });
  CHECK(says(out, "there are cores for all of them"));
  CHECK(says(out, "no other program"));
  // Not known of one.
  out = found(2, 1, [](std::size_t rank, std::size_t) { return rank == 0 ? "0" : ""; });
  CHECK(says(out, "more threads than cores, or other programs"));
}

}  // namespace refrain::analysis::root_causes_test
