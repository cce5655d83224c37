// WrittenIterations: counts, loop by loop, the iterations of which something is written.
//
// Place in the flow: next to the policy, where the whole stream is available afterwards
// (`refrain detect`). An iteration of an outer loop counts as written although its inner
// loops are skipped after their first iterations; one that lies wholly in a skipped interval does
// not. Only complete iterations count.
// Thread-safety: none. Memory: up to 2^20 iterations of 24 bytes wait until they are
// decided; older ones are decided by what is skipped by then. (A break resumes writing two
// iterations back, so only one with more inner ones than that could be counted wrongly.)
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "filters/nested_policy.h"
#include "periodicity/loop_detector.h"

namespace refrain::filters {

class WrittenIterations final : public periodicity::LoopSink {
 public:
  static constexpr std::size_t kMaxWaiting = std::size_t{1} << 20;

  // `skipped` must outlive this and get the policy's reports of the same loop events.
  explicit WrittenIterations(const SkippedIntervals& skipped,
                             std::size_t most_waiting = kMaxWaiting)
      : skipped_(skipped), most_waiting_(most_waiting) {}

  void on_loop_event(const periodicity::LoopEvent& event) noexcept override;

  // The stream has ended at `position`; the events of the detector's finish() have been reported.
  void finish(std::uint64_t position);

  std::uint64_t written(std::uint32_t loop) const {
    const auto found = written_.find(loop);
    return found == written_.end() ? 0 : found->second;
  }

 private:
  struct Iteration {
    std::uint32_t loop;
    std::uint64_t begin;
    std::uint64_t end;
  };
  struct Open {
    std::uint64_t begin = 0;
    std::uint64_t number = 0;
    bool any = false;
  };

  void add(std::uint32_t loop, std::uint64_t begin, std::uint64_t end);
  void judge(std::size_t count, std::uint64_t now);

  const SkippedIntervals& skipped_;
  std::size_t most_waiting_;
  std::vector<Open> open_;  // by level
  std::vector<Iteration> waiting_;
  std::map<std::uint32_t, std::uint64_t> written_;
};

}  // namespace refrain::filters
