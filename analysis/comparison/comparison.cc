#include "analysis/comparison/comparison.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/comparison/profile_sink.h"
#include "analysis/comparison/skipping_sink.h"
#include "base/archive_files.h"
#include "reader/archive_stream.h"
#include "summary/run_summary.h"

namespace refrain::analysis {
namespace {

class ProfileReader {
 public:
  ProfileReader(const std::string& path, const ProfileOptions& options)
      : path_(path), options_(options) {}

  base::Result<TraceProfile> read() {
    SkipPlan plan;
    passes_ = options_.suspend_after == 0 ? 2 : 3;
    if (options_.suspend_after != 0) {
      PlanSink sink({.limit = options_.suspend_after});
      if (const auto done = pass(sink); !done) return done.failure();
      if (!is_refrain_ || !sink.marks_seen()) return base::Failure{no_marks()};
      plan = sink.take();
    }
    SampleSink samples;
    if (const auto done = skipped_pass(plan, samples); !done) return done.failure();
    std::vector<summary::RunSummary> summaries;
    if (is_refrain_ && options_.use_summary) {
      auto read = summary::read_summaries(base::archive_folder(path_));
      if (!read) return read.failure();
      summaries = *std::move(read);
    }
    ProfileSink sink(is_refrain_ ? samples.take() : TraceMarks(), std::move(summaries),
                     path_);
    if (const auto done = skipped_pass(plan, sink); !done) return done.failure();
    return sink.take();
  }

 private:
  base::Result<> skipped_pass(const SkipPlan& plan, reader::TraceSink& sink) {
    if (plan.empty()) return pass(sink);
    SkippingSink suspended(plan, sink);
    return pass(suspended);
  }

  // Of traces of other tools the first one is left out.
  base::Result<> pass(reader::TraceSink& sink) {
    reader::ArchiveStream stream;
    if (const auto done = stream.open(path_); !done) return done;
    if (const auto done = stream.definitions().need_threads(); !done) return done;
    const bool first = !std::exchange(passed_, true);
    is_refrain_ = stream.definitions().is_refrain();
    if (first && !is_refrain_) return {};
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      const std::uint64_t passes = is_refrain_ ? passes_ : 1;
      if (options_.progress) options_.progress(before_ + done, passes * total);
    };
    auto result = stream.run(sink, progress);
    before_ += stream.events();
    return result;
  }

  std::string no_marks() const {
    return path_ + ": it has no marks of iterations, so there are none to leave out" +
           " (Refrain marks the iterations of loops that it detects)";
  }

  const std::string& path_;
  const ProfileOptions& options_;
  bool passed_ = false;
  bool is_refrain_ = false;
  std::uint64_t passes_ = 0;
  std::uint64_t before_ = 0;
};

}  // namespace

base::Result<TraceProfile> read_trace_profile(const std::string& path,
                                              const ProfileOptions& options) {
  try {
    return ProfileReader(path, options).read();
  } catch (const std::exception& problem) {
    return base::Failure{path + ": " + problem.what()};
  }
}

// The sums over all processes: the end of ProfileSink.

using reader::RegionInfo;

namespace {

// "loop 3 @ cg.c:43" without the number, which differs from run to run.
std::string place_of_loop(const std::string& name) {
  const std::size_t at = name.find(" @ ");
  return at == std::string::npos ? name : "loop" + name.substr(at);
}

}  // namespace

base::Result<> ProfileSink::finish(std::uint64_t end_ns) {
  if (events_) {
    if (const auto done = events_->finish(end_ns); !done) return done;
  }
  for (Thread& thread : threads_) {
    if (thread.number == kNone) continue;
    book(thread, of_refrain_ ? end_ns : processes_[thread.process].last_ns);
    settle_all(thread);
  }
  sum_up(end_ns);
  return {};
}

