// FallbackDetector: loops by activations, unless the program's stacks cannot be walked or say nothing; then by another detector.
//
// Place in the flow: ARCHITECTURE.md, stage 4: around ActivationDetector. A program without unwind tables has call paths of its own call
// alone, which say nothing of loops. So the first kMaxTried events decide: if none of them has a caller, the other
// detector gets all of them again, and what follows, for good. So it does if after kMaxSilent events no loop has come round: so many without one
// come from code that cannot be read (an interpreter, code made at run time). What it gets are numbers of paths all the same:
// one for each call site.
//
// Thread-safety: none. Ownership: owns the other detector; `facts` must outlive it.
// Cost: a branch an event, once it is decided. No allocation after construction; memory 64 KiB, touched where used.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "periodicity/activation/activation_detector.h"
#include "periodicity/phase_detector.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

// In one page: what each event comes to.
class alignas(2048) FallbackDetector final : public LoopDetector {
 public:
  static constexpr unsigned kMaxTried = 64;
  static constexpr unsigned kMaxSilent = 4096;

  FallbackDetector(CodeFacts& facts, std::unique_ptr<LoopDetector> other)
      : facts_(facts), activations_(facts), other_(std::move(other)) {}

  __attribute__((hot)) void push(Symbol symbol, std::uint16_t depth,
                                 LoopSink& sink) noexcept override {
    if (by_ == By::kActivations) [[likely]]
      return activations_.push(symbol, depth, sink);
    if (by_ == By::kOther) return other_->push(symbol, depth, sink);
    try_out(symbol, depth, sink);
  }
  void finish(LoopSink& sink) noexcept override {
    if (by_ == By::kNotDecided && !any_callers_ && count_ != 0) go_over(sink);
    in_use().finish(sink);
  }
  std::uint64_t position() const noexcept override { return in_use().position(); }
  std::uint64_t reach_events() const noexcept override {
    return std::max(activations_.reach_events(), other_->reach_events());
  }
  bool of_code() const noexcept override { return in_use().of_code(); }
  bool messages_nondeterministic() const noexcept override {
    return in_use().messages_nondeterministic();
  }

  // The path may come next: brings what is known of it near to the processor.
  void expect(std::uint32_t path) const noexcept { activations_.expect(path); }

  // Null once the other one is used.
  const ActivationDetector* activations() const noexcept {
    return by_ == By::kOther ? nullptr : &activations_;
  }

 private:
  enum class By : std::uint8_t { kNotDecided, kActivations, kOther };
  struct Tried {
    Symbol symbol;
    std::uint16_t depth;
  };

  const LoopDetector& in_use() const noexcept {
    return by_ == By::kOther ? *other_ : static_cast<const LoopDetector&>(activations_);
  }
  LoopDetector& in_use() noexcept {
    return by_ == By::kOther ? *other_ : static_cast<LoopDetector&>(activations_);
  }
  // Its path is that of a call, of what it calls, and of more.
  bool has_callers(Symbol symbol) noexcept {
    return facts_.frames(static_cast<std::uint32_t>(symbol % ActivationDetector::kMaxPaths))
               .size() > 2;
  }
  void try_out(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept;
  void go_over(LoopSink& sink) noexcept {
    by_ = By::kOther;
    for (unsigned i = 0; i != count_; ++i)
      other_->push(tried_[i].symbol, tried_[i].depth, sink);
  }

  CodeFacts& facts_;
  ActivationDetector activations_;
  std::unique_ptr<LoopDetector> other_;
  By by_ = By::kNotDecided;
  bool any_callers_ = false;
  unsigned count_ = 0;
  ZeroedArray<Tried> tried_{kMaxSilent};
};

// The activations' detector finds nothing meanwhile, because paths without callers have no loops that come round (but a function's own:
// then it is right).
inline void FallbackDetector::try_out(Symbol symbol, std::uint16_t depth,
                                      LoopSink& sink) noexcept {
  const bool is_path =
      (symbol & (ActivationDetector::kForeign | kPhaseSymbol)) == 0 && symbol != 0;
  tried_[count_++] = {symbol, depth};
  activations_.push(symbol, depth, sink);
  any_callers_ = any_callers_ || (is_path && has_callers(symbol));
  if (activations_.loops() != 0) {
    by_ = By::kActivations;
  } else if (count_ == (any_callers_ ? kMaxSilent : kMaxTried)) {
    go_over(sink);
  }
}

}  // namespace refrain::periodicity
