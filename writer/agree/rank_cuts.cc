#include "writer/agree/rank_cuts.h"

#include <algorithm>
#include <map>
#include <set>

#include "spool/mpi_format.h"

namespace refrain::writer {
namespace {

struct Trim {
  NumberRanges more;
  NumberRanges alone;
};

// Of what a rank wrote in [0, end), the parts in `skipped` are left out, except intervals
// that lie entirely in it and overlap `changed`.
Trim trim(const NumberRanges& own, const NumberRanges& skipped, const NumberRanges& changed,
          std::uint64_t end) {
  Trim out;
  const NumberRanges written = complement(own, 0, end);
  for (const auto& interval : written.ranges()) {
    const NumberRanges whole{{interval.begin, interval.end}};
    const NumberRanges part = intersect(whole, skipped);
    const bool alone = part == whole && !intersect(whole, changed).empty();
    NumberRanges& to = alone ? out.alone : out.more;
    to = unite(to, part);
  }
  return out;
}

bool is_inner(const VisitPath& path) { return path.size() > 1; }

// The visit of which most is skipped.
const RankVisit* main_loop(const RankIntervals& rank) {
  const RankVisit* most = nullptr;
  for (const RankVisit& visit : rank.visits)
    if (!is_inner(visit.path) && !visit.skipped.empty() &&
        (most == nullptr || visit.skipped.count() > most->skipped.count()))
      most = &visit;
  return most;
}

NumberRanges first_two(const NumberRanges& numbers) {
  NumberRanges out;
  std::uint64_t left = 2;
  for (const auto& range : numbers.ranges()) {
    const std::uint64_t n = std::min(left, range.end - range.begin);
    if (n != 0) out.add(range.begin, range.begin + n);
    left -= n;
  }
  out.normalize();
  return out;
}

// Intervals between the skipped iterations of a shifted visit and the anchors around them:
// ranks whose iterations begin elsewhere go back to the anchor before, and all go on to the
// one after.
NumberRanges up_to_anchors(const NumberRanges& skipped, bool at_anchor) {
  NumberRanges out;
  for (const auto& range : skipped.ranges())
    out.add(at_anchor ? range.end : range.begin, range.end + 1);
  out.normalize();
  return out;
}

// Which visits a rank can compare by their iterations.
class VisitIndex {
 public:
  VisitIndex(const RankIntervals& rank, const SkippedIntervals& all) : all_(all) {
    for (const RankVisit& visit : rank.visits) own_.insert(visit.path);
  }
  // An inner visit is reported only by ranks that skipped some of it, and compared by ranks
  // that have it.
  bool by_iterations(const VisitPath& path) const {
    const auto known = all_.visits.find(path);
    if (known == all_.visits.end()) return false;
    return is_inner(path) ? own_.contains(path) : known->second.ranks == all_.ranks;
  }

 private:
  const SkippedIntervals& all_;
  std::set<VisitPath> own_;
};

}  // namespace

SkippedIntervals merge(SkippedIntervals a, const SkippedIntervals& b) {
  if (b.ranks == 0) return a;
  if (a.ranks == 0) return b;
  a.ranks += b.ranks;
  a.begins = first_two(unite(a.begins, b.begins));
  a.anchors = unite(a.anchors, b.anchors);
  a.visit_anchors = unite(a.visit_anchors, b.visit_anchors);
  const auto drop = [&a](const NumberRanges& anchors) {
    a.anchors = unite(a.anchors, anchors);
    a.visit_anchors = unite(a.visit_anchors, anchors);
  };
  for (auto own = a.visits.begin(); own != a.visits.end();) {
    if (is_inner(own->first) || b.visits.contains(own->first)) {
      ++own;
      continue;
    }
    drop(own->second.anchors);
    own = a.visits.erase(own);
  }
  for (const auto& [path, visit] : b.visits) {
    const auto known = a.visits.find(path);
    if (known != a.visits.end()) {
      known->second.ranks += visit.ranks;
      known->second.iterations = unite(known->second.iterations, visit.iterations);
      known->second.anchors = unite(known->second.anchors, visit.anchors);
    } else if (is_inner(path)) {
      a.visits.emplace(path, visit);
    } else {
      drop(visit.anchors);
    }
  }
  return a;
}

void put(exchange::ByteWriter& out, const SkippedIntervals& skipped) {
  out.number(skipped.ranks);
  put(out, skipped.anchors);
  put(out, skipped.visit_anchors);
  put(out, skipped.begins);
  out.number(skipped.visits.size());
  for (const auto& [path, visit] : skipped.visits) {
    out.number(path.size());
    for (const VisitStep& step : path) {
      out.number(step.within);
      out.number(step.iterations);
      out.number(step.occurrence);
      out.number(step.place);
    }
    out.number(visit.ranks);
    put(out, visit.iterations);
    put(out, visit.anchors);
  }
}

void take(exchange::ByteReader& in, SkippedIntervals& skipped) {
  skipped.ranks = in.number();
  take(in, skipped.anchors);
  take(in, skipped.visit_anchors);
  take(in, skipped.begins);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    VisitPath path;
    for (std::size_t steps = in.count(); steps != 0 && in.ok(); --steps) {
      const std::uint64_t within = in.number();
      const std::uint64_t iterations = in.number();
      const std::uint32_t occurrence = in.number32();
      path.push_back({within, iterations, occurrence, in.number()});
    }
    SkippedIntervals::Visit visit;
    visit.ranks = in.number();
    take(in, visit.iterations);
    take(in, visit.anchors);
    if (path.empty() || !skipped.visits.emplace(std::move(path), std::move(visit)).second)
      in.fail();
  }
}

