#include "analysis/profile/iteration_profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/thread_use.h"

namespace refrain::analysis {
namespace {

using summary::IterationRows;
using summary::RunSummary;
using Profile = IterationProfile;

void add(ClassTimes& to, const ClassTimes& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// A file may hold any numbers.
std::uint64_t whole(double number) {
  constexpr double kMax = 9e18;
  return number > 0 ? static_cast<std::uint64_t>(std::min(number, kMax)) : 0;
}

// Of the samples from `begin` to before `end`, in ticks.
Profile::Memory memory_between(const std::vector<base::MemorySample>& samples,
                               std::uint64_t begin, std::uint64_t end) {
  Profile::Memory memory;
  for (auto at = std::ranges::lower_bound(samples, begin, {}, &base::MemorySample::ticks);
       at != samples.end() && at->ticks < end; ++at) {
    memory.bytes = at->bytes;
    memory.peak_bytes = std::max(memory.peak_bytes, at->bytes);
  }
  return memory;
}

// Numbers the iterations of a loop of one thread through all its visits. Rows count them in their visit; the first ones, before
// the loop was detected, may have none.
class Numbering {
 public:
  std::uint64_t first_of(std::uint64_t first, std::uint64_t count) {
    // A file may hold any numbers.
    constexpr std::uint64_t kMax = std::uint64_t{1} << 48;
    if (first >= kMax || count >= kMax || before_ >= kMax) return first;
    if (before_ + first < next_) before_ = next_;  // another visit
    next_ = before_ + first + count;
    return before_ + first;
  }

 private:
  std::uint64_t before_ = 0;  // iterations of earlier visits
  std::uint64_t next_ = 0;
};

// What rows of primary threads say of a loop.
struct Sample {
  double each_ns;
  std::uint64_t count;
};

class ProfileBuilder {
 public:
  explicit ProfileBuilder(std::size_t most_parts) : most_parts_(most_parts) {}

  Profile build(const std::vector<RunSummary>& summaries) {
    const RunProfile profile = merge_summaries(summaries);
    std::size_t location = 0;
    for (const RunSummary& summary : summaries) {
      name_loops(summary);
      const std::size_t first = out_.locations.size();
      for (const RunSummary::Location& from : summary.locations)
        add_location(summary, from, profile.locations[location++]);
      add_process(first);
    }
    for (std::uint32_t i = 0; i < out_.loops.size(); ++i) finish(i);
    sort();
    return std::move(out_);
  }

 private:
  void name_loops(const RunSummary& summary) {
    loops_.clear();
    for (const summary::SummaryLoop& loop : summary.loops) {
      const auto next = static_cast<std::uint32_t>(out_.loops.size());
      const auto [at, is_new] = ids_.try_emplace({loop.number, loop.name}, next);
      if (is_new) {
        out_.loops.push_back(
            {.number = loop.number, .name = loop.name, .inner = loop.inner});
        samples_.emplace_back();
      }
      loops_.push_back(at->second);
    }
    counters_.clear();
    for (const summary::SummaryCounter& counter : summary.counters) {
      const auto at = std::find(out_.counters.begin(), out_.counters.end(), counter.name);
      counters_.push_back(static_cast<std::size_t>(at - out_.counters.begin()));
      if (at == out_.counters.end()) out_.counters.push_back(counter.name);
    }
  }

  void add_location(const RunSummary& summary, const RunSummary::Location& from,
                    const RunProfile::Location& known) {
    if (from.iterations.rows.empty()) return;
    Profile::Location& to = out_.locations.emplace_back();
    to.process = summary.process;
    to.rank = summary.rank;
    to.thread = from.number;
    to.primary = from.primary;
    to.worker = known.worker;
    to.helper = known.helper;
    to.temporary = known.temporary;
    const double tick_ns = 1e9 / summary.ticks_per_second;
    const auto since = [&](std::uint64_t ticks) {
      return static_cast<double>(ticks - std::min(ticks, summary.begin)) * tick_ns;
    };
    std::vector<Numbering> numbering(loops_.size());
    for (std::size_t i = 0; i < from.iterations.rows.size(); ++i) {
      const IterationRows::Row& row = from.iterations.rows[i];
      Profile::Row& out = to.rows.emplace_back();
      out.loop = row.loop < loops_.size() ? loops_[row.loop] : row.loop;
      out.first = row.loop < loops_.size() && row.count != 0
                      ? numbering[row.loop].first_of(row.first, row.count)
                      : row.first;
      out.count = row.count;
      if (row.around < loops_.size()) {
        out.around = loops_[row.around];
        out.around_count = row.around_count;
        if (row.around_count != 0)
          out.around_first = numbering[row.around].first_of(0, row.around_count);
      }
      out.begin_ns = since(row.begin);
      out.end_ns = since(from.iterations.end_of(i));
      if (from.primary)
        out.memory = memory_between(summary.memory, row.begin, from.iterations.end_of(i));
      for (std::size_t cls = 0; cls < kTimeClasses; ++cls)
        out.times[cls] = static_cast<double>(row.times[cls]) * tick_ns;
      const TimeClass outside =
          known.worker ? TimeClass::kLimitedParallelism : TimeClass::kUseful;
      if (!known.only_in_regions())
        out.times[static_cast<std::size_t>(outside)] +=
            static_cast<double>(row.times[IterationRows::kOutside]) * tick_ns;
      if (known.worker)
        out.outside_ns = static_cast<double>(row.times[IterationRows::kOutside]) * tick_ns;
      out.counters.resize(out_.counters.size());
      for (std::size_t k = 0; k < row.counters.size() && k < counters_.size(); ++k)
        out.counters[counters_[k]] = row.counters[k];
    }
    place_core_waits(to.rows);
  }

  // Rows from one look at what the thread used to the next: the last of them has all of it in its counters.
  struct Look {
    std::size_t end = 0;  // after its rows
    double time = 0;
    double off_core = 0;
    double waited = 0;
  };

  // How long a thread waited for a core is read less often than rows begin, and later than what it used (docs/reference/summary.md):
  // it was in the rows since the look before, or earlier, and no longer than the thread was on no core.
  void place_core_waits(std::vector<Profile::Row>& rows) const {
    std::vector<Look> looks(1);
    double all = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double core = out_.counter(rows[i], base::kCore);
      const double waited = out_.counter(rows[i], base::kCoreWait);
      Look& look = looks.back();
      look.end = i + 1;
      look.time += time_of(rows[i]);
      if (core == 0 && waited == 0) continue;
      look.off_core = std::max(0.0, look.time - core);
      look.waited = waited;
      all += waited;
      looks.emplace_back().end = i + 1;
    }
    if (all == 0) return;
    double left = 0;
    const auto place = [&left](Look& look) {
      look.waited = std::min(left, look.off_core);
      left -= look.waited;
      look.off_core -= look.waited;
    };
    for (Look& look : std::views::reverse(looks)) {
      left += look.waited;
      place(look);
    }
    std::size_t at = 0;
    for (Look& look : looks) {
      const double before = look.waited;
      place(look);  // what clocks of the kernel and of rows differ in
      look.waited += before;
      for (; at < look.end; ++at)
        if (look.time > 0)
          rows[at].core_wait_ns = look.waited * time_of(rows[at]) / look.time;
    }
  }

  static double time_of(const Profile::Row& row) {
    return std::max(0.0, std::accumulate(row.times.begin(), row.times.end(), 0.0));
  }

  bool is_loop(std::uint32_t loop) const { return loop < out_.loops.size(); }

  // Returns true if the row is part of the figures of this loop.
  bool belongs(const Profile::Row& row, std::uint32_t loop) const {
    return out_.loops[loop].inner ? row.loop == loop : row.outermost == loop;
  }

  // Iterations of this loop in the row, and the first of them.
  static std::pair<std::uint64_t, std::uint64_t> iterations_in(const Profile::Row& row,
                                                               std::uint32_t loop) {
    if (row.loop == loop) return {row.first, row.count};
    return {row.around_first, row.around == loop ? row.around_count : 0};
  }

  // Rows in the first iteration of a loop are that loop's where its begin has a row: then it counts, too. `whole`: these loops, as the
  // primary thread has them, whose rows come first.
  void set_outermost(Profile::Location& location, bool primary, std::vector<bool>& whole) {
    std::uint32_t begun = Profile::kNoLoop;
    for (Profile::Row& row : location.rows) {
      if (row.around_count != 0)
        begun = row.around;
      else if (row.around != begun)
        begun = Profile::kNoLoop;
      if (is_loop(row.around)) {
        if (primary && begun == row.around) whole[row.around] = true;
        const bool counts = primary ? begun == row.around : whole[row.around];
        row.outermost = counts ? row.around : Profile::kNoLoop;
      } else {
        row.outermost = row.loop;
      }
      if (is_loop(row.outermost) && out_.loops[row.outermost].inner)
        row.outermost = Profile::kNoLoop;
    }
  }

  // What rows of one process' primary thread say of a loop.
  struct OfLoop {
    std::uint64_t end = 0;  // of its iterations
    std::uint64_t with_rows = 0;
    double time = 0;
    Profile::Memory memory;
  };

  // The process' locations, from this one on.
  void add_process(std::size_t first) {
    const auto begin = out_.locations.begin() + static_cast<std::ptrdiff_t>(first);
    auto primary = std::find_if(begin, out_.locations.end(),
                                [](const auto& location) { return location.primary; });
    if (primary == out_.locations.end()) primary = begin;
    if (primary != out_.locations.end()) {
      std::vector<bool> whole(out_.loops.size());
      set_outermost(*primary, true, whole);
      for (auto at = begin; at != out_.locations.end(); ++at)
        if (at != primary) set_outermost(*at, false, whole);
      add_primary(primary->rows);
    }
    for (auto at = begin; at != out_.locations.end(); ++at)
      for (const Profile::Row& row : at->rows) {
        out_.time_ns += at->helper || at->temporary
                            ? std::accumulate(row.times.begin(), row.times.end(), 0.0)
                            : row.end_ns - row.begin_ns;
        if (is_loop(row.outermost)) {
          add_times(row, row.outermost);
        } else {
          add(out_.outside, row.times);
          out_.outside_core_wait_ns += row.core_wait_ns;
        }
        if (is_loop(row.loop) && out_.loops[row.loop].inner) add_times(row, row.loop);
      }
    processes_.push_back({first, out_.locations.size(),
                          static_cast<std::size_t>(primary - out_.locations.begin())});
  }

  void add_times(const Profile::Row& row, std::uint32_t loop) {
    add(out_.loops[loop].times, row.times);
    out_.loops[loop].core_wait_ns += row.core_wait_ns;
  }

  void add_primary(const std::vector<Profile::Row>& rows) {
    std::map<std::uint32_t, OfLoop> loops;
    Sampled iteration;  // a first one, of several rows
    for (const Profile::Row& row : rows) {
      if (row.around_count != 0 || row.outermost != iteration.loop ||
          row.outermost != row.around)
        sample(std::exchange(iteration, {}));
      if (is_loop(row.outermost) && row.outermost == row.around) {
        if (row.around_count != 0)
          iteration = {row.around, row.around_first, row.around_count};
        iteration.ns += row.end_ns - row.begin_ns;
        iteration.core_wait_ns += row.core_wait_ns;
        loops[row.around].time += row.end_ns - row.begin_ns;
        then(loops[row.around].memory, row.memory);
        if (row.around_count != 0) {
          loops[row.around].with_rows += row.around_count;
          loops[row.around].end = row.around_first + row.around_count;
        }
      }
      if (!is_loop(row.loop) || row.count == 0) continue;
      OfLoop& of = loops[row.loop];
      of.end = row.first + row.count;
      if (!belongs(row, row.loop)) continue;
      of.with_rows += row.count;
      of.time += row.end_ns - row.begin_ns;
      then(of.memory, row.memory);
      sample({row.loop, row.first, row.count, row.end_ns - row.begin_ns, row.core_wait_ns});
      if (is_loop(row.around)) around_[{row.loop, row.around}] += row.end_ns - row.begin_ns;
    }
    sample(iteration);
    for (const auto& [number, of] : loops) {
      Profile::Loop& loop = out_.loops[number];
      loop.memory.add(of.memory);
      loop.iterations = std::max(loop.iterations, of.end);
      if (of.with_rows <= loop.with_rows) continue;
      loop.with_rows = of.with_rows;
      loop.time_ns = of.time;
    }
  }

  // Later samples of the same process.
  static void then(Profile::Memory& to, const Profile::Memory& later) {
    if (later.bytes != 0) to.bytes = later.bytes;
    to.peak_bytes = std::max(to.peak_bytes, later.peak_bytes);
  }

  // Iterations of a loop that a row has, or some rows together.
  struct Sampled {
    std::uint32_t loop = Profile::kNoLoop;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    double ns = 0;
    double core_wait_ns = 0;
  };

  void sample(const Sampled& of) {
    if (of.count == 0) return;
    const double each = of.ns / static_cast<double>(of.count);
    samples_[of.loop].push_back({each, of.count});
    Profile::Loop& loop = out_.loops[of.loop];
    if (each <= loop.slowest_ns) return;
    loop.slowest_ns = each;
    loop.slowest_first = of.first;
    loop.slowest_count = of.count;
    loop.slowest_core_wait_ns = of.core_wait_ns / static_cast<double>(of.count);
  }

  void finish(std::uint32_t number) {
    Profile::Loop& loop = out_.loops[number];
    std::vector<Sample>& samples = samples_[number];
    std::sort(samples.begin(), samples.end(),
              [](const Sample& a, const Sample& b) { return a.each_ns < b.each_ns; });
    double all = 0, up_to = 0;
    for (const Sample& sample : samples) all += static_cast<double>(sample.count);
    for (const Sample& sample : samples) {
      up_to += static_cast<double>(sample.count);
      loop.median_ns = sample.each_ns;
      if (2 * up_to >= all) break;
    }
    make_parts(number);
  }

  // A row goes to the part of the iteration in its middle; rows of other threads to that of the
  // primary thread's row at their middle.
  void make_parts(std::uint32_t number) {
    Profile::Loop& loop = out_.loops[number];
    const std::uint64_t parts = std::min<std::uint64_t>(most_parts_, loop.iterations);
    if (parts == 0) return;
    std::vector<Profile::Part> all(parts);
    std::vector<double> iterations(parts), times(parts);
    const double each = static_cast<double>(loop.iterations) / static_cast<double>(parts);
    for (const Process& process : processes_) {
      const std::vector<Profile::Row>& rows = out_.locations[process.primary].rows;
      std::vector<std::uint64_t> part_of(rows.size());
      std::vector<Profile::Memory> memory(parts);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        // Others are where the latest one of the loop is.
        if (i > 0) part_of[i] = part_of[i - 1];
        if (!belongs(rows[i], number)) continue;
        const auto [first, in_row] = iterations_in(rows[i], number);
        if (in_row != 0 || rows[i].loop == number) {
          const auto count = static_cast<double>(in_row);
          const double middle = (static_cast<double>(first) + count / 2) / each;
          part_of[i] = whole(std::min(middle, static_cast<double>(parts - 1)));
          iterations[part_of[i]] += count;
        }
        times[part_of[i]] += rows[i].end_ns - rows[i].begin_ns;
        then(memory[part_of[i]], rows[i].memory);
      }
      for (std::uint64_t i = 0; i < parts; ++i) all[i].memory.add(memory[i]);
      for (std::size_t at = process.first; at != process.end; ++at) {
        for (const Profile::Row& row : out_.locations[at].rows) {
          if (!belongs(row, number)) continue;
          const double middle = (row.begin_ns + row.end_ns) / 2;
          auto in = std::upper_bound(
              rows.begin(), rows.end(), middle,
              [](double ns, const Profile::Row& other) { return ns < other.begin_ns; });
          if (in != rows.begin()) --in;
          Profile::Part& part = all[part_of[static_cast<std::size_t>(in - rows.begin())]];
          add(part.times, row.times);
          part.core_wait_ns += row.core_wait_ns;
        }
      }
    }
    for (std::uint64_t i = 0; i < parts; ++i) {
      all[i].first = whole(std::ceil(each * static_cast<double>(i) - 0.5));
      const std::uint64_t next = whole(std::ceil(each * static_cast<double>(i + 1) - 0.5));
      all[i].count = next - all[i].first;
      if (iterations[i] == 0)
        continue;  // a row that has more than a part is in one of them
      all[i].mean_ns = times[i] / iterations[i];
      loop.parts.push_back(all[i]);
    }
  }

