#include "writer/model/loop_summaries.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include "addresses/short_name.h"
#include "filters/nest.h"
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

// Counters of iterations, from the start of each to its end: the next start of its visit,
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
                                         const std::vector<regions::RegionDef>& regions) {
  const spool::Journal& journal = process.journal();
  CountedLoops loops;
  count_visits(journal, loops);
  count_iterations(process, loops);
  const double ns = 1e9 / process.ticks_per_second();
  std::vector<LoopSummary> out;
  for (auto& [id, counted] : loops) {
    LoopSummary& loop = counted.loop;
    const regions::RegionDef& region = regions[process.regions().of_loop(id)];
    const spool::Loop& known = journal.loops.at(id);
    loop.process = process.context().process;
    set_label(process.loop_labels().at(id), loop);
    loop.name = region.name;
    loop.file = region.file;
    loop.line = region.line;
    loop.body_events = known.body_events;
    for (const spool::LoopBodyEvent& event : known.body)
      loop.body.push_back(regions::body_event_name(event, journal, process.resolver()));
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
    all.push_back({regions::function_name(process.resolver().at(off.address), off.address),
                   off.calls,
                   ns / static_cast<double>(std::max<std::uint64_t>(1, off.calls))});
  }
  return all;
}

namespace {

using filters::NestPiece;
using filters::NestRow;
using Kind = NestPiece::Kind;

bool belongs_to_parallel(std::uint8_t kind) { return kind == spool::kWorkBegin; }

class StructureLine {
 public:
  explicit StructureLine(ProcessModel& process)
      : process_(process), journal_(process.journal()) {}

  std::string write() {
    if (journal_.visits.empty()) return {};
    measure_visits();
    fold_bodies();
    fill_run();
    number_loops();
    return filters::nest_text(nest_, [this](std::uint64_t id) { return names_[id]; });
  }

 private:
  struct Trips {
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
  };
  static constexpr std::size_t kMaxPieces = 256;

  // From the journal's numbers to the loops' numbers in the archive.
  void number_loops() {
    const auto number_row = [this](NestRow& row) {
      for (NestPiece& piece : row)
        if (piece.kind == Kind::kLoop) piece.id = number_of(piece.id);
    };
    number_row(nest_.run);
    std::map<std::uint64_t, NestRow> bodies;
    for (auto& [id, row] : nest_.bodies) {
      number_row(row);
      bodies[number_of(id)] = std::move(row);
    }
    nest_.bodies = std::move(bodies);
  }

  std::uint64_t number_of(std::uint64_t loop) const {
    const auto label = process_.loop_labels().find(static_cast<std::uint32_t>(loop));
    return label == process_.loop_labels().end() ? loop : label->second.number;
  }

  void measure_visits() {
    for (const spool::LoopVisit& visit : journal_.visits) {
      if (visit.complete == 0) continue;
      Trips& trips = trips_[visit.loop];
      trips.least = std::min(trips.least, visit.complete);
      trips.most = std::max(trips.most, visit.complete);
    }
  }

  // The events of a body, with the bodies of smaller loops folded into loops.
  void fold_bodies() {
    std::vector<const spool::Loop*> loops;
    for (const auto& [id, loop] : journal_.loops)
      if (!loop.body.empty()) loops.push_back(&loop);
    std::sort(loops.begin(), loops.end(), [](const spool::Loop* a, const spool::Loop* b) {
      return std::tuple(a->body.size(), a->id) < std::tuple(b->body.size(), b->id);
    });
    for (const spool::Loop* loop : loops) {
      NestRow row = events_of(*loop);
      for (const std::uint64_t inner : inner_loops_of(loop->id)) {
        const auto body = bodies_.find(inner);
        if (body != bodies_.end()) fold(row, inner, body->second);
      }
      bodies_[loop->id] = row;
    }
    for (const auto& [id, row] : bodies_) nest_.bodies[id] = readable(row);
  }

  // Loops inside this one, and those inside them, innermost first.
  std::vector<std::uint64_t> inner_loops_of(std::uint32_t loop) {
    if (children_.empty()) {
      for (const spool::LoopVisit& visit : journal_.visits)
        note_child(visit.parent, visit.loop);
      for (const spool::SkippedSummary& skipped : journal_.summaries)
        note_child(skipped.parent, skipped.loop);
    }
    std::vector<std::uint64_t> inner;
    std::vector<std::uint32_t> todo{loop};
    while (!todo.empty()) {
      const std::uint32_t outer = todo.back();
      todo.pop_back();
      for (const std::uint32_t child : children_[outer]) {
        if (child == loop || std::find(inner.begin(), inner.end(), child) != inner.end())
          continue;
        inner.push_back(child);
        todo.push_back(child);
      }
    }
    std::sort(inner.begin(), inner.end(),
              [this](std::uint64_t a, std::uint64_t b) { return size_of(a) < size_of(b); });
    return inner;
  }

  void note_child(std::uint32_t parent, std::uint32_t child) {
    if (parent == spool::LoopVisit::kNoParent) return;
    std::vector<std::uint32_t>& known = children_[parent];
    if (std::find(known.begin(), known.end(), child) == known.end()) known.push_back(child);
  }

  std::size_t size_of(std::uint64_t loop) const {
    const auto known = journal_.loops.find(static_cast<std::uint32_t>(loop));
    return known == journal_.loops.end() ? 0 : known->second.body.size();
  }

  static bool same(const NestPiece& a, const NestPiece& b) {
    return a.kind == b.kind && a.id == b.id;
  }