SkippedIntervals skipped_intervals(const RankIntervals& rank) {
  SkippedIntervals out;
  out.ranks = 1;
  if (const RankVisit* main = main_loop(rank); main != nullptr && main->begin != 0)
    out.begins.add(main->begin);
  out.begins.normalize();
  out.anchors = rank.anchors;
  for (const RankVisit& visit : rank.visits)
    if (!is_inner(visit.path) || !visit.skipped.empty())
      out.visits[visit.path] = {1, visit.skipped, visit.anchors};
  return out;
}

bool RankTrim::any() const noexcept {
  return !anchors.empty() || std::any_of(visits.begin(), visits.end(),
                                         [](const Visit& v) { return !v.more.empty(); });
}

RankTrim trim_rank(const RankIntervals& rank, const SkippedIntervals& all) {
  RankTrim out;
  if (all.ranks <= 1) {  // a single rank agrees with itself, also in what it wrote in part
    out.visits.resize(rank.visits.size());
    return out;
  }
  const VisitIndex index(rank, all);
  // By anchors: what some rank skipped, where iterations cannot be compared.
  NumberRanges skipped = all.anchors;
  NumberRanges of_visits = all.visit_anchors;
  for (const auto& [path, visit] : all.visits) {
    if (index.by_iterations(path)) continue;
    skipped = unite(skipped, visit.anchors);
    if (!is_inner(path)) of_visits = unite(of_visits, visit.anchors);
  }
  // Written intervals of this rank are those between what it skipped in any way.
  NumberRanges own = rank.anchors;
  for (const RankVisit& visit : rank.visits) own = unite(own, visit.anchors);
  const NumberRanges after_the_first{{1, rank.end_anchor}};
  out.anchors = trim(own, skipped, after_the_first, rank.end_anchor).more;
  const RankVisit* const main = main_loop(rank);
  const bool at_anchor = main != nullptr && main->begin == kAtAnchor;
  const bool shifted = all.begins.count() > 1;
  if (shifted) out.anchors = unite(out.anchors, up_to_anchors(of_visits, at_anchor));
  for (const RankVisit& visit : rank.visits) {
    RankTrim::Visit& trimmed = out.visits.emplace_back();
    if (!index.by_iterations(visit.path)) continue;
    const std::uint64_t iterations = visit.path.back().iterations;
    // A part of an iteration is of no use without the others' parts.
    const NumberRanges none =
        intersect(visit.skipped, complement(visit.partly, 0, iterations));
    Trim both = trim(none, all.visits.at(visit.path).iterations, visit.changed, iterations);
    trimmed = {std::move(both.more), std::move(both.alone)};
    const SkippedIntervals::Visit& shared = all.visits.at(visit.path);
    if (!is_inner(visit.path) && shifted)
      out.anchors =
          unite(out.anchors, up_to_anchors(shared.anchors, visit.begin == kAtAnchor));
  }
  return out;
}

using spool::Record;

RankIndex::RankIndex(const ProcessModel& process) : process_(process), edges_(process) {
  in_iterations_.resize(process.gaps().gaps.size());
  take_anchors();
  take_inner_visits();
  take_visits(nullptr);
  take_other_gaps();
}

void RankIndex::add_inner_visits(const SkippedIntervals& all) {
  const bool inner = std::any_of(all.visits.begin(), all.visits.end(),
                                 [](const auto& visit) { return visit.first.size() > 1; });
  if (inner) take_visits(&all);
}

