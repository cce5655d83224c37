// IterationClasses: tells the iterations of a loop apart that hold more or fewer iterations of
// inner loops, by where in its visit one is, or by how long it lasts.
//
// Place in the flow: private to trace_profile.h. Of a written iteration the number of inner
// iterations is known; of a held one only its number in the visit and its duration. Where
// written ones of the same number are alike in all visits, a held one is taken to be like
// those of its number, or of the greatest number before it of which there are any. Otherwise
// it is taken to be like those whose duration is nearest (of those that were not written for
// being slow). Where durations do not tell the written ones apart either, or the numbers of inner
// iterations are too many, all iterations are of one class. Pure.
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
    bool leading = true;  // none of its visit was held before
  };
  void add(const Sample& sample) { samples_.push_back(sample); }
  // All are added.
  void settle();

  std::uint32_t of_inner(std::uint64_t inner) const noexcept;
  std::uint32_t of_held(std::uint64_t position, std::uint64_t ns) const noexcept;

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
