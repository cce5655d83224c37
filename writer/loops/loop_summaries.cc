#include "writer/loops/loop_summaries.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "spool/iteration_stream.h"

namespace refrain::writer {
namespace {

// What is known of a loop while its visits are counted.
struct Counted {
  LoopSummary loop;
  spool::DurationSums sums;
};
using CountedLoops = std::map<std::uint32_t, Counted>;

void count_visits(const spool::Journal& journal, CountedLoops& loops) {
  for (const spool::LoopVisit& visit : journal.visits) ++loops[visit.loop].loop.visits;
  for (const spool::SkippedSummary& skipped : journal.summaries) {
    Counted& counted = loops[skipped.loop];
    counted.loop.visits += skipped.visits;
    counted.sums.add(skipped);
  }
}

// Counters of iterations, from the begin of each to its end: the next begin of its visit,
// if its end is not recorded separately.
class CounterSums {
 public:
  CounterSums(const spool::Journal& journal, CountedLoops& loops)
      : journal_(journal), loops_(loops) {}

  void take(const spool::IterationEvent& event) {
    const std::size_t count = journal_.user.metrics.size();
    if (count == 0) return;
    const spool::LoopVisit& visit = journal_.visits[event.visit];
    Open& open = open_[event.visit];
    Counted& counted = loops_[visit.loop];
    counted.loop.counters.resize(count);
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = spool::iteration_metric(journal_, event, i);
      if (!value) break;
      values.push_back(*value);
    }
    const bool known = values.size() == count;
    for (std::size_t i = 0; known && !open.values.empty() && i < count; ++i) {
      LoopCounter& counter = counted.loop.counters[i];
      counter.name = journal_.user.metrics[i].name;
      ++counter.iterations;
      counter.total += static_cast<double>(values[i]) - static_cast<double>(open.values[i]);
      counter.ns += static_cast<double>(event.ticks - open.ticks);
    }
    open = {};
    if (!event.left && known) open = {std::move(values), event.ticks};
    if (event.left && !event.goes_on) open_.erase(event.visit);
  }

 private:
  struct Open {
    std::vector<std::uint64_t> values;
    std::uint64_t ticks = 0;
  };
  const spool::Journal& journal_;
  CountedLoops& loops_;
  std::map<std::size_t, Open> open_;  // by visit
};

void count_iterations(ProcessModel& process, CountedLoops& loops) {
  const spool::Journal& journal = process.journal();
  spool::IterationStream stream(journal, process.context().iteration_ends);
  CounterSums counters(journal, loops);
  for (const auto* event = stream.peek(); event != nullptr; event = stream.peek()) {
    counters.take(*event);
    if (!event->left && event->complete && event->end_ticks != spool::kNoEnd) {
      Counted& counted = loops[journal.visits[event->visit].loop];
      const Kept kept = process.gaps().kept(event->ticks, event->end_ticks);
      counted.loop.written += kept == Kept::kWhole;
      counted.loop.partly += kept == Kept::kPartly;
      counted.sums.add(event->end_ticks - event->ticks);
    }
    stream.pop();
  }
}

void set_durations(const spool::DurationSums& sums, double ns, LoopSummary& loop) {
  loop.iterations = sums.count;
  if (sums.count == 0) return;
  const auto count = static_cast<double>(sums.count);
  const double mean = sums.total / count;
  loop.total_ns = sums.total * ns;
  loop.mean_ns = mean * ns;
  loop.min_ns = static_cast<double>(sums.least) * ns;
  loop.max_ns = static_cast<double>(sums.greatest) * ns;
  loop.sigma_ns = std::sqrt(std::max(0.0, sums.squares / count - mean * mean)) * ns;
}

void set_label(const LoopLabel& label, LoopSummary& loop) {
  loop.id = label.number;
  loop.parent = label.parent;
  loop.level = label.level;
  loop.named = label.loop.named;
  if (!label.loop.named) loop.function = label.loop.function;
  loop.last_line = label.loop.last_line;
}

}  // namespace

std::vector<LoopSummary> summarize_loops(ProcessModel& process,
                                         const std::vector<RegionDef>& regions) {
  const spool::Journal& journal = process.journal();
  CountedLoops loops;
  count_visits(journal, loops);
  count_iterations(process, loops);
  const double ns = 1e9 / process.ticks_per_second();
  std::vector<LoopSummary> out;
  for (auto& [id, counted] : loops) {
    LoopSummary& loop = counted.loop;
    const RegionDef& region = regions[process.regions().of_loop(id)];
    const spool::Loop& known = journal.loops.at(id);
    loop.process = process.context().process;
    set_label(process.loop_labels().at(id), loop);
    loop.name = region.name;
    loop.file = region.file;
    loop.line = region.line;
    loop.body_events = known.body_events;
    for (const spool::LoopBodyEvent& event : known.body)
      loop.body.push_back(body_event_name(event, journal, process.symbols()));
    if (!loop.body.empty()) loop.region = loop.body.front();
    set_durations(counted.sums, ns, loop);
    for (LoopCounter& counter : loop.counters) counter.ns *= ns;
    std::erase_if(loop.counters, [](const LoopCounter& c) { return c.iterations == 0; });
    out.push_back(std::move(loop));
  }
  std::sort(out.begin(), out.end(),
            [](const LoopSummary& a, const LoopSummary& b) { return a.id < b.id; });
  return out;
}

std::vector<FunctionOff> functions_off(ProcessModel& process) {
  std::vector<FunctionOff> all;
  for (const spool::FunctionOff& off : process.journal().user.functions_off) {
    const double ns = static_cast<double>(off.ticks) * 1e9 / process.ticks_per_second();
    all.push_back({function_name(process.symbols().at(off.address), off.address), off.calls,
                   ns / static_cast<double>(std::max<std::uint64_t>(1, off.calls))});
  }
  return all;
}

}  // namespace refrain::writer
