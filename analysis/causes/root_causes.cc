#include "analysis/causes/root_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/causes/places.h"
#include "analysis/causes/run_parts.h"
#include "analysis/profile/iteration_profile.h"
#include "base/quantity_text.h"
#include "summary/rank_set.h"

namespace refrain::analysis {
namespace {

using summary::RunSummary;

struct AccountNames {
  const char* name;
  const char* title;
};
constexpr std::array<AccountNames, kAccounts> kAccountNames = {{
    {"useful", "computation"},
    {"uneven_ranks", "waiting for ranks with more work"},
    {"communication", "communication"},
    {"uneven_threads", "waiting for threads with more work"},
    {"serial", "threads without work in serial parts"},
    {"synchronization", "OpenMP synchronization"},
    {"management", "begin and end of parallel regions"},
    {"mpi_io", "MPI file I/O"},
    {"start", "start and end of MPI"},
    {"devices", "devices"},
    {"unknown", "not known"},
}};

constexpr double kNamed = 0.6;        // of a loss, that ranks must cause to be named
constexpr double kMostOfCause = 0.8;  // ranks are added to a cause until they cause so much

std::string time_text(double ns) { return base::duration_text(ns, 3); }

std::string percent_text(double share) {
  const double percent = 100 * share;
  return percent >= 9.95 ? fmt::format("{:.0f} %", percent)
                         : fmt::format("{:.1f} %", percent);
}

double total_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// --- Sentences -----------------------------------------------------------------------------------

// "10th", "22nd"
std::string ordinal(std::uint64_t number) {
  const std::uint64_t last = number % 100 / 10 == 1 ? 0 : number % 10;
  return std::to_string(number) + (last == 1   ? "st"
                                   : last == 2 ? "nd"
                                   : last == 3 ? "rd"
                                               : "th");
}

// "in each of 200 iterations of main ring.c:9-12"
std::string when_text(const RootCause& cause) {
  if (cause.loop.empty()) return {};
  const TimeShape& when = cause.when;
  const std::string loop = loop_place(cause.loop);
  switch (when.kind) {
    case TimeShape::Kind::kAll:
      return fmt::format("in all {} iterations of {}", cause.iterations, loop);
    case TimeShape::Kind::kSince:
      return fmt::format("from iteration {} on, of {} of {}", when.from, cause.iterations,
                         loop);
    case TimeShape::Kind::kUntil:
      return fmt::format("until iteration {}, of {} of {}", when.from, cause.iterations,
                         loop);
    case TimeShape::Kind::kEvery:
      return fmt::format("in every {} iteration ({}, {}, ...), of {} of {}",
                         ordinal(when.period), when.from, when.from + when.period,
                         cause.iterations, loop);
    case TimeShape::Kind::kGrowing:
      return fmt::format("more and more (from {} to {}), in {} iterations of {}",
                         time_text(when.before), time_text(when.after), cause.iterations,
                         loop);
    case TimeShape::Kind::kSome:
      return fmt::format("in {} of {} iterations of {}, first in {}", when.number,
                         cause.iterations, loop, when.from);
  }
  return {};
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + summary::RankSet::of(ranks).text();
}

std::string lost_text(const RootCause& cause) {
  return fmt::format("{}, {} of the time of all threads", time_text(cause.lost_ns),
                     percent_text(cause.share));
}

std::string gain_text(const RootCause& cause, const std::string& what) {
  if (cause.gain_ns < 0.005 * cause.of_ns) return {};
  return fmt::format(
      "{}, {} would take about {} instead of {} ({} less).", what,
      cause.loop.empty() ? "the run without start and end of MPI" : "the loop",
      time_text(cause.of_ns - cause.gain_ns), time_text(cause.of_ns),
      percent_text(cause.gain_ns / cause.of_ns));
}

// --- The search ----------------------------------------------------------------------------------

class Finder {
 public:
  explicit Finder(const std::vector<RunSummary>& summaries)
      : summaries_(summaries),
        profile_(merge_summaries(summaries)),
        totals_(total(profile_)),
        iterations_(iteration_profile(summaries, 0)),
        parts_(parts_of(profile_, totals_, iterations_)),
        places_(summaries, profile_),
        processes_(profile_.processes.size()) {
    for (const RunProfile::Process& process : profile_.processes)
      mpi_ = mpi_ || process.rank != RunProfile::kNone;
    explained_.resize(processes_);
    in_mpi_.resize(processes_);
    for (std::size_t i = 0; i < processes_; ++i)
      for (const Frame& frame : parts_.frames)
        for (std::size_t cell = 0; cell < frame.cells.size(); ++cell)
          in_mpi_[i] += frame.at(cell, i).mpi_all;
  }

