// The symbol stream: numbers the primary thread's symbols and feeds them to detector and gate.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Knows no recorder and no journal: what the gate
// decides goes to the GateSink.
//
// Thread-safety: none, the primary thread's. A signal handler that interrupts it may jump out of it;
// detector and gate may be half changed then, and are not used again: every use of the gate lies
// between enter() and leave(), and enter() fails where a leave() is missing.
// Ownership: owns detector, gate and history; the sink must outlive it.
// Cost: push() is that of detector and gate, and a few stores. Allocates in prepare() and start() only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "filters/iteration_gate.h"
#include "filters/settings.h"
#include "periodicity/activation/fallback_detector.h"
#include "periodicity/phase_detector.h"
#include "periodicity/symbol.h"
#include "periodicity/zeroed_array.h"
#include "tracer/runtime/program_facts.h"

namespace refrain::runtime {

// The latest symbols of the stream, by position: their places, and what the primary thread's counters
// were.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Loops are reported late, and their marks name events
// of the past; this is where the marks get places and counter values from.
// Thread-safety: none, the primary thread's. Units: positions, the number of symbols before.
// Cost: append() is two stores. Allocates when it is made and in keep_metrics().

class SymbolHistory {
 public:
  SymbolHistory() = default;
  // Keeps at least so many symbols.
  explicit SymbolHistory(std::size_t symbols)
      : places_(std::bit_ceil(symbols)), mask_(places_.size() - 1) {}

  // From now on so many counter values of each symbol are kept, too.
  void keep_metrics(unsigned count) {
    metrics_ = periodicity::ZeroedArray<std::uint64_t>(places_.size() * count);
    metric_count_ = count;
  }
  unsigned metric_count() const noexcept { return metric_count_; }

  // The counter values of the next symbol. Null: not known, the slot keeps what it had.
  void set_metrics(const std::uint64_t* values) noexcept {
    metrics_end_ = next_ + 1;
    if (values != nullptr)
      std::copy_n(values, metric_count_, &metrics_[(next_ & mask_) * metric_count_]);
  }
  void append(periodicity::Symbol place) noexcept { places_[next_++ & mask_] = place; }

  // Position of the next symbol.
  std::uint64_t next() const noexcept { return next_; }

  periodicity::Symbol place(std::uint64_t position) const noexcept {
    return places_[position & mask_];
  }
  // metric_count() values; null if the symbol at `position` has not come.
  const std::uint64_t* metrics(std::uint64_t position) const noexcept {
    return position < metrics_end_ ? &metrics_[(position & mask_) * metric_count_]
                                   : nullptr;
  }

 private:
  periodicity::ZeroedArray<periodicity::Symbol> places_;
  std::uint64_t mask_ = 0;
  std::uint64_t next_ = 0;
  unsigned metric_count_ = 0;
  periodicity::ZeroedArray<std::uint64_t> metrics_;
  std::uint64_t metrics_end_ = 0;  // position after the latest symbol that has values
};

class SymbolStream {
 public:
  // Makes the detector and the history, then the gate. `start_ticks`: the start of the recording.
  // The clock is to be calibrated in between: the longer after its choice, the less it waits.
  void prepare(const filters::Settings& settings);
  void start(const filters::Settings& settings, std::uint64_t start_ticks,
             filters::GateSink& sink);

  filters::IterationGate& gate() noexcept { return *gate_; }
  const SymbolHistory& history() const noexcept { return history_; }
  SymbolHistory& history() noexcept { return history_; }

  // What the detector gets for a symbol, in the order of their first appearance.
  periodicity::Symbol number(periodicity::Symbol symbol,
                             filters::Communication communication) noexcept {
    return marked(numbers_.number(symbol), communication);
  }

