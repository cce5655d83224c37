#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"
#include "base/pthread_calls.h"

namespace refrain::analysis {
using base::kHeldBy;

void CauseSearch::serial_parts() {
  if (workers() == 0) return;
  after_single();
  RootCause cause;
  cause.account = Account::kSerial;
  for (const Frame& frame : parts_.frames)
    for (const Part& part : frame.parts) cause.lost_ns += part.serial;
  cause.lost_ns = std::min(cause.lost_ns, ledger(Account::kSerial));
  cause.share = share(cause.lost_ns);
  if (cause.share < kMinShare) return;
  const double part = in_frame(cause, main_frame(&Part::serial), &Part::serial);
  // That of each process, which all its threads could share.
  const double serial = cause.lost_ns / workers();
  const double threads = all_threads() / static_cast<double>(processes_);
  cause.gain_ns = part * serial * (1 - 1 / threads);
  bound_gain(cause);
  cause.where = places_.between(0.4 * serial * static_cast<double>(processes_), cause.loop,
                                times_of(cause.loop, cause.iterations, cause.when));
  cause.what = "Serial parts";
  const std::string when = when_text(cause);
  if (cause.lost_ns >
      2 * outside_of_regions() * workers() / static_cast<double>(processes_))
    return fewer_threads(std::move(cause), when);
  cause.text = fmt::format("Only one thread has work: {}{}{}{}. Lost: {}.",
                           cause.loop.empty()
                               ? time_text(serial) + (processes_ > 1 ? " per process" : "")
                               : time_text(cause.when.amount()) + " per iteration",
                           when.empty() ? "" : ", ", when,
                           cause.where.empty() ? "" : ", " + cause.where, lost_text(cause));
  cause.gain = gain_text(cause, "If all threads shared this work", run_text(out_));
  cause.hint =
      "Parallelize more of the program (refrain run --loops has its functions and loops), or use fewer threads.";
  out_.causes.push_back(std::move(cause));
}

namespace {

constexpr double kSmall_ns = 10'000;  // a task: what threads need for each is not little
constexpr const char* kShareBlock =
    "Share this work among the threads (a loop, tasks), or give the others work meanwhile (nowait).";

}  // namespace

std::string CauseSearch::region_name(const ParallelRegion& region) const {
  return region_text(profile_.regions[region.region]);
}

double CauseSearch::in_region(RootCause& cause, Account account,
                              const ParallelRegion& region, double ns, double Part::*part,
                              bool most_of_all) const {
  cause.account = account;
  cause.lost_ns = ns;
  cause.share = share(ns);
  cause.where = "in " + region_name(region);
  cause.path = path_of(region.region);
  const Frame* const frame = most_of_all ? main_frame(part) : nullptr;
  return in_frame(cause, frame != nullptr && is_around(region, *frame) ? nullptr : frame,
                  part);
}

bool CauseSearch::is_around(const ParallelRegion& region, const Frame& frame) const {
  double longest = 0;
  for (std::size_t cell = 0; cell < frame.cells.size(); ++cell)
    for (std::size_t i = 0; i < processes_; ++i) {
      const Part& part = frame.at(cell, i);
      longest = std::max(longest, part.work + part.mpi + part.start);
    }
  constexpr double kClearly = 1.05;
  return region.forks > 0 &&
         region.fork_ns > kClearly * longest * static_cast<double>(region.forks);
}

CauseSearch::Blocks CauseSearch::blocks_of(const ParallelRegion& region) const {
  Blocks out;
  const auto busy = std::ranges::count_if(region.busy_ns, [](double ns) { return ns > 0; });
  out.forks = static_cast<double>(region.forks);
  out.threads = region.forks > 0
                    ? static_cast<double>(region.visits) / static_cast<double>(region.forks)
                    : static_cast<double>(busy);
  // By path: the block and the task that it is in.
  constexpr std::uint32_t kNone = RunProfile::kNone;
  std::vector<std::uint32_t> block(profile_.paths.size(), kNone);
  std::vector<bool> task(profile_.paths.size());
  std::map<std::uint32_t, Blocks> by_block;
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
    const RunProfile::Path& path = profile_.paths[i];
    if (path.parent != kNone) {
      block[i] = block[path.parent];
      task[i] = task[path.parent];
    }
    if (path.region == kNone) continue;
    const RunProfile::Region& own = profile_.regions[path.region];
    const PathTotal& total = totals_.paths[i];
    if (own.role == OTF2_REGION_ROLE_PARALLEL) task[i] = false;
    if (around(i) != &region && block[i] == kNone) continue;
    if (own.role == OTF2_REGION_ROLE_SINGLE_SBLOCK || own.role == OTF2_REGION_ROLE_MASTER) {
      block[i] = i;
      by_block[i].path_visits = total.visits;
    }
    if (own.role == OTF2_REGION_ROLE_TASK && around(i) == &region) {
      task[i] = true;
      out.tasks += total.visits;
    }
    if (task[i]) {
      if (path.cls != TimeClass::kUseful) continue;
      out.tasks_ns += total.own_ns;
      if (block[i] != kNone) out.tasks_in_block += total.own_ns;
    } else if (block[i] != kNone && !is_mpi(path.cls) && path.cls != TimeClass::kFileIo &&
               path.cls != TimeClass::kSynchronization) {
      by_block[block[i]].path_ns += total.own_ns + total.management_ns;
    }
  }
  for (const auto& [path, each] : by_block) {
    if (around(path) != &region) continue;
    out.ns += each.path_ns;
    if (each.path_ns <= out.path_ns) continue;
    out.path = path;
    out.path_ns = each.path_ns;
    out.path_visits = each.path_visits;
  }
  return out;
}

