#include "analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace refrain::analysis {
namespace {

std::string text_of(const RegionProfile& region) {
  if (region.file.empty()) return region.name;
  const std::string file = region.file.substr(region.file.rfind('/') + 1);
  const std::string place =
      region.line == 0 ? file : file + ":" + std::to_string(region.line);
  // Names of OpenMP regions have their place in them.
  return region.name.find(file) != std::string::npos || file == region.name || file == "MPI"
             ? region.name
             : region.name + " @" + place;
}

bool same(const RegionProfile& a, const RegionProfile& b) {
  return a.name == b.name && a.file == b.file && a.line == b.line;
}

double share(const RegionProfile& region, const TraceProfile& profile) {
  return profile.thread_ns > 0 ? region.exclusive_ns / profile.thread_ns : 0;
}

void add_region(Section& section, const RegionProfile& a, const RegionProfile& b,
                const TraceProfile& profile_a, const TraceProfile& profile_b) {
  const std::string subject = text_of(a);
  section.rows.push_back(
      {subject, "share of time", Unit::kShare, share(a, profile_a), share(b, profile_b)});
  section.rows.push_back({subject, "calls", Unit::kNumber, a.calls, b.calls});
  section.rows.push_back(
      {subject, "mean duration", Unit::kNanoseconds, a.mean_ns(), b.mean_ns()});
}

// Where in the other trace a counter of this name is; none: its size.
std::vector<std::size_t> matching(const TraceProfile& a, const TraceProfile& b) {
  std::vector<std::size_t> places;
  places.reserve(a.counters.size());
  for (const std::string& name : a.counters)
    places.push_back(static_cast<std::size_t>(
        std::find(b.counters.begin(), b.counters.end(), name) - b.counters.begin()));
  return places;
}

// By counters that both have.
class CounterRows {
 public:
  CounterRows(const TraceProfile& a, const TraceProfile& b)
      : a_(a), b_(b), other_(matching(a, b)) {}

  void totals() {
    for (std::size_t i = 0; i < other_.size(); ++i)
      if (other_[i] < b_.counters.size())
        add("run", a_.counters[i], a_.counter_totals[i], b_.counter_totals[other_[i]]);
  }
  void loop(const LoopProfile& a, const LoopProfile& b) {
    each(a.counters, b.counters, [&](std::size_t i, const auto& x, const auto& y) {
      add(a.name, a_.counters[i] + " an iteration", x.mean(), y.mean());
    });
  }
  void region(const RegionProfile& a, const RegionProfile& b) {
    each(a.counters, b.counters, [&](std::size_t i, const auto& x, const auto& y) {
      add(text_of(a), a_.counters[i], a.calls * x.mean(), b.calls * y.mean());
    });
  }
  Section take() { return std::move(section_); }

 private:
  // Of those that it is known of in both.
  template <typename Do>
  void each(const std::vector<CounterProfile>& a, const std::vector<CounterProfile>& b,
            Do&& row) {
    for (std::size_t i = 0; i < std::min(a.size(), other_.size()); ++i)
      if (other_[i] < b.size() && a[i].calls > 0 && b[other_[i]].calls > 0)
        row(i, a[i], b[other_[i]]);
  }
  void add(const std::string& subject, const std::string& figure, double a, double b) {
    section_.rows.push_back({subject, figure, Unit::kNumber, a, b});
  }