void ProfileSink::sum_up(std::uint64_t end_ns) {
  profile_.summary_only = definitions_->summary_only();
  profile_.openmp = reader::openmp_runtime(definitions_->properties);
  profile_.duration_ns = static_cast<double>(end_ns);
  for (const Process& process : processes_) {
    profile_.processes += !process.locations.empty();
    profile_.threads += program_threads(process);
  }
  profile_.thread_ns = profile_.duration_ns * static_cast<double>(profile_.threads);
  profile_.written_ns = written_ns_;
  Sums all(Shape{definitions_->regions.size(), 0, counter_count_});
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    Sums sums = process.books->total();
    note_time(i);
    use_totals(i, sums);
    add_thread_times(i, sums);
    all.add(sums, 1, 1);
  }
  add_efficiencies();
  profile_.messages = {all.sends, all.bytes_sent, all.receives, all.bytes_received,
                       all.collectives};
  profile_.counters = counters_->names();
  profile_.counter_totals = counter_totals();
  add_regions(all);
  add_loops(all);
  add_messages_of_loops();
}

// What is not in the archive, and whether it is known all the same.
void ProfileSink::note_time(std::uint32_t number) {
  const Process& process = processes_[number];
  const auto threads = static_cast<double>(program_threads(process));
  const double gap = threads * process.books->gap_ns();
  // Events are better than a summary that lacks some.
  if (gap == 0 && totals_[number] && !totals_[number]->complete()) totals_[number].reset();
  if (totals_[number]) {
    profile_.summarized_ns += gap;
  } else {
    const double unexplained = threads * process.books->unexplained_ns();
    profile_.estimated_ns += gap - unexplained;
    profile_.unexplained_ns += unexplained;
  }
  if (gap == 0) return;
  Estimated& estimated = profile_.estimated;
  const ProcessTotals* totals = totals_[number] ? &*totals_[number] : nullptr;
  estimated.counters = true;
  if (totals == nullptr) estimated.messages = true;
  if (totals == nullptr || !totals->complete())
    estimated.regions = estimated.efficiencies = true;
  if (totals == nullptr || !totals->bytes_received) estimated.bytes_received = true;
  if (totals == nullptr || !totals->collectives) estimated.collectives = true;
}

// The summary's in the place of what was seen and estimated; loops are not in it.
void ProfileSink::use_totals(std::uint32_t number, Sums& sums) {
  if (!totals_[number]) return;
  const ProcessTotals& totals = *totals_[number];
  ++profile_.summaries;
  for (std::uint32_t i = 0; i < totals.regions.size(); ++i) {
    if (definitions_->regions[i].is_loop) continue;
    const ProcessTotals::Region& region = totals.regions[i];
    if (region.calls == 0 && region.inclusive_ns == 0 && region.exclusive_ns == 0)
      sums.regions.erase(i);
    else
      sums.regions[i] = {region.calls, region.inclusive_ns, region.exclusive_ns};
  }
  profile_.other_calls += totals.other_calls;
  profile_.other_ns += totals.other_ns;
  sums.sends = totals.sends;
  sums.bytes_sent = totals.bytes_sent;
  sums.receives = totals.receives;
  sums.bytes_received = totals.bytes_received.value_or(sums.bytes_received);
  sums.collectives = totals.collectives.value_or(sums.collectives);
}

// Estimates of a process' threads, in the classes of run_profile.h: a worker has nothing to do outside of parallel regions.
void ProfileSink::add_thread_times(std::uint32_t number, const Sums& sums) {
  Process& process = processes_[number];
  for (std::size_t i = 0; i < sums.threads.size(); ++i) {
    if (is_helper(process, i)) continue;
    const Thread& thread = threads_[process.locations[i]];
    const bool primary = i == process.first;
    ThreadTimes& to = estimated_threads_.emplace_back(sums.threads[i].times);
    to.process = number;
    to.primary = primary;
    (thread.only_in_teams && !primary ? to.idle : to.useful) += sums.threads[i].outside_ns;
    to.unknown += process.books->unexplained_ns();
  }
}

void ProfileSink::add_efficiencies() {
  if (profile_.summaries == 0 && gaps_) {
    profile_.efficiencies = efficiencies_of(estimated_threads_, profile_.duration_ns);
    return;
  }
  const ProfileTotals totals = total(
      merge_summaries(profile_.summaries != 0 ? summaries_ : events_->take().processes));
  profile_.efficiencies = totals.efficiencies;
  // Not where some processes have no summary.
  if (profile_.summaries == 0 || profile_.summaries == profile_.processes)
    profile_.thread_ns = totals.time_ns;
}