  // The primary thread's call paths; made when they are asked for first. Throws std::bad_alloc.
  ProgramFacts& facts();
  periodicity::Symbol path_number(CallSite site, std::uint64_t callee,
                                  filters::Communication communication) noexcept {
    return marked(facts_->find(site, callee), communication);
  }
  static periodicity::Symbol marked(periodicity::Symbol number,
                                    filters::Communication communication) noexcept {
    return communication == filters::Communication::kMessage
               ? number | periodicity::kMessageSymbol
               : number;
  }
  // A symbol unlike all others.
  periodicity::Symbol foreign(periodicity::Symbol symbol) noexcept {
    return (by_paths() ? periodicity::ActivationDetector::kForeign : 0) |
           numbers_.number(symbol);
  }
  // A symbol is the number of its call path.
  bool by_paths() const noexcept { return by_paths_ != nullptr; }
  // Null: loops are not found by activations.
  const periodicity::ActivationDetector* activations() const noexcept {
    return by_paths() ? by_paths_->activations() : nullptr;
  }

  // Asked while a symbol is taken; set before the first one, by who knows.
  using ReceivesOpen = bool (*)() noexcept;
  void set_receives_open(ReceivesOpen receives_open) noexcept {
    receives_open_ = receives_open;
  }
  bool receives_open() const noexcept {
    return receives_open_ != nullptr && receives_open_();
  }

  // As kTextLoopLimits; empty: no limit was reached.
  std::string loop_limits() const;
  // A thread goes on with the stream that had events of its own at the same time as the one before.
  void take_turn() noexcept { ++turns_; }

  // A new epoch begins: a cut may lie just before the next symbol.
  void epoch_begins() noexcept { at_epoch_ = true; }
  bool at_epoch() const noexcept { return at_epoch_; }

  // The next symbol. False: the gate cannot be used.
  __attribute__((always_inline)) bool push(const filters::SymbolEvent& event,
                                           periodicity::Symbol place) noexcept {
    if (!enter()) [[unlikely]]
      return false;
    history_.append(place);
    gate_->on_symbol(event);
    leave();
    at_epoch_ = false;
    return true;
  }
  // The event of the latest symbol has ended.
  void end_symbol(std::uint64_t ticks, std::uint16_t depth) noexcept {
    gate_->on_symbol_end(ticks, depth);
  }
  // What is most likely the next symbol's path, see Paths::expect_next().
  std::uint32_t expect_next() const noexcept {
    if (!by_paths()) return 0;
    const std::uint32_t path = facts_->paths().expect_next();
    if (path != 0) [[unlikely]]
      by_paths_->expect(path);
    return path;
  }

  // Phases that the program names: while one is open other symbols are passed over, and only what
  // communication there was counts.
  bool in_phase() const noexcept { return open_phases_ != 0; }
  void pass_over(filters::Communication communication) noexcept {
    at_epoch_ = false;
    phase_communication_ = std::max(phase_communication_, communication);
  }
  filters::Communication phase_communication() const noexcept {
    return phase_communication_;
  }
  // After the symbol that begins (ends) a phase.
  void phase_begun() noexcept { open_phases_ = detector_->open_phases(); }
  void phase_ended() noexcept {
    open_phases_ = detector_->open_phases();
    phase_communication_ = filters::Communication::kNone;
  }

  bool enter() noexcept {
    if (in_use_) [[unlikely]]
      return false;
    in_use_ = true;
    return true;
  }
  void leave() noexcept { in_use_ = false; }
  bool in_use() const noexcept { return in_use_; }
  // The gate was left by a jump and is not used any more: in_use() stays true. Returns true if that is new.
  bool give_up() noexcept { return !std::exchange(given_up_, true); }
  bool given_up() const noexcept { return given_up_; }

 private:
  bool at_epoch_ = true;
  bool in_use_ = false;
  bool given_up_ = false;
  std::uint64_t turns_ = 0;
  filters::Communication phase_communication_ = filters::Communication::kNone;
  ReceivesOpen receives_open_ = nullptr;
  std::size_t open_phases_ = 0;
  std::unique_ptr<ProgramFacts> facts_;
  const periodicity::FallbackDetector* by_paths_ = nullptr;
  std::unique_ptr<periodicity::PhaseDetector> detector_;
  std::unique_ptr<filters::IterationGate> gate_;
  SymbolHistory history_;
  periodicity::SymbolNumbers numbers_;
};

}  // namespace refrain::runtime
