#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"

namespace refrain::analysis {
namespace {

constexpr double kMostOfCause = 0.8;  // ranks are added to a cause until they cause so much

constexpr const char* kMoreEvenly =
    "Distribute the work more evenly between ranks; share among all ranks what only "
    "some of them do.";

double total_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Whose doing the waits are, as shares of them: while some wait already, of those that still work, in equal parts.
std::vector<double> shares_of_waits(const std::vector<double>& work) {
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return work[i]; });
  std::vector<double> shares(work.size());
  double each = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto working = static_cast<double>(order.size() - i);
    each += (work[order[i]] - work[order[i - 1]]) * static_cast<double>(i) / working;
    shares[order[i]] = each;
  }
  const double all = total_of(shares);
  for (double& share : shares) share = all > 0 ? share / all : 0;
  return shares;
}

// In the same iterations, about. `all`: of the loop.
bool are_together(const TimeShape& a, const TimeShape& b, std::uint64_t all) {
  constexpr std::uint64_t kNear = 3;
  const auto near = [&](std::uint64_t one, std::uint64_t other) {
    return std::max(one, other) - std::min(one, other) <= std::max(kNear, all / 50);
  };
  if (a.kind != b.kind || a.period != b.period) return false;
  if (a.kind == TimeShape::Kind::kEvery) return a.has(b.from) || b.has(a.from);
  return a.kind == TimeShape::Kind::kSome ||
         (near(a.from, b.from) && near(a.until, b.until));
}

// Processes with the same of something.
struct Group {
  std::string place;
  TimeShape when;
  std::vector<std::size_t> processes;
};

void add_to_groups(std::vector<Group>& groups, std::string place, const TimeShape& when,
                   std::uint64_t iterations, std::size_t process) {
  const auto found = std::ranges::find_if(groups, [&](const Group& group) {
    return group.place == place && are_together(group.when, when, iterations);
  });
  if (found != groups.end())
    found->processes.push_back(process);
  else
    groups.push_back({std::move(place), when, {process}});
}

}  // namespace

ByMoment CauseSearch::by_moment(double (*of)(const Part&)) const {
  ByMoment out(processes_);
  for (std::size_t i = 0; i < processes_; ++i)
    for (const RunParts::Moment& moment : parts_.moments)
      out[i].push_back(of(parts_.at(moment, i)));
  return out;
}

double CauseSearch::gain_of(const ByMoment& work) const {
  ByMoment left = waits_;
  return std::max(0.0, work_end_ - meet(parts_, work, left));
}