bool CauseSearch::are_small(const Blocks& blocks, double waited_ns) {
  constexpr double kLittle = 0.5, kMany = 8;  // for a thread
  const auto tasks = static_cast<double>(blocks.tasks);
  if (tasks < kMany * std::max(1.0, blocks.threads) * std::max(1.0, blocks.forks))
    return false;
  return blocks.each_task() < kSmall_ns && blocks.ns / tasks < kSmall_ns &&
         (blocks.ns + waited_ns) / tasks >= kLittle * blocks.each_task();
}

void CauseSearch::small_tasks(RootCause& cause, const ParallelRegion& region,
                              const Blocks& blocks, double waited_ns, double part) const {
  const auto tasks = static_cast<double>(blocks.tasks);
  const std::string when = when_text(cause);
  cause.what = "Small tasks";
  cause.where = "in " + region_name(region);
  cause.text = fmt::format(
      "{} has {} tasks, {} each{}{}; threads need {} more for each, to create it and to wait. Lost in waits: {}.",
      as_sentence(region_name(region)), blocks.tasks, time_text(blocks.each_task()),
      when.empty() ? "" : ", ", when, time_text((blocks.ns + waited_ns) / tasks),
      lost_text(cause));
  // Who creates them computes, in the ledger.
  cause.gain_ns = part * (waited_ns + blocks.ns) / all_threads();
  bound_gain(cause, part * blocks.ns);
  cause.gain = gain_text(cause, "At best, with few and large tasks", run_text(out_));
  cause.hint =
      "Give each task more work (many iterations each: taskloop with grainsize; a cutoff in recursion), or use a loop.";
}

void CauseSearch::few_tasks(RootCause& cause, const ParallelRegion& region,
                            const Blocks& blocks) const {
  const std::string when = when_text(cause);
  const double each = region.forks > 0 ? static_cast<double>(blocks.tasks) /
                                             static_cast<double>(region.forks)
                                       : 0;
  cause.what = "Waiting for tasks";
  cause.text = fmt::format(
      "Threads that have no task left wait in {} for those of others{}{}: it has {} tasks{}, {} each. Lost: {}.",
      region_name(region), when.empty() ? "" : ", ", when, blocks.tasks,
      each > 0
          ? fmt::format(" ({:.3g} each time, for {:.3g} threads)", each, blocks.threads)
          : std::string(),
      time_text(blocks.each_task()), lost_text(cause));
  cause.gain = gain_text(cause, "At best, if all had as much", run_text(out_));
  cause.hint =
      blocks.each_task() < kSmall_ns
          ? "Give the region more work, or leave it to one thread: so few small tasks are not worth a team."
          : "Make more and smaller tasks, of equal work or the longest ones first (priority), so that all threads end at once; of tasks that wait for each other (depend), a shorter chain.";
}

void CauseSearch::after_single() {
  double all = 0, left = 0;
  for (const ParallelRegion& region : totals_.parallel_regions)
    all += region.times[static_cast<std::size_t>(TimeClass::kLimitedParallelism)];
  for (const Frame& frame : parts_.frames)
    for (const Part& part : frame.parts) left += part.after_single;
  if (all <= 0) return;
  // A part of it is MPI's, or charged to ranks.
  left = std::min({left, all, ledger(Account::kSerial)}) / all;
  for (const ParallelRegion& region : totals_.parallel_regions) {
    const double ns =
        left * region.times[static_cast<std::size_t>(TimeClass::kLimitedParallelism)];
    if (share(ns) >= kMinShare) after_single(region, ns, ns > kNamed * all * left);
  }
}

