#include "waits/findings.h"

#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::findings_test {
namespace {

using reader::EventKind;

const Finding* of(const std::vector<Finding>& findings, const WaitAnalysis& result,
                  const std::string& metric) {
  for (const Finding& each : findings)
    if (result.tree.metrics[each.metric].name == metric) return &each;
  return nullptr;
}

}  // namespace

TEST_CASE("Waits: findings - the most time first, with its ranks and its place") {
  SyntheticTrace trace(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) trace.enter(rank, 0, rMain);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 400, 450, 1);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    trace.collective(rank, 500 + 40 * rank, 600, rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
  for (std::uint32_t rank = 0; rank < 3; ++rank) trace.leave(rank, 700, rMain);
  const WaitAnalysis result = trace.analyze();
  const std::vector<Finding> findings = findings_of(result, 0.01);
  REQUIRE(findings.size() >= 2);
  const Finding& first = findings[0];
  CHECK(result.tree.metrics[first.metric].name == "mpi_latesender");
  CHECK(first.seconds == Approx(300e-6));
  CHECK(first.share == Approx(300.0 / 2100));
  CHECK(first.file == "p.c");
  CHECK(first.line == 7);
  CHECK(path_text(result, first.path) == "main > MPI_Recv");
  CHECK(ranks_text(result, first) == "rank 1");
  const Finding* barrier = of(findings, result, "mpi_barrier_wait");
  REQUIRE(barrier != nullptr);
  CHECK(ranks_text(result, *barrier) == "ranks 0-1");
  CHECK(barrier->ranks[0].process == 0);
  CHECK(barrier->ranks[0].seconds == Approx(80e-6));
  CHECK(barrier->ranks[1].seconds == Approx(40e-6));
}

TEST_CASE("Waits: findings - none of less than the least share") {
  SyntheticTrace trace(2);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 400, 450, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(of(findings_of(result, 0.1), result, "mpi_latesender") != nullptr);
  CHECK(findings_of(result, 0.9).empty());
}

TEST_CASE("Waits: findings - wrong order is said instead of late sender") {
  SyntheticTrace trace(2);
  trace.send(0, 200, 210, 1, 1);
  trace.send(0, 400, 410, 1, 2);
  trace.receive(1, 100, 420, 0, 2);
  trace.receive(1, 430, 440, 0, 1);
  const WaitAnalysis result = trace.analyze();
  REQUIRE(total(result, "mpi_lswo_same") > 0);
  const std::vector<Finding> findings = findings_of(result, 0.01);
  CHECK(of(findings, result, "mpi_lswo_same") != nullptr);
  CHECK(of(findings, result, "mpi_latesender") == nullptr);
}

TEST_CASE(
    "Waits: findings - idle threads belong to the MPI call that waits, and not to MPI_Init") {
  SyntheticTrace trace(2, 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    trace.enter(rank, 0, rMain);
    trace.region(rank, 10, 100, rInit);
    trace.add(rank, 100, EventKind::kThreadFork);
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      trace.team_begin({rank, thread}, 100);
      trace.region({rank, thread}, 100, 120, rParallel);
      trace.team_end({rank, thread}, 120);
    }
    trace.add(rank, 120, EventKind::kThreadJoin);
  }
  trace.receive(1, 200, 1000, 0);
  trace.send(0, 900, 910, 1);
  for (std::uint32_t rank = 0; rank < 2; ++rank) trace.leave(rank, 1000, rMain);
  const WaitAnalysis result = trace.analyze();
  const std::vector<Finding> findings = findings_of(result, 0);
  const Finding* wait = of(findings, result, "mpi_latesender");
  REQUIRE(wait != nullptr);
  CHECK(wait->seconds == Approx(700e-6));
  // Of the call's 800 us, as many as it waited.
  CHECK(wait->idle_seconds == Approx(700e-6));
  for (const Finding& each : findings)
    if (result.tree.metrics[each.metric].name == "omp_idle_threads") {
      const std::string path = path_text(result, each.path);
      CAPTURE(path);
      CHECK(path.find("MPI_Init") == std::string::npos);
      CHECK(path.find("MPI_Recv") == std::string::npos);
    }
}

TEST_CASE("Waits: deep call paths - places as of each alone, a text that does not grow") {
  SyntheticTrace trace(1);
  constexpr std::uint64_t kDepth = 1000;
  trace.d.regions[rLoop].line = 0;  // it has the place of what is around it
  const auto region = [](std::uint64_t depth) { return depth % 3 == 0 ? rMain : rLoop; };
  for (std::uint64_t i = 0; i < kDepth; ++i) trace.enter(0, i, region(i));
  for (std::uint64_t i = kDepth; i-- > 0;) trace.leave(0, 2 * kDepth - i, region(i));
  const WaitAnalysis result = trace.analyze();
  REQUIRE(result.paths.size() == kDepth + 1);
  const std::vector<Place> places = places_of(result);
  REQUIRE(places.size() == result.paths.size());
  for (PathId i; i < result.paths.size(); ++i) {
    CHECK(places[i].file == place_of(result, i).file);
    CHECK(places[i].line == place_of(result, i).line);
  }
  const PathId last(result.paths.size() - 1);
  CHECK(path_text(result, PathId{2}) == "main > !$omp for");
  const std::string text = path_text(result, last);
  CHECK(text.starts_with("main > !$omp for > "));
  CHECK(text.find(" > ... 744 more > ") != std::string::npos);
  CHECK(text.ends_with(" > main"));
}

TEST_CASE("Waits: rows by location - in any order, others are nothing") {
  ByLocation<Ticks> row;
  CHECK(row.empty());
  for (const std::uint32_t location : {7, 2, 9, 2, 0}) row.at(LocationId(location)) += 5;
  CHECK(row[2] == 10);
  CHECK(row[0] == 5);
  CHECK(row[8] == 0);
  std::vector<std::uint32_t> order;
  for (const auto& [location, ticks] : row) order.push_back(location);
  CHECK(order == std::vector<std::uint32_t>{0, 2, 7, 9});
}

}  // namespace refrain::waits::findings_test
