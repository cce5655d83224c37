#include "analysis/comparison/iteration_marks.h"

#include <algorithm>

namespace refrain::analysis {

using reader::EventKind;
using reader::TraceDefinitions;
using reader::TraceEvent;

std::string SampleSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  attributes_.emplace(definitions);
  processes_.resize(definitions.processes.size());
  on_.assign(definitions.locations.size(), true);
  for (Process& process : processes_) {
    process.skipped.resize(definitions.regions.size());
    process.least_ns.assign(definitions.regions.size(), ~std::uint64_t{0});
  }
  return {};
}

void SampleSink::event(const TraceEvent& event) {
  Process& process = processes_[definitions_->locations[event.location].process];
  if (event.kind == EventKind::kMeasurementOnOff) {
    if (event.location == process.location) count_gap(process, event.ns);
    on_[event.location] = event.op == OTF2_MEASUREMENT_ON;
    return;
  }
  if (!attributes_->is_mark(event)) return;
  process.location = event.location;
  count_gap(process, event.ns);
  if (event.kind == EventKind::kLeave) return end_iteration(process, event.ns);
  const bool written = attributes_->written(event);
  const VisitCounter::Visit& visit =
      process.visits.begin(process.open.size(), event.ref, !written);
  process.open.push_back({event.ref, written ? process.written.size() : kSkipped, event.ns,
                          attributes_->complete(event)});
  if (!written) return;
  const auto depth =
      std::count_if(process.open.begin(), process.open.end() - 1,
                    [](const Open& open) { return open.written != kSkipped; });
  process.written.push_back({event.ref, attributes_->complete(event), visit.iterations - 1,
                             !visit.skipped, static_cast<std::size_t>(depth)});
}

// A gap belongs to the innermost written iteration around it.
void SampleSink::count_gap(Process& process, std::uint64_t ns) const {
  const std::uint64_t passed = ns - process.ns;
  process.ns = ns;
  if (on_[process.location]) return;
  const auto around =
      std::find_if(process.open.rbegin(), process.open.rend(),
                   [](const Open& open) { return open.written != kSkipped; });
  if (around != process.open.rend()) around->gap_ns += passed;
}

void SampleSink::end_iteration(Process& process, std::uint64_t ns) {
  if (process.open.empty()) return;
  const Open open = process.open.back();
  process.open.pop_back();
  const std::uint64_t duration = ns - open.begin_ns;
  std::uint64_t& least_ns = process.least_ns[open.region];
  if (open.complete) least_ns = std::min(least_ns, duration);
  if (open.complete && !process.open.empty()) ++process.open.back().inner;
  if (open.written != kSkipped) {
    Written& iteration = process.written[open.written];
    iteration.ns = duration;
    iteration.inner = open.inner;
    iteration.unreported_ns = open.gap_ns - std::min(open.gap_ns, open.skipped_ns);
    return;
  }
  Range& skipped = process.skipped[open.region];
  skipped.least = std::min(skipped.least, duration);
  skipped.greatest = std::max(skipped.greatest, duration);
  if (!process.open.empty() && process.open.back().written != kSkipped)
    process.open.back().skipped_ns += duration;
}

SampleKind SampleSink::kind_of(const Process& process, const Written& iteration) {
  // Smaller parts can be neglected. For a slow iteration its own duration does not matter:
  // most of it may be one inner iteration, written alone.
  constexpr std::uint64_t kUnreportedPart = 100;
  constexpr std::uint64_t kUnreportedPartOfLeast = 10;
  const std::uint64_t reported_well =
      std::min(iteration.ns / kUnreportedPart,
               process.least_ns[iteration.region] / kUnreportedPartOfLeast);
  if (!iteration.complete || iteration.unreported_ns > reported_well)
    return SampleKind::kPartial;
  if (iteration.position == 0) return SampleKind::kFirst;
  const Range& skipped = process.skipped[iteration.region];
  const bool known = skipped.least <= skipped.greatest;
  const bool like_skipped =
      !known || (iteration.ns >= skipped.least && iteration.ns <= skipped.greatest);
  return like_skipped ? SampleKind::kTypical : SampleKind::kOther;
}

std::string SampleSink::finish(std::uint64_t) {
  for (const Process& process : processes_) {
    ProcessMarks& marks = marks_.emplace_back();
    marks.location = process.location;
    for (const Written& iteration : process.written) {
      marks.written.push_back(
          {kind_of(process, iteration), iteration.region, iteration.depth});
      const Range& skipped = process.skipped[iteration.region];
      if (skipped.least <= skipped.greatest &&
          marks.written.back().kind != SampleKind::kPartial)
        marks.classes[iteration.region].add(
            {iteration.inner, iteration.position, iteration.ns, iteration.leading});
    }
    for (auto& [loop, classes] : marks.classes) classes.settle();
    for (std::size_t i = 0; i < process.written.size(); ++i) {
      const Written& iteration = process.written[i];
      const auto classes = marks.classes.find(iteration.region);
      if (classes != marks.classes.end())
        marks.written[i].variant = classes->second.of_inner(iteration.inner);
    }
  }
  return {};
}

}  // namespace refrain::analysis