double CauseSearch::share_of_start(const Frame& frame, std::size_t cell) const {
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

void CauseSearch::ranks() {
  struct Loss {
    double lost = 0;
    std::vector<double> cost;  // by process
  };
  std::vector<Loss> losses(parts_.frames.size());
  for (Loss& loss : losses) loss.cost.resize(processes_);
  std::vector<std::size_t> apart;  // cells outside of loops in which much is lost
  std::vector<std::size_t> loss_of(parts_.moments.size());
  std::vector<double> work(processes_);
  ByMoment left = waits_;
  work_end_ = meet(parts_, work_, left);
  left = waits_;
  meet(parts_, by_moment(busy), left,
       [&](std::size_t at, const std::vector<double>& clocks,
           const std::vector<double>& waited) {
         const RunParts::Moment& moment = parts_.moments[at];
         double here = total_of(waited);
         const double by_start =
             move(Account::kCommunication, Account::kStart,
                  share_of_start(parts_.frames[moment.frame], moment.cell) * here);
         here -= by_start;
         counted_ -= by_start;
         for (std::size_t i = 0; i < processes_; ++i) {
           explained_[i] += waited[i];
           work[i] = clocks[i] - parts_.at(moment, i).start;
         }
         const std::vector<double> shares = shares_of_waits(work);
         std::size_t of = moment.frame;
         if (of == 0 && share(here) >= kMinShare) {
           apart.push_back(moment.cell);
           of = losses.size();
           losses.emplace_back().cost.resize(processes_);
         }
         for (std::size_t i = 0; i < processes_; ++i)
           losses[of].cost[i] += here * shares[i];
         losses[of].lost += here;
         loss_of[at] = of;
       });
  std::vector<double> lost;
  lost.reserve(losses.size());
  for (const Loss& loss : losses) lost.push_back(loss.lost);
  const std::vector<double> for_cores = parts_for_cores(lost, loss_of);
  in_turn(left);
  const std::size_t loops = parts_.frames.size();
  parts_.set_apart(apart);
  // Outside of loops first (join_outside()).
  for (std::size_t i = loops; i < parts_.frames.size(); ++i)
    ranks(parts_.frames[i], losses[i].lost, losses[i].cost, for_cores[i]);
  for (std::size_t i = 0; i < loops; ++i)
    ranks(parts_.frames[i], losses[i].lost, losses[i].cost, for_cores[i]);
}

void CauseSearch::ranks(Frame& frame, double lost, const std::vector<double>& cost,
                        double for_cores) {
  lost = move(Account::kCommunication, Account::kUnevenRanks, lost);
  if (share(lost) < kMinShare) return;
  RootCause cause;
  cause.account = Account::kUnevenRanks;
  cause.loop = frame.loop;
  cause.iterations = frame.iterations;
  std::uint64_t known = 0;
  for (const Amount& cell : frame.cells) known += cell.count;
  cause.unknown_iterations = frame.iterations - std::min(known, frame.iterations);
  cause.of_ns = of_frame(frame);
  cause.with_idle = std::ranges::max(parts_.threads) > 1;
  const std::vector<std::size_t> causers = most_of(cost);
  if (causers.empty() && in_own_iterations(frame, cost, cause)) return;
  if (causers.empty()) {
    cause.lost_ns = without_core(Account::kUnevenRanks, lost, for_cores * lost);
    const double part = cause.lost_ns / lost;
    varying(frame, part, std::move(cause));
    return;
  }
  std::vector<bool> is_causer(processes_);
  for (const std::size_t each : causers) is_causer[each] = true;
  double by_others = 0;
  for (const std::vector<std::size_t>& group : alike(frame, causers, is_causer)) {
    cause.lost_ns = 0;
    for (const std::size_t each : group) cause.lost_ns += cost[each];
    double excess = 0;
    const std::vector<Amount> more = more_of(frame, group, is_causer, More::kMean, excess);
    if (excess > 0 && shape_of(more).amount() > 0)
      named(frame, group, is_causer, More::kMean, cause);
    else  // late because of somebody, who is not known
      by_others += cause.lost_ns;
  }
  if (share(by_others) >= kMinShare) {
    cause.lost_ns = without_core(Account::kUnevenRanks, by_others, for_cores * by_others);
    varying(frame, cause.lost_ns / lost, cause);
  }
  in_further_iterations(frame, cost, is_causer, cause);
}

void CauseSearch::in_further_iterations(Frame& frame, const std::vector<double>& cost,
                                        const std::vector<bool>& is_causer,
                                        RootCause cause) {
  for (std::size_t i = 0; i < processes_; ++i) {
    if (is_causer[i] || share(cost[i]) < kMinShare) continue;
    double excess = 0;
    const TimeShape when = shape_of_positive(frame, i, excess);
    // Who was behind because of others has no more to do.
    if (when.kind == TimeShape::Kind::kAll ||
        2 * excess * (static_cast<double>(processes_) - 1) < cost[i])
      continue;
    std::vector<bool> is(processes_);
    is[i] = true;
    cause.lost_ns = cost[i];
    named(frame, {i}, is, More::kPositive, cause);
  }
}

TimeShape CauseSearch::shape_of_positive(const Frame& frame, std::size_t process,
                                         double& excess) const {
  std::vector<bool> is(processes_);
  is[process] = true;
  return shape_of(more_of(frame, {process}, is, More::kPositive, excess));
}

bool CauseSearch::in_own_iterations(Frame& frame, const std::vector<double>& cost,
                                    RootCause cause) {
  std::vector<Group> groups;
  double sum = 0;
  for (std::size_t i = 0; i < processes_; ++i) {
    if (cost[i] < 0.1 * total_of(cost)) continue;
    double excess = 0;
    const TimeShape when = shape_of_positive(frame, i, excess);
    if (when.kind == TimeShape::Kind::kAll) continue;
    add_to_groups(groups, {}, when, frame.iterations, i);
    sum += cost[i];
  }
  // Irregular ones of each are no iterations of their own; and if each has its turn it is the work that varies.
  const bool no_own = std::ranges::all_of(groups, [&](const Group& group) {
    return group.when.kind == TimeShape::Kind::kSome ||
           (group.when.kind == TimeShape::Kind::kEvery && group.when.period == processes_);
  });
  if (groups.size() < 2 || no_own || sum < kNamed * total_of(cost)) return false;
  for (const Group& group : groups)
    if (2 * group.processes.size() > processes_) return false;
  for (const Group& group : groups) {
    std::vector<bool> is_causer(processes_);
    cause.lost_ns = 0;
    for (const std::size_t each : group.processes) {
      is_causer[each] = true;
      cause.lost_ns += cost[each];
    }
    named(frame, group.processes, is_causer, More::kPositive, cause);
  }
  return true;
}

void CauseSearch::in_turn(const ByMoment& left) {
  ByMoment in_messages = left, collective = left;
  for (std::size_t i = 0; i < processes_; ++i)
    for (std::size_t at = 0; at < parts_.moments.size(); ++at) {
      const Part& part = parts_.at(parts_.moments[at], i);
      in_messages[i][at] *= part.mpi > 0 ? std::min(1.0, part.messages / part.mpi) : 0;
      collective[i][at] -= in_messages[i][at];
    }
  meet(parts_, in_messages, collective,
       [&](std::size_t, const std::vector<double>& clocks,
           const std::vector<double>& waited) {
         const auto last =
             static_cast<std::size_t>(std::ranges::max_element(clocks) - clocks.begin());
         for (std::size_t i = 0; i < processes_; ++i) {
           chained_[i] += waited[i];
           in_turn_[last] += waited[i];
         }
       });
}

std::vector<std::vector<std::size_t>> CauseSearch::alike(
    const Frame& frame, const std::vector<std::size_t>& causers,
    const std::vector<bool>& is_causer) const {
  std::vector<Group> groups;
  for (const std::size_t each : causers) {
    double excess = 0;
    const std::vector<Amount> amounts =
        more_of(frame, {each}, is_causer, More::kMean, excess);
    const TimeShape when = shape_of(amounts);
    const double times = times_of(frame.loop, frame.iterations, when);
    add_to_groups(groups, places_.of_more({each}, is_causer, excess, frame.loop, times),
                  when, frame.iterations, each);
  }
  std::vector<std::vector<std::size_t>> out;
  out.reserve(groups.size());
  for (Group& group : groups) out.push_back(std::move(group.processes));
  return out;
}

std::vector<bool> CauseSearch::cells_with_work(const Frame& frame) const {
  constexpr double kNone = 0.1;
  const std::size_t number = frame.cells.size();
  std::vector<double> work(number);
  for (std::size_t cell = 0; cell < number; ++cell) {
    for (std::size_t i = 0; i < processes_; ++i) work[cell] += frame.at(cell, i).work;
    work[cell] /= static_cast<double>(std::max<std::uint64_t>(1, frame.cells[cell].count));
  }
  std::vector<double> upper = work;
  std::ranges::sort(upper);
  upper.erase(upper.begin(), upper.begin() + static_cast<std::ptrdiff_t>(number / 2));
  const double least = kNone * median_of(std::move(upper));
  std::vector<bool> has(number);
  for (std::size_t cell = 0; cell < number; ++cell) has[cell] = work[cell] >= least;
  // Where they are many they are iterations of another kind.
  const auto without = static_cast<std::size_t>(std::ranges::count(has, false));
  if (number > 3 && 3 * without > number) has.assign(number, true);
  return has;
}

std::vector<Amount> CauseSearch::more_of(const Frame& frame,
                                         const std::vector<std::size_t>& group,
                                         const std::vector<bool>& is_causer, More which,
                                         double& all) const {
  std::vector<Amount> amounts;
  const std::vector<bool> has_work = cells_with_work(frame);
  for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
    const Means work = means(frame, cell, group, is_causer,
                             [](const Part& part, std::size_t) { return part.work; });
    const double more = which == More::kMean ? work.more() : std::max(0.0, work.more());
    all += more;
    if (!has_work[cell]) continue;
    Amount& amount = amounts.emplace_back(frame.cells[cell]);
    amount.each = more / static_cast<double>(std::max<std::uint64_t>(1, amount.count));
  }
  // Outside of loops there are no iterations: it is one amount.
  if (frame.loop.empty()) return {{.count = 1, .each = all}};
  return amounts;
}

