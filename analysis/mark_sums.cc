#include "analysis/mark_sums.h"

#include <algorithm>
#include <utility>

namespace refrain::analysis {

using reader::EventKind;
using reader::TraceEvent;

std::string MarkSumsSink::begin(const reader::TraceDefinitions& definitions) {
  attributes_.emplace(definitions);
  return {};
}

void MarkSumsSink::event(const TraceEvent& event) {
  if (!attributes_->is_mark(event)) return;
  if (event.location != location_) hand_over();
  location_ = event.location;
  if (event.kind == EventKind::kEnter)
    begin_iteration(event);
  else
    end_iteration(event);
}

void MarkSumsSink::begin_iteration(const TraceEvent& event) {
  open_.push_back({event.ref, event.ticks, attributes_->written(event),
                   attributes_->partial(event), attributes_->complete(event)});
  sums_.try_emplace(event.ref);
}

void MarkSumsSink::end_iteration(const TraceEvent& event) {
  if (open_.empty() || open_.back().region != event.ref) return;
  const Open mark = open_.back();
  open_.pop_back();
  if (!mark.complete) return;
  const std::uint64_t ticks = event.ticks - mark.ticks;
  MarkSums& sums = sums_[mark.region];
  sums.least_ticks = sums.iterations == 0 ? ticks : std::min(sums.least_ticks, ticks);
  sums.greatest_ticks = std::max(sums.greatest_ticks, ticks);
  ++sums.iterations;
  sums.written += mark.written && !mark.partial;
  sums.partial += mark.partial;
  const auto value = static_cast<double>(ticks);
  sums.ticks += value;
  sums.squares += value * value;
}

void MarkSumsSink::hand_over() {
  for (const auto& [region, sums] : sums_) take_(location_, region, sums);
  sums_.clear();
  open_.clear();
}

std::string MarkSumsSink::finish(std::uint64_t) {
  hand_over();
  return {};
}

}  // namespace refrain::analysis