double ProfileSink::written(std::uint32_t region) const {
  double sum = 0;
  for (const Process& process : processes_) sum += process.written[loop_numbers_[region]];
  return sum;
}

double ProfileSink::marked(std::uint32_t region) const {
  double sum = 0;
  for (const Process& process : processes_) sum += process.marked[loop_numbers_[region]];
  return sum;
}

// The values of each location are known up to its latest record; iterations skipped since
// then count as much as written ones.
std::vector<double> ProfileSink::counter_totals() {
  std::vector<double> totals(counter_count_);
  for (const Thread& thread : threads_) {
    if (!thread.counters.any()) continue;
    for (std::size_t i = 0; i < counter_count_; ++i)
      totals[i] += thread.counters.before()[i] + thread.counters.totals()[i];
    if (thread.number == kNone || !thread.gap) continue;
    Process& process = processes_[thread.process];
    for (LoopId loop; loop < loops_.size(); ++loop) {
      const double before = thread.skipped.empty() ? 0 : thread.skipped[loop];
      const double unknown = process.skipped_by_loop[loop] - before;
      if (unknown <= 0) continue;
      const NestBooks::Sample like = process.books->sample(loops_[loop]);
      if (like.iterations == 0) continue;
      profile_.estimated.counter_totals = true;
      for (std::size_t i = 0; i < counter_count_; ++i)
        totals[i] += unknown / like.iterations *
                     like.counts.thread_counters[thread.number * counter_count_ + i];
    }
  }
  return totals;
}

void ProfileSink::add_counters(const Sums& sums, std::uint32_t region,
                               std::vector<CounterProfile>& counters) const {
  counters.resize(counter_count_);
  for (std::size_t i = 0; i < counter_count_; ++i) {
    const Sums::Counted& counted = sums.region_counters[region * counter_count_ + i];
    counters[i].sum += counted.sum;
    counters[i].calls += counted.calls;
  }
}

// Regions by name and place: an archive may define one several times.
void ProfileSink::add_regions(const Sums& sums) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, RegionProfile> regions;
  for (std::uint32_t i = 0; i < definitions_->regions.size(); ++i) {
    const RegionInfo& info = definitions_->regions[i];
    const Sums::Region& sum = sums.regions[i];
    if (info.is_loop || (sum.calls == 0 && sum.inclusive_ns == 0)) continue;
    RegionProfile& region = regions[{info.name, info.file, info.line}];
    region.name = info.name;
    region.file = info.file;
    region.line = info.line;
    region.calls += sum.calls;
    region.inclusive_ns += sum.inclusive_ns;
    region.exclusive_ns += sum.exclusive_ns;
    add_counters(sums, i, region.counters);
  }
  for (auto& [key, region] : regions) profile_.regions.push_back(std::move(region));
  std::stable_sort(
      profile_.regions.begin(), profile_.regions.end(),
      [](const auto& a, const auto& b) { return a.exclusive_ns > b.exclusive_ns; });
}