  Conclusions find() {
    out_.ledger = parts_.ledger;
    cores();
    out_.start_ns.resize(processes_);
    for (std::size_t i = 0; i < processes_; ++i)
      out_.start_ns[i] = parts_.frames.front().at(0, i).start;
    out_.time_ns = total_of({out_.ledger.begin(), out_.ledger.end()});
    out_.run_ns = totals_.run_ns;
    counted_ = out_.time_ns - ledger(Account::kStart);
    if (mpi_ && processes_ > 1)
      for (Frame& frame : parts_.frames) ranks(frame);
    serial_parts();
    threads();
    synchronization();
    files();
    management();
    communication();
    std::erase_if(out_.causes,
                  [](const RootCause& cause) { return cause.share < kLeastShare; });
    std::ranges::stable_sort(out_.causes, std::greater(), &RootCause::lost_ns);
    return std::move(out_);
  }

 private:
  double& ledger(Account account) { return out_.ledger[static_cast<std::size_t>(account)]; }
  double share(double ns) const { return counted_ > 0 ? ns / counted_ : 0; }
  std::uint32_t rank_of(std::size_t process) const {
    const RunProfile::Process& at = profile_.processes[process];
    return at.rank == RunProfile::kNone ? at.number : at.rank;
  }

  // A note, if threads had no cores.
  void cores() {
    constexpr double kMuch = 0.02;
    double all = 0, most = 0;
    const RunSummary::Location* longest = nullptr;
    const RunSummary* of = nullptr;
    for (const RunSummary& summary : summaries_)
      for (const RunSummary::Location& location : summary.locations) {
        const auto waited = static_cast<double>(location.core_wait_ns);
        out_.core_wait_ns += waited;
        all += static_cast<double>(summary.end - std::min(summary.begin, summary.end)) *
               1e9 / summary.ticks_per_second;
        if (waited <= most) continue;
        most = waited;
        longest = &location;
        of = &summary;
      }
    if (longest == nullptr || out_.core_wait_ns < kMuch * all) return;
    out_.cores = fmt::format(
        "Threads were ready to run, but had no core, for {}, {} of the time of all threads, most {}thread {} ({}): "
        "there are more threads than cores, or other programs on them. The other times contain this",
        time_text(out_.core_wait_ns), percent_text(out_.core_wait_ns / all),
        of->rank == RunSummary::kNone ? "" : fmt::format("rank {}, ", of->rank),
        longest->number, time_text(most));
  }

  // Of the process that takes longest.
  double time_of(const Frame& frame) const {
    double most = 0;
    for (std::size_t i = 0; i < processes_; ++i) {
      double sum = 0;
      for (std::size_t cell = 0; cell < frame.cells.size(); ++cell)
        sum += frame.at(cell, i).work + frame.at(cell, i).mpi;
      most = std::max(most, sum);
    }
    return most;
  }

  static double busy(const Part& part) { return part.work + part.start; }

  // What a process waits for the one that has most in a cell, by cell. Iterations begin with the call that waits, or end with it: what is
  // not found in the cell is looked for in the next.
  std::vector<double> waits(const Frame& frame, const std::vector<double>& most,
                            std::size_t process) const {
    const std::size_t cells = frame.cells.size();
    std::vector<double> left(cells), out(cells);
    for (std::size_t cell = 0; cell < cells; ++cell)
      left[cell] = frame.at(cell, process).mpi;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      double lacks = most[cell] - busy(frame.at(cell, process));
      for (std::size_t at = cell; at < std::min(cells, cell + 2); ++at) {
        const Part& part = frame.at(at, process);
        const double taken = std::min(lacks, left[at]);
        if (taken <= 0) continue;
        lacks -= taken;
        left[at] -= taken;
        out[cell] += taken / part.mpi * part.mpi_all;
      }
    }
    return out;
  }

