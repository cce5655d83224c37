// IterationClasses: distinguishes the iterations of a loop that have more or fewer iterations of
// inner loops, by their position in the visit, or by their duration.
//
// Place in the flow: private to trace_profile.h. The number of inner iterations is known of a
// written iteration; of a skipped one only its position and its duration are. Where written
// ones of the same position are alike in all visits, a skipped one is assumed to be like those
// of its position, or of the latest position before it that has any. Otherwise it is assumed to
// be like those with the nearest duration (of those not written for being slow). Where
// durations do not distinguish the written ones either, or there are too many numbers of inner
// iterations, all iterations are of one class. Pure.
// Thread-safety: const after settle(). Cost: settle() sorts the samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace refrain::analysis {

class IterationClasses {
 public:
  static constexpr std::size_t kMost = 8;
  static constexpr std::uint32_t kNoClass = kMost;  // with a number that no sample has

  // A written iteration.
  struct Sample {
    std::uint64_t inner = 0;     // iterations of inner loops directly in it
    std::uint64_t position = 0;  // in its visit
    std::uint64_t ns = 0;
    bool leading = true;  // none of its visit was skipped before
  };
  void add(const Sample& sample) { samples_.push_back(sample); }
  // All are added.
  void settle();

  std::uint32_t of_inner(std::uint64_t inner) const noexcept;
  std::uint32_t of_skipped(std::uint64_t position, std::uint64_t ns) const noexcept;

 private:
  bool by_position();
  bool by_duration();
  std::uint32_t of_duration(std::uint64_t ns) const noexcept;

  std::vector<Sample> samples_;
  std::vector<std::uint64_t> inner_;           // by class, ascending; empty: one class
  std::map<std::uint64_t, std::uint32_t> at_;  // by position: the class of most
  std::vector<double> end_ns_;  // of all classes but the last: where the next begins
};

}  // namespace refrain::analysis
