// GateRecord: keeps what an IterationGate reports, for tests: the resulting gaps, and the
// marks and sums of each loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "filters/iteration_gate.h"

namespace refrain::filters {

class GateRecord final : public GateSink {
 public:
  struct Gap {
    std::uint64_t from = 0;
    std::uint64_t to = ~std::uint64_t{0};
  };
  struct Sums {
    std::uint64_t visits = 0;
    std::uint64_t iterations = 0;
    std::uint64_t ticks = 0;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t greatest = 0;
    bool operator==(const Sums&) const = default;
  };

  std::vector<SlowIteration> slow;
  std::map<std::uint32_t, Sums> loops;
  std::map<std::uint32_t, LoopCounts> counts;  // as the gate itself counts
  bool in_order = true;                        // no visit of a loop began in another one
  std::uint64_t marks = 0;
  std::uint64_t summed = 0;
  bool open = false;                                            // the answer
  std::map<std::uint32_t, std::vector<std::uint64_t>> numbers;  // of marked iterations

  // Epochs that are left out, in order, adjacent gaps joined.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> skipped(std::uint64_t end) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const auto& [id, gap] : gaps_)
      if (gap.from < std::min(gap.to, end))
        all.push_back({gap.from, std::min(gap.to, end)});
    std::sort(all.begin(), all.end());
    std::vector<std::pair<std::uint64_t, std::uint64_t>> joined;
    for (const auto& gap : all) {
      if (joined.empty() || joined.back().second < gap.first)
        joined.push_back(gap);
      else
        joined.back().second = std::max(joined.back().second, gap.second);
    }
    return joined;
  }

  void suspend(std::uint64_t gap, CutPoint from, CutReason) noexcept override {
    gaps_[gap].from = from.epoch;
  }
  void resume(std::uint64_t gap, CutPoint from, CutReason) noexcept override {
    gaps_[gap].to = from.epoch;
  }
  void suspend_earlier(std::uint64_t gap, CutPoint from) noexcept override {
    gaps_[gap].from = from.epoch;
  }
  void gap(std::uint64_t gap, CutPoint from, CutPoint to) noexcept override {
    gaps_[gap] = {from.epoch, to.epoch};
  }
  void keep_from(CutPoint) noexcept override {}
  void loop_body(const LoopMark&) noexcept override {}
  void loop_found(const LoopMark& mark) noexcept override {
    in_order = in_order && !open_[mark.loop].begun;
    open_[mark.loop] = Open{};
  }
  void iteration(const LoopMark& mark) noexcept override {
    ++marks;
    numbers[mark.loop].push_back(mark.number);
    Open& open = open_[mark.loop];
    if (open.fresh) ++loops[mark.loop].visits;
    if (open.begun) add(mark.loop, mark.ticks - open.ticks);
    open = {false, true, mark.number, mark.ticks};
  }
  void iteration_end(const LoopMark& mark) noexcept override {
    Open& open = open_[mark.loop];
    if (open.begun) add(mark.loop, mark.ticks - open.ticks);
    open.begun = false;
  }
  void mismatch(const LoopMark&) noexcept override {}
  void marks_end(const LoopMark& mark) noexcept override { loop_left(mark); }
  void loop_left(const LoopMark& mark) noexcept override {
    Open& open = open_[mark.loop];
    if (open.begun && mark.number > open.number) add(mark.loop, mark.ticks - open.ticks);
    open.begun = false;
  }
  void skipped_summary(const SkippedIterations& skipped) noexcept override {
    summed += skipped.count;
    Sums& sums = loops[skipped.loop];
    sums.visits += skipped.visits;
    if (skipped.count == 0) return;
    sums.iterations += skipped.count;
    sums.ticks += skipped.total_ticks;
    sums.least = std::min(sums.least, skipped.least_ticks);
    sums.greatest = std::max(sums.greatest, skipped.greatest_ticks);
  }
  void slow_iteration(const SlowIteration& one) noexcept override { slow.push_back(one); }
  LoopCounts* visit_begins(const LoopMark& mark) noexcept override {
    return &counts[mark.loop];
  }
  bool receives_open() const noexcept override { return open; }

 private:
  struct Open {
    bool fresh = true;  // a visit counts when it has an iteration
    bool begun = false;
    std::uint64_t number = 0;
    std::uint64_t ticks = 0;
  };

  void add(std::uint32_t loop, std::uint64_t ticks) {
    Sums& sums = loops[loop];
    ++sums.iterations;
    sums.ticks += ticks;
    sums.least = std::min(sums.least, ticks);
    sums.greatest = std::max(sums.greatest, ticks);
  }

  std::map<std::uint64_t, Gap> gaps_;
  std::map<std::uint32_t, Open> open_;
};

}  // namespace refrain::filters
