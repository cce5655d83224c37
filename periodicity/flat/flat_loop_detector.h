// FlatLoopDetector: turns the periods of a PeriodDetector into loops, one at a time.
//
// Place in the flow: the LoopDetector of the published method; level is always 0.
// Thread-safety: none. Cost: about 2 ns a push above the PeriodDetector's; the push that
// finds a loop does work in the order of N + M. Allocates in the constructor only.
//
// What it reports, and where:
//
//     position   0    first       +p         +2p   …    lock           e
//     symbols    x y  a b c d  a b c d  a b c d  a b c d  a b c d  a b z
//     events                                           │           │  └ kMismatch at e,
//                     kFound(first), kIteration 0,1,2 … ┘           │    kLeft at e
//                                          kIteration k as it begins ┘
//
// - A lock at i with period p means that exactly the last N + p events repeat with p
//   (one more would have locked before), so the loop's first event is at i − N − p + 1:
//   the leftmost possible, which is the same on every rank that runs the same loop.
//   Events of the loop before it are not counted again.
// - An iteration begins at the first event of minimum depth in the body; but where a body
//   seen before comes back, at the same event of it as last time, if
//   that is of minimum depth, too. kFound is at the first such event. Iterations begin at
//   first + r + k·p.
// - kIteration comes with the first event of an iteration, once that has matched. So a
//   break that falls between two iterations gives kLeft alone; one inside an iteration
//   gives kMismatch, then kLeft, both at the event that did not match.
// - kLeft counts complete iterations only. finish() reports kLeft at the stream's end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "periodicity/body_table.h"
#include "periodicity/flat/period_detector.h"
#include "periodicity/loop_detector.h"

namespace refrain::periodicity {

class FlatLoopDetector final : public LoopDetector {
 public:
  // Skips most over 41 runs of real programs (limit 10: 63 % of the events in the mean;
  // (64,64) 55 %, (300,600) 54 %, (1024,1024) 61 %): each window favours some level of
  // their loop nests, so none does well everywhere.
  static constexpr PeriodSettings kDefaultPeriods{512, 512};
  static constexpr std::uint32_t kDefaultKnownLoops = 1024;

  // `known_loops` bounds how many bodies are remembered.
  explicit FlatLoopDetector(std::unique_ptr<PeriodDetector> periods,
                            std::uint32_t known_loops = kDefaultKnownLoops);

  void push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept override;
  void finish(LoopSink& sink) noexcept override;
  std::uint64_t position() const noexcept override { return symbols_.size(); }
  std::uint64_t reach_events() const noexcept override {
    return std::uint64_t{periods_->window()} + periods_->max_period();
  }

 private:
  void enter(std::uint32_t period, LoopSink& sink) noexcept;
  void begin_iteration(std::uint64_t position, LoopSink& sink) noexcept;
  void leave(std::uint64_t position, LoopSink& sink) noexcept;
  void close(std::uint64_t position, LoopSink& sink) noexcept;
  void report(LoopEventKind kind, std::uint64_t position, std::uint64_t iteration,
              LoopSink& sink) const noexcept;
  std::uint32_t start_of_iteration(std::uint64_t run, std::uint64_t leftmost) noexcept;

  std::unique_ptr<PeriodDetector> periods_;
  CircularHistory<Symbol> symbols_;
  CircularHistory<std::uint16_t> depths_;
  BodyTable bodies_;
  std::vector<Symbol> body_;         // scratch: one iteration in a row
  std::uint32_t period_ = 0;         // of the open loop, 0 = none
  BodyTable::Body* open_ = nullptr;  // of the open loop
  std::uint32_t loop_ = 0;
  std::uint32_t visit_ = 0;
  std::uint64_t iterations_begun_ = 0;
  std::uint64_t next_iteration_ = 0;  // where it will begin
  std::uint64_t last_left_ = 0;       // events before it belong to loops left
  bool at_end_ = false;
};

}  // namespace refrain::periodicity
