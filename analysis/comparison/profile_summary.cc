// The sums over all processes: the end of ProfileSink.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/comparison/profile_sink.h"

namespace refrain::analysis {

using reader::RegionInfo;

namespace {

// "loop 3 @ cg.c:43" without the number, which differs from run to run.
std::string place_of_loop(const std::string& name) {
  const std::size_t at = name.find(" @ ");
  return at == std::string::npos ? name : "loop" + name.substr(at);
}

Efficiencies efficiencies(const std::vector<double>& useful, double duration_ns) {
  Efficiencies result;
  if (useful.empty() || duration_ns <= 0) return result;
  double sum = 0;
  for (const double ns : useful) sum += ns;
  const double most = *std::max_element(useful.begin(), useful.end());
  const double mean = sum / static_cast<double>(useful.size());
  result.parallel = mean / duration_ns;
  result.load_balance = most > 0 ? mean / most : 0;
  result.communication = most / duration_ns;
  return result;
}

}  // namespace

base::Result<> ProfileSink::finish(std::uint64_t end_ns) {
  for (Thread& thread : threads_) {
    if (thread.number == kNone) continue;
    book(thread, end_ns);
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
  std::vector<double> useful;
  std::vector<double> outside_mpi;
  Sums all(Shape{definitions_->regions.size(), 0, counter_count_});
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    Sums sums = process.books->total();
    note_time(i);
    use_totals(i, sums);
    for (std::size_t t = 0; t < sums.threads.size(); ++t)
      if (!is_helper(process, t)) useful.push_back(sums.threads[t].useful_ns);
    if (!sums.threads.empty())
      outside_mpi.push_back(sums.threads[process.first].outside_mpi_ns);
    all.add(sums, 1, 1);
  }
  profile_.threads_efficiency = efficiencies(useful, profile_.duration_ns);
  profile_.mpi_efficiency = efficiencies(outside_mpi, profile_.duration_ns);
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
  const Process& process = processes_[number];
  const ProcessTotals& totals = *totals_[number];
  ++profile_.summaries;
  for (std::uint32_t i = 0; i < sums.regions.size(); ++i) {
    if (definitions_->regions[i].is_loop) continue;
    const ProcessTotals::Region& region = totals.regions[i];
    sums.regions[i] = {region.calls, region.inclusive_ns, region.exclusive_ns};
  }
  profile_.other_calls += totals.other_calls;
  profile_.other_ns += totals.other_ns;
  sums.sends = totals.sends;
  sums.bytes_sent = totals.bytes_sent;
  sums.receives = totals.receives;
  sums.bytes_received = totals.bytes_received.value_or(sums.bytes_received);
  sums.collectives = totals.collectives.value_or(sums.collectives);
  if (!totals.complete()) return;  // how much of the others was useful is not known
  for (std::uint32_t i = 0; i < sums.threads.size(); ++i) {
    const ProcessTotals::Thread& thread = totals.threads[process.locations[i]];
    // As in book(): outside of all regions the first thread does the serial work.
    const double outside = i == process.first ? profile_.duration_ns - thread.inside_ns : 0;
    sums.threads[i].useful_ns = thread.useful_ns + std::max(0.0, outside);
    sums.threads[i].outside_mpi_ns = profile_.duration_ns - thread.mpi_ns;
  }
}

double ProfileSink::written(std::uint32_t region) const {
  double sum = 0;
  for (const Process& process : processes_) sum += process.written[region];
  return sum;
}

double ProfileSink::marked(std::uint32_t region) const {
  double sum = 0;
  for (const Process& process : processes_) sum += process.marked[region];
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
    for (std::size_t loop = 0; loop < loops_.size(); ++loop) {
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
  for (std::uint32_t i = 0; i < sums.regions.size(); ++i) {
    const RegionInfo& info = definitions_->regions[i];
    const Sums::Region& sum = sums.regions[i];
    if (info.is_loop || (sum.calls == 0 && sum.inclusive_ns == 0)) continue;
    if (kinds_[i].mpi) profile_.uses_mpi = true;
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
  for (const std::uint32_t i : loops_) {
    const Sums::Region& sum = sums.regions[i];
    if (sum.calls == 0 && sum.inclusive_ns == 0) continue;
    const std::string name = place_of_loop(definitions_->regions[i].name);
    LoopProfile& loop = loops[name];
    loop.name = name;
    loop.iterations += sum.calls;
    loop.written += written(i);
    loop.total_ns += sum.inclusive_ns;
    with_marks[name] += marked(i);
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
  }
  for (auto& [name, loop] : loops) {
    const double known = marked.at(name);
    const auto total = totals.find(name);
    loop.counters_estimated = std::abs(loop.iterations - known) > kRounding;
    loop.estimated = loop.counters_estimated;
    if (total == totals.end() || total->second.iterations < known) continue;
    loop.iterations = total->second.iterations;
    loop.total_ns = total->second.total_ns;
    loop.estimated = false;
  }
  for (auto& [name, loop] : loops) {
    loop.skipped = std::max(0.0, loop.iterations - loop.written);
    loop.messages_estimated = loop.skipped > kRounding;
  }
}

void ProfileSink::add_messages_of_loops() {
  for (LoopProfile& loop : profile_.loops) {
    double iterations = 0;
    for (std::uint32_t i = 0; i < definitions_->regions.size(); ++i) {
      const RegionInfo& info = definitions_->regions[i];
      if (!info.is_loop || place_of_loop(info.name) != loop.name) continue;
      for (Process& process : processes_) {
        const NestBooks::Sample sample = process.books->sample(i);
        if (sample.iterations == 0) continue;
        // Loops of one place, and processes, are weighted by their iterations.
        const double all = process.books->total().regions[i].calls;
        iterations += all;
        loop.sends += all / sample.iterations * sample.counts.sends;
        loop.bytes_sent += all / sample.iterations * sample.counts.bytes_sent;
      }
    }
    if (iterations == 0) continue;
    loop.sends /= iterations;
    loop.bytes_sent /= iterations;
  }
}

}  // namespace refrain::analysis
