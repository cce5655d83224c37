// The marks of iterations in a trace of Refrain, as its events are read.
//
// Place in the flow: private to trace_profile.h. Thread-safety: none.
// Cost: O(1) an event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison/nest_books.h"
#include "analysis/mark_attributes.h"
#include "base/result.h"
#include "reader/trace_definitions.h"
#include "reader/trace_sink.h"

namespace refrain::analysis {

// IterationClasses: distinguishes the iterations of a loop that have more or fewer iterations of
// inner loops, by their position in the visit, or by their duration.
//
// The number of inner iterations is known of a
// written iteration; of a skipped one only its position and its duration are. Where written
// ones of the same position are alike in all visits, a skipped one is assumed to be like those
// of its position, or of the latest position before it that has any. Otherwise it is assumed to
// be like those with the nearest duration (of those not written for being slow). Where
// durations do not distinguish the written ones either, or there are too many numbers of inner
// iterations, all iterations are of one class. Pure.
// Thread-safety: const after settle(). Cost: settle() sorts the samples.
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

// Counts the iterations of visits from their marks: a visit ends with the iteration around it,
// or when another loop begins.
class VisitCounter {
 public:
  struct Visit {
    std::uint32_t loop = reader::kNone;
    std::uint64_t iterations = 0;  // begun
    bool skipped = false;          // one of them was
  };
  // An iteration begins at this depth: its visit, including it.
  const Visit& begin(std::size_t depth, std::uint32_t loop, bool skipped) {
    visits_.resize(depth + 1);
    Visit& visit = visits_.back();
    if (visit.loop != loop) visit = {.loop = loop};
    ++visit.iterations;
    visit.skipped |= skipped;
    return visit;
  }

 private:
  std::vector<Visit> visits_;  // the latest of each level
};

struct WrittenIteration {
  SampleKind kind = SampleKind::kOther;
  std::uint32_t loop = 0;
  std::size_t depth = 0;      // written iterations around it
  std::uint32_t variant = 0;  // of iteration_marks.cc
};
// The marks of a process.
struct ProcessMarks {
  std::uint32_t location = reader::kNone;  // that has them; kNone: none
  // Use of each written iteration, in the order of their begins.
  std::vector<WrittenIteration> written;
  std::map<std::uint32_t, IterationClasses> classes;  // by loop

  std::uint32_t variant_of_skipped(std::uint32_t loop, std::uint64_t position,
                                   std::uint64_t ns) const {
    const auto found = classes.find(loop);
    return found == classes.end() ? 0 : found->second.of_skipped(position, ns);
  }
};
using TraceMarks = std::vector<ProcessMarks>;  // by process

// First pass: collects them.
class SampleSink final : public reader::TraceSink {
 public:
  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  TraceMarks take() { return std::move(marks_); }

 private:
  struct Written {
    std::uint32_t region;
    bool complete;
    std::uint64_t position;  // in a visit of its loop
    bool leading;  // none of the visit was skipped before: not written for being slow
    std::size_t depth;
    std::uint64_t ns = 0;
    std::uint64_t unreported_ns = 0;  // skipped, without marks
    std::uint64_t inner = 0;          // complete iterations directly in it
  };
  struct Range {
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t greatest = 0;
  };
  struct Open {
    std::uint32_t region;
    std::size_t written;  // place in the list; kSkipped
    std::uint64_t begin_ns;
    bool complete;
    std::uint64_t gap_ns = 0;      // directly in it
    std::uint64_t skipped_ns = 0;  // of iterations directly in it
    std::uint64_t inner = 0;       // complete iterations directly in it
  };
  struct Process {
    std::vector<Open> open;
    VisitCounter visits;
    std::uint32_t location = reader::kNone;  // that has the marks
    std::uint64_t ns = 0;                    // until then gaps are counted
    std::vector<Written> written;
    std::vector<std::uint64_t> least_ns;  // by region: of its complete iterations
    std::vector<Range> skipped;           // by region
  };
  static constexpr std::size_t kSkipped = ~std::size_t{0};

  void count_gap(Process& process, std::uint64_t ns) const;
  void end_iteration(Process& process, std::uint64_t ns);
  static SampleKind kind_of(const Process& process, const Written& iteration);

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  std::vector<Process> processes_;
  std::vector<bool> on_;  // by location: it is being written
  TraceMarks marks_;
};

}  // namespace refrain::analysis