  const TraceProfile& a_;
  const TraceProfile& b_;
  std::vector<std::size_t> other_;
  Section section_{"Counters", {}};
};

void compare_regions(const TraceProfile& a, const TraceProfile& b, double least_share,
                     CounterRows& counters, Comparison& out) {
  Section section{"Regions", {}};
  const auto find = [](const TraceProfile& profile, const RegionProfile& wanted) {
    return std::find_if(profile.regions.begin(), profile.regions.end(),
                        [&](const RegionProfile& region) { return same(region, wanted); });
  };
  for (const RegionProfile& region : a.regions) {
    const auto other = find(b, region);
    const bool matters = share(region, a) >= least_share ||
                         (other != b.regions.end() && share(*other, b) >= least_share);
    if (!matters) continue;
    if (other == b.regions.end()) {
      out.only_a.push_back(text_of(region));
    } else {
      add_region(section, region, *other, a, b);
      counters.region(region, *other);
    }
  }
  for (const RegionProfile& region : b.regions)
    if (share(region, b) >= least_share && find(a, region) == a.regions.end())
      out.only_b.push_back(text_of(region));
  out.sections.push_back(std::move(section));
}

// Loops are found anew in each run: those that only one has are no difference of the runs.
void compare_loops(const TraceProfile& a, const TraceProfile& b, double least_share,
                   CounterRows& counters, Comparison& out) {
  Section section{"Iterations", {}};
  for (const LoopProfile& loop : a.loops) {
    const auto other = std::find_if(
        b.loops.begin(), b.loops.end(),
        [&](const LoopProfile& candidate) { return candidate.name == loop.name; });
    if (other == b.loops.end()) continue;
    const double process_ns = a.duration_ns * static_cast<double>(a.processes);
    if (loop.total_ns < least_share * process_ns) continue;
    section.rows.push_back(
        {loop.name, "iterations", Unit::kNumber, loop.iterations, other->iterations});
    section.rows.push_back(
        {loop.name, "mean duration", Unit::kNanoseconds, loop.mean_ns(), other->mean_ns()});
    counters.loop(loop, *other);
    if (loop.sends == 0 && other->sends == 0) continue;
    section.rows.push_back(
        {loop.name, "messages an iteration", Unit::kNumber, loop.sends, other->sends});
    section.rows.push_back({loop.name, "bytes an iteration", Unit::kBytes, loop.bytes_sent,
                            other->bytes_sent});
  }
  if (!section.rows.empty()) out.sections.push_back(std::move(section));
}

void compare_messages(const MessageProfile& a, const MessageProfile& b, Comparison& out) {
  Section section{"Messages", {}};
  const auto add = [&](const char* subject, const char* figure, Unit unit, double x,
                       double y) {
    if (x != 0 || y != 0) section.rows.push_back({subject, figure, unit, x, y});
  };
  add("messages", "sent", Unit::kNumber, a.sends, b.sends);
  add("messages", "bytes sent", Unit::kBytes, a.bytes_sent, b.bytes_sent);
  add("messages", "received", Unit::kNumber, a.receives, b.receives);
  add("messages", "bytes received", Unit::kBytes, a.bytes_received, b.bytes_received);
  add("collectives", "ends", Unit::kNumber, a.collectives, b.collectives);
  if (!section.rows.empty()) out.sections.push_back(std::move(section));
}

void add_efficiencies(Section& section, const char* subject, const Efficiencies& a,
                      const Efficiencies& b) {
  section.rows.push_back(
      {subject, "parallel efficiency", Unit::kEfficiency, a.parallel, b.parallel});
  section.rows.push_back(
      {subject, "load balance", Unit::kEfficiency, a.load_balance, b.load_balance});
  section.rows.push_back({subject, "communication efficiency", Unit::kEfficiency,
                          a.communication, b.communication});
}

}  // namespace

double Row::difference() const noexcept {
  if (a == b) return 0;
  if (unit == Unit::kEfficiency) return b - a;
  return a == 0 ? std::numeric_limits<double>::infinity() : b / a - 1;
}

double Comparison::greatest_difference() const noexcept {
  double greatest =
      only_a.empty() && only_b.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const Section& section : sections)
    for (const Row& row : section.rows)
      greatest = std::max(greatest, std::abs(row.difference()));
  return greatest;
}

Comparison compare(const TraceProfile& a, const TraceProfile& b, double least_share) {
  Comparison out;
  Section run{"Run", {}};
  run.rows.push_back({"run", "duration", Unit::kNanoseconds, a.duration_ns, b.duration_ns});
  run.rows.push_back({"run", "threads", Unit::kNumber, static_cast<double>(a.threads),
                      static_cast<double>(b.threads)});
  add_efficiencies(run, "threads", a.threads_efficiency, b.threads_efficiency);
  if (a.uses_mpi || b.uses_mpi)
    add_efficiencies(run, "MPI", a.mpi_efficiency, b.mpi_efficiency);
  out.sections.push_back(std::move(run));
  CounterRows counters(a, b);
  counters.totals();
  compare_regions(a, b, least_share, counters, out);
  compare_loops(a, b, least_share, counters, out);
  compare_messages(a.messages, b.messages, out);
  Section counted = counters.take();
  if (!counted.rows.empty()) out.sections.push_back(std::move(counted));
  return out;
}

}  // namespace refrain::analysis
