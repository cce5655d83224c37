#include "tracer/runtime/symbol_stream.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::runtime::symbol_stream_test {
namespace {

// Counts what the gate decides.
class Sink final : public filters::GateSink {
 public:
  int iterations = 0, suspended = 0, left = 0;

  void suspend(std::uint64_t, filters::CutPoint, filters::CutReason) noexcept override {
    ++suspended;
  }
  void resume(std::uint64_t, filters::CutPoint, filters::CutReason) noexcept override {}
  void suspend_earlier(std::uint64_t, filters::CutPoint) noexcept override {}
  void gap(std::uint64_t, filters::CutPoint, filters::CutPoint) noexcept override {}
  void keep_from(filters::CutPoint) noexcept override {}
  void loop_body(const filters::LoopMark&) noexcept override {}
  void loop_found(const filters::LoopMark&) noexcept override {}
  void iteration(const filters::LoopMark&) noexcept override { ++iterations; }
  void iteration_end(const filters::LoopMark&) noexcept override {}
  void mismatch(const filters::LoopMark&) noexcept override {}
  void loop_left(const filters::LoopMark&) noexcept override { ++left; }
  void marks_end(const filters::LoopMark&) noexcept override {}
  void skipped_summary(const filters::SkippedIterations&) noexcept override {}
  void slow_iteration(const filters::SlowIteration&) noexcept override {}
};

struct Bench {
  explicit Bench(std::uint64_t limit = 3) {
    filters::Settings settings;
    settings.detector = "nested";  // by symbols alone
    settings.limit = limit;
    settings.min_gap_s = 0;
    stream.prepare(settings);
    stream.start(settings, 1, sink);
    stream.gate().start({0, 1});
  }
  bool push(periodicity::Symbol number) {
    stream.epoch_begins();
    return stream.push({.symbol = number,
                        .ticks = ++ticks * 100,
                        .epoch = ticks,
                        .depth = 0,
                        .at_epoch = stream.at_epoch()},
                       100 + number);
  }
  Sink sink;
  SymbolStream stream;
  std::uint64_t ticks = 0;
};

}  // namespace

TEST_CASE("SymbolHistory: places - the latest, by position") {
  SymbolHistory history(5);
  for (periodicity::Symbol i = 0; i < 100; ++i) history.append(1000 + i);
  CHECK(history.next() == 100);
  for (std::uint64_t i = 95; i < 100; ++i) CHECK(history.place(i) == 1000 + i);
}

TEST_CASE("SymbolHistory: metrics - of symbols that have come") {
  SymbolHistory history(4);
  CHECK(history.metric_count() == 0);
  history.keep_metrics(2);
  CHECK(history.metrics(0) == nullptr);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::uint64_t values[] = {i, 10 * i};
    history.set_metrics(values);
    history.append(i);
  }
  REQUIRE(history.metrics(5) != nullptr);
  CHECK(history.metrics(5)[1] == 50);
  CHECK(history.metrics(3)[0] == 3);
  CHECK(history.metrics(6) == nullptr);
  history.set_metrics(nullptr);  // could not be read: those of four symbols before
  REQUIRE(history.metrics(6) != nullptr);
  CHECK(history.metrics(6)[0] == 2);
}

TEST_CASE("SymbolStream: push - a loop is detected and suspended") {
  Bench bench;
  for (int i = 0; i < 100; ++i)
    for (periodicity::Symbol symbol : {50, 60, 70})
      REQUIRE(bench.push(bench.stream.number(symbol, filters::Communication::kNone)));
  CHECK(bench.sink.iterations > 50);
  CHECK(bench.sink.suspended == 1);
  CHECK(bench.stream.history().next() == 300);
  CHECK_FALSE(bench.stream.at_epoch());
  bench.stream.gate().finish(++bench.ticks * 100);
  CHECK(bench.sink.left == 1);
}

TEST_CASE("SymbolStream: number - by first appearance, messages apart") {
  Bench bench;
  const auto none = filters::Communication::kNone;
  const auto first = bench.stream.number(0xabcdef, none);
  const auto second = bench.stream.number(0x123456, none);
  CHECK(first != second);
  CHECK(bench.stream.number(0xabcdef, none) == first);
  CHECK(bench.stream.number(0xabcdef, filters::Communication::kMessage) ==
        (first | periodicity::kMessageSymbol));
}

TEST_CASE("SymbolStream: phases - other symbols are passed over") {
  Bench bench;
  CHECK_FALSE(bench.stream.in_phase());
  REQUIRE(bench.push(periodicity::phase_begin(4)));
  bench.stream.phase_begun();
  CHECK(bench.stream.in_phase());
  bench.stream.epoch_begins();
  bench.stream.pass_over(filters::Communication::kMessage);
  bench.stream.pass_over(filters::Communication::kNone);
  CHECK_FALSE(bench.stream.at_epoch());
  CHECK(bench.stream.phase_communication() == filters::Communication::kMessage);
  REQUIRE(bench.push(periodicity::phase_end(4)));
  bench.stream.phase_ended();
  CHECK_FALSE(bench.stream.in_phase());
  CHECK(bench.stream.phase_communication() == filters::Communication::kNone);
}

TEST_CASE("SymbolStream: a jump out of the gate - it is not used again") {
  Bench bench;
  REQUIRE(bench.push(1));
  REQUIRE(bench.stream.enter());  // and no leave()
  CHECK_FALSE(bench.push(2));
  CHECK(bench.stream.history().next() == 1);
  CHECK(bench.stream.give_up());
  CHECK_FALSE(bench.stream.give_up());
  CHECK(bench.stream.given_up());
  CHECK_FALSE(bench.push(3));
}

}  // namespace refrain::runtime::symbol_stream_test