void CauseSearch::after_single(const ParallelRegion& region, double ns, bool most_of_all) {
  const double waited =
      region.times[static_cast<std::size_t>(TimeClass::kLimitedParallelism)];
  Blocks blocks = blocks_of(region);
  const double others = std::max(1.0, blocks.threads - 1);
  const bool small = are_small(blocks, waited);
  // Tasks with if(0), or where the others get none.
  constexpr double kAll = 0.9;
  const bool at_once =
      !small && blocks.tasks > 0 && blocks.tasks_in_block >= kAll * blocks.tasks_ns;
  if (at_once) {
    blocks.ns += blocks.tasks_in_block;
    blocks.path_ns += blocks.tasks_in_block;
  }
  const bool by_block = blocks.tasks == 0 || blocks.ns * others >= kNamed * waited;
  // Some come late, if the block does not explain it.
  if (const double late = 1 - blocks.ns * others / waited;
      !small && blocks.tasks == 0 && late > 1 - kNamed) {
    late_at_single_[region.region] = late * waited;
    ns -= move(Account::kSerial, Account::kUnevenThreads, late * ns);
    if (share(ns) < kMinShare) return;
  }
  RootCause cause;
  const double in_loop =
      in_region(cause, Account::kSerial, region, ns, &Part::after_single, most_of_all);
  if (small) {
    small_tasks(cause, region, blocks, waited, in_loop * ns / waited);
  } else if (!by_block) {
    cause.gain_ns = in_loop * ns / all_threads();
    bound_gain(cause);
    few_tasks(cause, region, blocks);
  } else {
    const RunProfile::Path& block = profile_.paths[blocks.path];
    const bool is_single =
        profile_.regions[block.region].role == OTF2_REGION_ROLE_SINGLE_SBLOCK;
    cause.path =
        is_single && block.parent != RunProfile::kNone ? block.parent : blocks.path;
    cause.where = "in " + (blocks.path_ns >= kNamed * blocks.ns
                               ? path_name(profile_, PathId(cause.path))
                               : "single blocks of " + region_name(region));
    const std::string when = when_text(cause);
    cause.what = "Serial part of a parallel region";
    cause.text = fmt::format(
        "One thread works {}{}{}, and the others wait for it: {} times, {} each{}. Lost: {}.",
        cause.where, when.empty() ? "" : ", ", when, blocks.path_visits,
        time_text(blocks.path_ns /
                  static_cast<double>(std::max<std::uint64_t>(1, blocks.path_visits))),
        blocks.tasks > 0
            ? fmt::format(", {} {} tasks of {} each", at_once ? "with" : "without",
                          blocks.tasks, time_text(blocks.each_task()))
            : std::string(),
        lost_text(cause));
    const double work = std::min(blocks.ns, ns / others) / static_cast<double>(processes_);
    cause.gain_ns = in_loop * work * (1 - 1 / (others + 1));
    bound_gain(cause);
    cause.gain = gain_text(cause, "If all threads shared this work", run_text(out_));
    cause.hint =
        at_once
            ? "It executes the tasks itself: let others take them (no if clause that is false, no included tasks)."
            : kShareBlock;
  }
  out_.causes.push_back(std::move(cause));
}

double CauseSearch::outside_of_regions() const {
  double time = 0;
  for (const Frame& frame : parts_.frames)
    for (const Part& part : frame.parts) time += part.work;
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
    if (around(profile_.paths[i].parent) != nullptr) continue;  // nested
    for (const RunProfile::Sums& sums : profile_.paths[i].sums)
      time -= profile_.nanoseconds(sums.location, static_cast<double>(sums.fork_time));
  }
  return std::max(0.0, time);
}

void CauseSearch::fewer_threads(RootCause cause, const std::string& when) {
  cause.where.clear();
  cause.gain_ns = cause.lost_ns / all_threads();
  bound_gain(cause);
  cause.what = "Threads without work";
  cause.text = fmt::format(
      "Parallel regions use fewer threads than there are{}{}; the others have no work. Lost: {}.",
      when.empty() ? "" : ", ", when, lost_text(cause));
  cause.gain = gain_text(cause, "At best, if all had as much", run_text(out_));
  const bool nested = std::ranges::any_of(profile_.paths, [this](const auto& path) {
    return path.region != RunProfile::kNone && around(path.parent) != nullptr &&
           is_parallel_region(profile_.regions[path.region].role,
                              profile_.regions[path.region].paradigm);
  });
  cause.hint =
      nested
          ? "Threads of nested regions have work in these only: give the outer regions more threads and these fewer "
            "(num_threads, OMP_MAX_ACTIVE_LEVELS)."
          : "Give regions all threads (num_threads), or start fewer.";
  out_.causes.push_back(std::move(cause));
}

double CauseSearch::imbalance(const ParallelRegion& region) const {
  const auto by_lock = by_lock_.find(region.region);
  const auto late = late_at_single_.find(region.region);
  return region.times[static_cast<std::size_t>(TimeClass::kImbalance)] +
         (late == late_at_single_.end() ? 0 : late->second) -
         (by_lock == by_lock_.end() ? 0 : by_lock->second.imbalance_ns);
}

