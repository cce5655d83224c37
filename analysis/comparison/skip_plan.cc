#include "analysis/comparison/skip_plan.h"

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

// Whether the iteration that begins is spent, see filters/nested_policy.h.
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

}  // namespace refrain::analysis
