#include "analysis/report/nest_sink.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

namespace refrain::report {
namespace {

void unite(SeriesRow& to, const SeriesRow& next) {
  to.end_ns = next.end_ns;
  to.sum_ns += next.sum_ns;
  to.min_ns = std::min(to.min_ns, next.min_ns);
  to.max_ns = std::max(to.max_ns, next.max_ns);
  to.count += next.count;
  to.state = std::max(to.state, next.state);
  to.why |= next.why;
}

bool longer(const IterationSeries::Slow& a, const IterationSeries::Slow& b) {
  return a.ns != b.ns ? a.ns > b.ns : a.number < b.number;
}

}  // namespace

void IterationSeries::add(double number, double begin_ns, double end_ns,
                          IterationState state) {
  const double ns = end_ns - begin_ns;
  ++iterations_;
  const SeriesRow row{.first = number,
                      .begin_ns = begin_ns,
                      .end_ns = end_ns,
                      .sum_ns = ns,
                      .min_ns = ns,
                      .max_ns = ns,
                      .state = state};
  if (!rows_.empty() && rows_.back().count < per_) {
    unite(rows_.back(), row);
  } else {
    rows_.push_back(row);
    if (rows_.size() > most_) merge();
  }
  slowest_.push_back({number, begin_ns, ns});
  std::ranges::push_heap(slowest_, longer);
  if (slowest_.size() <= kSlowest) return;
  std::ranges::pop_heap(slowest_, longer);
  slowest_.pop_back();
}

void IterationSeries::merge() {
  per_ *= 2;
  std::size_t to = 0;
  for (std::size_t i = 0; i < rows_.size(); i += 2) {
    rows_[to] = rows_[i];
    if (i + 1 < rows_.size()) unite(rows_[to], rows_[i + 1]);
    ++to;
  }
  rows_.resize(to);
}

SeriesRow* IterationSeries::at(double ns) {
  auto found = std::ranges::upper_bound(rows_, ns, {}, &SeriesRow::begin_ns);
  if (found == rows_.begin()) return nullptr;
  --found;
  return ns <= found->end_ns ? &*found : nullptr;
}

SeriesRow* IterationSeries::before(const SeriesRow* row) {
  return row == nullptr || row == rows_.data()
             ? nullptr
             : &rows_[static_cast<std::size_t>(row - rows_.data() - 1)];
}

double IterationSeries::median_ns() const {
  if (rows_.empty()) return 0;
  std::vector<std::uint32_t> order(rows_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return rows_[i].mean_ns(); });
  std::uint64_t before = 0;
  for (const std::uint32_t i : order) {
    before += rows_[i].count;
    if (2 * before >= iterations_) return rows_[i].mean_ns();
  }
  return rows_[order.back()].mean_ns();
}

std::vector<IterationSeries::Slow> IterationSeries::slowest() const {
  std::vector<Slow> out = slowest_;
  std::ranges::sort(out, longer);
  return out;
}

using reader::EventKind;
using reader::TraceEvent;

base::Result<> NestSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  attributes_.emplace(definitions);
  return {};
}

void NestSink::event(const TraceEvent& event) {
  if (definitions_->locations[event.location].process != process_ &&
      process_ != reader::kNone)
    return;
  const auto ns = static_cast<double>(event.ns);
  if (attributes_->is_mark(event)) {
    if (location_ == reader::kNone) location_ = event.location;
    process_ = definitions_->locations[event.location].process;
    if (event.location != location_) return;
    return event.kind == EventKind::kEnter ? begin_iteration(event) : end_iteration(event);
  }
  if (event.kind == EventKind::kParameterInt && event.location == location_ &&
      !open_.empty() && open_.back().number < 0) {
    // Directly after the start: its number in the visit.
    Open& open = open_.back();
    if (const Visit& before = visits_[open_.size() - 1];
        before.bar.first >= 0 &&
        before.base + static_cast<double>(event.value) <= before.bar.last)
      begin_visit(open_.size() - 1, open.region, open.begin_ns);
    Visit& visit = visits_[open_.size() - 1];
    open.number = visit.base + static_cast<double>(event.value);
    visit.bar.last = std::max(visit.bar.last, open.number);
    if (visit.bar.first < 0) visit.bar.first = open.number;
    return;
  }
  if (event.kind != EventKind::kMeasurementOnOff) return;
  // Of the location with the marks; until it is known, of the process' first one.
  const std::uint32_t own = location_ != reader::kNone || process_ == reader::kNone
                                ? location_
                                : definitions_->processes[process_].locations.front();
  if (own != event.location) return;
  if (event.op == OTF2_MEASUREMENT_OFF) {
    if (!off_since_) off_since_ = ns;
  } else {
    gap_ends(ns);
  }
}

