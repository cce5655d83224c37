#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"
#include "analysis/causes/memory_growth.h"
#include "base/memory_use.h"
#include "base/texts.h"
#include "base/thread_use.h"

namespace refrain::analysis {
namespace {

using base::CoreSet;
using summary::RunSummary;

constexpr double kNoCore = 0.02;   // of the time of all threads, without a core
constexpr double kInKernel = 0.1;  // of the time on cores
constexpr double kTracing = 0.03;  // of the time of all threads, Refrain's own work
// ns of the kernel, at most: for a page fault on a virtual machine, and for clearing 4 KiB.
constexpr double kFault = 5'000;
constexpr double kClear = 1'000;

double time_of(const RunSummary& summary) {
  return static_cast<double>(summary.end - std::min(summary.begin, summary.end)) * 1e9 /
         summary.ticks_per_second;
}

// Threads of one host that may use some cores only, and are more than these.
struct Crowd {
  std::string host;
  CoreSet cores;
  std::size_t threads = 0;
  std::set<std::uint32_t> ranks;
  std::size_t most_of_a_process = 0;  // threads
  bool bound = false;                 // others on that host may use other cores

  // Threads a core.
  double density() const {
    return static_cast<double>(threads) / static_cast<double>(cores.size());
  }
};

class Hosts {
 public:
  explicit Hosts(const std::vector<RunSummary>& summaries) {
    for (const RunSummary& summary : summaries) add(summary);
  }

  // Returns true if the cores of all threads that ran are known.
  bool known() const { return known_ && !by_host_.empty(); }

  // The most crowded cores; no threads: there are none with more threads than cores.
  Crowd most_crowded() const {
    Crowd most;
    for (const auto& [host, groups] : by_host_)
      for (const auto& [cores, group] : groups) {
        if (cores.empty()) continue;
        Crowd crowd = crowd_of(host, cores, groups);
        if (crowd.threads <= cores.size()) continue;
        if (most.threads == 0 || crowd.density() > most.density() ||
            (crowd.density() == most.density() && crowd.threads > most.threads))
          most = std::move(crowd);
      }
    return most;
  }

  std::size_t hosts() const { return by_host_.size(); }

 private:
  // By process: how many threads.
  using Group = std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>;
  using Groups = std::map<CoreSet, Group>;

  void add(const RunSummary& summary) {
    // Threads that hardly ever run crowd nobody.
    const double run = time_of(summary), minimum = run / 10;
    std::map<CoreSet, double> temporary;
    const auto add_threads = [&](const CoreSet& cores, std::size_t number) {
      if (cores.empty()) known_ = false;
      by_host_[summary.host][cores][{summary.rank, summary.process}] += number;
    };
    for (const RunSummary::Location& location : summary.locations) {
      const auto ready =
          static_cast<double>(location.use.core_ns + location.use.core_wait_ns);
      if (location.temporary)
        temporary[location.use.cores] += ready;
      else if (ready >= minimum)
        add_threads(location.use.cores, 1);
    }
    // As many as there were at a time.
    for (const auto& [cores, ready] : temporary)
      if (ready >= minimum && run > 0)
        add_threads(cores, std::max<std::size_t>(
                               1, static_cast<std::size_t>(std::lround(ready / run))));
  }

  static Crowd crowd_of(const std::string& host, const CoreSet& cores,
                        const Groups& groups) {
    Crowd crowd{.host = host, .cores = cores, .ranks = {}};
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> by_process;
    for (const auto& [other, group] : groups) {
      if (other.empty()) continue;
      if (!cores.contains(other)) {
        crowd.bound = true;
        continue;
      }
      for (const auto& [process, threads] : group) {
        crowd.threads += threads;
        by_process[process] += threads;
        if (process.first != RunSummary::kNone) crowd.ranks.insert(process.first);
      }
    }
    for (const auto& [process, threads] : by_process)
      crowd.most_of_a_process = std::max(crowd.most_of_a_process, threads);
    return crowd;
  }