bool CauseSearch::is_lock(const RunProfile::Path& path) const {
  if (path.cls != TimeClass::kSynchronization || path.region == RunProfile::kNone)
    return false;
  const RunProfile::Region& region = profile_.regions[path.region];
  if (region.paradigm == OTF2_PARADIGM_PTHREAD)
    return base::pthread_call(region.name) == base::PthreadCall::kLock;
  return region.role == OTF2_REGION_ROLE_CRITICAL || region.name.starts_with("omp_set_");
}

bool CauseSearch::is_ordered(const RunProfile::Path& path) const {
  return path.cls == TimeClass::kSynchronization && path.region != RunProfile::kNone &&
         profile_.regions[path.region].role == OTF2_REGION_ROLE_ORDERED;
}

bool CauseSearch::is_one_at_a_time(const RunProfile::Path& path) const {
  return is_lock(path) || is_ordered(path);
}

const ParallelRegion* CauseSearch::around(std::uint32_t path) const {
  return path == RunProfile::kNone ? nullptr : around_[path];
}

void CauseSearch::locks() {
  std::map<const ParallelRegion*, double> waited;
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
    if (!is_one_at_a_time(profile_.paths[i])) continue;
    if (const ParallelRegion* region = around(i); region != nullptr)
      waited[region] += totals_.paths[i].own_ns;
  }
  double all = 0, charged = 0;
  for (const ParallelRegion& region : totals_.parallel_regions)
    all += region.times[static_cast<std::size_t>(TimeClass::kImbalance)];
  if (all <= 0) return;
  for (const auto& [region, ns] : waited) {
    double most = 0, sum = 0, threads = 0;
    for (const double busy : region->busy_ns) {
      most = std::max(most, busy);
      sum += busy;
      threads += busy > 0 ? 1 : 0;
    }
    const double by_work = threads * most - sum;
    const double part = std::clamp(
        region->times[static_cast<std::size_t>(TimeClass::kImbalance)] - by_work, 0.0, ns);
    by_lock_[region->region] = {.imbalance_ns = part, .waited_ns = ns};
    charged += part;
  }
  move(Account::kUnevenThreads, Account::kSynchronization,
       charged / all * ledger(Account::kUnevenThreads));
}

void CauseSearch::threads() {
  double all = 0;
  for (const ParallelRegion& region : totals_.parallel_regions) all += imbalance(region);
  if (all <= 0) return;
  // A part of it is charged to ranks.
  const double left = ledger(Account::kUnevenThreads) / all;
  for (const ParallelRegion& region : totals_.parallel_regions) {
    const double ns = imbalance(region) * left;
    if (share(ns) >= kMinShare) uneven_threads(region, ns, ns > kNamed * all * left);
  }
}

namespace {

// Of times of threads; part of a sentence.
std::string less_text(std::vector<std::pair<double, std::uint32_t>> times) {
  constexpr double kClearly = 0.75;
  std::ranges::sort(times);
  if (times.size() < 2 || times[0].first >= kClearly * times[1].first)
    return "none has more work";
  return fmt::format("thread {} has less work than the others: {} instead of {} and more",
                     times[0].second, time_text(times[0].first), time_text(times[1].first));
}

}  // namespace

