#include "tracer/runtime/gate_journal.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tracer/runtime/journal_bench.h"

namespace refrain::runtime::gate_journal_test {
namespace {

struct Bench : JournalBench {
  Bench() {
    filters::Settings settings;
    settings.detector = "nested";  // by symbols alone
    stream.prepare(settings);
    stream.start(settings, 1, sink);
  }
  filters::LoopMark mark(std::uint16_t level, std::uint64_t number) {
    return {.loop = 7,
            .level = level,
            .visit = 0,
            .body_events = 2,
            .position = 0,
            .number = number,
            .ticks = ++ticks};
  }

  recorder::DecisionBoard board;
  WaitingWork waiting;
  SymbolStream stream;
  CodePlaces code{journal, waiting};
  LoopTable loops;
  GateJournal sink{journal, board, stream, code, loops, budget, 0};
  std::uint64_t ticks = 100;
};

}  // namespace

TEST_CASE("GateJournal: cuts - go to the board and the journal") {
  Bench bench;
  bench.sink.suspend(1, {10, 1000}, filters::CutReason::kIterations);
  bench.sink.keep_from({12, 1200});
  recorder::Decision decision{};
  REQUIRE(bench.board.count() == 1);
  REQUIRE(bench.board.read(0, decision));
  CHECK(decision.gap == 1);
  CHECK(decision.epoch == 10);
  CHECK(bench.board.keep_from() == 12);
  bench.sink.resume(1, {20, 2000}, filters::CutReason::kSlow);
  REQUIRE(bench.board.read(1, decision));
  CHECK(decision.epoch == 20);
  const auto suspended = bench.records(spool::kGapSuspend);
  REQUIRE(suspended.size() == 1);
  CHECK(suspended[0].payload == 10);
  CHECK(suspended[0].ticks == 1000);
  const auto resumed = bench.records(spool::kGapResume);
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0].sub == spool::kGapSlow);
}

TEST_CASE("GateJournal: a gap of the past - only the journal has it") {
  Bench bench;
  bench.sink.gap(3, {10, 1000}, {20, 2000});
  CHECK(bench.board.count() == 0);
  CHECK(bench.records(spool::kGapSuspend).size() == 1);
  CHECK(bench.records(spool::kGapResume).size() == 1);
}

TEST_CASE("GateJournal: a loop's body - places, and call chains are wanted") {
  Bench bench;
  bench.stream.history().append(make_symbol(spool::kParallelBegin, 0, 0x4000));
  bench.stream.history().append(make_symbol(spool::kWorkBegin, 3, 0x5000));
  bench.sink.loop_body(bench.mark(0, 0));
  const auto body = bench.records(spool::kLoopBody);
  REQUIRE(body.size() == 2);
  CHECK((body[0].payload & spool::kAddressMask) == 0x4000);
  CHECK(body[0].sub == spool::kParallelBegin);
  CHECK(body[1].payload == (std::uint64_t{3} << 48 | 0x5000));
  CHECK(bench.waiting.bits() == WaitingWork::kCallChains);
}

TEST_CASE("GateJournal: anchors - only marks that follow one say so") {
  Bench bench;
  bench.sink.iteration(bench.mark(0, 1));
  bench.sink.pass_anchor();
  bench.sink.pass_anchor();
  bench.sink.iteration(bench.mark(0, 2));
  bench.sink.iteration(bench.mark(0, 3));
  const auto anchors = bench.records(spool::kAnchor);
  REQUIRE(anchors.size() == 1);
  CHECK(anchors[0].payload == 2);
  CHECK(bench.records(spool::kIteration).size() == 3);
}

TEST_CASE(
    "GateJournal: memory - samples at outermost iterations, fewer as the run gets longer") {
  Bench bench;
  const std::uint64_t s = recorder::Clock::ticks_of_seconds(1);
  filters::OutermostEvent event{};
  const auto pass = [&](std::uint64_t from, std::uint64_t to, std::uint64_t step) {
    const std::size_t before = bench.records(spool::kMemory).size();
    for (event.ticks = from; event.ticks < to; event.ticks += step)
      bench.sink.outermost(event);
    return bench.records(spool::kMemory).size() - before;
  };
  CHECK(pass(s, 2 * s, s / 1000) == 100);
  CHECK(bench.records(spool::kMemory)[0].payload > 100'000);
  // At 256 seconds one each two.
  CHECK(pass(257 * s, 277 * s, s / 10) <= 11);
  // New memory is there at the next look.
  const std::uint64_t before = bench.records(spool::kMemory).back().payload;
  std::vector<char> more(8 << 20, 'x');
  CHECK(pass(300 * s, 301 * s, s) == 1);
  CHECK(bench.records(spool::kMemory).back().payload > before + (7 << 20));
  CHECK(more.back() == 'x');
}

TEST_CASE("GateJournal: metrics - come before the mark") {
  Bench bench;
  bench.stream.history().keep_metrics(2);
  const std::uint64_t values[] = {11, 22};
  bench.stream.history().set_metrics(values);
  bench.stream.history().append(1);
  bench.sink.iteration(bench.mark(0, 1));
  const auto records = bench.records();
  REQUIRE(records.size() == 3);
  CHECK(records[0].kind == spool::kIterationMetric);
  CHECK(records[0].payload == 11);
  CHECK(records[1].payload == 22);
  CHECK(records[2].kind == spool::kIteration);
}

TEST_CASE("GateJournal: given up - open loops and the open gap end") {
  Bench bench;
  bench.sink.iteration(bench.mark(0, 5));
  bench.sink.iteration(bench.mark(1, 6));
  bench.sink.suspend(9, {10, 1000}, filters::CutReason::kIterations);
  bench.sink.give_up(15, 3000);
  const auto left = bench.records(spool::kLoopLeft);
  REQUIRE(left.size() == 2);
  CHECK(left[0].payload == 6);  // the inner one first
  CHECK(left[1].payload == 5);
  const auto resumed = bench.records(spool::kGapResume);
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0].payload == 15);
  CHECK(resumed[0].sub == spool::kGapBreak);
  CHECK(bench.board.count() == 2);
}

TEST_CASE("GateJournal: given up - nothing open, nothing to end") {
  Bench bench;
  bench.sink.iteration(bench.mark(0, 5));
  bench.sink.loop_left(bench.mark(0, 5));
  bench.sink.suspend(9, {10, 1000}, filters::CutReason::kIterations);
  bench.sink.resume(9, {12, 1200}, filters::CutReason::kBreak);
  const std::size_t before = bench.records().size();
  bench.sink.give_up(15, 3000);
  CHECK(bench.records().size() == before);
  CHECK(bench.board.count() == 2);
}

}  // namespace refrain::runtime::gate_journal_test