std::vector<std::size_t> CauseSearch::most_of(const std::vector<double>& cost) const {
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
  // Which of several that cause as much would be chance: none of these.
  constexpr double kAsMuch = 0.8;
  const double next = causers.size() < order.size() ? cost[order[causers.size()]] : 0;
  while (!causers.empty() && next > 0 && next >= kAsMuch * cost[causers.back()]) {
    sum -= cost[causers.back()];
    causers.pop_back();
  }
  if (sum < kNamed * all) causers.clear();
  std::ranges::sort(causers);
  return causers;
}

void CauseSearch::named(Frame& frame, const std::vector<std::size_t>& causers,
                        const std::vector<bool>& is_causer, More which, RootCause cause) {
  std::vector<bool> is(processes_);
  for (const std::size_t each : causers) {
    is[each] = true;
    cause.ranks.push_back(rank_of(each));
  }
  const auto workers = [&](std::size_t i) {
    return static_cast<double>(std::max<std::size_t>(parts_.threads[i], 2) - 1);
  };
  double excess = 0, uneven = 0;
  const std::vector<Amount> amounts = more_of(frame, causers, is_causer, which, excess);
  if (had_no_core(causers, excess)) {  // then all that wait for it do so for a core
    move(Account::kUnevenRanks, Account::kCores, cause.lost_ns);
    return;
  }
  for (std::size_t i = 0; i < processes_; ++i)
    if (!is[i])
      cause.most_lost_ns +=
          excess * static_cast<double>(std::max<std::size_t>(1, parts_.threads[i]));
  std::vector<double> others;  // by cell
  ByMoment evened = work_, shared = work_;
  for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
    const std::size_t moment = frame.moments[cell];
    const Means work = means(frame, cell, causers, is_causer,
                             [](const Part& part, std::size_t) { return part.work; });
    others.push_back(work.others);
    double more = 0;
    for (const std::size_t each : causers) {
      double& own = evened[each][moment];
      own = which == More::kPositive ? std::min(own, work.others) : work.others;
      more += shared[each][moment] - own;
      shared[each][moment] = own;
    }
    for (std::vector<double>& each : shared)
      each[moment] += more / static_cast<double>(processes_);
    // What their threads wait because of it, inside.
    const auto take = [&](double Part::*part, Account from) {
      const double of_others =
          means(frame, cell, causers, is_causer, [&](const Part& at, std::size_t i) {
            return at.*part / workers(i);
          }).others;
      for (const std::size_t each : causers) {
        const double longer = frame.at(cell, each).*part / workers(each) - of_others;
        const double taken = move(
            from, Account::kUnevenRanks,
            std::min(frame.at(cell, each).*part,
                     std::clamp(longer, 0.0, std::max(0.0, work.more())) * workers(each)));
        frame.at(cell, each).*part -= taken;
        cause.lost_ns += taken;
        if (from == Account::kUnevenThreads) uneven += taken / workers(each);
      }
    };
    take(&Part::serial, Account::kSerial);
    take(&Part::after_single, Account::kSerial);
    take(&Part::imbalance, Account::kUnevenThreads);
  }
  cause.gain_ns = gain_of(evened);
  cause.shared_gain_ns = gain_of(shared);
  cause.when = shape_of(amounts);
  is_when(frame, cause);
  cause.others_ns = usual_of(frame, others, cause.when, which);
  const double times = times_of(frame.loop, frame.iterations, cause.when);
  cause.where = places_.of_more(causers, is_causer, excess, frame.loop, times);
  if (!frame.loop.empty())
    cause.places =
        places_.parts_of_more(cause.where, causers, is_causer, excess, frame.loop, times);
  if (cause.where.empty() && cause.until_ns > 0)
    cause.where = places_.of_once(causers, excess, cause.until_ns - cause.from_ns);
  // Not their primary threads have more, but others in parallel regions.
  if (2 * uneven > excess * static_cast<double>(causers.size()))
    cause.thread = busiest(causers);
  join_outside(cause);
  tell_ranks(cause, causers);
  tell_no_core(cause, causers, excess);
  for (const auto& [where, ns] : waits_by_place(is)) cause.evidence.push_back({where, ns});
  out_.causes.push_back(std::move(cause));
}

