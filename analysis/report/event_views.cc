#include "analysis/report/event_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <utility>

namespace refrain::report {

base::Result<> EventViews::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  ns_per_tick_ =
      1e9 / static_cast<double>(std::max<std::uint64_t>(1, definitions.ticks_per_second));
  std::unordered_map<std::uint64_t, std::uint32_t> by_reference;
  for (std::uint32_t i = 0; i < profile_.locations.size(); ++i)
    by_reference.try_emplace(profile_.locations[i].reference, i);
  for (const reader::LocationInfo& location : definitions.locations) {
    const auto found = by_reference.find(location.ref);
    reported_.push_back(found == by_reference.end() ? reader::kNone : found->second);
  }
  rows_.emplace(reported_, profile_.locations.size());
  std::uint32_t process = reader::kNone;
  for (std::uint32_t i = 0; i < definitions.processes.size(); ++i)
    if (marks_of_ != reader::kNone && definitions.processes[i].ref == marks_of_)
      process = i;
  timeline_.emplace(*rows_);
  nest_.emplace(process);
  messages_.emplace(*rows_);
  collectives_.emplace();
  waits_.emplace(*rows_);
  take_names(definitions, reported_);
  for (reader::TraceSink* sink : std::initializer_list<reader::TraceSink*>{
           &*timeline_, &*nest_, &*messages_, &*collectives_})
    if (const auto done = sink->begin(definitions); !done) return done;
  return next_->begin(definitions);
}

void EventViews::take_names(const reader::TraceDefinitions& definitions,
                            const std::vector<std::uint32_t>& reported) {
  for (const reader::RegionInfo& region : definitions.regions)
    regions_.push_back({region.name, region.file, region.line, region.is_loop});
  names_.resize(profile_.locations.size());
  for (std::size_t i = 0; i < reported.size(); ++i)
    if (reported[i] != reader::kNone) names_[reported[i]] = definitions.locations[i].name;
  comms_.resize(definitions.comms.size());
  for (std::size_t i = 0; i < definitions.comms.size(); ++i) {
    const reader::CommInfo& comm = definitions.comms[i];
    if (!comm.of_processes || comm.self) continue;
    for (const std::uint32_t group : {comm.group, comm.remote}) {
      if (group >= definitions.groups.size()) continue;
      for (const std::uint32_t process : definitions.groups[group]) {
        if (process >= definitions.processes.size() ||
            definitions.processes[process].locations.empty())
          continue;
        const std::uint32_t row =
            rows_->row_of(definitions.processes[process].locations.front());
        if (row != reader::kNone) comms_[i].push_back(row);
      }
    }
    std::ranges::sort(comms_[i]);
    const auto rest = std::ranges::unique(comms_[i]);
    comms_[i].erase(rest.begin(), rest.end());
  }
}

void EventViews::take_calls() {
  for (std::size_t i = 0; i < regions_.size(); ++i)
    regions_[i].cls = timeline_->classes()[i];
  for (const TimelineSink::Call& call : timeline_->calls()) {
    Region region = regions_[call.region];
    const auto place = definitions_->places.find(call.site);
    if (place != definitions_->places.end()) region.site = place->second;
    regions_.push_back(std::move(region));
  }
}

void EventViews::event(const reader::TraceEvent& event) {
  timeline_->event(event);
  nest_->event(event);
  messages_->event(event);
  collectives_->event(event);
  next_->event(event);
}

base::Result<> EventViews::finish(std::uint64_t end_ns) {
  for (reader::TraceSink* sink : std::initializer_list<reader::TraceSink*>{
           &*timeline_, &*nest_, &*messages_, &*collectives_, next_})
    if (const auto done = sink->finish(end_ns); !done) return done;
  take_calls();
  waits_->finish();
  begins_.assign(profile_.processes.size(), 0);
  std::vector<bool> known(begins_.size(), false);
  for (std::size_t i = 0; i < reported_.size(); ++i) {
    const double first = timeline_->first_ns()[i];
    if (reported_[i] == reader::kNone || std::isnan(first)) continue;
    const std::uint32_t process = profile_.locations[reported_[i]].process;
    begins_[process] = known[process] ? std::min(begins_[process], first) : first;
    known[process] = true;
  }
  if (nest_->process() < definitions_->processes.size())
    marks_rank_ = definitions_->processes[nest_->process()].rank;
  return {};
}

std::string when_waited(const std::vector<WaitIntervals::Wait>& waits, std::uint32_t metric,
                        double ns_per_tick, const IterationSeries& iterations) {
  constexpr std::size_t kLeast = 5;
  const std::vector<SeriesRow>& rows = iterations.rows();
  if (iterations.merged()) return {};
  std::vector<double> waited(rows.size(), 0);
  double sum = 0;
  for (const WaitIntervals::Wait& wait : waits) {
    if (wait.metric != metric) continue;
    const double end = static_cast<double>(wait.begin + wait.ticks) * ns_per_tick;
    sum += wait.length();
    const auto row = std::ranges::upper_bound(rows, end, {}, &SeriesRow::begin_ns);
    if (row == rows.begin() || end > (row - 1)->end_ns) continue;
    waited[static_cast<std::size_t>(row - rows.begin() - 1)] += wait.length();
  }
  std::vector<std::pair<double, double>> written;  // waits, number
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].state != kSkippedState) written.emplace_back(waited[i], rows[i].first);
  if (written.size() < kLeast || sum <= 0) return {};
  // A tenth of what it would be if all had the same.
  const double least = 0.1 * sum / static_cast<double>(written.size());
  const auto with = static_cast<std::size_t>(
      std::ranges::count_if(written, [&](const auto& each) { return each.first > least; }));
  if (with == written.size()) return ", in every iteration";
  if (static_cast<double>(with) >= 0.9 * static_cast<double>(written.size()))
    return ", in nearly every iteration";
  std::ranges::stable_sort(written, std::greater(),
                           [](const auto& each) { return each.first; });
  const std::size_t few = std::min<std::size_t>(3, written.size() / 5);
  double most = 0;
  for (std::size_t i = 0; i < few; ++i) {
    most += written[i].first;
    if (most < 0.7 * sum) continue;
    written.resize(i + 1);
    std::ranges::sort(written, {}, [](const auto& each) { return each.second; });
    std::string text = i == 0 ? ", mostly in iteration" : ", mostly in iterations";
    for (std::size_t k = 0; k <= i; ++k)
      text += fmt::format("{} {:.0f}",
                          k == 0   ? ""
                          : k == i ? " and"
                                   : ",",
                          written[k].second);
    return text;
  }
  return {};
}

}  // namespace refrain::report