  void sort() {
    std::map<std::uint32_t, double> longest;
    for (const auto& [loops, ns] : around_) {
      if (ns <= longest[loops.first]) continue;
      longest[loops.first] = ns;
      out_.loops[loops.first].around = loops.second;
    }
    std::vector<std::uint32_t> order(out_.loops.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (out_.loops[a].inner != out_.loops[b].inner) return out_.loops[b].inner;
      return out_.loops[a].time_ns > out_.loops[b].time_ns;
    });
    std::vector<std::uint32_t> place(order.size());
    std::vector<Profile::Loop> sorted;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(out_.loops[order[i]]));
    }
    const auto move = [&place](std::uint32_t& loop) {
      if (loop < place.size()) loop = place[loop];
    };
    for (Profile::Loop& loop : sorted) move(loop.around);
    out_.loops = std::move(sorted);
    for (Profile::Location& location : out_.locations) {
      for (Profile::Row& row : location.rows) {
        for (std::uint32_t* const loop : {&row.loop, &row.around, &row.outermost})
          move(*loop);
        row.counters.resize(out_.counters.size());
      }
    }
  }

  struct Process {
    std::size_t first, end;  // locations
    std::size_t primary;
  };

  const std::size_t most_parts_;
  Profile out_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> ids_;
  std::vector<std::vector<Sample>> samples_;  // by loop
  std::vector<Process> processes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double>
      around_;  // time of rows by their loop, and the one around it
  // Of the process that is being added.
  std::vector<std::uint32_t> loops_;
  std::vector<std::size_t> counters_;
};

}  // namespace

void IterationProfile::Memory::add(const Memory& other) noexcept {
  bytes = std::max(bytes, other.bytes);
  peak_bytes = std::max(peak_bytes, other.peak_bytes);
}

double IterationProfile::counter(const Row& row, std::string_view name) const {
  const auto at =
      static_cast<std::size_t>(std::ranges::find(counters, name) - counters.begin());
  return at < row.counters.size() ? static_cast<double>(row.counters[at]) : 0;
}

IterationProfile iteration_profile(const std::vector<RunSummary>& summaries,
                                   std::size_t most_parts) {
  return ProfileBuilder(most_parts).build(summaries);
}

}  // namespace refrain::analysis
