#include "periodicity/activation/fallback_detector.h"

#include "periodicity/phase_detector.h"

namespace refrain::periodicity {

// The activations' detector finds nothing meanwhile, because paths without callers have no loops that come round (but a function's own:
// then it is right).
void FallbackDetector::try_out(Symbol symbol, std::uint16_t depth,
                               LoopSink& sink) noexcept {
  const bool is_path =
      (symbol & (ActivationDetector::kForeign | kPhaseSymbol)) == 0 && symbol != 0;
  tried_[count_++] = {symbol, depth};
  activations_.push(symbol, depth, sink);
  if ((is_path && has_callers(symbol)) || activations_.loops() != 0) {
    by_ = By::kActivations;
  } else if (count_ == kMostTried) {
    by_ = By::kOther;
    for (const Tried& each : tried_) other_->push(each.symbol, each.depth, sink);
  }
}

}  // namespace refrain::periodicity