double CauseSearch::usual_of(const Frame& frame, const std::vector<double>& work,
                             const TimeShape& when, More which) const {
  double sum = 0, iterations = 0;
  std::vector<double> each;
  const std::vector<bool> has_work = cells_with_work(frame);
  for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
    if (!has_work[cell] || !when.has(frame.cells[cell].first)) continue;
    const auto count =
        static_cast<double>(std::max<std::uint64_t>(1, frame.cells[cell].count));
    sum += work[cell];
    iterations += count;
    each.push_back(work[cell] / count);
  }
  if (which == More::kPositive) return median_of(std::move(each));
  return iterations > 0 ? sum / iterations : 0;
}

std::uint32_t CauseSearch::busiest(const std::vector<std::size_t>& causers) const {
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

void CauseSearch::is_when(const Frame& frame, RootCause& cause) const {
  if (!frame.loop.empty() || frame.cells.size() != 1 || &frame == parts_.frames.data())
    return;
  const RunParts::Moment& moment = parts_.moments[frame.moments[0]];
  cause.from_ns = moment.begin_ns;
  cause.until_ns = moment.end_ns;
}

void CauseSearch::join_outside(RootCause& cause) {
  const bool outside = cause.loop.empty();
  if (cause.where.empty() && !outside) return;
  const auto same = std::ranges::find_if(out_.causes, [&](const RootCause& other) {
    return other.account == cause.account && other.loop.empty() &&
           other.where == cause.where && other.ranks == cause.ranks &&
           other.thread == cause.thread;
  });
  if (same == out_.causes.end()) return;
  if (outside) cause.from_ns = cause.until_ns = 0;
  (outside ? cause.when.after : cause.outside_ns) += same->when.after;
  cause.others_ns += outside ? same->others_ns : 0;
  cause.lost_ns += same->lost_ns;
  cause.most_lost_ns += same->most_lost_ns;
  cause.gain_ns += same->gain_ns;
  cause.shared_gain_ns += same->shared_gain_ns;
  cause.of_ns = same->of_ns;
  out_.causes.erase(same);
}

void CauseSearch::tell_ranks(RootCause& cause,
                             const std::vector<std::size_t>& causers) const {
  cause.share = share(cause.lost_ns);
  cause.what = "Uneven work between ranks";
  std::string who = ranks_text(cause.ranks);
  if (cause.thread != RunProfile::kNone)
    who = fmt::format("thread {} of {}", cause.thread, who);
  who = as_sentence(std::move(who));
  const bool several = cause.ranks.size() > 1 && cause.thread == RunProfile::kNone;
  const double mine = cause.when.amount();
  std::string much = fmt::format("{} longer than the other ranks", time_text(mine));
  if (!cause.loop.empty() && cause.others_ns > 0 &&
      cause.when.kind != TimeShape::Kind::kGrowing)
    much += fmt::format(" ({} instead of {} per iteration, {} more)",
                        time_text(cause.others_ns + mine), time_text(cause.others_ns),
                        percent_text(mine / cause.others_ns));
  std::string when = when_text(cause);
  if (cause.outside_ns > 0)
    when += fmt::format(", and {} longer in all {} or outside of it",
                        time_text(cause.outside_ns),
                        cause.unknown_iterations == 0
                            ? "before it was known"
                            : fmt::format("in the {} before it was known",
                                          cause.unknown_iterations == 1
                                              ? "one"
                                              : std::to_string(cause.unknown_iterations)));
  std::string where = cause.where.empty() ? "" : ", " + cause.where;
  if (cause.thread == RunProfile::kNone && !cause.places.empty()) {
    where.clear();
    for (const RootCause::Place& place : cause.places)
      where +=
          fmt::format("{}{}{} {}", where.empty() ? ": " : ", ", percent_text(place.share),
                      where.empty() ? " of it" : "", place.where);
  }
  cause.text = fmt::format("{} compute{} {}{}{}. Waiting for {} costs {}.", who,
                           several ? "" : "s", much, when.empty() ? "" : ", " + when, where,
                           several ? "them" : "it", lost_text(cause));
  cause.hint = kMoreEvenly;
  tell_frequency(cause, causers);
  cause.gain = gain_text(
      cause,
      several ? "If they took as long as the others" : "If it took as long as the others",
      run_text(out_));
}

void CauseSearch::varying(const Frame& frame, double part, RootCause cause) {
  ByMoment evened = work_;
  for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) {
    double sum = 0;
    for (std::size_t i = 0; i < processes_; ++i) sum += frame.at(cell, i).work;
    for (std::size_t i = 0; i < processes_; ++i)
      evened[i][frame.moments[cell]] = sum / static_cast<double>(processes_);
  }
  cause.gain_ns = part * gain_of(evened);
  is_when(frame, cause);
  join_outside(cause);
  cause.share = share(cause.lost_ns);
  const std::string less = who_has_less(frame);
  cause.what = less.empty() ? "Work varies between ranks" : "Uneven work between ranks";
  const std::string when = when_text(cause);
  cause.text =
      fmt::format("Ranks wait for each other{}{}: {}. Over the whole run, {}.",
                  when.empty() ? "" : " ", when, lost_text(cause),
                  less.empty() ? "no rank has clearly more work than the others" : less);
  cause.gain = gain_text(cause, "If all took equally long each time", run_text(out_));
  cause.hint = less.empty()
                   ? "The work varies over time, or other programs run on the same cores."
                   : kMoreEvenly;
  for (const auto& [where, ns] : waits_by_place(std::vector<bool>(processes_)))
    cause.evidence.push_back({where, ns});
  double waited = 0;
  for (const RootCause::Evidence& each : cause.evidence) waited += each.ns;
  if (less.empty() && !cause.loop.empty() && waited > 0 &&
      cause.evidence.front().ns >= kNamed * waited)
    cause.waits = RootCause::Waits::kForWork;
  out_.causes.push_back(std::move(cause));
}

