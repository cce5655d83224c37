#include "writer/profile/holding_sink.h"

namespace refrain::profile {

using convert::EventKind;
using convert::TraceDefinitions;
using convert::TraceEvent;

std::string HoldingSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  attributes_.emplace(definitions);
  threads_.resize(definitions.locations.size());
  for (std::size_t i = 0; i < threads_.size(); ++i)
    threads_[i].process = definitions.locations[i].process;
  processes_.resize(definitions.processes.size());
  return sink_.begin(definitions);
}

void HoldingSink::event(const TraceEvent& event) {
  Thread& thread = threads_[event.location];
  if (attributes_->is_mark(event)) return mark(event);
  if (processes_[thread.process].held_at == 0) return sink_.event(event);
  in_gap(thread, event);
}

void HoldingSink::in_gap(Thread& thread, const TraceEvent& event) {
  if (event.kind == EventKind::kEnter) {
    TraceEvent enter = event;
    enter.extras = nullptr;  // not ours to keep
    enter.metrics = enter.attributes = 0;
    thread.entered.push_back(enter);
  } else if (event.kind == EventKind::kLeave && !thread.entered.empty()) {
    thread.entered.pop_back();
  } else if (event.kind == EventKind::kLeave) {
    sink_.event(event);
  }
}

void HoldingSink::mark(const TraceEvent& event) {
  Process& process = processes_[threads_[event.location].process];
  if (event.kind == EventKind::kLeave) {
    if (process.depth == 0) return;
    const bool end = process.depth-- == process.held_at;
    if (process.held_at != 0 && !end) return;
    sink_.event(event);
    if (end) switch_all(event, OTF2_MEASUREMENT_ON);
    if (end) process.held_at = 0;
    return;
  }
  // A visit is over when the iteration around it is, or when another loop comes.
  process.visits.resize(process.depth + 1);
  Visit& visit = process.visits[process.depth++];
  if (visit.loop != event.ref) visit = {event.ref, 0};
  ++visit.iterations;
  if (process.held_at != 0) return;
  if (visit.iterations <= hold_after_ || !attributes_->written(event))
    return sink_.event(event);
  process.held_at = process.depth;
  switch_all(event, OTF2_MEASUREMENT_OFF);
  TraceEvent held = event;
  held.attributes = 0;
  sink_.event(held);
}

void HoldingSink::switch_all(const TraceEvent& mark, std::uint32_t mode) {
  for (const std::uint32_t location :
       definitions_->processes[threads_[mark.location].process].locations) {
    for (const TraceEvent& entered : threads_[location].entered) sink_.event(entered);
    threads_[location].entered.clear();
    TraceEvent event;
    event.ns = mark.ns;
    event.location = location;
    event.kind = EventKind::kMeasurementOnOff;
    event.op = mode;
    sink_.event(event);
  }
}

}  // namespace refrain::profile