void CauseSearch::uneven_threads(const ParallelRegion& region, double ns,
                                 bool most_of_all) {
  RootCause cause;
  const double in_loop =
      in_region(cause, Account::kUnevenThreads, region, ns, &Part::imbalance, most_of_all);
  const Blocks blocks = blocks_of(region);
  const double waited = imbalance(region);
  const bool small = are_small(blocks, waited);
  std::map<std::uint32_t, std::pair<double, double>> busy;  // by thread: sum, number
  // What of a thread's time is not known, beyond that of others, may be work in it.
  const auto unknown = [this](std::size_t i) {
    return totals_.by_location[i][static_cast<std::size_t>(TimeClass::kUnknown)];
  };
  double longest = 0, least_unknown = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < region.busy_ns.size(); ++i) {
    if (region.busy_ns[i] <= 0) continue;
    longest = std::max(longest, region.busy_ns[i]);
    least_unknown = std::min(least_unknown, unknown(i));
  }
  for (std::size_t i = 0; i < region.busy_ns.size(); ++i) {
    if (region.busy_ns[i] <= 0) continue;
    auto& [sum, number] = busy[profile_.locations[i].thread];
    sum += std::min(longest, region.busy_ns[i] + unknown(i) - least_unknown);
    ++number;
  }
  double most = 0, second = 0, mean = 0;
  std::vector<std::pair<double, std::uint32_t>> order;
  for (auto& [thread, each] : busy) {
    each.first /= each.second;
    order.emplace_back(each.first, thread);
    mean += each.first;
    second = std::max(second, std::min(most, each.first));
    if (each.first <= most) continue;
    most = each.first;
    cause.thread = thread;
  }
  const auto threads = static_cast<double>(busy.size());
  const double others = threads > 1 ? (mean - most) / (threads - 1) : 0;
  const double waiting = std::max(1.0, workers());
  // All others wait for it, also the one that has most of them.
  constexpr double kAlone = 0.25;
  const bool named = !small && threads > 1 && (most - others) * waiting > 0.5 * ns &&
                     most - second >= kAlone * (most - others);
  if (named && thread_had_no_core(cause.thread, most - others)) {
    move(Account::kUnevenThreads, Account::kCores, ns);
    return;
  }
  if (!named) {
    cause.thread = RootCause::kNone;
    cause.lost_ns = ns = without_core(Account::kUnevenThreads, ns);
    cause.share = share(ns);
  }
  if (small) {
    small_tasks(cause, region, blocks, waited, in_loop * ns / waited);
    out_.causes.push_back(std::move(cause));
    return;
  }
  // Then the others wait for the next one.
  cause.gain_ns =
      in_loop * (named ? std::min(ns / waiting, most - second) : ns / all_threads());
  if (named) cause.shared_gain_ns = in_loop * ns / all_threads();
  bound_gain(cause, named ? (most - others) * static_cast<double>(processes_) : 0);
  const double busy_ns = std::accumulate(region.busy_ns.begin(), region.busy_ns.end(), 0.0);
  if (!named && blocks.tasks > 0 && blocks.tasks_ns >= kNamed * busy_ns) {
    few_tasks(cause, region, blocks);
    out_.causes.push_back(std::move(cause));
    return;
  }
  cause.others_ns = others;
  const std::string when = when_text(cause);
  cause.what = named ? "Uneven work between threads" : "Work varies between threads";
  if (named)
    cause.text = fmt::format(
        "Thread {}{} computes {} {} ({} more than the others{}{}). Waiting for it costs {}.",
        cause.thread, processes_ > 1 ? " of the ranks" : "", time_text(most), cause.where,
        percent_text(others > 0 ? most / others - 1 : 0), when.empty() ? "" : ", ", when,
        lost_text(cause));
  else
    cause.text = fmt::format(
        "Threads wait for each other {}{}{}: {}. Over the whole run {}; "
        "the region runs {} times, {} each.",
        cause.where, when.empty() ? "" : ", ", when, lost_text(cause),
        less_text(std::move(order)), region.forks,
        time_text(region.forks > 0 ? region.fork_ns / static_cast<double>(region.forks)
                                   : 0));
  cause.gain = gain_text(
      cause,
      named ? "If it took as long as the others" : "If all took equally long each time",
      run_text(out_));
  cause.hint =
      named ? "Distribute the work more evenly: another loop schedule, smaller chunks, or "
              "other boundaries between the parts."
            : "The work varies over time, other programs run on the same cores, or regions "
              "are too short for their barriers.";
  out_.causes.push_back(std::move(cause));
}

std::uint32_t CauseSearch::path_of(std::uint32_t region) const {
  const auto found = std::ranges::find(profile_.paths, region, &RunProfile::Path::region);
  return found == profile_.paths.end()
             ? RunProfile::kNone
             : static_cast<std::uint32_t>(found - profile_.paths.begin());
}

double CauseSearch::of_lock(std::uint32_t path) const {
  const ParallelRegion* region =
      is_one_at_a_time(profile_.paths[path]) ? around(path) : nullptr;
  const auto found = by_lock_.find(region == nullptr ? RunProfile::kNone : region->region);
  return found == by_lock_.end() || found->second.waited_ns <= 0
             ? 0
             : found->second.imbalance_ns * totals_.paths[path].own_ns /
                   found->second.waited_ns;
}

const RunProfile::Path* CauseSearch::inside(std::uint32_t path) const {
  for (const RunProfile::Path& each : profile_.paths)
    if (each.parent == path && each.region != RunProfile::kNone &&
        (profile_.regions[each.region].role == OTF2_REGION_ROLE_CRITICAL_SBLOCK ||
         profile_.regions[each.region].role == OTF2_REGION_ROLE_ORDERED_SBLOCK))
      return &each;
  return nullptr;
}

bool CauseSearch::is_join(std::uint32_t path) const {
  return profile_.paths[path].region != RunProfile::kNone &&
         profile_.regions[profile_.paths[path].region].role == OTF2_REGION_ROLE_THREAD_WAIT;
}

