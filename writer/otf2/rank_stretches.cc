#include "writer/otf2/rank_stretches.h"

#include <algorithm>
#include <map>

#include "writer/spool/iteration_stream.h"
#include "writer/spool/mpi_format.h"

namespace refrain::writer {
namespace {

using spool::Record;

constexpr std::uint64_t kSlackShare = 64;  // of an iteration, as GapPlan::kept()

std::uint64_t slack_of(std::uint64_t begin, std::uint64_t end) {
  return end > begin ? (end - begin) / kSlackShare : 0;
}

}  // namespace

RankRuler::RankRuler(const ProcessModel& process) : process_(process) {
  in_iterations_.resize(process.gaps().gaps.size());
  take_anchors();
  take_visits();
  take_other_gaps();
}

// The journal says how many there were before an iteration; between two, the log does.
void RankRuler::take_anchors() {
  const spool::Journal& journal = process_.journal();
  std::uint64_t found = 0;  // iterations before that are told in hindsight
  for (std::size_t i = 0; i < journal.log.size(); ++i) {
    const Record& record = journal.log[i];
    if (record.kind == spool::kText)
      i += (record.a48() + spool::kRecordBytes - 1) / spool::kRecordBytes;
    if (record.kind == spool::kLoopFound) found = std::max(found, record.ticks);
    if (record.kind == spool::kAnchor)
      samples_.push_back({std::max(found, record.ticks), record.payload});
  }
  const auto by_ticks = [](const Sample& a, const Sample& b) { return a.ticks < b.ticks; };
  std::stable_sort(samples_.begin(), samples_.end(), by_ticks);
  const std::size_t told = samples_.size();
  const spool::RecordSequence& records = process_.records(process_.primary());
  std::uint64_t anchors = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.kind != spool::kMpiCollective || (record.payload & spool::kMpiWorldwide) == 0)
      continue;
    for (; next < told && samples_[next].ticks <= record.ticks; ++next)
      anchors = std::max(anchors, samples_[next].anchors);
    samples_.push_back({record.ticks, ++anchors});
  }
  std::stable_sort(samples_.begin(), samples_.end(), by_ticks);
  std::uint64_t most = 0;
  for (Sample& sample : samples_) most = sample.anchors = std::max(most, sample.anchors);
  stretches_.end_anchor = most + 1;
}

std::uint64_t RankRuler::anchors_at(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(
      samples_.begin(), samples_.end(), ticks,
      [](std::uint64_t value, const Sample& sample) { return value < sample.ticks; });
  return after == samples_.begin() ? 0 : (after - 1)->anchors;
}

std::uint64_t RankRuler::when(std::uint64_t anchors) const noexcept {
  const auto at = std::lower_bound(
      samples_.begin(), samples_.end(), anchors,
      [](const Sample& sample, std::uint64_t value) { return sample.anchors < value; });
  return at == samples_.end() ? kNever : at->ticks;
}

void RankRuler::take_visits() {
  const spool::Journal& journal = process_.journal();
  std::map<std::size_t, std::size_t> index_of;  // visit in the journal -> in stretches_
  std::map<std::uint64_t, std::uint32_t> occurrences;
  for (std::size_t i = 0; i < journal.visits.size(); ++i) {
    const spool::LoopVisit& visit = journal.visits[i];
    if (visit.level != 0 || visit.complete == 0) continue;
    index_of[i] = stretches_.visits.size();
    visit_of_.push_back(i);
    RankVisit& out = stretches_.visits.emplace_back();
    out.key = {visit.complete, occurrences[visit.complete]++};
  }
  spool::IterationStream stream(journal, process_.context().iteration_ends);
  for (const auto* event = stream.peek(); event != nullptr; stream.pop(), event = stream.peek()) {
    const auto visit = index_of.find(event->visit);
    if (event->left || !event->complete || visit == index_of.end() ||
        event->end_ticks == spool::kNoEnd)
      continue;
    RankVisit& out = stretches_.visits[visit->second];
    const bool held = is_held(event->ticks, event->end_ticks);
    if (!held && is_changed(event->ticks, event->end_ticks))
      out.changed.add(event->number);
    if (!held) continue;
    out.held.add(event->number);
    if (process_.gaps().kept(event->ticks, event->end_ticks) == Kept::kPartly)
      out.partly.add(event->number);
    out.anchors.add(anchors_at(event->ticks), anchors_at(event->end_ticks));
  }
  for (RankVisit& visit : stretches_.visits) {
    visit.held.normalize();
    visit.partly.normalize();
    visit.changed.normalize();
    visit.anchors.normalize();
  }
}