// The journal has the number before an iteration; between two, the log has it.
void RankIndex::take_anchors() {
  const spool::Journal& journal = process_.journal();
  std::uint64_t found = 0;  // earlier iterations are reported in hindsight
  for (std::size_t i = 0; i < journal.log.size(); ++i) {
    const Record& record = journal.log[i];
    i += spool::text_records(record);
    if (record.kind == spool::kLoopFound) found = std::max(found, record.ticks);
    if (record.kind == spool::kAnchor)
      samples_.push_back({std::max(found, record.ticks), record.payload});
  }
  const auto by_ticks = [](const Sample& a, const Sample& b) { return a.ticks < b.ticks; };
  std::stable_sort(samples_.begin(), samples_.end(), by_ticks);
  const std::size_t reported = samples_.size();
  const spool::RecordSequence& records = process_.records(process_.primary());
  std::uint64_t anchors = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.kind == spool::kMpiEnter && !after_anchors_.empty() &&
        after_anchors_.back().end == kNever)
      after_anchors_.back().end = record.ticks;
    if (record.kind != spool::kMpiCollective ||
        (record.payload & spool::kMpiWorldwide) == 0)
      continue;
    after_anchors_.push_back({record.ticks, kNever});
    for (; next < reported && samples_[next].ticks <= record.ticks; ++next)
      anchors = std::max(anchors, samples_[next].anchors);
    samples_.push_back({record.ticks, ++anchors});
  }
  std::stable_sort(samples_.begin(), samples_.end(), by_ticks);
  std::uint64_t most = 0;
  for (Sample& sample : samples_) most = sample.anchors = std::max(most, sample.anchors);
  intervals_.end_anchor = most + 1;
}

std::uint64_t RankIndex::anchors_at(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(
      samples_.begin(), samples_.end(), ticks,
      [](std::uint64_t value, const Sample& sample) { return value < sample.ticks; });
  return after == samples_.begin() ? 0 : (after - 1)->anchors;
}

bool RankIndex::is_after_anchor(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(
      after_anchors_.begin(), after_anchors_.end(), ticks,
      [](std::uint64_t value, const Span& span) { return value < span.begin; });
  return after != after_anchors_.begin() && ticks <= (after - 1)->end;
}

std::uint64_t RankIndex::when(std::uint64_t anchors) const noexcept {
  const auto at = std::lower_bound(
      samples_.begin(), samples_.end(), anchors,
      [](const Sample& sample, std::uint64_t value) { return sample.anchors < value; });
  return at == samples_.end() ? kNever : at->ticks;
}

void RankIndex::take_visits(const SkippedIntervals* all) {
  const spool::Journal& journal = process_.journal();
  intervals_.visits.clear();
  visit_of_.clear();
  outermost_.clear();
  spool::IterationStream stream(journal, process_.context().iteration_ends);
  for (const auto* event = stream.peek(); event != nullptr;
       stream.pop(), event = stream.peek()) {
    if (event->goes_on) continue;
    const std::size_t level = journal.visits[event->visit].level;
    while (open_.size() > level + 1) close_visit(all);
    if (open_.size() == level + 1 && (event->left || open_.back().visit != event->visit))
      close_visit(all);
    if (event->left || open_.size() < level) continue;
    if (open_.size() == level) open_visit(event->visit);
    take_iteration(*event);
  }
  while (!open_.empty()) close_visit(all);
}

std::uint64_t RankIndex::kind_of(std::size_t index) const noexcept {
  constexpr std::uint64_t kFew = 4;  // with less the edges decide
  const spool::LoopVisit& visit = process_.journal().visits[index];
  if (visit.complete < kFew) return 0;
  const std::uint64_t end =
      visit.left ? anchors_at(visit.left_ticks) : intervals_.end_anchor - 1;
  const std::uint64_t begin = std::min(anchors_at(visit.first_ticks), end);
  return 4 * (end - begin) >= 3 * visit.complete ? 1 : 0;
}

std::uint64_t RankIndex::place_of(std::uint32_t loop) const {
  constexpr std::uint64_t kPageOffset = 0xfff;
  const auto& codes = process_.journal().loop_code;
  const auto code = codes.find(loop);
  if (code == codes.end()) return 0;
  // Of Python code the header is no address.
  return code->second.file.empty() ? code->second.header & kPageOffset
                                   : kPageOffset + 1 + code->second.first_line;
}