bool CauseSearch::is_holder(std::uint32_t path) const {
  const RunProfile::Path& each = profile_.paths[path];
  return each.region != RunProfile::kNone && each.parent != RunProfile::kNone &&
         profile_.regions[each.region].paradigm == OTF2_PARADIGM_PTHREAD &&
         profile_.regions[each.region].name.starts_with(kHeldBy);
}

std::string CauseSearch::holders_text(std::uint32_t path) const {
  std::vector<std::pair<double, std::uint32_t>> holders;
  double all = 0;
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
    if (profile_.paths[i].parent != path || !is_holder(i)) continue;
    holders.emplace_back(totals_.paths[i].time_ns, i);
    all += totals_.paths[i].time_ns;
  }
  if (all <= 0) return {};
  std::ranges::sort(holders, std::greater());
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(holders.size(), kMost); ++i) {
    const std::string& name =
        profile_.regions[profile_.paths[holders[i].second].region].name;
    text += fmt::format(
        "{}{}{}", i == 0 ? "" : ", ", name.substr(kHeldBy.size()),
        holders.size() == 1 ? "" : " (" + percent_text(holders[i].first / all) + ")");
  }
  return fmt::format(" Who has it when they begin to wait: {}.", text);
}

std::string CauseSearch::held_text(std::uint32_t path) const {
  if (profile_.regions[profile_.paths[path].region].paradigm == OTF2_PARADIGM_PTHREAD)
    return holders_text(path);
  const RunProfile::Path* block = inside(path);
  if (block == nullptr) return {};
  double visits = 0, all = 0, most = 0;
  std::uint32_t thread = 0;
  for (const RunProfile::Sums& sums : block->sums) {
    const double ns = profile_.nanoseconds(sums.location, static_cast<double>(sums.time));
    visits += static_cast<double>(sums.visits);
    all += ns;
    if (ns <= most) continue;
    most = ns;
    thread = profile_.locations[sums.location].thread;
  }
  if (visits <= 0) return {};
  if (is_ordered(profile_.paths[path]))
    return fmt::format(" The ordered part takes {} each time, {} in all.",
                       time_text(all / visits), time_text(all));
  const bool one = most >= kNamed * all && processes_ == 1 && block->sums.size() > 1;
  return fmt::format(
      " It is held {} each time, {} in all{}.", time_text(all / visits), time_text(all),
      one ? fmt::format(", mostly by thread {}", thread) : ", by all threads in turn");
}

bool CauseSearch::waits_for_tasks(std::uint32_t path) const {
  const RunProfile::Path& of = profile_.paths[path];
  if (of.cls != TimeClass::kSynchronization || of.region == RunProfile::kNone) return false;
  const RunProfile::Region& region = profile_.regions[of.region];
  return region.role == OTF2_REGION_ROLE_TASK_WAIT ||
         (region.role == OTF2_REGION_ROLE_BARRIER && region.name.starts_with("!$omp task"));
}

std::map<const ParallelRegion*, CauseSearch::TaskWaits> CauseSearch::small_task_waits()
    const {
  std::map<const ParallelRegion*, TaskWaits> out;
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i)
    if (around_[i] != nullptr && waits_for_tasks(i))
      out.try_emplace(around_[i], TaskWaits{.path = i}).first->second.ns +=
          totals_.paths[i].own_ns;
  std::erase_if(out, [this](const auto& each) {
    return share(each.second.ns) < kMinShare ||
           !are_small(blocks_of(*each.first), each.second.ns);
  });
  return out;
}

std::uint32_t CauseSearch::master_before(std::uint32_t path) const {
  const auto role_of = [this](std::uint32_t of) {
    const std::uint32_t region =
        of == RunProfile::kNone ? RunProfile::kNone : profile_.paths[of].region;
    return region == RunProfile::kNone
               ? static_cast<std::uint32_t>(OTF2_REGION_ROLE_UNKNOWN)
               : profile_.regions[region].role;
  };
  if (role_of(path) != OTF2_REGION_ROLE_BARRIER) return RunProfile::kNone;
  const ParallelRegion* region = around(path);
  if (region == nullptr || region->forks == 0) return RunProfile::kNone;
  const double others =
      static_cast<double>(region->visits) / static_cast<double>(region->forks) - 1;
  for (const RunProfile::Before& before : profile_.paths[path].before)
    if (role_of(before.path) == OTF2_REGION_ROLE_MASTER &&
        totals_.paths[before.path].time_ns * others >= kNamed * totals_.paths[path].own_ns)
      return before.path;
  return RunProfile::kNone;
}