bool RankRuler::is_held(std::uint64_t begin, std::uint64_t end) {
  const std::vector<Gap>& gaps = process_.gaps().gaps;
  const std::uint64_t slack = slack_of(begin, end);
  auto gap = std::lower_bound(
      gaps.begin(), gaps.end(), begin + slack,
      [](const Gap& each, std::uint64_t ticks) { return each.resume_ticks <= ticks; });
  bool held = false;
  for (; gap != gaps.end() && gap->hold_ticks + slack < end; ++gap) {
    const bool inside = gap->hold_ticks > begin + slack && gap->resume_ticks + slack < end;
    if (inside && gap->resume_ticks != kNever) continue;
    in_iterations_[static_cast<std::size_t>(gap - gaps.begin())] = held = true;
  }
  return held;
}

bool RankRuler::is_changed(std::uint64_t begin, std::uint64_t end) const {
  const std::vector<Gap>& gaps = process_.gaps().gaps;
  const auto after = std::upper_bound(
      gaps.begin(), gaps.end(), begin + slack_of(begin, end),
      [](std::uint64_t ticks, const Gap& each) { return ticks < each.resume_ticks; });
  if (after == gaps.begin()) return false;
  const Gap& gap = *(after - 1);
  return gap.killed || gap.resume_reason == spool::kGapBreak;
}

// Gaps outside of outermost loops, or inside one of their iterations.
void RankRuler::take_other_gaps() {
  const std::vector<Gap>& gaps = process_.gaps().gaps;
  for (std::size_t i = 0; i < gaps.size(); ++i)
    if (!in_iterations_[i])
      stretches_.anchors.add(anchors_at(gaps[i].hold_ticks),
                             anchors_at(gaps[i].resume_ticks));
  stretches_.anchors.normalize();
}

RankRuler::Edge RankRuler::edge_at(std::uint64_t ticks, std::uint64_t slack,
                                   bool begins) const {
  for (const Gap& gap : process_.gaps().gaps) {
    const std::uint64_t last =
        gap.resume_ticks == kNever ? kNever : gap.resume_ticks + slack;
    if (ticks + slack < gap.hold_ticks || ticks > last) continue;
    // A new gap that begins here goes on from this one, one that ends here goes up to it.
    if (begins) return {gap.resume_epoch, gap.resume_ticks};
    return {gap.hold_epoch, gap.hold_ticks};
  }
  const spool::RecordSequence& records = process_.records(process_.primary());
  Edge edge;
  bool near = false;
  const std::size_t from = process_.scan(process_.primary()).epochs.before_ticks(ticks);
  for (std::size_t i = from; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!spool::is_cut(record)) continue;
    if (record.ticks > ticks) return near ? edge : Edge{record.a48(), record.ticks};
    edge = {record.a48(), record.ticks};
    near = record.ticks + slack >= ticks;
  }
  return near ? edge : Edge{};
}

void RankRuler::add_gap(std::vector<Gap>& gaps, Edge from, Edge to) const {
  if (from.epoch == kNever || from.epoch >= to.epoch) return;
  Gap gap;
  gap.hold_epoch = from.epoch;
  gap.hold_ticks = from.ticks;
  gap.resume_epoch = to.epoch;
  gap.resume_ticks = to.ticks;
  gap.hold_reason = gap.resume_reason = spool::kGapRanks;
  gaps.push_back(gap);
}

std::vector<Gap> RankRuler::gaps_of(const RankTrim& trim) const {
  const spool::Journal& journal = process_.journal();
  std::vector<Gap> gaps;
  // Begin and end of each range of iterations.
  std::map<std::pair<std::size_t, std::uint64_t>, std::pair<std::uint64_t, std::uint64_t>> span;
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
      add_gap(gaps, edge_at(first.first, slack_of(first.first, first.second), true),
              edge_at(last.second, slack_of(last.first, last.second), false));
    }
  for (const auto& range : trim.anchors.ranges()) {
    const std::uint64_t begin = range.begin == 0 ? 0 : when(range.begin);
    const std::uint64_t end = when(range.end);
    if (begin == kNever || end == kNever) continue;
    add_gap(gaps, edge_at(begin, 0, true), edge_at(end, 0, false));
  }
  return gaps;
}

}  // namespace refrain::writer
