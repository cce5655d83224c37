// PeriodDetector: which period the stream has now.
//
// Place in the flow: below FlatLoopDetector, which turns periods into loop events.
// Thread-safety: none, one thread pushes. Not for signal handlers.
// Cost: stated by each detector; none allocates after its constructor.
// Units: window and periods in symbols ("events").
//
// Source: Freitag, Caubet, Labarta, "A Trace-Scaling Agent for Parallel Application
// Tracing", section 3.1, eq. 1:
//
//     d(m) = sign Σ_{i=0}^{N-1} |x(i) − x(i−m)|,   0 < m < M ≤ N,
//
// summed over the last N samples; the period is the smallest m with d(m) = 0. In words: m
// is the smallest lag by which the last N samples match the N samples m earlier.
//
// Where we deviate, in all detectors alike:
// - M is inclusive here: 0 < m ≤ M ≤ N. A paper's M is our M+1. So (M, N) = (1, 1) is a
//   detector that can find something, and max_period is the longest period.
// - Symbols are names, not magnitudes: their distance is 0 or 1. Under the sign this
//   makes no difference, and the sum cannot overflow.
// - A sample before the first one equals nothing: d(m) = 1 until N + m samples have
//   been seen.
#pragma once

#include <algorithm>
#include <cstdint>

#include "periodicity/loop_detector.h"

namespace refrain::periodicity {

struct PeriodSettings {
  std::uint32_t max_period;  // M: the longest period looked for
  std::uint32_t window;      // N: how many samples must match
};

// The settings, changed so that 1 ≤ M ≤ N: N takes precedence over M.
inline PeriodSettings valid(PeriodSettings settings) noexcept {
  settings.window = std::max(settings.window, 1u);
  settings.max_period = std::clamp(settings.max_period, 1u, settings.window);
  return settings;
}

class PeriodDetector {
 public:
  explicit PeriodDetector(PeriodSettings settings) noexcept : settings_(valid(settings)) {}
  virtual ~PeriodDetector() = default;

  // Takes the next symbol; gives the smallest period m of the window that ends with it, 0
  // if there is none.
  //
  // While M ≤ N the answer can change from m only to 0, and from 0 to anything: see the
  // argument in exact_detector.h.
  virtual std::uint32_t push(Symbol symbol) noexcept = 0;

  std::uint32_t window() const noexcept { return settings_.window; }
  std::uint32_t max_period() const noexcept { return settings_.max_period; }

 private:
  PeriodSettings settings_;
};

}  // namespace refrain::periodicity