void CauseSearch::synchronization() {
  const std::map<const ParallelRegion*, TaskWaits> of_tasks = small_task_waits();
  const auto tell = [&](RootCause& cause, std::uint32_t path, const std::string& often) {
    if (is_lock(profile_.paths[path])) {
      cause.what = "Lock";
      cause.text = fmt::format(
          "Threads wait {}: {}.{} Lost, including waits for threads that got it late: {}.",
          cause.where, often, held_text(path), lost_text(cause));
      cause.gain = gain_text(cause, "Without these waits", run_text(out_));
      // Threads of the program's own do not wait for each other at the end of a region: what the run would gain is not known.
      if (profile_.regions[profile_.paths[path].region].paradigm == OTF2_PARADIGM_PTHREAD) {
        cause.gain.clear();
        cause.gain_ns = 0;
      }
      cause.hint =
          "Hold the lock for a shorter time or less often: move other work outside, use "
          "one lock for each part of the data, atomic, or a reduction.";
      return;
    }
    if (is_ordered(profile_.paths[path])) {
      cause.what = "Waiting for their turn";
      cause.text = fmt::format(
          "Threads wait {}: {}.{} Lost, including waits for threads whose turn was late: {}.",
          cause.where, often, held_text(path), lost_text(cause));
      cause.gain = gain_text(cause, "At best, without these waits", run_text(out_));
      cause.hint =
          "Give threads iterations in turn (schedule(static, 1), or another small chunk), "
          "so that each has worked when its turn comes; move work out of the ordered part.";
      return;
    }
    const auto tasks = of_tasks.find(around(path));
    if (tasks != of_tasks.end() && tasks->second.path == path)
      return small_tasks(cause, *tasks->first, blocks_of(*tasks->first), tasks->second.ns,
                         cause.lost_ns / tasks->second.ns);
    if (const std::uint32_t block = master_before(path); block != RunProfile::kNone) {
      cause.what = "Serial part of a parallel region";
      cause.text = fmt::format(
          "One thread works {}, and the others wait for it {}: {}. Lost: {}.",
          "in " + path_name(profile_, PathId(block)), cause.where, often, lost_text(cause));
      cause.gain_ns = std::min(
          cause.gain_ns, totals_.paths[block].time_ns / static_cast<double>(processes_));
      bound_gain(cause);
      cause.gain = gain_text(cause, "If all threads shared this work", run_text(out_));
      cause.hint = kShareBlock;
      return;
    }
    const bool openmp =
        profile_.regions[profile_.paths[path].region].paradigm != OTF2_PARADIGM_PTHREAD;
    cause.what = openmp ? "OpenMP synchronization" : "Waiting for threads";
    cause.text =
        fmt::format("Threads wait {}: {}. Lost: {}.", cause.where, often, lost_text(cause));
    if (!openmp) {
      // What they wait for is not known.
      cause.gain.clear();
      cause.gain_ns = 0;
      cause.hint =
          "Give these threads other work meanwhile, or divide the work of those that they wait for.";
      return;
    }
    cause.hint = "Synchronize less often; remove barriers that are not needed (nowait).";
  };
  paths_of({TimeClass::kSynchronization}, Account::kSynchronization, tell,
           [&](std::uint32_t path) {
             const auto tasks = of_tasks.find(around(path));
             return tasks != of_tasks.end() && waits_for_tasks(path) ? tasks->second.path
                                                                     : RunProfile::kNone;
           });
}

bool CauseSearch::is_named_with_ranks(std::uint32_t path) const {
  constexpr double kMore = 1.25;
  const RunProfile::Path& of = profile_.paths[path];
  if (of.region == RunProfile::kNone) return false;
  const std::string& name = profile_.regions[of.region].name;
  // "in fsync and write of checkpoint.dat" is said of all calls.
  const std::string file = " of " + name.substr(name.find(' ') + 1);
  const std::string call = "in " + path_name(profile_, PathId(path));
  return std::ranges::any_of(out_.causes, [&](const RootCause& cause) {
    if (cause.account != Account::kUnevenRanks ||
        (cause.where != call && !cause.where.ends_with(file)))
      return false;
    double theirs = 0, all = 0;
    for (const RunProfile::Sums& sums : of.sums) {
      const double ns = profile_.nanoseconds(sums.location, static_cast<double>(sums.own));
      all += ns;
      if (std::ranges::count(cause.ranks,
                             rank_of(profile_.locations[sums.location].process)) != 0)
        theirs += ns;
    }
    return theirs >= kNamed * all &&
           theirs <= kMore * cause.gain_ns * static_cast<double>(cause.ranks.size());
  });
}

void CauseSearch::files() {
  const auto tell = [this](RootCause& cause, std::uint32_t, const std::string& often) {
    cause.what = "File I/O";
    cause.text = fmt::format("{} {}: {}. Lost: {}.", mpi_ ? "Ranks are" : "The program is",
                             cause.where, often, lost_text(cause));
    cause.hint = mpi_ ? "Use fewer and larger accesses, or collective I/O."
                      : "Use fewer and larger accesses.";
  };
  paths_of({TimeClass::kMpiIo, TimeClass::kFileIo}, Account::kFileIo, tell);
}