void RankIndex::open_visit(std::size_t visit) {
  const std::uint64_t iterations = process_.journal().visits[visit].complete;
  OpenVisit open;
  open.visit = visit;
  open.index = intervals_.visits.size();
  open.ignored = iterations == 0;
  VisitPath path;
  if (!open_.empty()) {
    OpenVisit& around = open_.back();
    open.ignored = open.ignored || around.ignored || around.skipped;
    if (!open.ignored) {
      path = intervals_.visits[around.index].path;
      const std::uint64_t place = place_of(process_.journal().visits[visit].loop);
      path.push_back(
          {around.number, iterations, around.inner[{iterations, place}]++, place});
    }
  } else if (!open.ignored) {
    const std::uint64_t kind = kind_of(visit);
    path.push_back({kind, iterations, outermost_[{kind, iterations}]++});
  }
  if (!open.ignored) {
    intervals_.visits.emplace_back().path = std::move(path);
    visit_of_.push_back(visit);
  }
  open_.push_back(std::move(open));
}

void RankIndex::take_iteration(const spool::IterationEvent& event) {
  OpenVisit& open = open_.back();
  if (open.ignored) return;
  open.number = event.number;
  open.inner.clear();
  open.skipped = false;
  if (!event.complete || event.end_ticks == spool::kNoEnd) return;
  RankVisit& out = intervals_.visits[open.index];
  const std::size_t level = open_.size() - 1;
  // Ranks that wrote the iteration around a visit had its break as well.
  const std::uint64_t since =
      level == 0 ? 0 : process_.journal().visits[open.visit].first_ticks;
  open.skipped = is_skipped(event.ticks, event.end_ticks, level);
  if (!open.skipped && is_changed(event.ticks, event.end_ticks, since))
    out.changed.add(event.number);
  if (!open.skipped && open_.size() == 1) {
    const bool at_anchor = is_after_anchor(event.ticks);
    ++(at_anchor ? open.at_anchor : open.elsewhere);
    if (!at_anchor && open.begins_at == 0) open.begins_at = event.ticks;
  }
  if (!open.skipped) return;
  out.skipped.add(event.number);
  if (process_.gaps().kept(event.ticks, event.end_ticks) == Kept::kPartly)
    out.partly.add(event.number);
  out.anchors.add(anchors_at(event.ticks), anchors_at(event.end_ticks));
}

std::uint64_t RankIndex::begin_of(const OpenVisit& open) const {
  constexpr std::uint64_t kPageOffset = 0xfff;
  if (open.at_anchor > open.elsewhere) return kAtAnchor;
  if (open.begins_at == 0) return 0;
  const std::size_t primary = process_.primary();
  const spool::RecordSequence& records = process_.records(primary);
  for (std::size_t i = process_.scan(primary).epochs.before_ticks(open.begins_at);
       i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.ticks < open.begins_at || record.kind == spool::kSync) continue;
    if (record.kind == spool::kMpiEnter) return kAtCall;
    return kAtCall + 1 +
           (std::uint64_t{record.kind} << 12 | (record.payload & kPageOffset));
  }
  return 0;
}

void RankIndex::close_visit(const SkippedIntervals* all) {
  const OpenVisit open = std::move(open_.back());
  open_.pop_back();
  if (open.ignored) return;
  RankVisit& visit = intervals_.visits[open.index];
  visit.skipped.normalize();
  visit.partly.normalize();
  visit.changed.normalize();
  visit.anchors.normalize();
  if (visit.path.size() == 1) visit.begin = begin_of(open);
  const bool wanted = visit.path.size() == 1 || !visit.skipped.empty() ||
                      (all != nullptr && all->visits.contains(visit.path));
  if (wanted || open.index + 1 != intervals_.visits.size()) return;
  intervals_.visits.pop_back();
  visit_of_.pop_back();
}