void NestSink::begin_iteration(const TraceEvent& event) {
  const std::size_t depth = open_.size();
  if (visits_.size() > depth && visits_[depth].region != event.ref) end_visits(depth);
  if (visits_.size() > depth + 1) end_visits(depth + 1);
  const auto ns = static_cast<double>(event.ns);
  Loop& loop = loops_[event.ref];
  if (loop.name.empty()) loop.name = definitions_->regions[event.ref].name;
  loop.outermost = loop.outermost || depth == 0;
  if (visits_.size() == depth) begin_visit(depth, event.ref, ns);
  open_.push_back({.region = event.ref,
                   .begin_ns = ns,
                   .number = -1,
                   .state = !attributes_->written(event)  ? kSkippedState
                            : attributes_->partial(event) ? kPartialState
                                                          : kWrittenState,
                   .complete = attributes_->complete(event)});
}

void NestSink::begin_visit(std::size_t depth, std::uint32_t region, double ns) {
  end_visits(depth);
  visits_.push_back({.region = region,
                     .bar = {.begin_ns = ns, .end_ns = ns, .first = -1, .last = -1},
                     .base = numbered_[region]});
}

void NestSink::end_iteration(const TraceEvent& event) {
  if (open_.empty() || open_.back().region != event.ref) return;
  const Open open = open_.back();
  open_.pop_back();
  if (visits_.size() > open_.size() + 1) end_visits(open_.size() + 1);
  const auto ns = static_cast<double>(event.ns);
  if (visits_.size() > open_.size()) visits_[open_.size()].bar.end_ns = ns;
  if (!open.complete || event.uncertain) return;
  Loop& loop = loops_[event.ref];
  ++loop.complete;
  if (open_.empty())
    loop.series.add(std::max(0.0, open.number), open.begin_ns, ns, open.state);
}

// Those at this depth, and deeper ones.
void NestSink::end_visits(std::size_t depth) {
  for (; visits_.size() > depth; visits_.pop_back()) {
    Visit& visit = visits_.back();
    visit.bar.first = std::max(0.0, visit.bar.first);
    visit.bar.last = std::max(visit.bar.first, visit.bar.last);
    numbered_[visit.region] = visit.bar.last + 1;
    add_bar(loops_[visit.region], visit.bar);
  }
}

void NestSink::add_bar(Loop& loop, const Bar& bar) {
  const auto unite = [](Bar& to, const Bar& next) {
    to.end_ns = next.end_ns;
    to.last = next.last;
    to.visits += next.visits;
  };
  if (!loop.bars.empty() && loop.bars.back().visits < loop.visits_per_bar)
    return unite(loop.bars.back(), bar);
  loop.bars.push_back(bar);
  if (loop.bars.size() <= kMaxBars) return;
  loop.visits_per_bar *= 2;
  std::size_t to = 0;
  for (std::size_t i = 0; i < loop.bars.size(); i += 2, ++to) {
    loop.bars[to] = loop.bars[i];
    if (i + 1 < loop.bars.size()) unite(loop.bars[to], loop.bars[i + 1]);
  }
  loop.bars.resize(to);
}

void NestSink::gap_ends(double ns) {
  if (!off_since_) return;
  gaps_.push_back({.begin_ns = *off_since_, .end_ns = ns, .text = {}});
  off_since_.reset();
  if (gaps_.size() > 2 * kMaxGaps) keep_longest();
}

void NestSink::keep_longest() {
  if (gaps_.size() <= kMaxGaps) return;
  std::ranges::nth_element(gaps_, gaps_.begin() + kMaxGaps, [](const Gap& a, const Gap& b) {
    return a.end_ns - a.begin_ns > b.end_ns - b.begin_ns;
  });
  gaps_.resize(kMaxGaps);
}