  // Of what the one with most has more than the median, how much is start and end of MPI.
  double share_of_start(const Frame& frame, std::size_t cell) const {
    std::size_t most = 0;
    std::vector<double> starts(processes_), works(processes_);
    for (std::size_t i = 0; i < processes_; ++i) {
      starts[i] = frame.at(cell, i).start;
      works[i] = frame.at(cell, i).work;
      if (busy(frame.at(cell, i)) > busy(frame.at(cell, most))) most = i;
    }
    const double start = std::max(0.0, starts[most] - median_of(starts));
    const double work = std::max(0.0, works[most] - median_of(works));
    return start > 0 ? start / (start + work) : 0;
  }

  // Who has more than the others, and how much of the waits that causes.
  void ranks(Frame& frame) {
    const std::size_t cells = frame.cells.size();
    std::vector<double> most(cells), lost_in(cells), cost(processes_);
    for (std::size_t cell = 0; cell < cells; ++cell)
      for (std::size_t i = 0; i < processes_; ++i)
        most[cell] = std::max(most[cell], busy(frame.at(cell, i)));
    for (std::size_t i = 0; i < processes_; ++i) {
      const std::vector<double> own = waits(frame, most, i);
      explained_[i] += total_of(own);
      for (std::size_t cell = 0; cell < cells; ++cell) lost_in[cell] += own[cell];
    }
    std::vector<double> work(processes_);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const double by_start = share_of_start(frame, cell) * lost_in[cell];
      lost_in[cell] -= by_start;
      move(Account::kCommunication, Account::kStart, by_start);
      counted_ -= by_start;
      for (std::size_t i = 0; i < processes_; ++i) work[i] = frame.at(cell, i).work;
      const double middle = median_of(work);
      double more = 0;
      for (const double each : work) more += std::max(0.0, each - middle);
      for (std::size_t i = 0; i < processes_ && more > 0; ++i)
        cost[i] += lost_in[cell] * std::max(0.0, work[i] - middle) / more;
    }
    const double lost = total_of(lost_in);
    move(Account::kCommunication, Account::kUnevenRanks, lost);
    if (share(lost) < kLeastShare) return;
    RootCause cause;
    cause.account = Account::kUnevenRanks;
    cause.loop = frame.loop;
    cause.iterations = frame.iterations;
    cause.of_ns = time_of(frame);
    const std::vector<std::size_t> causers = most_of(cost);
    if (causers.empty()) {
      cause.lost_ns = lost;
      varying(frame, std::move(cause));
    } else {
      double by_them = 0;
      for (const std::size_t each : causers) by_them += cost[each];
      cause.lost_ns = by_them;
      named(frame, causers, std::move(cause));
    }
  }