  std::map<std::string, Groups> by_host_;
  bool known_ = true;
};

std::string crowd_text(const Crowd& crowd, bool several_hosts) {
  std::string of;
  if (crowd.ranks.size() > 3)
    of = fmt::format(" of {} ranks", crowd.ranks.size());
  else if (!crowd.ranks.empty())
    of = crowd.ranks.size() == 1 ? " of rank " : " of ranks ";
  if (crowd.ranks.size() <= 3) {
    std::size_t number = 0;
    for (const std::uint32_t rank : crowd.ranks) {
      if (number != 0) of += number + 1 == crowd.ranks.size() ? " and " : ", ";
      of += std::to_string(rank);
      ++number;
    }
  }
  const std::string cores =
      crowd.cores.size() == 1
          ? "core " + crowd.cores.text() + " only"
          : fmt::format("{} cores only ({})", crowd.cores.size(), crowd.cores.text());
  return fmt::format("{} threads{} may use {}{}", crowd.threads, of, cores,
                     several_hosts ? " of " + crowd.host : std::string());
}

std::string crowd_hint(const Crowd& crowd) {
  if (crowd.ranks.empty())
    return fmt::format(
        "Use at most {} (OMP_NUM_THREADS), or give the program more cores (batch job, taskset).",
        crowd.cores.size() == 1 ? "one thread"
                                : fmt::format("{} threads", crowd.cores.size()));
  if (crowd.most_of_a_process > 1)
    return fmt::format(
        "Give each rank as many cores as it has threads (Slurm: --cpus-per-task={0}; Open MPI: "
        "--map-by slot:PE={0}; MPICH: -bind-to core:{0}), or use fewer threads (OMP_NUM_THREADS).",
        crowd.most_of_a_process);
  return crowd.bound ? "Give each rank a core of its own (mpirun --bind-to core)."
                     : "Start fewer ranks on a node, at most one for each core.";
}

std::string thread_text(const RunSummary& of, const RunSummary::Location& location) {
  const std::string rank =
      of.rank == RunSummary::kNone ? "" : fmt::format("rank {}, ", of.rank);
  return fmt::format("{}thread {}", rank, location.number);
}

}  // namespace

void CauseSearch::cores() {
  core_waits_.resize(processes_);
  thread_core_waits_.resize(profile_.locations.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, LocationId> known;
  for (LocationId i; i < profile_.locations.size(); ++i)
    known.try_emplace({profile_.process_of(i).number, profile_.locations[i].thread}, i);
  double most = 0;
  const RunSummary::Location* longest = nullptr;
  const RunSummary* of = nullptr;
  for (const RunSummary& summary : summaries_)
    for (const RunSummary::Location& location : summary.locations) {
      const auto waited = static_cast<double>(location.use.core_wait_ns);
      out_.core_wait_ns += waited;
      const auto at = known.find({summary.process, location.number});
      if (at == known.end()) continue;
      const double counted = add_core_wait(at->second, waited, analysis::time_of(summary));
      if (counted <= most) continue;
      most = counted;
      longest = &location;
      of = &summary;
    }
  if (longest == nullptr || cores_are_few_ < kNoCore * counted_) return;
  const Hosts hosts(summaries_);
  const Crowd crowd = hosts.most_crowded();
  std::string why = "there are more threads than cores, or other programs use the cores";
  out_.cores_hint =
      "Run one thread per core and bind it (OMP_PROC_BIND, mpirun --bind-to core).";
  if (crowd.threads != 0) {
    crowded_ = true;
    why = crowd_text(crowd, hosts.hosts() > 1);
    out_.cores_hint = crowd_hint(crowd);
  } else if (hosts.known()) {
    why = "there are cores for all of them, so other programs use these cores";
    out_.cores_hint = "Run on a node that no other program uses.";
  }
  cores_when();
  const std::string when = when_text(cores_when_);
  out_.cores = fmt::format(
      "Threads were ready to run but had no core for {}, {} of the time of all threads{}, "
      "mostly {} ({}): {}",
      time_text(cores_are_few_), percent_text(share(cores_are_few_)),
      when.empty() ? "" : ", " + when, thread_text(*of, *longest), time_text(most), why);
}

void CauseSearch::cores_when() {
  const Frame* const frame = main_frame(&Part::core_wait);
  if (frame == nullptr) return;
  // Where iterations are shorter than two looks are apart, one has what many had: together they are long enough.
  constexpr double kApart = base::kRowUseApart_s * 1e9, kTogether = 10 * kApart;
  std::vector<double> times(frame->cells.size());
  for (std::size_t cell = 0; cell < times.size(); ++cell)
    for (std::size_t i = 0; i < processes_; ++i) {
      const Part& part = frame->at(cell, i);
      times[cell] = std::max(times[cell], part.work + part.mpi + part.start);
    }
  const bool each = median_of(times) >= 1.1 * kApart;
  std::vector<Amount> amounts;
  double time = kTogether;
  for (std::size_t cell = 0; cell < times.size(); ++cell) {
    double waited = 0;
    for (std::size_t i = 0; i < processes_; ++i) waited += frame->at(cell, i).core_wait;
    if (each || time >= kTogether) {
      amounts.push_back({.first = frame->cells[cell].first, .count = 0});
      time = 0;
    }
    time += times[cell];
    amounts.back().count += frame->cells[cell].count;
    amounts.back().each += waited;
  }
  for (Amount& amount : amounts)
    amount.each /= static_cast<double>(std::max<std::uint64_t>(1, amount.count));
  const TimeShape when = shape_of(amounts);
  // Their distances are those of what is together.
  if (when.kind == TimeShape::Kind::kAll || (when.kind == TimeShape::Kind::kEvery && !each))
    return;
  cores_when_.loop = frame->loop;
  cores_when_.iterations = frame->iterations;
  cores_when_.when = when;
}

void CauseSearch::tracing() {
  double most = 0;
  std::string mostly;
  for (const RunSummary& summary : summaries_)
    for (const RunSummary::Location& location : summary.locations) {
      const auto ns = static_cast<double>(location.use.tracing_ns);
      out_.tracing_ns += ns;
      if (ns <= most) continue;
      most = ns;
      mostly = thread_text(summary, location);
    }
  if (out_.time_ns <= 0 || out_.tracing_ns < kTracing * out_.time_ns) return;
  out_.tracing = fmt::format(
      "Refrain itself took about {} ({} of the time of all threads), mostly {} ({}): it is part of the times above, above all of "
      "short calls and regions",
      time_text(out_.tracing_ns), percent_text(out_.tracing_ns / out_.time_ns), mostly,
      time_text(most));
}

namespace {

// How long the kernel has for one of so many page faults, of pages as large as they must be for what the process had at a time.
double fault_ns(const RunSummary& summary, std::uint64_t faults) {
  constexpr double kPage = 4096, kHuge = 2 << 20;
  const double bytes = static_cast<double>(summary.peak_memory_bytes) /
                       static_cast<double>(std::max<std::uint64_t>(1, faults));
  return kFault + kClear * std::clamp(bytes, kPage, kHuge) / kPage;
}

}  // namespace

// Start and end of MPI map and unmap memory, which does not grow with the run: not that.
void CauseSearch::kernel() {
  base::ThreadUse all;
  double in_faults = 0, in_start = 0;
  double most = 0;
  std::string mostly;
  for (const RunSummary& summary : summaries_) {
    std::uint64_t faults = 0;
    for (const RunSummary::Location& location : summary.locations) {
      all.add(location.use);
      faults += location.use.page_faults;
      const auto ns = static_cast<double>(location.use.kernel_ns);
      if (ns <= most) continue;
      most = ns;
      mostly = thread_text(summary, location);
    }
    in_faults += static_cast<double>(faults) * fault_ns(summary, faults);
  }
  for (const double ns : out_.start_ns) in_start += ns;
  const auto ns = static_cast<double>(all.kernel_ns);
  const auto on_cores = static_cast<double>(all.core_ns);
  // Threads that take turns on a core call the kernel for that.
  if (crowded_ || ns - in_start < kInKernel * (on_cores - in_start) ||
      ns - in_start < kMinShare * out_.time_ns)
    return;
  const bool by_faults = in_faults >= ns / 2;
  out_.kernel = fmt::format("Of {} on cores, {} ({}) were in the kernel, mostly {} ({})",
                            time_text(on_cores), time_text(ns), percent_text(ns / on_cores),
                            mostly, time_text(most));
  if (by_faults)
    out_.kernel += fmt::format(
        ", with {} page faults: memory is used for the first time, or given back and taken "
        "again. Allocate it once (a trial: MALLOC_TRIM_THRESHOLD_=-1 "
        "MALLOC_MMAP_THRESHOLD_=4294967296), or use huge pages",
        all.page_faults);
  else
    out_.kernel +=
        ": system calls, for instance of files or of threads that wait by "
        "yielding (strace -c counts them)";
}

namespace {

// By iterations of a loop, counted through all its visits, of the process' primary thread.
std::vector<MemoryAt> memory_by_iteration(const RunSummary& summary,
                                          const IterationProfile::Location& primary,
                                          std::uint32_t loop) {
  std::vector<MemoryAt> out;
  const double tick_ns = 1e9 / summary.ticks_per_second;
  auto sample = summary.memory.begin();
  for (const IterationProfile::Row& row : primary.rows) {
    const auto ns = [&] {
      return static_cast<double>(sample->ticks - std::min(sample->ticks, summary.begin)) *
             tick_ns;
    };
    while (sample != summary.memory.end() && ns() < row.begin_ns) ++sample;
    if (row.loop != loop) continue;
    for (; sample != summary.memory.end() && ns() < row.end_ns; ++sample)
      out.push_back({static_cast<double>(row.first) +
                         static_cast<double>(row.count) * (ns() - row.begin_ns) /
                             std::max(1.0, row.end_ns - row.begin_ns),
                     static_cast<double>(sample->bytes)});
  }
  return out;
}

// Who has it, where that was recorded: `bytes` more than before.
std::string not_freed(const base::MemoryCalls& allocations, double bytes) {
  constexpr double kMost = 0.5;  // of the growth
  const std::vector<base::MemoryHolder> holders =
      base::memory_holders(allocations, &base::MemoryUse::current_bytes);
  const auto is_most = [&](std::uint64_t part) {
    return static_cast<double>(part) >= kMost * bytes;
  };
  const std::string all = base::bytes_text(allocations.current_bytes);
  if (!holders.empty() && is_most(allocations.current_bytes)) {
    const base::MemoryHolder& most = holders.front();
    const std::string own = base::bytes_text(most.bytes) + " of " + most.text;
    return ". Not freed at the end: " + (is_most(most.bytes) ? own : all + ", " + own);
  }
  if (allocations.from_bytes != 0)
    return ". Blocks of malloc have only " + all +
           " of it at the end: the rest was mapped by other calls, or the allocator keeps it";
  return ". What is allocated there is not freed (refrain run --memory names the place)";
}

}  // namespace

// Of the loop with most time.
void CauseSearch::memory() {
  if (std::ranges::all_of(summaries_,
                          [](const RunSummary& summary) { return summary.memory.empty(); }))
    return;
  if (iterations_.loops.empty()) return;
  struct Growing {
    std::size_t process;
    MemoryGrowth growth;
  };
  std::vector<Growing> growing;
  for (const IterationProfile::Location& location : iterations_.locations) {
    const auto process =
        std::ranges::find(summaries_, location.process, &RunSummary::process);
    if (!location.primary || process == summaries_.end()) continue;
    if (const auto growth = memory_growth(memory_by_iteration(*process, location, 0)))
      growing.push_back({static_cast<std::size_t>(process - summaries_.begin()), *growth});
  }
  if (growing.empty()) return;
  const Growing& most = *std::ranges::max_element(
      growing, {}, [](const Growing& each) { return each.growth.per_iteration(); });
  const auto bytes = [](double value) {
    return base::bytes_text(static_cast<std::uint64_t>(value));
  };
  out_.memory = fmt::format(
      "Memory grows by {} in each iteration of {}{}{}, from {} to {}",
      bytes(most.growth.per_iteration()), loop_place(iterations_.loops.front().name),
      most.growth.first >= 1 ? fmt::format(", from iteration {:.0f} on", most.growth.first)
                             : "",
      processes_ > 1
          ? fmt::format(", on {}", mpi_ ? "rank " + std::to_string(rank_of(most.process))
                                        : "process " + std::to_string(most.process))
          : "",
      bytes(most.growth.from_bytes), bytes(most.growth.to_bytes));
  if (growing.size() > 1)
    out_.memory += growing.size() == processes_
                       ? "; on the others it grows, too"
                       : fmt::format("; it also grows on {} of the other {}",
                                     growing.size() - 1, processes_ - 1);
  else if (processes_ > 1)
    out_.memory += "; on the others it does not";
  out_.memory += not_freed(summaries_[most.process].allocations,
                           most.growth.to_bytes - most.growth.from_bytes);
}

double CauseSearch::add_core_wait(LocationId thread, double waited, double time) {
  const std::size_t process = profile_.locations[thread].process;
  if (time <= 0 || profile_.locations[thread].helper) return 0;
  const double start = std::min(out_.start_ns[process], time);
  const double counted = std::min(waited, time) * (1 - start / time);
  const double useful =
      totals_.by_location[thread][static_cast<std::size_t>(TimeClass::kUseful)];
  const double computing =
      move(Account::kUseful, Account::kCores,
           std::min(useful, std::max(0.0, counted - (time - start - useful))));
  if (profile_.locations[thread].primary) core_waits_[process] += counted;
  thread_core_waits_[thread] = counted;
  cores_left_ += counted - computing;
  cores_are_few_ += counted;
  return counted;
}

double CauseSearch::without_core(Account account, double ns) {
  const double part =
      move(account, Account::kCores, std::clamp(cores_left_, 0.0, std::max(0.0, ns)));
  cores_left_ -= part;
  return ns - part;
}

void CauseSearch::tell_no_core(RootCause& cause, const std::vector<std::size_t>& causers,
                               double excess) const {
  double theirs = 0;
  for (const std::size_t each : causers) theirs += core_waits_[each];
  theirs /= static_cast<double>(causers.size());
  if (out_.cores.empty() || theirs < kNamed * excess) return;
  cause.text +=
      fmt::format(" {} had no core for {} of the run{}: that may be a part of it.",
                  as_sentence(ranks_text(cause.ranks)), time_text(theirs),
                  causers.size() > 1 ? " each" : "");
}

double CauseSearch::without_core(Account account, double ns, double most) {
  const double able = std::clamp(most, 0.0, ns);
  return ns - able + without_core(account, able);
}

void CauseSearch::cores_at_work() {
  double all = 0, in_rows = 0, at_work = 0, in_mpi = 0;
  for (const double each : core_waits_) all += each;
  for (const Frame& frame : parts_.frames)
    for (const Part& part : frame.parts) {
      in_rows += part.core_wait;
      at_work += part.core_wait_at_work;
      if (part.mpi > 0) in_mpi += part.core_wait_in_mpi / part.mpi * part.mpi_all;
    }
  knows_cores_ = in_rows >= all / 2;
  waits_for_cores_ = knows_cores_ ? at_work * (static_cast<double>(processes_) - 1) + in_mpi
                                  : out_.time_ns;
}

std::vector<double> CauseSearch::parts_for_cores(const std::vector<double>& lost,
                                                 const std::vector<std::size_t>& of) const {
  std::vector<double> parts(lost.size(), 1);
  if (!knows_cores_) return parts;
  std::vector<double> with_cores(lost.size());
  ByMoment left = waits_;
  meet(parts_, by_moment(busy_with_cores), left,
       [&](std::size_t at, const std::vector<double>&, const std::vector<double>& waited) {
         for (const double each : waited) with_cores[of[at]] += each;
       });
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = lost[i] > 0 ? std::clamp(1 - with_cores[i] / lost[i], 0.0, 1.0) : 0;
  return parts;
}

bool CauseSearch::had_no_core(const std::vector<std::size_t>& causers,
                              double excess) const {
  double theirs = 0, all = 0;
  for (const double each : core_waits_) all += each;
  for (const std::size_t each : causers) theirs += core_waits_[each];
  const auto number = static_cast<double>(causers.size());
  const double others =
      (all - theirs) / std::max(1.0, static_cast<double>(processes_) - number);
  // Who comes first is the scheduler's choice: what is little beside that is no work.
  constexpr double kLittle = 1.0 / 8;
  return !out_.cores.empty() && excess > 0 &&
         (theirs / number - others >= kNamed * excess ||
          excess <= kLittle * theirs / number);
}

bool CauseSearch::thread_had_no_core(std::uint32_t thread, double excess) const {
  double theirs = 0, number = 0, others = 0, number_of_others = 0;
  for (LocationId i; i < profile_.locations.size(); ++i) {
    if (profile_.locations[i].helper) continue;
    const bool is = profile_.locations[i].thread == thread;
    (is ? theirs : others) += thread_core_waits_[i];
    ++(is ? number : number_of_others);
  }
  return !out_.cores.empty() && excess > 0 &&
         theirs / std::max(1.0, number) - others / std::max(1.0, number_of_others) >=
             kNamed * excess;
}

void CauseSearch::tell_frequency(RootCause& cause,
                                 const std::vector<std::size_t>& causers) const {
  constexpr double kSlower = 0.95;
  struct Sum {
    double cycles = 0, ns = 0;
    double ghz() const { return ns > 0 ? cycles / ns : 0; }
  };
  Sum theirs, others;
  for (const IterationProfile::Location& location : iterations_.locations) {
    const bool is = std::ranges::any_of(causers, [&](std::size_t i) {
      return profile_.processes[i].number == location.process;
    });
    Sum& to = is ? theirs : others;
    for (const IterationProfile::Row& row : location.rows) {
      const double cycles = iterations_.counter(row, base::kCoreCycles);
      if (cycles <= 0) continue;
      to.cycles += cycles;
      to.ns += iterations_.counter(row, base::kCore);
    }
  }
  if (theirs.cycles <= 0 || others.cycles <= 0 || theirs.ghz() > kSlower * others.ghz())
    return;
  cause.text +=
      fmt::format(" Cores of {} ran at {:.2f} GHz, those of the others at {:.2f} GHz.",
                  ranks_text(cause.ranks), theirs.ghz(), others.ghz());
  const double more = cause.others_ns > 0 ? cause.when.amount() / cause.others_ns : 0;
  if (others.ghz() / theirs.ghz() - 1 < kNamed * more) return;
  cause.what = "Slower cores";
  cause.shared_gain_ns = 0;
  cause.hint =
      "That is most of the difference: look for the reason on these nodes (limits of power or temperature, settings of "
      "the frequency, other processors).";
}

void CauseSearch::few_cores() {
  const double ns = ledger(Account::kCores);
  if (share(ns) < kMinShare || out_.cores.empty()) return;
  RootCause cause = whole_cause(Account::kCores, ns, {}, RootCause::kNone);
  if (mpi_ && processes_ > 1 && knows_cores_) {
    // Who polls for what others do needs their cores, not its own; unless they do nothing but that, too.
    ByMoment left = waits_;
    double in_mpi = 0;
    for (const Frame& frame : parts_.frames)
      for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
        double least = frame.at(cell, 0).core_wait_in_mpi;
        for (std::size_t i = 1; i < processes_; ++i)
          least = std::min(least, frame.at(cell, i).core_wait_in_mpi);
        in_mpi += least;
      }
    cause.gain_ns =
        std::clamp(work_end_ - meet(parts_, by_moment(at_work_with_cores), left) + in_mpi,
                   0.0, std::ranges::max(core_waits_));
    if (!crowded_) bound_gain(cause);
    cause.gain = gain_text(cause, "At best, without it", run_text(out_));
  }
  if (crowded_)
    cause.gain = gain_text(cause, "At best, with a core for each thread", run_text(out_));
  cause.what = "Too few cores";
  cause.loop = cores_when_.loop;
  cause.iterations = cores_when_.iterations;
  cause.when = cores_when_.when;
  cause.text = fmt::format("{}. Not part of another finding{}: {}.", out_.cores,
                           ns > cores_are_few_ ? ", with what others wait for them" : "",
                           lost_text(cause));
  cause.hint = out_.cores_hint + " Until then, the other times include waiting for a core.";
  out_.causes.push_back(std::move(cause));
}

}  // namespace refrain::analysis