void RankIndex::take_inner_visits() {
  for (const spool::LoopVisit& visit : process_.journal().visits) {
    if (visit.level == 0 || !visit.left) continue;
    if (visit.level > inner_visits_.size()) inner_visits_.resize(visit.level);
    inner_visits_[visit.level - 1u].push_back({visit.first_ticks, visit.left_ticks});
  }
  for (std::vector<Span>& visits : inner_visits_)
    std::sort(visits.begin(), visits.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
}

// Of an iteration that is not spent, the policy skips only loops inside. Where such a loop is first or last in it, and the
// iteration before or after is skipped, the two gaps are one.
bool RankIndex::lacks_only_loops(const Gap& gap, std::uint64_t begin, std::uint64_t end,
                                 std::size_t level) const {
  if (gap.killed) return false;
  const std::uint64_t from = gap.suspend_ticks;
  // Where writing resumed because of a break, in hindsight, such a loop is what the gap ends with.
  if (from <= begin) return gap.resume_reason == spool::kGapBreak && !gap.late;
  if (gap.suspend_reason != spool::kGapIterations || level >= inner_visits_.size())
    return false;
  const std::vector<Span>& visits = inner_visits_[level];
  const auto after = std::upper_bound(
      visits.begin(), visits.end(), from,
      [](std::uint64_t ticks, const Span& visit) { return ticks < visit.begin; });
  if (after == visits.begin()) return false;
  const Span& visit = *(after - 1);
  return visit.begin >= begin && visit.begin < end && from < visit.end;
}

bool RankIndex::is_skipped(std::uint64_t begin, std::uint64_t end, std::size_t level) {
  const std::vector<Gap>& gaps = process_.gaps().gaps;
  auto gap = std::lower_bound(
      gaps.begin(), gaps.end(), begin,
      [](const Gap& each, std::uint64_t ticks) { return each.skipped_until() <= ticks; });
  bool skipped = false;
  for (; gap != gaps.end() && gap->suspend_ticks < end; ++gap) {
    const std::uint64_t until = gap->skipped_until();
    const std::uint64_t slack = gap->ends_roughly() ? slack_of(begin, end) : 0;
    if (until <= begin + slack) continue;
    const bool crosses = gap->suspend_ticks < begin || until > end + slack;
    const bool covers = gap->suspend_ticks == begin && until + slack >= end;
    if (!crosses && !covers) continue;
    const bool both = gap->suspend_ticks <= begin && until + slack >= end;
    if (!both && lacks_only_loops(*gap, begin, end, level)) continue;
    in_iterations_[static_cast<std::size_t>(gap - gaps.begin())] = skipped = true;
  }
  return skipped;
}

bool RankIndex::is_changed(std::uint64_t begin, std::uint64_t end,
                           std::uint64_t since) const {
  const std::vector<Gap>& gaps = process_.gaps().gaps;
  const auto after = std::upper_bound(
      gaps.begin(), gaps.end(), begin + slack_of(begin, end),
      [](std::uint64_t ticks, const Gap& each) { return ticks < each.resume_ticks; });
  if (after == gaps.begin()) return false;
  const Gap& gap = *(after - 1);
  if (gap.skipped_until() <= since) return false;
  return gap.killed || gap.resume_reason == spool::kGapBreak;
}

// Gaps outside of outermost loops, or inside one of their iterations.
void RankIndex::take_other_gaps() {
  const std::vector<Gap>& gaps = process_.gaps().gaps;
  for (std::size_t i = 0; i < gaps.size(); ++i)
    if (!in_iterations_[i])
      intervals_.anchors.add(anchors_at(gaps[i].suspend_ticks),
                             anchors_at(gaps[i].resume_ticks));
  intervals_.anchors.normalize();
}

std::vector<Gap> RankIndex::gaps_of(const RankTrim& trim) const {
  const spool::Journal& journal = process_.journal();
  std::vector<Gap> gaps;
  // Start and end of each range of iterations.
  std::map<std::pair<std::size_t, std::uint64_t>, std::pair<std::uint64_t, std::uint64_t>>
      span;
  for (std::size_t i = 0; i < trim.visits.size(); ++i)
    for (const auto& range : trim.visits[i].more.ranges()) {
      span[{visit_of_[i], range.begin}] = {};
      span[{visit_of_[i], range.end - 1}] = {};
    }
  spool::IterationStream stream(journal, process_.context().iteration_ends);
  for (const auto* event = span.empty() ? nullptr : stream.peek(); event != nullptr;
       stream.pop(), event = stream.peek()) {
    const auto wanted = span.find({event->visit, event->number});
    if (!event->left && wanted != span.end())
      wanted->second = {event->ticks, event->end_ticks};
  }
  for (std::size_t i = 0; i < trim.visits.size(); ++i)
    for (const auto& range : trim.visits[i].more.ranges()) {
      const auto first = span.at({visit_of_[i], range.begin});
      const auto last = span.at({visit_of_[i], range.end - 1});
      if (first.first == 0 || last.second == 0 || last.second == spool::kNoEnd) continue;
      CutEdges::add_gap(gaps,
                        edges_.at(first.first, slack_of(first.first, first.second), true),
                        edges_.at(last.second, slack_of(last.first, last.second), false),
                        spool::kGapRanks, spool::kGapRanks);
    }
  for (const auto& range : trim.anchors.ranges()) {
    const std::uint64_t begin = range.begin == 0 ? 0 : when(range.begin);
    const std::uint64_t end = when(range.end);
    if (begin == kNever || end == kNever) continue;
    CutEdges::add_gap(gaps, edges_.at(begin, 0, true), edges_.at(end, 0, false),
                      spool::kGapRanks, spool::kGapRanks);
  }
  return gaps;
}

}  // namespace refrain::writer