void CauseSearch::management() {
  double all = 0;
  for (const ParallelRegion& region : totals_.parallel_regions)
    all += region.times[static_cast<std::size_t>(TimeClass::kThreadManagement)];
  const double left = all > 0 ? std::min(1.0, ledger(Account::kManagement) / all) : 0;
  for (const ParallelRegion& region : totals_.parallel_regions) {
    double ns = left * region.times[static_cast<std::size_t>(TimeClass::kThreadManagement)];
    if (share(ns) < kMinShare || region.forks == 0) continue;
    ns = without_core(Account::kManagement, ns);  // threads begin late without one
    const std::string name = region_text(profile_.regions[region.region]);
    RootCause cause =
        whole_cause(Account::kManagement, ns, "in " + name, path_of(region.region));
    cause.what = "Short parallel regions";
    cause.text = fmt::format(
        "Start and end of {} take {}: it runs {} times, {} each, of which {} per thread "
        "is neither work nor waiting.",
        name, lost_text(cause), region.forks,
        time_text(region.fork_ns / static_cast<double>(region.forks)),
        time_text(ns / std::max<double>(1, static_cast<double>(region.visits))));
    cause.hint =
        "Merge regions, or give each more work; threads that sleep between regions "
        "start late (OMP_WAIT_POLICY, KMP_BLOCKTIME).";
    out_.causes.push_back(std::move(cause));
  }
}

// In a recursion each depth has a path of its own. Where a region of some path is inside of itself, all its paths are one: the first.
std::vector<std::uint32_t> CauseSearch::without_recursion() const {
  std::vector<std::uint32_t> out(profile_.paths.size());
  std::vector<std::uint32_t> first_of(out.size());
  std::vector<std::vector<std::uint32_t>> first(profile_.regions.size() + 1);  // by site
  std::vector<bool> recurs(out.size()), inside(out.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const RunProfile::Path& path = profile_.paths[i];
    auto& known = first[std::min<std::size_t>(path.region, profile_.regions.size())];
    const auto same = std::ranges::find(
        known, path.site, [this](std::uint32_t at) { return profile_.paths[at].site; });
    first_of[i] = same != known.end() ? *same : known.emplace_back(i);
    const std::uint32_t parent = path.parent;
    if (parent != RunProfile::kNone) inside[i] = inside[parent];
    for (std::uint32_t at = parent; at != RunProfile::kNone && !inside[i];
         at = profile_.paths[at].parent)
      inside[i] = first_of[at] == first_of[i];
    if (inside[i]) recurs[first_of[i]] = true;
  }
  for (std::uint32_t i = 0; i < out.size(); ++i)
    out[i] = recurs[first_of[i]] ? first_of[i] : i;
  return out;
}

void CauseSearch::paths_of(std::initializer_list<TimeClass> classes, Account account,
                           const Tell& tell, const StandsFor& stands_for) {
  const std::vector<std::uint32_t> folded = without_recursion();
  std::vector<double> times(profile_.paths.size()), own(profile_.paths.size());
  std::vector<std::uint64_t> visits(profile_.paths.size());
  double all = 0;
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
    if (std::ranges::find(classes, profile_.paths[i].cls) == classes.end()) continue;
    const std::uint32_t other = stands_for ? stands_for(i) : RunProfile::kNone;
    const std::uint32_t path = other != RunProfile::kNone
                                   ? other
                                   : folded[is_holder(i) ? profile_.paths[i].parent : i];
    own[path] += totals_.paths[i].own_ns;
    times[path] += totals_.paths[i].own_ns + of_lock(i);
    all += totals_.paths[i].own_ns + of_lock(i);
  }
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i)
    visits[folded[i]] += totals_.paths[i].visits;
  for (std::uint32_t i = 0; i < profile_.paths.size() && all > 0; ++i) {
    const double ns = times[i] / all * ledger(account);
    if (share(ns) < kMinShare || is_join(i) ||
        (account == Account::kFileIo && is_named_with_ranks(i)))
      continue;
    const double number = static_cast<double>(std::max<std::uint64_t>(1, visits[i]));
    const bool recurs = visits[i] != totals_.paths[i].visits;
    RootCause cause = whole_cause(
        account, ns,
        "in " + path_text(profile_, PathId(i)) + (recurs ? ", and in recursion there" : ""),
        i);
    tell(cause, i,
         visits[i] == 1
             ? std::string("once")
             : fmt::format("{} times, {} each", visits[i], time_text(own[i] / number)));
    out_.causes.push_back(std::move(cause));
  }
}

}  // namespace refrain::analysis
