#include "analysis/comparison/skipping_sink.h"

#include <charconv>

namespace refrain::analysis {

using reader::EventKind;
using reader::TraceDefinitions;
using reader::TraceEvent;

namespace {

std::string setting(const TraceDefinitions& definitions, const char* name) {
  const auto found = definitions.properties.find(std::string("REFRAIN::SETTING::") + name);
  return found == definitions.properties.end() ? std::string{} : found->second;
}

double setting(const TraceDefinitions& definitions, const char* name, double otherwise) {
  const std::string text = setting(definitions, name);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value >= 0 ? value : otherwise;
}

// Other processes take part.
bool is_communication(EventKind kind) {
  switch (kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
    case EventKind::kMpiCollectiveEnd:
    case EventKind::kNonBlockingCollectiveComplete:
    case EventKind::kRmaPut:
    case EventKind::kRmaGet:
    case EventKind::kRmaAtomic:
    case EventKind::kRmaCollectiveEnd:
      return true;
    default:
      return false;
  }
}

}  // namespace

base::Result<> PlanSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  attributes_.emplace(definitions);
  entered_.resize(definitions.locations.size());
  plan_.resize(definitions.processes.size());
  const filters::SlowSettings slow = rule_.slow.value_or(
      filters::SlowSettings{.factor = setting(definitions, "SLOW_FACTOR", 0),
                            .share = setting(definitions, "SLOW_SHARE", 0)});
  nested_ = rule_.nested.value_or(filters::nested_of(setting(definitions, "NESTED")));
  for (std::size_t i = 0; i < plan_.size(); ++i)
    processes_.push_back({filters::SlowIterations(slow), {}, {}, 0, 0, {}});
  return {};
}

void PlanSink::event(const TraceEvent& event) {
  if (attributes_->is_mark(event)) {
    marks_seen_ = true;
    return event.kind == EventKind::kEnter ? begin_iteration(event) : end_iteration(event);
  }
  if (event.kind == EventKind::kEnter) {
    ++entered_[event.location];
  } else if (is_communication(event.kind)) {
    ++processes_[definitions_->locations[event.location].process].communication;
  }
}

base::Result<> PlanSink::finish(std::uint64_t) { return {}; }

// Returns true if the iteration that begins is spent, see filters/nested_policy.h.
bool PlanSink::is_spent(Process& process, Visit& visit, bool outermost) {
  using enum filters::Nested;
  const std::uint64_t of_visit = visit.iterations++;
  const std::uint64_t of_run = process.loops[visit.loop].iterations++;
  if (nested_ == kEach) return visit.known || of_visit >= rule_.limit;
  const bool first = nested_ == kFirst && of_visit == 0 && !(outermost && visit.known);
  return of_run >= rule_.limit && !first;
}

void PlanSink::begin_iteration(const TraceEvent& event) {
  const std::uint32_t number = definitions_->locations[event.location].process;
  Process& process = processes_[number];
  std::vector<Fate>& fates = plan_[number];
  const std::size_t depth = process.open.size();
  // A visit ends with the iteration around it, or when another loop begins.
  process.visits.resize(depth + 1);
  Visit& visit = process.visits[depth];
  if (visit.loop != event.ref) {
    visit = {.loop = event.ref, .iterations = 0, .latest = fates.size()};
    if (depth == 0)
      visit.known = process.loops[event.ref].outermost_visits++ >= rule_.limit;
  }
  const bool inside = process.limited_at != 0;
  const bool spent = is_spent(process, visit, depth == 0);
  const bool by_limit = !inside && spent && attributes_->written(event);
  process.open.push_back({event.ref, fates.size(), visit.latest, entered_[event.location],
                          event.ns, process.communication, by_limit});
  if (by_limit) process.limited_at = depth + 1;
  const bool skipped = by_limit && !std::exchange(visit.keep_next, false);
  fates.push_back(inside ? Fate::kInside : skipped ? Fate::kSkipped : Fate::kWritten);
  visit.latest = fates.size() - 1;
}

