// The result does not depend on who replays which process, nor on how often they inform each other. That of each synthetic trace of the
// other tests is compared, too (synthetic_trace.h).
#include "waits/parallel/shared_analysis.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "reader/small_archive.h"
#include "test/support/files.h"
#include "waits/parallel/synthetic_shares.h"
#include "waits/synthetic_trace.h"

namespace refrain::waits::shared_analysis_test {
namespace {

void check_all(SyntheticTrace& trace) {
  const WaitAnalysis alone = trace.analyze();
  for (const std::size_t readers : {1, 2, 3, 4, 7})
    for (const std::size_t batch : {1, 7, 1000}) {
      CAPTURE(readers, batch);
      const auto shared =
          analyze_shared(trace.d, trace.events(), {.readers = readers, .batch = batch});
      REQUIRE(shared.ok());
      CHECK(difference(alone, *shared).empty());
    }
}

using Event = std::tuple<std::uint32_t, std::uint64_t, reader::EventKind>;

// Somebody else who wants the events.
class Others final : public reader::ShareSinks {
 public:
  class Sink final : public reader::TraceSink {
   public:
    base::Result<> begin(const reader::TraceDefinitions& all) override {
      definitions = &all;
      return {};
    }
    void event(const reader::TraceEvent& event) override {
      ++events[{event.location, event.ticks, event.kind}];
    }
    std::string error() const override { return {}; }
    base::Result<> finish(std::uint64_t) override {
      finished = true;
      return {};
    }
    const reader::TraceDefinitions* definitions = nullptr;
    std::map<Event, int> events;
    bool finished = false;
  };

  reader::TraceSink& sink_of(std::uint32_t share) override {
    CHECK(share == sinks_.size());
    return *sinks_.emplace_back(std::make_unique<Sink>());
  }
  void all_read() override {
    ++times_read;
    for (const auto& sink : sinks_) {
      CHECK(sink->finished);
      CHECK(sink->definitions->locations.size() == 5);
      std::map<std::uint32_t, bool> own;
      for (const auto& [event, count] : sink->events) {
        events[event] += count;
        own[std::get<0>(event)] = true;
      }
      for (const auto& [location, has] : own) ++sinks_of[location];
    }
  }
  std::map<Event, int> events;
  std::map<std::uint32_t, int> sinks_of;  // by location
  int times_read = 0;

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace

TEST_CASE("Shared analysis: others get each event once, those of a process in one sink") {
  constexpr std::uint64_t kVisits = 50;
  const test::TemporaryFolder folder;
  reader::SmallArchive archive(folder / "a");
  const std::uint32_t region = archive.region("main");
  for (int i = 0; i < 5; ++i) {
    archive.process();
    for (std::uint64_t at = 0; at < kVisits; ++at) {
      archive.enter(10 * at, region);
      archive.leave(10 * at + 5, region);
    }
  }
  archive.finish(0, 10 * kVisits);
  for (const std::size_t threads : {1, 2, 3, 5}) {
    CAPTURE(threads);
    Others others;
    const auto result = analyze_in_threads(folder / "a", threads, {}, &others);
    REQUIRE(result.ok());
    CHECK(result->events == 5 * 2 * kVisits);
    CHECK(others.times_read == 1);
    CHECK(others.events.size() == 5 * 2 * kVisits);
    for (const auto& [event, count] : others.events) CHECK(count == 1);
    CHECK(others.sinks_of ==
          std::map<std::uint32_t, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}});
  }
}

TEST_CASE("Shared analysis: by 1 to 7 readers, in batches of 1 to 1000 events") {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 1 + seed % 5, threads = 1 + seed % 3;
    RandomProgram program(seed, ranks, threads, in_order(ranks));
    check_all(program.run(60));
  }
}

TEST_CASE("Shared analysis: where events are missing, in each order of times") {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 2 + seed % 4, threads = 1 + seed % 3;
    RandomProgram program(seed, ranks, threads, in_order(ranks));
    SyntheticTrace& trace = program.run_damaged(60, seed);
    check_all(trace);
  }
}

