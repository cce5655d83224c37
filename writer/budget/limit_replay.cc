#include "writer/budget/limit_replay.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "filters/nested_policy.h"
#include "filters/slow_iterations.h"

namespace refrain::writer {
namespace {

using filters::NestedPolicy;
using periodicity::LoopEventKind;

filters::SlowSettings slow_settings(const filters::Settings& settings) {
  return {.factor = settings.slow_factor, .share = settings.slow_share};
}

// Where the policy resumes because pattern broken.
class ResumedIntervals final : public filters::IntervalSink {
 public:
  void suspend(std::uint64_t position) noexcept override { intervals.suspend(position); }
  void resume(std::uint64_t position) noexcept override {
    intervals.resume(position);
    if (leaving) broke.insert(position);
  }

  filters::SkippedIntervals intervals;
  std::set<std::uint64_t> broke;
  bool leaving = false;
};

}  // namespace

// Passes over the iterations once, as the gate did.
class LimitReplay::Pass {
 public:
  Pass(const LimitReplay& replay, std::uint64_t iteration_limit)
      : replay_(replay),
        journal_(replay.process_.journal()),
        communication_(journal_.mpi.known),
        policy_({.limit = iteration_limit,
                 .nested = filters::nested_of(replay.settings_.nested)},
                sink_),
        slow_(slow_settings(replay.settings_)) {}

  ReplayedLimit run() {
    spool::IterationStream stream(journal_, replay_.process_.context().iteration_ends);
    for (const auto* event = stream.peek(); event != nullptr;
         stream.pop(), event = stream.peek()) {
      if (event->goes_on) continue;
      const std::size_t level = journal_.visits[event->visit].level;
      while (open_.size() > level + 1) leave(event->ticks);
      if (open_.size() == level + 1 && (event->left || open_.back().visit != event->visit))
        leave(event->ticks);
      if (event->left || open_.size() < level) continue;
      if (open_.size() == level) enter(*event);
      iterate(*event);
    }
    while (!open_.empty()) leave(replay_.process_.end_ticks());
    return result();
  }

 private:
  struct Piece {
    std::uint64_t begin;
    std::uint64_t end;
  };
  struct Open {
    std::size_t visit;
    std::uint64_t number = 0;
    bool complete = true;
    bool skipped_before = false;  // the run itself skipped an iteration of this visit
    bool marked = true;           // its iterations are in the archive
    bool keep_next = false;
    Piece latest{0, 0};
    Piece before{0, 0};
  };

  void report(LoopEventKind kind, std::uint64_t ticks, std::uint64_t iteration) {
    const spool::LoopVisit& visit = journal_.visits[open_.back().visit];
    periodicity::LoopEvent event{.kind = kind,
                                 .level = static_cast<std::uint16_t>(open_.size() - 1),
                                 .loop = visit.loop,
                                 .visit = visit.visit,
                                 .body_events = 0,
                                 .position = ticks,
                                 .iteration = iteration,
                                 .at_end = !visit.left};
    const auto leave = replay_.leaves_.find(open_.back().visit);
    if (kind == LoopEventKind::kLeft && leave != replay_.leaves_.end()) {
      event.exit_count = leave->second.often;
      event.left_so_at = leave->second.at;
    }
    policy_.on_loop_event(event);
  }

  void enter(const spool::IterationEvent& event) {
    const bool marked =
        open_.empty() || (open_.back().marked && !skipped_now(open_.size()));
    open_.push_back({.visit = event.visit});
    open_.back().marked = marked;
    report(LoopEventKind::kFound, event.ticks, 0);
  }

  // Returns true if an iteration around a loop at this level is skipped.
  bool skipped_now(std::size_t level) const { return policy_.spent_level() < level; }