// By their place: numbers differ from run to run.
void ProfileSink::add_loops(const Sums& sums) {
  std::map<std::string, LoopProfile> loops;
  std::map<std::string, double> with_marks;
  for (const RegionId i : loops_) {
    const Sums::Region& sum = sums.regions[i];
    if (sum.calls == 0 && sum.inclusive_ns == 0) continue;
    const std::string name = place_of_loop(definitions_->regions[i].name);
    LoopProfile& loop = loops[name];
    loop.name = name;
    loop.iterations += sum.calls;
    loop.written += written(i);
    loop.total_ns += sum.inclusive_ns;
    with_marks[name] += marked(i);
    loop.by_process.resize(processes_.size());
    for (std::size_t k = 0; k < processes_.size(); ++k)
      loop.by_process[k] += processes_[k].books->total().regions[i].calls;
    add_counters(sums, i, loop.counters);
  }
  // Without events there are no marks.
  if (definitions_->summary_only())
    for (const auto& [name, sum] : loop_totals(*definitions_)) {
      loops[place_of_loop(name)].name = place_of_loop(name);
      with_marks.try_emplace(place_of_loop(name));
    }
  use_loop_totals(loops, with_marks);
  for (auto& [key, loop] : loops) profile_.loops.push_back(std::move(loop));
  std::stable_sort(profile_.loops.begin(), profile_.loops.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
}

// Iterations inside skipped ones have no marks; the archive's properties count them, too.
void ProfileSink::use_loop_totals(std::map<std::string, LoopProfile>& loops,
                                  const std::map<std::string, double>& marked) const {
  constexpr double kRounding = 1e-6;
  std::map<std::string, LoopTotals> totals;
  for (const auto& [name, sum] : loop_totals(*definitions_)) {
    LoopTotals& all = totals[place_of_loop(name)];
    all.iterations += sum.iterations;
    all.total_ns += sum.total_ns;
    for (const auto& [process, iterations] : sum.by_process)
      all.by_process[process] += iterations;
  }
  for (auto& [name, loop] : loops) {
    const double known = marked.at(name);
    const auto total = totals.find(name);
    loop.counters_estimated = std::abs(loop.iterations - known) > kRounding;
    loop.estimated = loop.counters_estimated;
    if (total == totals.end() || total->second.iterations < known) continue;
    loop.iterations = total->second.iterations;
    loop.total_ns = total->second.total_ns;
    loop.by_process.clear();
    for (const auto& [process, iterations] : total->second.by_process)
      loop.by_process.push_back(iterations);
    loop.estimated = false;
  }
  for (auto& [name, loop] : loops) {
    loop.skipped = std::max(0.0, loop.iterations - loop.written);
    loop.messages_estimated = loop.skipped > kRounding;
  }
}

// What the estimates of a process lack, or have too much, of its summary's messages is in the loop in which all was skipped. Where
// that is no single one, estimates stand if there is little of it.
void ProfileSink::use_message_totals(std::uint32_t number,
                                     NestBooks::Messages& messages) const {
  constexpr double kAll = 0.99, kLittle = 0.01;
  NestBooks& books = *processes_[number].books;
  if (!totals_[number] || books.gap_ns() == 0) return;
  const ProcessTotals& totals = *totals_[number];
  const double sends = totals.sends - books.total().sends;
  const double bytes = totals.bytes_sent - books.total().bytes_sent;
  if (messages.outermost && messages.gap_ns >= kAll * books.gap_ns()) {
    messages.sends = std::max(0.0, messages.sends + sends);
    messages.bytes_sent = std::max(0.0, messages.bytes_sent + bytes);
    messages.known = true;
  } else if (std::abs(sends) <= kLittle * totals.sends &&
             std::abs(bytes) <= kLittle * totals.bytes_sent) {
    messages.known = true;
  }
}

// Loops of one place, and processes, are weighted by their iterations.
void ProfileSink::add_messages_of_loops() {
  std::map<std::string, LoopProfile*> of_place;
  for (LoopProfile& loop : profile_.loops) of_place[loop.name] = &loop;
  std::map<LoopProfile*, double> iterations;
  for (const RegionId i : loops_) {
    const auto found = of_place.find(place_of_loop(definitions_->regions[i].name));
    if (found == of_place.end()) continue;
    LoopProfile& loop = *found->second;
    for (std::uint32_t number = 0; number < processes_.size(); ++number) {
      NestBooks& books = *processes_[number].books;
      NestBooks::Messages messages = books.messages(i);
      if (messages.iterations == 0) continue;
      use_message_totals(number, messages);
      const double all = books.total().regions[i].calls;
      iterations[&loop] += all;
      loop.sends += all / messages.iterations * messages.sends;
      loop.bytes_sent += all / messages.iterations * messages.bytes_sent;
      loop.messages_known &= messages.known;
    }
  }
  for (LoopProfile& loop : profile_.loops) {
    const auto found = iterations.find(&loop);
    if (found == iterations.end() || found->second == 0) continue;
    loop.sends /= found->second;
    loop.bytes_sent /= found->second;
  }
}

}  // namespace refrain::analysis

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