TEST_CASE("Shared analysis: where no clock disagrees the path goes from reader to reader") {
  // Rank 2 is late at each barrier, or sends late, in turns with rank 0; between them all work.
  SyntheticTrace trace(4);
  std::uint64_t now = 10;
  for (std::uint32_t rank = 0; rank < 4; ++rank) trace.enter(rank, now, rMain);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t late = i % 3 == 0 ? 2 : i % 4;
    const std::uint64_t work = 100 + 7 * i;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      trace.collective(rank, now + (rank == late ? work : 10 + rank), now + work + 5,
                       rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
    now += work + 5;
    const std::uint32_t sender = (i + 1) % 4, receiver = (sender + 1 + i % 3) % 4;
    trace.receive(receiver, now + 3, now + 60 + i, sender, i % 2);
    trace.send(sender, now + 40 + i, now + 50 + i, receiver, i % 2);
    now += 100;
  }
  for (std::uint32_t rank = 0; rank < 4; ++rank) trace.leave(rank, now, rMain);
  const WaitAnalysis alone = trace.analyze();
  // All of the run is on the path, of several ranks.
  CHECK(total(alone, "critical_path") == static_cast<double>(now - 10));
  for (std::size_t location : {0, 1, 2, 3})
    CHECK(of_location(alone, "critical_path", location) > 0);
  CHECK(total(alone, "delay_barrier") > 0);
  CHECK(total(alone, "delay_latesender") > 0);
  CHECK(alone.problems.clock_violations == 0);
  check_all(trace);
}

TEST_CASE("Shared analysis: a trace without events, one without processes") {
  SyntheticTrace empty(3);
  check_all(empty);
  SyntheticTrace nobody(0);
  check_all(nobody);
}

TEST_CASE("Shared analysis: windows - late posts, locks and progress of ranks elsewhere") {
  SyntheticWindows trace(3);
  trace.sync(1, 150, 155, "MPI_Win_post", trace.only(0));
  trace.sync(0, 100, 200, "MPI_Win_start", trace.only(1));
  trace.access(0, 300, 400, 1);
  trace.sync(0, 500, 600, "MPI_Win_complete", trace.only(1));
  trace.sync(1, 450, 610, "MPI_Win_wait", trace.only(0));
  trace.lock(0, 1000, 1010, 2);
  trace.lock(1, 1005, 1100, 2);
  trace.access(0, 1020, 1080, 2);
  trace.unlock(0, 1090, 1095, 2);
  trace.access(1, 1100, 1300, 2);
  trace.unlock(1, 1310, 1320, 2);
  trace.region(2, 1250, 1260, rBarrier);
  const WaitAnalysis alone = trace.analyze();
  CHECK(total(alone, "mpi_rma_sync_late_post") > 0);
  CHECK(total(alone, "mpi_rma_early_wait") > 0);
  CHECK(total(alone, "mpi_rma_sync_lock_competition") > 0);
  CHECK(total(alone, "mpi_rma_comm_wait_for_progress") > 0);
  check_all(trace);
}

TEST_CASE("Shared analysis: a reader fails - one line, and all end") {
  RandomProgram program(5, 4, 1, in_order(4));
  SyntheticTrace& trace = program.run(200);
  trace.analyze();
  for (const std::uint32_t fails : {1U, 2U, 3U})
    for (const std::uint64_t after : {1U, 2U, 61U, 100U}) {
      CAPTURE(fails, after);
      const auto result =
          analyze_shared(trace.d, trace.events(),
                         {.readers = 3, .batch = 1, .fails = fails, .after = after});
      CHECK(result.error() == (after % 2 == 0 ? "the events cannot be analysed: made up"
                                              : "a made-up error"));
    }
}

}  // namespace refrain::waits::shared_analysis_test