  void iterate(const spool::IterationEvent& event) {
    Open& open = open_.back();
    end_iteration(open);
    policy_.symbol_done();
    report(LoopEventKind::kIteration, event.ticks, event.number);
    open.number = event.number;
    open.complete = event.complete;
    open.before = open.latest;
    const std::uint64_t end =
        event.end_ticks == spool::kNoEnd ? replay_.process_.end_ticks() : event.end_ticks;
    open.latest = {event.ticks, end};
    out_.marks += open.marked ? 1 : 0;
    if (open_.size() == 1) last_ = open.latest;
    const Kept kept = replay_.process_.gaps().kept(event.ticks, end);
    if (kept == Kept::kSkipped) {
      open.skipped_before = true;
    } else if (open.skipped_before || open.keep_next) {
      kept_.push_back(open.latest);
    }
    open.keep_next = false;
  }

  // Judges the latest iteration, if it is the outermost skipped one.
  void end_iteration(Open& open) {
    const std::size_t level = open_.size() - 1;
    if (!slow_.active() || open.latest.end <= open.latest.begin || !open.complete) return;
    const bool waits = policy_.spent_level() == level;
    const std::uint64_t now = replay_.cost_.between(0, open.latest.end);
    slow_.ended({.loop = journal_.visits[open.visit].loop,
                 .level = static_cast<std::uint16_t>(level),
                 .number = open.number,
                 .begin = replay_.cost_.between(0, open.latest.begin),
                 .end = now,
                 .begin_ticks = open.latest.begin,
                 .duration_ticks = open.latest.end - open.latest.begin,
                 .outermost = true},
                waits);
    if (!slow_.waiting()) return;
    const auto chosen = slow_.choose(now);
    if (chosen.begin == chosen.end) return;
    kept_.push_back(open.latest);
    if (!communication_) return;
    kept_.push_back(open.before);
    open.keep_next = true;
  }

  void leave(std::uint64_t ticks) {
    Open& open = open_.back();
    end_iteration(open);
    const spool::LoopVisit& visit = journal_.visits[open.visit];
    const std::uint64_t at =
        visit.left ? visit.left_ticks : std::max(ticks, open.latest.begin);
    sink_.leaving = open_.size() == 1;
    if (!open.complete && open_.size() == 1)
      report(LoopEventKind::kMismatch, at, open.number);
    report(LoopEventKind::kLeft, at, visit.complete);
    sink_.leaving = false;
    open_.pop_back();
  }

  ReplayedLimit result() {
    filters::SkippedIntervals& all = sink_.intervals;
    all.finish(replay_.process_.end_ticks());
    for (const Piece& piece : kept_)
      if (piece.begin < piece.end) all.take_out(piece.begin, piece.end);
    all.take_out(last_.begin, last_.end);
    for (const auto& interval : all.intervals())
      if (interval.begin < interval.end)
        out_.skipped.push_back(
            {interval.begin, interval.end, sink_.broke.contains(interval.end)});
    return std::move(out_);
  }

  const LimitReplay& replay_;
  const spool::Journal& journal_;
  const bool communication_;  // other processes take part
  ResumedIntervals sink_;
  NestedPolicy policy_;
  filters::SlowIterations slow_;
  std::vector<Open> open_;  // from the outermost inwards
  std::vector<Piece> kept_;
  Piece last_{0, 0};
  ReplayedLimit out_;
};

LimitReplay::LimitReplay(const ProcessModel& process, const ArchiveCost& cost,
                         const filters::Settings& settings)
    : process_(process), cost_(cost), settings_(settings) {
  std::map<std::uint64_t, Leave> ways;
  std::map<std::uint32_t, std::uint64_t> iterations;
  const std::vector<spool::LoopVisit>& visits = process.journal().visits;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    most_ = std::max(most_, iterations[visits[i].loop] += visits[i].begun);
    if (visits[i].level != 0 || !visits[i].left) continue;
    Leave& way = ways[way_of_leaving(visits[i])];
    leaves_[i] = way;
    ++way.often;
    way.at = visits[i].left_ticks;
  }
}

