// The gate where messages are nondeterministic: loops inside written iterations are written in full,
// because a message sent in one of their iterations may be received in another.
#include <catch2/catch.hpp>

#include "filters/gate_record.h"
#include "filters/iteration_gate.h"
#include "periodicity/nested/nested_detector.h"

namespace refrain::filters::nested_gate_messages_test {
namespace {

constexpr std::uint64_t kSteps = 60, kInner = 60, kStepEvents = 2 * kInner + 2;
constexpr std::uint64_t kLimit = 8;

// The nested detector on this regular program, with messages_nondeterministic() given by the test.
class Answering final : public periodicity::LoopDetector {
 public:
  explicit Answering(bool by_chance) : by_chance_(by_chance) {}
  void push(periodicity::Symbol symbol, std::uint16_t depth,
            periodicity::LoopSink& sink) noexcept override {
    nested_.push(symbol, depth, sink);
  }
  void finish(periodicity::LoopSink& sink) noexcept override { nested_.finish(sink); }
  std::uint64_t position() const noexcept override { return nested_.position(); }
  std::uint64_t reach_events() const noexcept override { return nested_.reach_events(); }
  bool messages_nondeterministic() const noexcept override { return by_chance_; }

 private:
  const bool by_chance_;
  periodicity::NestedDetector nested_;
};

// Steps of an inner loop of a message and a collective, between two events that are neither.
// Returns how many events of each step are written.
std::vector<std::uint64_t> written(bool by_chance, Communication inner_collective) {
  GatePolicy policy;
  policy.limit = kLimit;
  policy.slow.share = 0;
  GateRecord record;
  Answering detector(by_chance);
  IterationGate gate(policy, detector, record);
  gate.start({0, 0});
  std::uint64_t now = 0, epoch = 0;
  const auto event = [&](std::uint64_t symbol, Communication communication) {
    gate.on_symbol({symbol, now, ++epoch, 0, true, communication});
    now += 100;
    gate.on_symbol_end(now - 10, 0);
  };
  for (std::uint64_t step = 0; step != kSteps; ++step) {
    event(1, Communication::kNone);
    for (std::uint64_t i = 0; i != kInner; ++i) {
      event(2, Communication::kMessage);
      event(3, inner_collective);
    }
    event(4, Communication::kNone);
  }
  gate.finish(now);
  std::vector<std::uint64_t> out(kSteps, kStepEvents);
  for (const auto& [from, to] : record.skipped(epoch + 1))
    for (std::uint64_t i = from; i != to; ++i) --out[(i - 1) / kStepEvents];
  return out;
}

}  // namespace

TEST_CASE("Gate: messages by chance - no inner loop of a written iteration is cut") {
  for (const Communication inner : {Communication::kCollective, Communication::kNone}) {
    const auto regular = written(false, inner);
    const auto by_chance = written(true, inner);
    for (std::uint64_t step = 3; step != kSteps; ++step) {
      INFO("step " << step);
      // From the third step on the outer loop is known; the last two are the end of the program.
      const bool is_written = step < kLimit;
      if (inner == Communication::kCollective && is_written)
        CHECK(regular[step] < kStepEvents / 4);
      if (is_written) CHECK(by_chance[step] == kStepEvents);
      if (step > kLimit + 1 && step + 2 < kSteps) CHECK(by_chance[step] == 0);
    }
  }
}

}  // namespace refrain::filters::nested_gate_messages_test