// The regions of a profile by name and place, which are different.
class RegionIndex {
 public:
  explicit RegionIndex(const TraceProfile& profile) {
    for (const RegionProfile& region : profile.regions)
      known_.try_emplace(key(region), &region);
  }
  // nullptr: there is none like it.
  const RegionProfile* find(const RegionProfile& wanted) const {
    const auto found = known_.find(key(wanted));
    return found == known_.end() ? nullptr : found->second;
  }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::uint32_t>;
  static Key key(const RegionProfile& region) {
    return {region.name, region.file, region.line};
  }
  std::map<Key, const RegionProfile*> known_;
};

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
  const RegionIndex of_a(a), of_b(b);
  for (const RegionProfile& region : a.regions) {
    const RegionProfile* const other = of_b.find(region);
    const bool matters = share(region, a) >= least_share ||
                         (other != nullptr && share(*other, b) >= least_share);
    if (!matters) continue;
    if (other == nullptr) {
      out.only_a.push_back(text_of(region));
    } else {
      add_region(section, region, *other, a, b);
      counters.region(region, *other);
    }
  }
  for (const RegionProfile& region : b.regions)
    if (share(region, b) >= least_share && of_a.find(region) == nullptr)
      out.only_b.push_back(text_of(region));
  out.sections.push_back(std::move(section));
}

// Each run detects loops anew: loops that only one has are no difference of the runs.
void compare_loops(const TraceProfile& a, const TraceProfile& b, double least_share,
                   CounterRows& counters, Comparison& out) {
  Section section{"Iterations", {}};
  std::map<std::string_view, const LoopProfile*> of_b;
  for (const LoopProfile& loop : b.loops) of_b.try_emplace(loop.name, &loop);
  for (const LoopProfile& loop : a.loops) {
    const auto found = of_b.find(loop.name);
    if (found == of_b.end()) continue;
    const LoopProfile* const other = found->second;
    const double process_ns = a.duration_ns * static_cast<double>(a.processes);
    if (loop.total_ns < least_share * process_ns) continue;
    section.rows.push_back({loop.name, "iterations", Unit::kNumber, loop.most_of_process(),
                            other->most_of_process(), loop.estimated, other->estimated});
    section.rows.push_back({loop.name, "mean duration", Unit::kNanoseconds, loop.mean_ns(),
                            other->mean_ns(), loop.estimated, other->estimated});
    counters.loop(loop, *other);
    // Without events messages are known of the whole run only.
    if (a.summary_only || b.summary_only || (loop.sends == 0 && other->sends == 0))
      continue;
    section.rows.push_back({loop.name, "messages an iteration", Unit::kNumber, loop.sends,
                            other->sends, loop.messages_estimated,
                            other->messages_estimated, loop.messages_known,
                            other->messages_known});
    section.rows.push_back({loop.name, "bytes an iteration", Unit::kBytes, loop.bytes_sent,
                            other->bytes_sent, loop.messages_estimated,
                            other->messages_estimated, loop.messages_known,
                            other->messages_known});
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

// Of a run of which too much is unknown there are none.
void add_efficiencies(Section& section, const TraceProfile& a, const TraceProfile& b) {
  if (!a.efficiencies.known() || !b.efficiencies.known()) return;
  const auto add = [&](const char* subject, const char* figure,
                       double RunEfficiencies::*value) {
    section.rows.push_back({subject, figure, Unit::kEfficiency, a.efficiencies.*value,
                            b.efficiencies.*value, a.estimated.efficiencies,
                            b.estimated.efficiencies});
  };
  using E = RunEfficiencies;
  add("threads", "parallel efficiency", &E::parallel);
  add("threads", "load balance", &E::load_balance);
  add("threads", "communication efficiency", &E::communication);
  if (!a.efficiencies.has_mpi && !b.efficiencies.has_mpi) return;
  add("MPI", "parallel efficiency", &E::mpi);
  add("MPI", "load balance", &E::mpi_load_balance);
  add("MPI", "communication efficiency", &E::mpi_communication);
}

}  // namespace

double LoopProfile::most_of_process() const noexcept {
  return by_process.empty() ? iterations : std::ranges::max(by_process);
}

double Row::difference() const noexcept {
  if (a == b || !a_known || !b_known) return 0;
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
  add_efficiencies(run, a, b);
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
