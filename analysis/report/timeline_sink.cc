#include "analysis/report/timeline_sink.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::report {

using reader::EventKind;
using reader::TraceEvent;

base::Result<> TimelineSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  classes_.reserve(definitions.regions.size());
  for (const reader::RegionInfo& region : definitions.regions)
    classes_.push_back(static_cast<std::uint8_t>(
        analysis::class_of(region.role, region.paradigm, region.name)));
  locations_.resize(definitions.locations.size());
  first_ns_.assign(definitions.locations.size(), std::numeric_limits<double>::quiet_NaN());
  end_ns_ = static_cast<double>(definitions.ns(definitions.end_ticks));
  const std::size_t rows = std::max<std::size_t>(1, rows_.rows().size());
  bins_ = std::clamp<std::size_t>(limits_.cells / rows, 1, limits_.bins);
  bin_ns_ = std::max(1.0, end_ns_ / static_cast<double>(bins_));
  times_.assign(rows_.rows().size() * bins_ * kClasses, 0);
  return {};
}

void TimelineSink::account(Location& at, std::uint32_t location, double ns) {
  const double from = at.last_ns;
  if (ns <= from) return;
  at.last_ns = ns;
  const std::size_t cls = at.off ? kSkipped : at.cls;
  float* const row = &times_[rows_.row_of(location) * bins_ * kClasses];
  auto bin = std::min(bins_ - 1, static_cast<std::size_t>(from / bin_ns_));
  for (double begin = from; begin < ns; ++bin) {
    const bool last = bin + 1 >= bins_;
    const double end = last ? ns : std::min(ns, static_cast<double>(bin + 1) * bin_ns_);
    row[std::min(bin, bins_ - 1) * kClasses + cls] += static_cast<float>(end - begin);
    begin = end;
  }
}

// Marks of iterations are no part of the program.
void TimelineSink::settle_class(Location& at) {
  const auto running = std::find_if(at.open.rbegin(), at.open.rend(),
                                    [](const Open& open) { return !open.loop; });
  at.cls = running == at.open.rend() ? static_cast<std::uint8_t>(kOutside)
                                     : classes_[running->region];
}

// Calls of MPI are told apart by where they are, as call paths are.
std::uint32_t TimelineSink::number_of(const TraceEvent& enter) {
  if (definitions_->regions[enter.ref].paradigm != OTF2_PARADIGM_MPI) return enter.ref;
  const std::uint32_t site = reader::call_site(enter);
  if (site == reader::kNone) return enter.ref;
  const auto next = static_cast<std::uint32_t>(classes_.size() + calls_.size());
  const auto [at, is_new] =
      numbers_.try_emplace(std::uint64_t{enter.ref} << 32 | site, next);
  if (is_new) calls_.push_back({enter.ref, site});
  return at->second;
}

void TimelineSink::event(const TraceEvent& event) {
  if (rows_.row_of(event.location) == reader::kNone) return;
  Location& at = locations_[event.location];
  const auto ns = static_cast<double>(event.ns);
  if (std::isnan(first_ns_[event.location])) {
    first_ns_[event.location] = ns;
    at.last_ns = ns;
  }
  if (event.kind == EventKind::kMeasurementOnOff) {
    account(at, event.location, ns);
    at.off = event.op == OTF2_MEASUREMENT_OFF;
    return;
  }
  if (event.kind != EventKind::kEnter && event.kind != EventKind::kLeave) return;
  if (event.ref >= classes_.size()) return;
  account(at, event.location, ns);
  if (event.kind == EventKind::kEnter) {
    at.open.push(
        {event.ref, number_of(event), ns, definitions_->regions[event.ref].is_loop});
  } else {
    for (std::size_t ended = at.open.ended_by(event.ref); ended > 0; --ended)
      close(at, event.location, ns);
  }
  settle_class(at);
}

void TimelineSink::close(Location& at, std::uint32_t location, double ns) {
  const Open open = at.open.pop();
  ++seen_;
  if (!rows_.shown(location)) return;
  constexpr std::size_t kDeepest = 255;
  keep({.begin_ns = open.begin_ns,
        .duration_ns = static_cast<float>(ns - open.begin_ns),
        .region = open.number,
        .row = static_cast<std::uint16_t>(rows_.row_of(location)),
        .depth = static_cast<std::uint8_t>(std::min(kDeepest, at.open.size()))});
}

void TimelineSink::keep(const Span& span) {
  if (!reduced_ && spans_.size() == limits_.at_begin)
    until_ns_ = span.begin_ns + static_cast<double>(span.duration_ns);
  if (reduced_ && span.duration_ns < shortest_ns_ && span.begin_ns > until_ns_) return;
  spans_.push_back(span);
  if (spans_.size() >= 2 * limits_.most) reduce();
}

// All that began until `until_ns_`, and the longest of the others.
void TimelineSink::reduce() {
  reduced_ = true;
  const auto others = std::partition(
      spans_.begin(), spans_.end(), [&](const Span& s) { return s.begin_ns <= until_ns_; });
  const auto have = static_cast<std::size_t>(others - spans_.begin());
  const std::size_t room = limits_.most - std::min(limits_.most, have);
  if (static_cast<std::size_t>(spans_.end() - others) <= room) return;
  const auto end = others + static_cast<std::ptrdiff_t>(room);
  std::nth_element(others, end, spans_.end(), [](const Span& a, const Span& b) {
    return a.duration_ns > b.duration_ns;
  });
  shortest_ns_ = std::max(shortest_ns_, end->duration_ns);
  spans_.erase(end, spans_.end());
}

base::Result<> TimelineSink::finish(std::uint64_t end_ns) {
  end_ns_ = std::max(end_ns_, static_cast<double>(end_ns));
  for (std::uint32_t i = 0; i < locations_.size(); ++i) {
    if (rows_.row_of(i) == reader::kNone || std::isnan(first_ns_[i])) continue;
    account(locations_[i], i, std::max(locations_[i].last_ns, end_ns_));
    while (!locations_[i].open.empty()) close(locations_[i], i, end_ns_);
  }
  if (spans_.size() > limits_.most) reduce();
  if (!reduced_) until_ns_ = end_ns_;
  std::ranges::sort(spans_, [](const Span& a, const Span& b) {
    if (a.row != b.row) return a.row < b.row;
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    return a.depth < b.depth;
  });
  make_overview();
  return {};
}

void TimelineSink::make_overview() {
  const std::size_t cells = rows_.rows().size() * bins_;
  overview_.resize(cells);
  shares_.resize(cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const float* const times = &times_[cell * kClasses];
    const std::size_t most =
        static_cast<std::size_t>(std::max_element(times, times + kClasses) - times);
    const auto& row = rows_.rows()[cell / bins_];
    const double whole = bin_ns_ * (row.last - row.first + 1);
    overview_[cell] = static_cast<std::uint8_t>(times[most] > 0 ? most : kOutside);
    shares_[cell] = static_cast<std::uint8_t>(
        std::min(255.0, std::round(255.0 * static_cast<double>(times[most]) / whole)));
  }
  times_ = {};
}

}  // namespace refrain::report