// Identifies the loop and the event that came instead of the expected one.
std::uint64_t LimitReplay::way_of_leaving(const spool::LoopVisit& visit) const {
  std::uint64_t way = visit.loop * 2 + (visit.complete == visit.begun ? 1 : 0);
  const spool::RecordSequence& records = process_.records(process_.primary());
  std::size_t i = process_.scan(process_.primary()).epochs.before_ticks(visit.left_ticks);
  while (i < records.size() && records[i].ticks <= visit.left_ticks) ++i;
  for (; i < records.size(); ++i) {
    const spool::Record& record = records[i];
    if (!spool::is_one_of(spool::kEvents, record.kind) || record.kind == spool::kMpiLeave)
      continue;
    const std::uint64_t what =
        record.kind == spool::kImplicitTaskBegin ? 0 : record.payload;
    return (way * 0x9e3779b97f4a7c15 ^ what) * 0x9e3779b97f4a7c15 ^ record.kind;
  }
  return way;
}

ReplayedLimit LimitReplay::with(std::uint64_t iteration_limit) const {
  return Pass(*this, iteration_limit).run();
}

namespace {

using spool::Record;

// --- The summary, which is text ---

std::uint64_t digits_of(std::uint64_t number) {
  std::uint64_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

std::uint64_t bytes_of(const spool::IterationRows& rows) {
  std::uint64_t bytes = 0;
  for (const spool::IterationRows::Row& row : rows.rows) {
    bytes += digits_of(row.begin) + digits_of(row.first) + digits_of(row.count) + 5;
    for (const std::int64_t time : row.times)
      bytes += digits_of(static_cast<std::uint64_t>(std::abs(time))) + 1;
    for (const std::uint64_t value : row.counters) bytes += digits_of(value) + 1;
  }
  return bytes;
}

// Of the process, and in the graph of the job.
std::uint64_t bytes_of(const spool::FlowGraph& graph) {
  constexpr std::uint64_t kNode = std::uint64_t{2} * 150;
  constexpr std::uint64_t kEdge = std::uint64_t{2} * 75;
  return kNode * graph.nodes.size() + kEdge * graph.edges.size();
}

}  // namespace

ArchiveCost::ArchiveCost(const ProcessModel& process) {
  constexpr std::uint64_t kProcess = 1000;
  constexpr std::uint64_t kLocation = 200;
  constexpr std::uint64_t kRegion = 60;
  constexpr std::uint64_t kCallPath = 210;  // in the summary and in profile.cubex
  constexpr std::uint64_t kGapOfLocation = 22 + 4 * 13;  // off, on, regions around both
  constexpr std::uint64_t kMarkers = 70;
  definitions_ = kProcess;
  gap_ = kMarkers;
  for (std::size_t i = 0; i < process.locations(); ++i) {
    const spool::SpoolFile& file = process.spool().locations[i];
    const spool::CallTree tree = file.call_tree();
    definitions_ += kLocation + kRegion * process.scan(i).keys.size() +
                    kCallPath * tree.nodes.size() + bytes_of(file.flow_graph());
    rows_ += bytes_of(file.iteration_rows(tree, 0, process.end_ticks()));
    gap_ += kGapOfLocation;
    const spool::RecordSequence& records = process.records(i);
    std::uint64_t bytes = 0;
    std::uint64_t latest = 0;
    for (std::size_t k = 0; k < records.size(); ++k) {
      const Record& record = records[k];
      if (spool::is_cut(record) && bytes != 0) {
        samples_.push_back({record.ticks, bytes});
        bytes = 0;
      }
      bytes += spool::kind_row(record.kind).archive_bytes;
      latest = std::max(latest, record.ticks);
    }
    if (bytes != 0) samples_.push_back({latest + 1, bytes});
  }
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) { return a.ticks < b.ticks; });
  std::uint64_t sum = 0;
  for (Sample& sample : samples_) sample.bytes = sum += sample.bytes;
}

std::uint64_t ArchiveCost::up_to(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(
      samples_.begin(), samples_.end(), ticks,
      [](std::uint64_t value, const Sample& sample) { return value < sample.ticks; });
  return after == samples_.begin() ? 0 : (after - 1)->bytes;
}

std::uint64_t ArchiveCost::between(std::uint64_t begin_ticks,
                                   std::uint64_t end_ticks) const noexcept {
  const std::uint64_t begin = up_to(begin_ticks);
  return std::max(begin, up_to(end_ticks)) - begin;
}

}  // namespace refrain::writer