  // Replaces repetitions of `body` in the row by one piece.
  void fold(NestRow& row, std::uint64_t loop, const NestRow& body) const {
    NestRow out;
    for (std::size_t at = 0; at < row.size();) {
      std::uint64_t times = 0;
      while (at + body.size() <= row.size() &&
             std::equal(body.begin(), body.end(),
                        row.begin() + static_cast<std::ptrdiff_t>(at), same)) {
        at += body.size();
        ++times;
      }
      if (times == 0) {
        out.push_back(row[at++]);
        continue;
      }
      NestPiece piece{.kind = Kind::kLoop, .id = loop, .least = times, .most = times};
      const auto trips = trips_.find(static_cast<std::uint32_t>(loop));
      if (trips != trips_.end()) {
        piece.least = std::min(times, trips->second.least);
        piece.most = std::max(times, trips->second.most);
      }
      out.push_back(piece);
    }
    row = std::move(out);
  }

  NestRow events_of(const spool::Loop& loop) {
    NestRow row;
    for (const spool::LoopBodyEvent& event : loop.body)
      row.push_back({.kind = Kind::kEvent, .id = name_of(event)});
    return row;
  }

  // A parallel region and the worksharing construct in it are printed as one. The
  // construct's function is certain: a call at the end of a function returns elsewhere.
  NestRow readable(const NestRow& row) const {
    NestRow out;
    const spool::LoopBodyEvent* before = nullptr;
    for (const NestPiece& piece : row) {
      const bool is_event = piece.kind == Kind::kEvent;
      const spool::LoopBodyEvent* event = is_event ? &events_[piece.id] : nullptr;
      const bool part = is_event && before != nullptr &&
                        belongs_to_parallel(event->record_kind) &&
                        before->record_kind == spool::kParallelBegin;
      before = event;
      if (part) {
        if (--out.back().least == 0)
          out.pop_back();
        else
          out.back().most = out.back().least;
      }
      if (is_event && !out.empty() && same(out.back(), piece)) {
        ++out.back().least;
        ++out.back().most;
      } else {
        out.push_back(piece);
      }
    }
    return out;
  }

  std::uint64_t name_of(const spool::LoopBodyEvent& event) {
    const auto key = std::tuple(event.record_kind, event.sub, event.address);
    const auto [at, is_new] = ids_.try_emplace(key, names_.size());
    if (is_new) {
      const addresses::Place& where = process_.resolver().at_call(event.address);
      std::string text = regions::place_of(where);
      const std::string function = addresses::short_name(where.function);
      if (!where.file.empty() && !function.empty()) text += " " + function;
      const bool plain = event.record_kind == spool::kParallelBegin ||
                         event.record_kind == spool::kWorkBegin;
      if (!plain || text.empty())
        text = regions::body_event_name(event, journal_, process_.resolver());
      constexpr std::string_view kPrefix = "!$omp ";
      if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
      names_.push_back(text);
      events_.push_back(event);
    }
    return at->second;
  }

  // Visits of outermost loops and the parallel regions between them.
  void fill_run() {
    auto visit = journal_.visits.begin();
    const auto end = journal_.visits.end();
    const spool::RecordSequence& records = process_.records(process_.primary());
    NestRow row;
    const auto add_visits_before = [&](std::uint64_t ticks) {
      for (; visit != end && visit->first_ticks <= ticks; ++visit) {
        if (visit->level != 0) continue;
        inside_until_ = visit->left ? visit->left_ticks : ~std::uint64_t{0};
        const std::uint64_t trips = std::max<std::uint64_t>(1, visit->complete);
        put(row, {.kind = Kind::kLoop, .id = visit->loop, .least = trips, .most = trips});
      }
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
      const spool::Record& record = records[i];
      constexpr unsigned kNotOutermost =
          spool::kTeamNested | spool::kTeamLeague | spool::kTeamInitial;
      if (record.kind != spool::kParallelBegin || (record.sub & kNotOutermost) != 0)
        continue;
      add_visits_before(record.ticks);
      if (record.ticks < inside_until_) continue;
      put(row, {.kind = Kind::kEvent,
                .id = name_of(
                    {spool::kParallelBegin, 0, record.payload & spool::kAddressMask})});
    }
    add_visits_before(~std::uint64_t{0});
    nest_.run = readable(row);
  }

  // The middle of a long run is only counted.
  static void put(NestRow& row, NestPiece piece) {
    if (!row.empty() && piece.kind == Kind::kEvent && same(row.back(), piece)) {
      ++row.back().least;
      ++row.back().most;
      return;
    }
    if (row.size() < kMaxPieces) return row.push_back(piece);
    const std::size_t middle = kMaxPieces / 2;
    NestPiece& skipped = row[middle];
    if (skipped.kind != Kind::kSkipped) skipped = counted(skipped);
    const NestPiece more = counted(row[middle + 1]);
    skipped.least += more.least;
    skipped.most += more.most;
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(middle + 1));
    row.push_back(piece);
  }

  static NestPiece counted(const NestPiece& piece) {
    const bool loop = piece.kind == Kind::kLoop;
    return {.kind = Kind::kSkipped,
            .id = 0,
            .least = loop ? 0 : piece.least,
            .most = loop ? std::uint64_t{1} : std::uint64_t{0}};
  }

  ProcessModel& process_;
  const spool::Journal& journal_;
  filters::Nest nest_;
  std::map<std::uint64_t, NestRow> bodies_;
  std::map<std::uint32_t, Trips> trips_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> children_;
  std::map<std::tuple<std::uint8_t, std::uint16_t, std::uint64_t>, std::uint64_t> ids_;
  std::vector<std::string> names_;
  std::vector<spool::LoopBodyEvent> events_;
  std::uint64_t inside_until_ = 0;
};

}  // namespace

std::string structure_line(ProcessModel& process) { return StructureLine(process).write(); }

}  // namespace refrain::writer