  // Empty: no few cause most of it.
  std::vector<std::size_t> most_of(const std::vector<double>& cost) const {
    std::vector<std::size_t> order(processes_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return cost[i]; });
    const double all = total_of(cost);
    std::vector<std::size_t> causers;
    double sum = 0;
    for (const std::size_t each : order) {
      if (sum >= kMostOfCause * all || 2 * (causers.size() + 1) > processes_) break;
      if (!causers.empty() && cost[each] < 0.2 * cost[causers.front()]) break;
      causers.push_back(each);
      sum += cost[each];
    }
    if (sum < kNamed * all) causers.clear();
    std::ranges::sort(causers);
    return causers;
  }

  struct Means {
    double theirs = 0;
    double others = 0;
    double more() const { return theirs - others; }
  };
  template <typename Value>
  Means means(const Frame& frame, std::size_t cell, const std::vector<std::size_t>& causers,
              const Value& value) const {
    Means out;
    double all = 0;
    for (std::size_t i = 0; i < processes_; ++i) all += value(frame.at(cell, i), i);
    for (const std::size_t each : causers) out.theirs += value(frame.at(cell, each), each);
    const auto count = static_cast<double>(causers.size());
    out.others = (all - out.theirs) / (static_cast<double>(processes_) - count);
    out.theirs /= count;
    return out;
  }

  void named(Frame& frame, const std::vector<std::size_t>& causers, RootCause cause) {
    std::vector<bool> is(processes_);
    for (const std::size_t each : causers) {
      is[each] = true;
      cause.ranks.push_back(rank_of(each));
    }
    const auto workers = [&](std::size_t i) {
      return static_cast<double>(std::max<std::size_t>(parts_.threads[i], 2) - 1);
    };
    std::vector<Amount> amounts = frame.cells;
    double excess = 0, others = 0, iterations = 0, uneven = 0;
    for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
      const Means work = means(frame, cell, causers,
                               [](const Part& part, std::size_t) { return part.work; });
      const auto count =
          static_cast<double>(std::max<std::uint64_t>(1, frame.cells[cell].count));
      amounts[cell].each = work.more() / count;
      excess += work.more();
      others += work.others;
      iterations += count;
      double most = 0, most_of_others = 0;
      for (std::size_t i = 0; i < processes_; ++i) {
        most = std::max(most, frame.at(cell, i).work);
        if (!is[i]) most_of_others = std::max(most_of_others, frame.at(cell, i).work);
      }
      cause.gain_ns += most - most_of_others;
      // What their threads wait because of it, inside.
      const auto take = [&](double Part::*part, Account from) {
        const double of_others =
            means(frame, cell, causers, [&](const Part& at, std::size_t i) {
              return at.*part / workers(i);
            }).others;
        for (const std::size_t each : causers) {
          const double more = frame.at(cell, each).*part / workers(each) - of_others;
          const double taken =
              std::min(frame.at(cell, each).*part,
                       std::clamp(more, 0.0, std::max(0.0, work.more())) * workers(each));
          frame.at(cell, each).*part -= taken;
          move(from, Account::kUnevenRanks, taken);
          cause.lost_ns += taken;
          if (from == Account::kUnevenThreads) uneven += taken / workers(each);
        }
      };
      take(&Part::serial, Account::kSerial);
      take(&Part::imbalance, Account::kUnevenThreads);
    }
    cause.when = shape_of(amounts);
    cause.others_ns = iterations > 0 ? others / iterations : 0;
    cause.where = places_.of_more(causers, excess);
    // Not their primary threads have more, but others in parallel regions.
    if (2 * uneven > excess * static_cast<double>(causers.size()))
      cause.thread = busiest(causers);
    tell_ranks(cause);
    for (const auto& [where, ns] : waits_by_place(is))
      cause.evidence.push_back({where, ns});
    out_.causes.push_back(std::move(cause));
  }

  // The thread of these processes that computes most in parallel regions; kNone: the primary one.
  std::uint32_t busiest(const std::vector<std::size_t>& causers) const {
    double most = 0;
    std::uint32_t thread = RunProfile::kNone;
    for (LocationId i; i < profile_.locations.size(); ++i) {
      const RunProfile::Location& location = profile_.locations[i];
      if (!std::ranges::count(causers, location.process)) continue;
      const double useful =
          totals_.by_location[i][static_cast<std::size_t>(TimeClass::kUseful)];
      if (useful <= most) continue;
      most = useful;
      thread = location.primary ? RunProfile::kNone : location.thread;
    }
    return thread;
  }

  void tell_ranks(RootCause& cause) const {
    cause.share = share(cause.lost_ns);
    cause.what = "Uneven work between ranks";
    std::string who = ranks_text(cause.ranks);
    if (cause.thread != RunProfile::kNone)
      who = fmt::format("thread {} of {}", cause.thread, who);
    who[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(who[0])));
    const bool several = cause.ranks.size() > 1 && cause.thread == RunProfile::kNone;
    const double mine = cause.when.after;
    std::string much = fmt::format("{} longer than the other ranks", time_text(mine));
    if (!cause.loop.empty() && cause.others_ns > 0 &&
        cause.when.kind != TimeShape::Kind::kGrowing)
      much += fmt::format(" ({} instead of {} an iteration, {} more)",
                          time_text(cause.others_ns + mine), time_text(cause.others_ns),
                          percent_text(mine / cause.others_ns));
    const std::string when = when_text(cause);
    cause.text = fmt::format("{} compute{} {}{}{}. What waits for {}: {}.", who,
                             several ? "" : "s", much, when.empty() ? "" : ", " + when,
                             cause.where.empty() ? "" : ", " + cause.where,
                             several ? "them" : "it", lost_text(cause));
    cause.gain = gain_text(cause, several ? "If they took as long as the others"
                                          : "If it took as long as the others");
    cause.hint =
        "Divide the work between ranks more evenly, or let all of them take part in what "
        "only some do.";
  }

  void varying(const Frame& frame, RootCause cause) {
    for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
      double most = 0, sum = 0;
      for (std::size_t i = 0; i < processes_; ++i) {
        most = std::max(most, frame.at(cell, i).work);
        sum += frame.at(cell, i).work;
      }
      cause.gain_ns += most - sum / static_cast<double>(processes_);
    }
    cause.share = share(cause.lost_ns);
    cause.what = "Work varies between ranks";
    const std::string when = when_text(cause);
    cause.text = fmt::format(
        "Ranks wait for each other{}{}: {}. No few of them have more work than the others over the whole run.",
        when.empty() ? "" : " ", when, lost_text(cause));
    cause.gain = gain_text(cause, "If all took as long each time");
    cause.hint =
        "Work that changes from time to time, or other programs on the same cores.";
    for (const auto& [where, ns] : waits_by_place(std::vector<bool>(processes_)))
      cause.evidence.push_back({where, ns});
    out_.causes.push_back(std::move(cause));
  }

  // Calls in which processes wait that are not among these, of all their time in them.
  std::vector<std::pair<std::string, double>> waits_by_place(
      const std::vector<bool>& not_of) const {
    std::map<std::string, double> times;
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
      const RunProfile::Path& path = profile_.paths[i];
      if (!is_mpi(path.cls) || path.cls == TimeClass::kMpiManagement ||
          path.cls == TimeClass::kMpiIo)
        continue;
      for (const RunProfile::Sums& sums : path.sums)
        if (!not_of[profile_.locations[sums.location].process])
          times[path_name(profile_, PathId(i))] +=
              profile_.nanoseconds(sums.location, static_cast<double>(sums.own));
    }
    std::vector<std::pair<std::string, double>> out(times.begin(), times.end());
    std::ranges::stable_sort(out, std::greater(),
                             [](const auto& each) { return each.second; });
    if (out.size() > 3) out.resize(3);
    return out;
  }

  void move(Account from, Account to, double ns) {
    ledger(from) -= ns;
    ledger(to) += ns;
  }

  // The loop in which most of a part of the time lies; nullptr: in none.
  const Frame* main_frame(double Part::*part) const {
    const Frame* best = nullptr;
    double most = 0, all = 0;
    for (const Frame& frame : parts_.frames) {
      double sum = 0;
      for (const Part& each : frame.parts) sum += each.*part;
      all += sum;
      if (sum <= most) continue;
      most = sum;
      best = &frame;
    }
    return best != nullptr && !best->loop.empty() && most >= kNamed * all ? best : nullptr;
  }

  // By iteration, mean over processes, for each thread that waits.
  std::vector<Amount> amounts_of(const Frame& frame, double Part::*part) const {
    std::vector<Amount> amounts = frame.cells;
    for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
      double sum = 0;
      for (std::size_t i = 0; i < processes_; ++i)
        sum += frame.at(cell, i).*part /
               static_cast<double>(std::max<std::size_t>(parts_.threads[i], 2) - 1);
      amounts[cell].each =
          sum / static_cast<double>(processes_) /
          static_cast<double>(std::max<std::uint64_t>(1, amounts[cell].count));
    }
    return amounts;
  }

  double workers() const {
    double sum = 0;
    for (const std::size_t threads : parts_.threads)
      sum += static_cast<double>(std::max<std::size_t>(threads, 1) - 1);
    return sum;
  }
  double all_threads() const {
    double sum = 0;
    for (const std::size_t threads : parts_.threads) sum += static_cast<double>(threads);
    return std::max(1.0, sum);
  }

  void in_frame(RootCause& cause, const Frame* frame, double Part::*part) const {
    cause.of_ns = frame != nullptr ? time_of(*frame) : counted_ / all_threads();
    if (frame == nullptr) return;
    cause.loop = frame->loop;
    cause.iterations = frame->iterations;
    cause.when = shape_of(amounts_of(*frame, part));
  }

  void serial_parts() {
    RootCause cause;
    cause.account = Account::kSerial;
    cause.lost_ns = ledger(Account::kSerial);
    cause.share = share(cause.lost_ns);
    if (cause.share < kLeastShare || workers() == 0) return;
    in_frame(cause, main_frame(&Part::serial), &Part::serial);
    // That of each process, which all its threads could share.
    const double serial = cause.lost_ns / workers();
    const double threads = all_threads() / static_cast<double>(processes_);
    cause.gain_ns = serial * (1 - 1 / threads);
    cause.where = places_.between(0.4 * serial * static_cast<double>(processes_));
    cause.what = "Serial parts";
    const std::string when = when_text(cause);
    cause.text = fmt::format(
        "Threads have no work while the program runs on one: {}{}{}{}. Lost: {}.",
        cause.loop.empty() ? time_text(serial) + (processes_ > 1 ? " a process" : "")
                           : time_text(cause.when.after) + " an iteration",
        when.empty() ? "" : ", ", when, cause.where.empty() ? "" : ", " + cause.where,
        lost_text(cause));
    cause.gain = gain_text(cause, "If all threads shared it");
    cause.hint = "Make more of the program parallel, or use fewer threads.";
    out_.causes.push_back(std::move(cause));
  }

  // By parallel region.
  void threads() {
    double all = 0;
    for (const ParallelRegion& region : totals_.parallel_regions)
      all += region.times[static_cast<std::size_t>(TimeClass::kImbalance)];
    if (all <= 0) return;
    // A part of it is charged to ranks.
    const double left = ledger(Account::kUnevenThreads) / all;
    for (const ParallelRegion& region : totals_.parallel_regions) {
      const double ns =
          region.times[static_cast<std::size_t>(TimeClass::kImbalance)] * left;
      if (share(ns) >= kLeastShare) uneven_threads(region, ns, ns > kNamed * all * left);
    }
  }

  void uneven_threads(const ParallelRegion& region, double ns, bool most_of_all) {
    RootCause cause;
    cause.account = Account::kUnevenThreads;
    cause.lost_ns = ns;
    cause.share = share(ns);
    in_frame(cause, most_of_all ? main_frame(&Part::imbalance) : nullptr, &Part::imbalance);
    cause.where = "in " + region_text(profile_.regions[region.region]);
    cause.path = path_of(region.region);
    std::map<std::uint32_t, std::pair<double, double>> busy;  // by thread: sum, number
    for (std::size_t i = 0; i < region.busy_ns.size(); ++i) {
      if (region.busy_ns[i] <= 0) continue;
      auto& [sum, number] = busy[profile_.locations[i].thread];
      sum += region.busy_ns[i];
      ++number;
    }
    double most = 0, mean = 0;
    for (auto& [thread, each] : busy) {
      each.first /= each.second;
      mean += each.first;
      if (each.first <= most) continue;
      most = each.first;
      cause.thread = thread;
    }
    const auto threads = static_cast<double>(busy.size());
    const double others = threads > 1 ? (mean - most) / (threads - 1) : 0;
    const double waiting = std::max(1.0, workers());
    // All others wait for it.
    const bool named = threads > 1 && (most - others) * waiting > 0.5 * ns;
    if (!named) cause.thread = RootCause::kNone;
    cause.gain_ns = named ? ns / waiting : ns / all_threads();
    cause.others_ns = others;
    const std::string when = when_text(cause);
    cause.what = named ? "Uneven work between threads" : "Work varies between threads";
    if (named)
      cause.text = fmt::format(
          "Thread {}{} computes {} {} ({} more than the others{}{}). What waits for it: {}.",
          cause.thread, processes_ > 1 ? " of the ranks" : "", time_text(most), cause.where,
          percent_text(others > 0 ? most / others - 1 : 0), when.empty() ? "" : ", ", when,
          lost_text(cause));
    else
      cause.text = fmt::format(
          "Threads wait for each other {}{}{}: {}. Over the whole run none has more work; the region runs {} times "
          "of {} each.",
          cause.where, when.empty() ? "" : ", ", when, lost_text(cause), region.forks,
          time_text(region.forks > 0 ? region.fork_ns / static_cast<double>(region.forks)
                                     : 0));
    cause.gain = gain_text(cause, named ? "If it took as long as the others"
                                        : "If all took as long each time");
    cause.hint =
        named
            ? "Divide the work more evenly: another schedule of the loop, smaller chunks, or "
              "other limits of the parts."
            : "Work that changes from time to time, other programs on the same cores, or regions "
              "too short for their barriers.";
    out_.causes.push_back(std::move(cause));
  }

  // The outermost path of a region.
  std::uint32_t path_of(std::uint32_t region) const {
    const auto found = std::ranges::find(profile_.paths, region, &RunProfile::Path::region);
    return found == profile_.paths.end()
               ? RunProfile::kNone
               : static_cast<std::uint32_t>(found - profile_.paths.begin());
  }

  // Of the whole run; all of it is the most that could be gained.
  RootCause whole_cause(Account account, double ns, std::string where,
                        std::uint32_t path) const {
    RootCause cause;
    cause.account = account;
    cause.lost_ns = ns;
    cause.share = share(ns);
    cause.of_ns = counted_ / all_threads();
    cause.gain_ns = ns / all_threads();
    cause.where = std::move(where);
    cause.path = path;
    cause.gain = gain_text(cause, "Without it, at most");
    return cause;
  }

  // Call paths of a class, with workers that have no work meanwhile.
  void paths_of(TimeClass cls, Account account, const char* what, const char* doing,
                const char* hint) {
    double all = 0;
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i)
      if (profile_.paths[i].cls == cls) all += totals_.paths[i].own_ns;
    for (std::uint32_t i = 0; i < profile_.paths.size() && all > 0; ++i) {
      if (profile_.paths[i].cls != cls) continue;
      const PathTotal& total = totals_.paths[i];
      const double ns = total.own_ns / all * ledger(account);
      if (share(ns) < kLeastShare) continue;
      RootCause cause = whole_cause(account, ns, "in " + path_text(profile_, PathId(i)), i);
      const auto visits = static_cast<double>(total.visits);
      cause.what = what;
      cause.text = fmt::format(
          "{} {}: {} times, {} each. Lost: {}.", doing, cause.where, total.visits,
          time_text(visits > 0 ? total.own_ns / visits : 0), lost_text(cause));
      cause.hint = hint;
      out_.causes.push_back(std::move(cause));
    }
  }

  void synchronization() {
    paths_of(
        TimeClass::kSynchronization, Account::kSynchronization, "OpenMP synchronization",
        "Threads wait",
        "Synchronize less often: critical sections that are shorter or have names of their own, "
        "atomic or a reduction in their place, nowait where no barrier is needed.");
  }

  void files() {
    paths_of(TimeClass::kMpiIo, Account::kMpiIo, "MPI file I/O", "Ranks are",
             "Fewer and larger accesses, or collective ones.");
  }

  void management() {
    for (const ParallelRegion& region : totals_.parallel_regions) {
      const double ns =
          region.times[static_cast<std::size_t>(TimeClass::kThreadManagement)];
      if (share(ns) < kLeastShare || region.forks == 0) continue;
      const std::string name = region_text(profile_.regions[region.region]);
      RootCause cause =
          whole_cause(Account::kManagement, ns, "in " + name, path_of(region.region));
      cause.what = "Short parallel regions";
      cause.text = fmt::format(
          "Begin and end of {} take {}: it runs {} times of {} each, of which {} on each thread are neither work nor "
          "waiting.",
          name, lost_text(cause), region.forks,
          time_text(region.fork_ns / static_cast<double>(region.forks)),
          time_text(ns / std::max<double>(1, static_cast<double>(region.visits))));
      cause.hint =
          "Put several regions into one, or give the region more work; threads that sleep between regions "
          "start late (OMP_WAIT_POLICY, KMP_BLOCKTIME).";
      out_.causes.push_back(std::move(cause));
    }
  }

  // What is left of MPI's time, by call.
  void communication() {
    const double scale = ledger(Account::kCommunication);
    if (share(scale) < kLeastShare) return;
    std::map<std::string, PathTotal> calls;
    std::map<std::string, std::uint32_t> paths;
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
      const RunProfile::Path& path = profile_.paths[i];
      if (!is_mpi(path.cls) || path.cls == TimeClass::kMpiManagement ||
          path.cls == TimeClass::kMpiIo)
        continue;
      paths.try_emplace(path_name(profile_, PathId(i)), i);
      PathTotal& to = calls[path_name(profile_, PathId(i))];
      for (const RunProfile::Sums& sums : path.sums) {
        const std::size_t process = profile_.locations[sums.location].process;
        const double left =
            in_mpi_[process] > 0 ? 1 - explained_[process] / in_mpi_[process] : 1;
        const auto threads = static_cast<double>(parts_.threads[process]);
        const double own =
            profile_.nanoseconds(sums.location, static_cast<double>(sums.own));
        to.visits += sums.visits;
        to.time_ns += own;
        to.own_ns += std::max(0.0, left) * own * threads;  // workers wait meanwhile
        to.bytes_sent += sums.bytes_sent;
        to.bytes_received += sums.bytes_received;
      }
    }
    double all = 0;
    for (const auto& [name, call] : calls) all += call.own_ns;
    for (const auto& [name, call] : calls) {
      const double ns = all > 0 ? call.own_ns / all * scale : 0;
      if (share(ns) >= kLeastShare) one_call(name, paths.at(name), call, ns);
    }
  }

  void one_call(const std::string& name, std::uint32_t path, const PathTotal& call,
                double ns) {
    RootCause cause = whole_cause(Account::kCommunication, ns, name, path);
    const auto visits = static_cast<double>(std::max<std::uint64_t>(1, call.visits));
    const double each = call.time_ns / visits;
    const auto bytes = static_cast<std::uint64_t>(
        static_cast<double>(std::max(call.bytes_sent, call.bytes_received)) / visits);
    constexpr double kShortCall_ns = 100e3;
    constexpr std::uint64_t kSmall_bytes = 4096;
    const bool fine = each < kShortCall_ns && bytes < kSmall_bytes && call.visits >= 1000;
    cause.what = fine ? "Many small MPI calls" : "Communication";
    cause.text = fmt::format(
        "{}: {} calls of {} and {} each, which no rank with more work explains: {}.", name,
        call.visits, base::bytes_text(bytes), time_text(each), lost_text(cause));
    cause.hint =
        fine ? "Send several in one, or less often."
             : "Ranks that work one after the other, large messages, or a slow network; "
               "overlap it with computation.";
    out_.causes.push_back(std::move(cause));
  }

  const std::vector<RunSummary>& summaries_;
  const RunProfile profile_;
  const ProfileTotals totals_;
  const IterationProfile iterations_;
  RunParts parts_;
  const Places places_;
  const std::size_t processes_;
  bool mpi_ = false;
  double counted_ = 0;
  std::vector<double> explained_, in_mpi_;  // by process, of mpi_all
  Conclusions out_;
};

}  // namespace

const char* account_name(Account account) noexcept {
  return kAccountNames[static_cast<std::size_t>(account)].name;
}

const char* account_title(Account account) noexcept {
  return kAccountNames[static_cast<std::size_t>(account)].title;
}

std::string loop_place(const std::string& name) {
  const std::size_t at = name.find(" @ ");
  return name.starts_with("loop ") && at != std::string::npos ? name.substr(at + 3) : name;
}

Conclusions conclude(const std::vector<RunSummary>& summaries) {
  return Finder(summaries).find();
}

}  // namespace refrain::analysis