base::Result<> NestSink::finish(std::uint64_t end_ns) {
  gap_ends(static_cast<double>(end_ns));
  while (!open_.empty()) {
    if (visits_.size() >= open_.size())
      visits_[open_.size() - 1].bar.end_ns = static_cast<double>(end_ns);
    open_.pop_back();
  }
  end_visits(0);
  keep_longest();
  std::ranges::sort(gaps_, {}, &Gap::begin_ns);
  take_markers();
  explain();
  return {};
}

// "NAME: rest" of a loop's name. Names may have colons.
std::uint32_t NestSink::region_of(const std::string& text, std::string& rest) const {
  std::uint32_t best = reader::kNone;
  std::size_t length = 0;
  for (const auto& [region, loop] : loops_) {
    if (loop.name.size() < length || !text.starts_with(loop.name)) continue;
    if (text.compare(loop.name.size(), 2, ": ") != 0) continue;
    best = region;
    length = loop.name.size();
  }
  rest = best == reader::kNone ? text : text.substr(length + 2);
  return best;
}

void NestSink::take_markers() {
  if (location_ == reader::kNone) return;
  const auto number_in = [](const std::string& text) {
    constexpr std::string_view kWord = "iteration ";
    const std::size_t at = text.find(kWord);
    std::uint64_t number = 0;
    if (at == std::string::npos) return -1.0;
    const char* const begin = text.data() + at + kWord.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
    return error == std::errc() ? static_cast<double>(number) : -1.0;
  };
  for (const reader::MarkerInfo& marker : definitions_->markers) {
    if (marker.location >= definitions_->locations.size() ||
        definitions_->locations[marker.location].process != process_)
      continue;
    Moment moment;
    moment.ns = static_cast<double>(marker.ns);
    moment.duration_ns = static_cast<double>(marker.duration_ns);
    moment.region = region_of(marker.text, moment.text);
    moment.iteration = number_in(moment.text);
    if (marker.category == "pattern broken" && breaks_.size() < kMaxMarkers)
      breaks_.push_back(std::move(moment));
    else if (marker.category == "slow iteration" && slow_.size() < kMaxMarkers)
      slow_.push_back(std::move(moment));
    else if (marker.category == "writing suspended")
      name_gap(moment);
  }
}

// The marker has the time of the decision, the gap on a thread may begin some ticks before or after it.
void NestSink::name_gap(const Moment& suspended) {
  constexpr double kNear = 1000;
  const auto distance = [&](const Gap& gap) {
    return std::abs(gap.begin_ns - suspended.ns);
  };
  auto gap = std::ranges::upper_bound(gaps_, suspended.ns, {}, &Gap::begin_ns);
  if (gap == gaps_.end() ||
      (gap != gaps_.begin() && distance(*(gap - 1)) <= distance(*gap))) {
    if (gap == gaps_.begin()) return;
    --gap;
  }
  if (gap->text.empty() && distance(*gap) < kNear) gap->text = suspended.text;
}

// Why iterations were written; which ones gaps have.
void NestSink::explain() {
  for (auto& [region, loop] : loops_) {
    if (!loop.outermost) continue;
    for (Moment& slow : slow_)
      if (slow.region == region)
        if (SeriesRow* row = loop.series.at(slow.ns + slow.duration_ns / 2)) {
          row->why |= kSlow;
          if (!loop.series.merged()) slow.iteration = row->first;
        }
    for (Moment& moment : breaks_) {
      SeriesRow* const row = loop.series.at(moment.ns);
      if (row == nullptr) continue;
      row->why |= kInBreak;
      if (SeriesRow* previous = loop.series.before(row)) previous->why |= kBeforeBreak;
      if (moment.region == region && !loop.series.merged()) moment.iteration = row->first;
    }
  }
  for (Gap& gap : gaps_)
    for (auto& [region, loop] : loops_) {
      if (!loop.outermost) continue;
      const auto& rows = loop.series.rows();
      auto first = std::ranges::lower_bound(rows, gap.begin_ns, {}, &SeriesRow::begin_ns);
      auto last = std::ranges::upper_bound(rows, gap.end_ns, {}, &SeriesRow::end_ns);
      // An iteration may begin a tick before the gap that has it.
      if (first != rows.begin() && (first - 1)->state == kSkippedState &&
          (first - 1)->end_ns > gap.begin_ns)
        --first;
      if (first >= last) continue;
      gap.region = region;
      gap.first = first->first;
      gap.last = (last - 1)->first + static_cast<double>((last - 1)->count) - 1;
      break;
    }
}

}  // namespace refrain::report
