// What the books of all processes come to: the end of ProfileSink.
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/profile_sink.h"

namespace refrain::analysis {

using reader::RegionInfo;

namespace {

// "loop 3 @ cg.c:43": where it is; numbers are those of one run.
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

std::string ProfileSink::finish(std::uint64_t end_ns) {
  for (Thread& thread : threads_) {
    if (thread.number == kNone) continue;
    book(thread, end_ns);
    settle_all(thread);
  }
  sum_up(end_ns);
  return {};
}

void ProfileSink::sum_up(std::uint64_t end_ns) {
  profile_.duration_ns = static_cast<double>(end_ns);
  for (const Process& process : processes_) {
    profile_.processes += !process.locations.empty();
    profile_.threads += process.locations.size();
  }
  profile_.thread_ns = profile_.duration_ns * static_cast<double>(profile_.threads);
  profile_.written_ns = written_ns_;
  std::vector<double> useful;
  std::vector<double> outside_mpi;
  Sums all(Shape{definitions_->regions.size(), 0, counter_count_});
  std::vector<double> written(definitions_->regions.size());
  for (const Process& process : processes_) {
    const Sums& sums = process.books->total();
    const auto threads = static_cast<double>(sums.threads.size());
    profile_.estimated_ns +=
        threads * (process.books->gap_ns() - process.books->unexplained_ns());
    profile_.unexplained_ns += threads * process.books->unexplained_ns();
    for (const Sums::Thread& thread : sums.threads) useful.push_back(thread.useful_ns);
    if (!sums.threads.empty())
      outside_mpi.push_back(sums.threads[process.first].outside_mpi_ns);
    all.add(sums, 1, 1);
    for (std::size_t i = 0; i < written.size(); ++i) written[i] += process.written[i];
  }
  profile_.threads_efficiency = efficiencies(useful, profile_.duration_ns);
  profile_.mpi_efficiency = efficiencies(outside_mpi, profile_.duration_ns);
  profile_.messages = {all.sends, all.bytes_sent, all.receives, all.bytes_received,
                       all.collectives};
  profile_.counters = counters_->names();
  profile_.counter_totals = counter_totals();
  add_regions(all, written);
  add_messages_of_loops();
}

// What each location has counted is known up to its latest record; the iterations that were
// held since then count as much as those that are written.
std::vector<double> ProfileSink::counter_totals() {
  std::vector<double> totals(counter_count_);
  for (const Thread& thread : threads_) {
    if (!thread.counters.any()) continue;
    for (std::size_t i = 0; i < counter_count_; ++i)
      totals[i] += thread.counters.before()[i] + thread.counters.totals()[i];
    if (thread.number == kNone || !thread.gap) continue;
    Process& process = processes_[thread.process];
    for (std::size_t loop = 0; loop < loops_.size(); ++loop) {
      const double before = thread.held.empty() ? 0 : thread.held[loop];
      const double unknown = process.held_by_loop[loop] - before;
      if (unknown <= 0) continue;
      const NestBooks::Sample like = process.books->sample(loops_[loop]);
      if (like.iterations == 0) continue;
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

// Regions by name and place: an archive may define one more than once.
void ProfileSink::add_regions(const Sums& sums, const std::vector<double>& written) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, RegionProfile> regions;
  std::map<std::string, LoopProfile> loops;
  for (std::uint32_t i = 0; i < sums.regions.size(); ++i) {
    const RegionInfo& info = definitions_->regions[i];
    const Sums::Region& sum = sums.regions[i];
    if (sum.calls == 0 && sum.inclusive_ns == 0) continue;
    if (kinds_[i].mpi) profile_.uses_mpi = true;
    if (info.is_loop) {
      LoopProfile& loop = loops[place_of_loop(info.name)];
      loop.name = place_of_loop(info.name);
      loop.iterations += sum.calls;
      loop.held += std::max(0.0, sum.calls - written[i]);
      loop.total_ns += sum.inclusive_ns;
      add_counters(sums, i, loop.counters);
      continue;
    }
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
  for (auto& [key, loop] : loops) profile_.loops.push_back(std::move(loop));
  std::stable_sort(
      profile_.regions.begin(), profile_.regions.end(),
      [](const auto& a, const auto& b) { return a.exclusive_ns > b.exclusive_ns; });
  std::stable_sort(profile_.loops.begin(), profile_.loops.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
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
        // Loops of one place, and processes, count by all their iterations.
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
