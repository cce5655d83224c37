// PhaseDetector: a loop detector in which phases named by the program take precedence.
//
// Place in the flow: ARCHITECTURE.md, stage 4: between the session and the detector that finds
// loops by itself. Until the first phase begins, and when none is open any more, its events
// pass through. (The directives `phase start` and `phase end` are those of K. Fuerlinger
// and S. Moore, Detection and Analysis of Iterative Behavior in Parallel Applications, 2008.
// There a profile is taken at each of them; here a phase is an iteration of a loop.)
//
// A phase that begins again and again is a loop, and each of its phases an iteration, from its
// begin to its end. A phase inside another is an inner loop. What is between two phases of a
// loop belongs to it, if it is what was there before: at most twice as many symbols, and no
// new ones. What comes between the first two is learned, and what is new between phases that
// follow each other. Otherwise, and when another phase begins at the same level, the loop is
// left: after its last phase, or where the other phase begins. A loop never ends in the middle
// of a phase. So a phase that comes once is a loop of one iteration; it is left at the latest
// when the inner detector finds a loop after it.
//
// What the program does inside of a phase must not be pushed: positions count what is outside
// of phases, starts and ends of phases, so that phases of any length are within reach. The
// inner detector gets all of this, too, for positions to agree, but what it reports is
// dropped while a phase loop is open; loops that begin after it are reported.
//
// Thread-safety, cost: as LoopDetector; without phases one comparison a symbol. A new
// phase allocates, and so does what is learned: at most kMostBetween symbols a phase.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "periodicity/loop_detector.h"

namespace refrain::periodicity {

// Symbols that start and end the phase `name` (any number of up to 32 bits). Others have none
// of these bits.
inline constexpr Symbol kPhaseSymbol = Symbol{1} << 63;
inline constexpr Symbol kPhaseEndSymbol = kPhaseSymbol | Symbol{1} << 62;
constexpr Symbol phase_begin(std::uint32_t name) noexcept { return kPhaseSymbol | name; }
constexpr Symbol phase_end(std::uint32_t name) noexcept { return kPhaseEndSymbol | name; }

class PhaseDetector final : public LoopDetector, private LoopSink {
 public:
  // Loops of phases are numbered from here on, by the first start of each.
  static constexpr std::uint32_t kFirstLoop = 1 << 14;
  static constexpr std::size_t kMostBetween = 4096;
  static constexpr std::size_t kMaxLevels = 64;

  explicit PhaseDetector(std::unique_ptr<LoopDetector> inner);

  __attribute__((hot)) void push(Symbol symbol, std::uint16_t depth,
                                 LoopSink& sink) noexcept override {
    if (!muted_ && (symbol & kPhaseSymbol) == 0) [[likely]] {
      sink_ = &sink;
      return inner_->push(symbol, depth, *this);
    }
    push_slow(symbol, depth, sink);
  }
  void finish(LoopSink& sink) noexcept override;
  std::uint64_t position() const noexcept override { return inner_->position(); }
  std::uint64_t reach_events() const noexcept override;
  bool of_code() const noexcept override { return inner_->of_code(); }
  bool messages_nondeterministic() const noexcept override {
    return inner_->messages_nondeterministic();
  }

  // Levels of phases that are open: begun and not ended.
  std::size_t open_phases() const noexcept;

 private:
  struct Phase {  // all of one name
    std::uint32_t loop = 0;
    std::uint32_t visits = 0;
    std::uint64_t intervals = 0;  // that were learned
    std::size_t most = 0;         // symbols in one
    std::unordered_set<Symbol> between;
  };
  struct Open {  // a loop of phases
    Phase* phase = nullptr;
    bool inside = false;          // its phase has begun and not ended
    std::uint64_t iteration = 0;  // the latest
    std::uint64_t end = 0;        // position after the end of that
    std::vector<Symbol> since;    // what came since
  };
  struct InnerLoop {  // that the inner detector has open
    LoopEvent found{};
    std::uint64_t iteration = 0;
  };

  __attribute__((hot)) void on_loop_event(const LoopEvent& event) noexcept override {
    if (event.kind == LoopEventKind::kIteration && !muted_) [[likely]] {
      if (event.level < inner_loops_.size())
        inner_loops_[event.level].iteration = event.iteration;
      return sink_->on_loop_event(event);
    }
    on_loop_event_slow(event);
  }
  void may_begin(std::uint16_t number) noexcept override { sink_->may_begin(number); }
  void on_loop_event_slow(const LoopEvent& event) noexcept;
  void push_slow(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept;
  void begin(std::uint32_t name, LoopSink& sink) noexcept;
  void end(std::uint32_t name, LoopSink& sink) noexcept;
  void between(Symbol symbol, LoopSink& sink) noexcept;
  void leave_innermost(std::uint64_t position, LoopSink& sink, bool at_end) noexcept;
  void track(const LoopEvent& event) noexcept;
  void mute(std::uint64_t position, LoopSink& sink) noexcept;
  void listen(std::uint64_t position, LoopSink& sink) noexcept;
  void learn(Open& loop) noexcept;
  LoopEvent event_of(LoopEventKind kind, std::uint64_t position) const noexcept;

  std::unique_ptr<LoopDetector> inner_;
  std::vector<Open> open_;
  std::unordered_map<std::uint32_t, Phase> phases_;
  std::vector<InnerLoop> inner_loops_;  // by level
  LoopSink* sink_ = nullptr;
  bool muted_ = false;              // whenever a phase is open
  std::uint64_t audible_from_ = 0;  // while muted: loops that begin here or later count
};

}  // namespace refrain::periodicity
