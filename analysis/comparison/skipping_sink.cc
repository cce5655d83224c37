#include "analysis/comparison/skipping_sink.h"

namespace refrain::analysis {

using reader::EventKind;
using reader::TraceDefinitions;
using reader::TraceEvent;

base::Result<> SkippingSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  attributes_.emplace(definitions);
  threads_.resize(definitions.locations.size());
  for (std::size_t i = 0; i < threads_.size(); ++i)
    threads_[i].process = definitions.locations[i].process;
  processes_.resize(definitions.processes.size());
  if (messages_ != nullptr) messages_->begin(definitions);
  return sink_.begin(definitions);
}

void SkippingSink::event(const TraceEvent& event) {
  Thread& thread = threads_[event.location];
  if (attributes_->is_mark(event)) return mark(event);
  const Process& process = processes_[thread.process];
  const bool written = process.skipped_at == 0 || process.alone_at != 0;
  if (messages_ != nullptr && !messages_->keeps(event, written)) {
    if (!written || event.kind != EventKind::kMpiIrecv) return;
    TraceEvent never = event;  // so that its request does not stay open
    never.kind = EventKind::kMpiRequestCancelled;
    return sink_.event(never);
  }
  if (written) return sink_.event(event);
  in_gap(thread, event);
}

void SkippingSink::in_gap(Thread& thread, const TraceEvent& event) {
  if (event.kind == EventKind::kEnter) {
    TraceEvent enter = event;
    enter.extras = nullptr;  // owned by the stream
    enter.metrics = enter.attributes = 0;
    thread.entered.push_back(enter);
  } else if (event.kind == EventKind::kLeave && !thread.entered.empty()) {
    thread.entered.pop_back();
  } else if (event.kind == EventKind::kLeave) {
    sink_.event(event);
  } else if (event.kind == EventKind::kMetric) {
    thread.metric = event;
    thread.values.assign(event.extras, event.extras + event.metrics);
  }
}

void SkippingSink::hand_metric(Thread& thread, std::uint64_t ns) {
  if (thread.values.empty() || thread.metric.ns != ns) return;
  thread.metric.extras = thread.values.data();
  thread.metric.attributes = 0;
  sink_.event(thread.metric);
}

void SkippingSink::mark(const TraceEvent& event) {
  Process& process = processes_[threads_[event.location].process];
  if (event.kind == EventKind::kEnter) {
    begin_iteration(event, process);
  } else if (process.depth != 0) {
    end_iteration(event, process);
    --process.depth;
  }
}

void SkippingSink::begin_iteration(const TraceEvent& event, Process& process) {
  const std::vector<Fate>& fates = plan_[threads_[event.location].process];
  const Fate fate = process.number < fates.size() ? fates[process.number] : Fate::kWritten;
  ++process.number;
  ++process.depth;
  if (process.skipped_at != 0) {
    if (fate != Fate::kAlone || process.alone_at != 0) return;
    process.alone_at = process.depth;
    return switch_all(event, OTF2_MEASUREMENT_ON);
  }
  if (fate != Fate::kSkipped) return sink_.event(event);
  process.skipped_at = process.depth;
  switch_all(event, OTF2_MEASUREMENT_OFF);
  TraceEvent skipped = event;
  std::vector<reader::ExtraValue> values(event.extras, event.extras + event.metrics);
  if (const reader::ExtraValue* complete = attributes_->completeness(event))
    values.push_back(*complete);
  skipped.extras = values.data();
  skipped.attributes =
      static_cast<decltype(skipped.attributes)>(values.size() - event.metrics);
  sink_.event(skipped);
}

void SkippingSink::end_iteration(const TraceEvent& event, Process& process) {
  if (process.alone_at == process.depth) {
    process.alone_at = 0;
    return switch_all(event, OTF2_MEASUREMENT_OFF);
  }
  const bool end = process.depth == process.skipped_at;
  if (process.skipped_at != 0 && !end) return;
  if (end) hand_metric(threads_[event.location], event.ns);
  sink_.event(event);
  if (!end) return;
  switch_all(event, OTF2_MEASUREMENT_ON);
  process.skipped_at = 0;
}

void SkippingSink::switch_all(const TraceEvent& mark, std::uint32_t mode) {
  for (const std::uint32_t location :
       definitions_->processes[threads_[mark.location].process].locations) {
    for (const TraceEvent& entered : threads_[location].entered) sink_.event(entered);
    threads_[location].entered.clear();
    TraceEvent event;
    event.ticks = mark.ticks;
    event.ns = mark.ns;
    event.location = LocationId(location);
    event.kind = EventKind::kMeasurementOnOff;
    event.op = mode;
    sink_.event(event);
  }
}

}  // namespace refrain::analysis