void PlanSink::end_iteration(const TraceEvent& event) {
  const std::uint32_t number = definitions_->locations[event.location].process;
  Process& process = processes_[number];
  if (process.open.empty()) return;
  const Open open = process.open.back();
  const std::size_t depth = process.open.size();
  process.open.pop_back();
  const bool inside = process.limited_at != 0 && depth > process.limited_at;
  if (open.by_limit) process.limited_at = 0;
  const bool communication = process.communication != open.communication;
  if (!process.slow.active()) return;
  process.slow.ended({.loop = open.loop,
                      .level = static_cast<std::uint16_t>(depth - 1),
                      .number = open.number,
                      .begin = open.position,
                      .end = entered_[event.location],
                      .begin_ticks = open.begin_ns,
                      .duration_ticks = event.ns - open.begin_ns,
                      .outermost = open.by_limit,
                      .communication = communication,
                      .previous_begin = open.previous},
                     open.by_limit || (inside && !communication));
  if (inside || !process.slow.waiting()) return;
  const auto chosen = process.slow.choose(entered_[event.location]);
  for (const filters::SlowIteration* slow = chosen.begin; slow != chosen.end; ++slow)
    keep(process, plan_[number], *slow);
}

// Where one process computes for long, the others wait in their next iteration.
void PlanSink::keep(Process& process, std::vector<Fate>& fates,
                    const filters::SlowIteration& slow) {
  if (!slow.outermost) {
    fates[slow.number] = Fate::kAlone;
    return;
  }
  fates[slow.number] = Fate::kWritten;
  if (!slow.communication) return;
  if (fates[slow.previous_begin] == Fate::kSkipped)
    fates[slow.previous_begin] = Fate::kWritten;
  process.visits[slow.level].keep_next = true;
}

SkipPlan written_by_all(SkipPlan plan) {
  for (const std::vector<Fate>& fates : plan)
    if (fates.size() != plan.front().size()) return plan;
  for (std::size_t i = 0; !plan.empty() && i < plan.front().size(); ++i) {
    Fate common = plan.front()[i];
    for (const std::vector<Fate>& fates : plan) {
      if (fates[i] == common) continue;
      const bool skipped = common == Fate::kSkipped || fates[i] == Fate::kSkipped;
      common = skipped ? Fate::kSkipped : Fate::kInside;
    }
    for (std::vector<Fate>& fates : plan) fates[i] = common;
  }
  return plan;
}

using reader::EventKind;
using reader::TraceEvent;

namespace {

bool is_end(EventKind kind) {
  return kind == EventKind::kMpiSend || kind == EventKind::kMpiIsend ||
         kind == EventKind::kMpiRecv || kind == EventKind::kMpiIrecv;
}

}  // namespace

void WrittenMessages::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  processes_.resize(definitions.processes.size());
  for (Process& process : processes_) process.next = 0;
  if (known_) return;
  matcher_ = std::make_unique<reader::MessageMatcher>(
      definitions, [this](const reader::MatchedMessage& message) {
        if (!message.send.posted || !message.receive.posted || !message.receive.done)
          return;
        processes_[message.channel.source].kept[message.send.number] = true;
        processes_[message.channel.destination].kept[message.receive.number] = true;
      });
}

// In the first pass, the times of both ends say whether they were written.
bool WrittenMessages::keeps(const TraceEvent& event, bool written) {
  Process& process = processes_[definitions_->locations[event.location].process];
  const std::size_t end = process.next;
  if (is_end(event.kind)) ++process.next;
  if (known_) return !is_end(event.kind) || end >= process.kept.size() || process.kept[end];
  process.kept.resize(process.next);
  matcher_->event(
      event,
      {.location = event.location, .posted = written, .done = written, .number = end});
  return true;
}

void WrittenMessages::finish() {
  matcher_->flush();
  matcher_.reset();
  known_ = true;
}

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

// Values are the mark's if they are of its own tick; a region that ended a tick before has others, though both may be
// in one nanosecond.
void SkippingSink::hand_metric(Thread& thread, std::uint64_t ticks) {
  if (thread.values.empty() || thread.metric.ticks != ticks) return;
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
  if (end) hand_metric(threads_[event.location], event.ticks);
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
