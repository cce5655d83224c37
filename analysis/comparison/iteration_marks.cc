#include "analysis/comparison/iteration_marks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace refrain::analysis {

using reader::EventKind;
using reader::TraceDefinitions;
using reader::TraceEvent;

base::Result<> SampleSink::begin(const TraceDefinitions& definitions) {
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

base::Result<> SampleSink::finish(std::uint64_t) {
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

namespace {

double median(std::vector<std::uint64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// A rule that sorts samples into classes is useful if it is wrong about at most a quarter of
// those that are not in the largest class.
bool is_of_use(std::size_t wrong, std::size_t all, std::size_t most) {
  return 4 * wrong <= all - most;
}

}  // namespace

void IterationClasses::settle() {
  for (const Sample& sample : samples_) inner_.push_back(sample.inner);
  std::sort(inner_.begin(), inner_.end());
  inner_.erase(std::unique(inner_.begin(), inner_.end()), inner_.end());
  const bool useful = inner_.size() >= 2 && inner_.size() <= kMost;
  if (!useful || (!by_position() && !by_duration())) inner_.clear();
  samples_.clear();
}

// Only visits that can be compared with others count.
bool IterationClasses::by_position() {
  std::map<std::uint64_t, std::array<std::size_t, kMost>> counts;
  for (const Sample& sample : samples_) ++counts[sample.position][of_inner(sample.inner)];
  std::size_t all = 0;
  std::size_t compared = 0;
  std::size_t wrong = 0;
  std::array<std::size_t, kMost> sums{};
  for (const auto& [position, of_class] : counts) {
    const auto most = std::max_element(of_class.begin(), of_class.end());
    std::size_t here = 0;
    for (const std::size_t count : of_class) here += count;
    at_[position] = static_cast<std::uint32_t>(most - of_class.begin());
    all += here;
    if (here < 2) continue;
    compared += here;
    wrong += here - *most;
    for (std::size_t i = 0; i < kMost; ++i) sums[i] += of_class[i];
  }
  const std::size_t most = *std::max_element(sums.begin(), sums.end());
  if (2 * compared > all && is_of_use(wrong, compared, most)) return true;
  at_.clear();
  return false;
}

bool IterationClasses::by_duration() {
  std::map<std::uint64_t, std::vector<std::uint64_t>> durations;
  for (const Sample& sample : samples_)
    if (sample.leading) durations[sample.inner].push_back(sample.ns);
  inner_.clear();
  double before = 0;
  for (auto& [inner, of_class] : durations) {
    const double typical = median(of_class);
    if (!inner_.empty()) end_ns_.push_back(std::sqrt(before * typical));
    inner_.push_back(inner);
    before = typical;
  }
  std::size_t all = 0;
  std::size_t wrong = 0;
  std::size_t most = 0;
  for (const auto& [inner, of_class] : durations) {
    most = std::max(most, of_class.size());
    for (const std::uint64_t ns : of_class) {
      ++all;
      wrong += of_duration(ns) != of_inner(inner) ? 1 : 0;
    }
  }
  if (std::is_sorted(end_ns_.begin(), end_ns_.end()) && is_of_use(wrong, all, most))
    return true;
  end_ns_.clear();
  return false;
}

std::uint32_t IterationClasses::of_inner(std::uint64_t inner) const noexcept {
  if (inner_.empty()) return 0;
  const auto found = std::lower_bound(inner_.begin(), inner_.end(), inner);
  if (found == inner_.end() || *found != inner) return kNoClass;
  return static_cast<std::uint32_t>(found - inner_.begin());
}

std::uint32_t IterationClasses::of_skipped(std::uint64_t position,
                                           std::uint64_t ns) const noexcept {
  if (at_.empty()) return of_duration(ns);
  const auto next = at_.upper_bound(position);
  return next == at_.begin() ? next->second : std::prev(next)->second;
}

std::uint32_t IterationClasses::of_duration(std::uint64_t ns) const noexcept {
  return static_cast<std::uint32_t>(
      std::upper_bound(end_ns_.begin(), end_ns_.end(), static_cast<double>(ns)) -
      end_ns_.begin());
}

}  // namespace refrain::analysis