std::string CauseSearch::who_has_less(const Frame& frame) const {
  constexpr double kClearly = 0.25;  // of what those with more have
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < processes_; ++i) {
    double work = 0;
    for (std::size_t cell = 0; cell < frame.cells.size(); ++cell)
      work += frame.at(cell, i).work;
    order.emplace_back(work, i);
  }
  std::ranges::sort(order);
  std::size_t less = 0;  // of them
  for (std::size_t i = 1; i < order.size(); ++i)
    if (less == 0 ||
        order[i].first - order[i - 1].first > order[less].first - order[less - 1].first)
      less = i;
  if (less == 0 ||
      order[less].first - order[less - 1].first < kClearly * order.back().first)
    return {};
  const auto part = [&](std::size_t first, std::size_t end) {
    std::vector<std::uint32_t> ranks;
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      ranks.push_back(rank_of(order[i].second));
      sum += order[i].first;
    }
    std::ranges::sort(ranks);
    const std::string who = ranks_text(ranks);
    return std::pair{who, time_text(sum / static_cast<double>(end - first))};
  };
  const auto [those, little] = part(0, less);
  const auto [others, much] = part(less, order.size());
  return fmt::format("{} {} less work than {}: {} instead of {}", those,
                     less > 1 ? "have" : "has", others, little, much);
}

std::vector<std::pair<std::string, double>> CauseSearch::waits_by_place(
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

}  // namespace refrain::analysis
