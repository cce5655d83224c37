// Which detector gets the events, where stacks can be walked and where not.
#include "periodicity/activation/fallback_detector.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <span>
#include <vector>

namespace refrain::periodicity::fallback_detector_test {
namespace {

// Paths of `depth` frames, without loops.
class Straight final : public CodeFacts {
 public:
  explicit Straight(std::size_t depth) : depth_(depth) {}
  std::span<const PathFrame> frames(std::uint32_t path) noexcept override {
    frames_.fill({path, 0});
    return {frames_.data(), path == walked ? std::size_t{3} : depth_};
  }
  std::span<const std::uint64_t> loops(Place) noexcept override { return {}; }
  std::uint64_t function(Place) noexcept override { return 0; }
  bool forward(Place, Place) noexcept override { return true; }
  bool jumps(Place, Place, Place) noexcept override { return false; }
  bool loops_known(Place) noexcept override { return false; }
  unsigned stack(std::uint32_t) noexcept override { return 0; }
  std::uint32_t walked = 0;  // a path that has callers in any case

 private:
  std::size_t depth_;
  std::array<PathFrame, 3> frames_{};
};

// Notes what it gets, and answers for every event that it is a loop of its own.
class Noting final : public LoopDetector {
 public:
  explicit Noting(std::vector<Symbol>& all) : all_(all) {}
  void push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept override {
    all_.push_back(symbol + depth);
    sink.on_loop_event({.kind = LoopEventKind::kFound,
                        .level = 0,
                        .loop = 0,
                        .visit = 0,
                        .body_events = 1,
                        .position = all_.size() - 1,
                        .iteration = 0});
  }
  void finish(LoopSink&) noexcept override {}
  std::uint64_t position() const noexcept override { return all_.size(); }
  std::uint64_t reach_events() const noexcept override { return 1 << 20; }

 private:
  std::vector<Symbol>& all_;
};

struct Counting final : LoopSink {
  void on_loop_event(const LoopEvent& event) noexcept override {
    positions.push_back(event.position);
  }
  std::vector<std::uint64_t> positions;
};

}  // namespace

TEST_CASE("FallbackDetector: no stack can be walked - the other detector gets all events") {
  Straight program(2);
  std::vector<Symbol> got;
  FallbackDetector detector(program, std::make_unique<Noting>(got));
  CHECK(detector.reach_events() == 1 << 20);
  CHECK(detector.of_code());
  Counting sink;
  std::vector<Symbol> given;
  const auto push = [&](Symbol symbol) {
    given.push_back(symbol + 7);
    detector.push(symbol, 7, sink);
    CHECK(detector.position() == given.size());
  };
  for (unsigned i = 0; i + 1 != FallbackDetector::kMaxTried; ++i) push(1 + i % 5);
  CHECK(got.empty());
  CHECK(detector.activations() != nullptr);
  for (unsigned i = 0; i != 10; ++i) push(1 + i % 5);
  CHECK(got == given);
  CHECK(detector.activations() == nullptr);
  CHECK_FALSE(detector.of_code());
  for (std::uint64_t i = 0; i != sink.positions.size(); ++i)
    REQUIRE(sink.positions[i] == i);
  CHECK(sink.positions.size() == given.size());
}

TEST_CASE("FallbackDetector: one stack that can be walked decides") {
  Straight program(2);
  program.walked = 3;
  std::vector<Symbol> got;
  FallbackDetector detector(program, std::make_unique<Noting>(got));
  Counting sink;
  for (unsigned i = 0; i != 200; ++i) detector.push(i == 20 ? 3 : 1 + i % 2, 0, sink);
  CHECK(got.empty());
  CHECK(detector.activations() != nullptr);
  CHECK(detector.of_code());
}

TEST_CASE(
    "FallbackDetector: stacks that can be walked and never say that a loop comes round") {
  Straight program(3);
  std::vector<Symbol> got;
  FallbackDetector detector(program, std::make_unique<Noting>(got));
  Counting sink;
  unsigned pushed = 0;
  for (; pushed + 1 != FallbackDetector::kMaxSilent; ++pushed)
    detector.push(1 + pushed % 5, 0, sink);
  CHECK(got.empty());
  for (; pushed != FallbackDetector::kMaxSilent + 10; ++pushed)
    detector.push(1 + pushed % 5, 0, sink);
  CHECK(got.size() == pushed);
  CHECK(detector.position() == pushed);
  CHECK_FALSE(detector.of_code());
}

TEST_CASE("FallbackDetector: a run that ends before it is decided") {
  const bool walked = GENERATE(true, false);
  Straight program(walked ? 3 : 2);
  std::vector<Symbol> got;
  FallbackDetector detector(program, std::make_unique<Noting>(got));
  Counting sink;
  for (unsigned i = 0; i != 10; ++i) detector.push(1 + i % 2, 0, sink);
  detector.finish(sink);
  CHECK(got.size() == (walked ? 0 : 10));
  CHECK(detector.of_code() == walked);
}

}  // namespace refrain::periodicity::fallback_detector_test
