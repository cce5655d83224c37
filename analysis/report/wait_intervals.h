// When threads waited, and for what: the longest waits.
//
// Place in the flow: ARCHITECTURE.md, stage 7: informed by waits/metrics/pattern.h while the events are replayed.
// Thread-safety: none. Units: ticks of the archive's clock since its begin. Memory: at most 2 * kMost waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/report/longest.h"
#include "analysis/report/timeline_rows.h"
#include "waits/metrics/pattern.h"

namespace refrain::report {

class WaitIntervals final : public waits::WaitObserver {
 public:
  static constexpr std::size_t kMost = 200'000;

  struct Wait {
    std::uint32_t row = 0;
    std::uint32_t metric = 0;
    waits::Ticks begin = 0;
    waits::Ticks ticks = 0;
    double length() const { return static_cast<double>(ticks); }
  };

  explicit WaitIntervals(const TimelineRows& rows) : rows_(rows), kept_(kMost) {}

  void waited(const waits::Call& call, std::uint32_t metric, waits::Ticks begin,
              waits::Ticks wait) override {
    if (call.location < rows_.locations() && rows_.shown(call.location))
      kept_.add({rows_.row_of(call.location), metric, begin, wait});
  }

  // No more will come.
  void finish() {
    waits_ = kept_.take();
    std::ranges::sort(waits_, [](const Wait& a, const Wait& b) {
      return a.row != b.row ? a.row < b.row : a.begin < b.begin;
    });
  }
  std::uint64_t seen() const { return kept_.seen(); }
  // After finish(): by row and begin.
  const std::vector<Wait>& waits() const { return waits_; }

 private:
  const TimelineRows& rows_;
  Longest<Wait> kept_;
  std::vector<Wait> waits_;
};

}  // namespace refrain::report
