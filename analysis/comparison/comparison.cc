#include "analysis/comparison/comparison.h"

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
  const bool in_a = profile_a.estimated.regions;
  const bool in_b = profile_b.estimated.regions;
  section.rows.push_back({subject, "share of time", Unit::kShare, share(a, profile_a),
                          share(b, profile_b), in_a, in_b});
  section.rows.push_back({subject, "calls", Unit::kNumber, a.calls, b.calls, in_a, in_b});
  section.rows.push_back(
      {subject, "mean duration", Unit::kNanoseconds, a.mean_ns(), b.mean_ns(), in_a, in_b});
}

// Index of the counter with this name in the other trace; none: its size.
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
        add("run", a_.counters[i], a_.counter_totals[i], b_.counter_totals[other_[i]],
            a_.estimated.counter_totals, b_.estimated.counter_totals);
  }
  void loop(const LoopProfile& a, const LoopProfile& b) {
    each(a.counters, b.counters, [&](std::size_t i, const auto& x, const auto& y) {
      add(a.name, a_.counters[i] + " an iteration", x.mean(), y.mean(),
          a.counters_estimated, b.counters_estimated);
    });
  }
  void region(const RegionProfile& a, const RegionProfile& b) {
    each(a.counters, b.counters, [&](std::size_t i, const auto& x, const auto& y) {
      add(text_of(a), a_.counters[i], a.calls * x.mean(), b.calls * y.mean(),
          a_.estimated.counters, b_.estimated.counters);
    });
  }
  Section take() { return std::move(section_); }

 private:
  // Of those with a value in both.
  template <typename Do>
  void each(const std::vector<CounterProfile>& a, const std::vector<CounterProfile>& b,
            Do&& row) {
    for (std::size_t i = 0; i < std::min(a.size(), other_.size()); ++i)
      if (other_[i] < b.size() && a[i].calls > 0 && b[other_[i]].calls > 0)
        row(i, a[i], b[other_[i]]);
  }
  void add(const std::string& subject, const std::string& figure, double a, double b,
           bool a_estimated, bool b_estimated) {
    section_.rows.push_back(
        {subject, figure, Unit::kNumber, a, b, a_estimated, b_estimated});
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

// Each run detects loops anew: loops that only one has are no difference of the runs.
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
    section.rows.push_back({loop.name, "iterations", Unit::kNumber, loop.iterations,
                            other->iterations, loop.estimated, other->estimated});
    section.rows.push_back({loop.name, "mean duration", Unit::kNanoseconds, loop.mean_ns(),
                            other->mean_ns(), loop.estimated, other->estimated});
    counters.loop(loop, *other);
    // Without events messages are known of the whole run only.
    if (a.summary_only || b.summary_only || (loop.sends == 0 && other->sends == 0))
      continue;
    section.rows.push_back({loop.name, "messages an iteration", Unit::kNumber, loop.sends,
                            other->sends, loop.messages_estimated,
                            other->messages_estimated});
    section.rows.push_back({loop.name, "bytes an iteration", Unit::kBytes, loop.bytes_sent,
                            other->bytes_sent, loop.messages_estimated,
                            other->messages_estimated});
  }
  if (!section.rows.empty()) out.sections.push_back(std::move(section));
}

void compare_messages(const TraceProfile& a, const TraceProfile& b, Comparison& out) {
  Section section{"Messages", {}};
  const auto add = [&](const char* subject, const char* figure, Unit unit,
                       double MessageProfile::*value, bool Estimated::*estimated) {
    const double x = a.messages.*value;
    const double y = b.messages.*value;
    if (x != 0 || y != 0)
      section.rows.push_back(
          {subject, figure, unit, x, y, a.estimated.*estimated, b.estimated.*estimated});
  };
  using M = MessageProfile;
  using E = Estimated;
  add("messages", "sent", Unit::kNumber, &M::sends, &E::messages);
  add("messages", "bytes sent", Unit::kBytes, &M::bytes_sent, &E::messages);
  add("messages", "received", Unit::kNumber, &M::receives, &E::messages);
  add("messages", "bytes received", Unit::kBytes, &M::bytes_received, &E::bytes_received);
  add("collectives", "ends", Unit::kNumber, &M::collectives, &E::collectives);
  if (!section.rows.empty()) out.sections.push_back(std::move(section));
}

void add_efficiencies(Section& section, const char* subject,
                      Efficiencies TraceProfile::*which, const TraceProfile& a,
                      const TraceProfile& b) {
  const auto add = [&](const char* figure, double Efficiencies::*value) {
    section.rows.push_back({subject, figure, Unit::kEfficiency, a.*which.*value,
                            b.*which.*value, a.estimated.efficiencies,
                            b.estimated.efficiencies});
  };
  add("parallel efficiency", &Efficiencies::parallel);
  add("load balance", &Efficiencies::load_balance);
  add("communication efficiency", &Efficiencies::communication);
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
  add_efficiencies(run, "threads", &TraceProfile::threads_efficiency, a, b);
  if (a.uses_mpi || b.uses_mpi)
    add_efficiencies(run, "MPI", &TraceProfile::mpi_efficiency, a, b);
  out.sections.push_back(std::move(run));
  CounterRows counters(a, b);
  counters.totals();
  compare_regions(a, b, least_share, counters, out);
  compare_loops(a, b, least_share, counters, out);
  compare_messages(a, b, out);
  Section counted = counters.take();
  if (!counted.rows.empty()) out.sections.push_back(std::move(counted));
  return out;
}

}  // namespace refrain::analysis
