#include "analysis/causes/root_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"
#include "analysis/ideal/ideal_network.h"
#include "base/thread_use.h"

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
    {"synchronization", "synchronization of threads"},
    {"management", "start and end of regions and threads"},
    {"file_io", "file I/O"},
    {"start", "start and end of MPI"},
    {"devices", "devices"},
    {"cores", "waiting for a free core"},
    {"unknown", "unknown"},
}};

}  // namespace

CauseSearch::CauseSearch(const std::vector<summary::RunSummary>& summaries)
    : summaries_(summaries),
      profile_(merge_summaries(summaries)),
      totals_(total(profile_)),
      iterations_(iteration_profile(summaries, 0)),
      parts_(parts_of(profile_, totals_, iterations_)),
      places_(summaries, profile_, iterations_.loops),
      processes_(profile_.processes.size()),
      work_(by_moment(at_work)),
      waits_(by_moment(in_mpi)) {
  for (const RunProfile::Process& process : profile_.processes)
    mpi_ = mpi_ || process.rank != RunProfile::kNone;
  std::map<std::uint32_t, const ParallelRegion*> regions;
  for (const ParallelRegion& region : totals_.parallel_regions)
    regions.emplace(region.region, &region);
  around_.resize(profile_.paths.size());
  for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
    const RunProfile::Path& path = profile_.paths[i];
    const auto own = regions.find(path.region);
    if (own != regions.end())
      around_[i] = own->second;
    else if (path.parent != RunProfile::kNone)
      around_[i] = around_[path.parent];
  }
  explained_.resize(processes_);
  chained_.resize(processes_);
  in_turn_.resize(processes_);
  in_mpi_.resize(processes_);
  for (std::size_t i = 0; i < processes_; ++i)
    for (const Frame& frame : parts_.frames)
      for (std::size_t cell = 0; cell < frame.cells.size(); ++cell)
        in_mpi_[i] += frame.at(cell, i).mpi_all;
}

Conclusions CauseSearch::find() {
  out_.ledger = parts_.ledger;
  out_.start_ns.resize(processes_);
  for (std::size_t i = 0; i < processes_; ++i)
    for (const RunParts::Moment& moment : parts_.moments)
      out_.start_ns[i] += parts_.at(moment, i).start;
  out_.time_ns = std::accumulate(out_.ledger.begin(), out_.ledger.end(), 0.0);
  out_.run_ns = totals_.run_ns;
  counted_ = out_.time_ns - ledger(Account::kStart);
  last_seen();
  cores();
  cores_at_work();
  if (mpi_ && processes_ > 1) ranks();
  serial_parts();
  locks();
  threads();
  synchronization();
  files();
  management();
  communication();
  few_cores();
  kernel();
  memory();
  tracing();
  unknown();
  sort_causes(out_);
  return std::move(out_);
}

void CauseSearch::unknown() {
  const double ns = ledger(Account::kUnknown);
  if (ns <= RunEfficiencies::kMaxUnknown * counted_) return;
  double without_place = totals_.elsewhere_ns;
  for (std::size_t i = 0; i < profile_.paths.size(); ++i)
    if (profile_.paths[i].region == RunProfile::kNone)
      without_place += totals_.paths[i].own_ns;
  out_.unknown = fmt::format(
      "{}, {} of the time of all threads, is not known: it is {}. Causes are of the rest, and may be small parts of it",
      time_text(ns), percent_text(share(ns)),
      without_place >= kNamed * ns
          ? "in call paths for which the summary had no room (tasks that make tasks, say; refrain run --summary-memory 64M "
            "gives it more)"
          : "of iterations that were not written, without a summary, in damaged parts of files, or in regions without a "
            "place");
}

std::uint32_t CauseSearch::rank_of(std::size_t process) const {
  const RunProfile::Process& at = profile_.processes[process];
  return at.rank == RunProfile::kNone ? at.number : at.rank;
}

double CauseSearch::time_of(const Frame& frame) const {
  double most = 0;
  for (std::size_t i = 0; i < processes_; ++i) {
    double sum = 0;
    for (std::size_t cell = 0; cell < frame.cells.size(); ++cell)
      sum += frame.at(cell, i).work + frame.at(cell, i).mpi;
    most = std::max(most, sum);
  }
  return most;
}

double CauseSearch::of_frame(const Frame& frame) const {
  return frame.loop.empty() ? counted_ / all_threads() : time_of(frame);
}

double CauseSearch::move(Account from, Account to, double ns) {
  const double part = std::clamp(ns, 0.0, std::max(0.0, ledger(from)));
  ledger(from) -= part;
  ledger(to) += part;
  return part;
}

const Frame* CauseSearch::main_frame(double Part::*part) const {
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

std::vector<Amount> CauseSearch::amounts_of(const Frame& frame, double Part::*part) const {
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

double CauseSearch::workers() const {
  double sum = 0;
  for (const std::size_t threads : parts_.threads)
    sum += static_cast<double>(std::max<std::size_t>(threads, 1) - 1);
  return sum;
}

double CauseSearch::all_threads() const {
  double sum = 0;
  // As many as there were at a time, on average.
  if (std::ranges::any_of(profile_.locations, &RunProfile::Location::temporary))
    return std::max(1.0, counted_ / std::max(1.0, out_.run_ns));
  for (const std::size_t threads : parts_.threads) sum += static_cast<double>(threads);
  return std::max(1.0, sum);
}

double CauseSearch::in_frame(RootCause& cause, const Frame* frame,
                             double Part::*part) const {
  cause.of_ns = frame != nullptr ? of_frame(*frame) : counted_ / all_threads();
  if (frame == nullptr) return 1;
  cause.loop = frame->loop;
  cause.iterations = frame->iterations;
  cause.when = shape_of(amounts_of(*frame, part));
  double here = 0, all = 0;
  for (const Frame& each : parts_.frames)
    for (const Part& at : each.parts) {
      all += at.*part;
      if (&each == frame) here += at.*part;
    }
  return all > 0 ? here / all : 1;
}

double CauseSearch::least_time(const std::string& loop, double not_needed) const {
  struct Host {
    base::CoreSet cores;
    double on_cores = 0;
  };
  std::map<std::string, Host> hosts;
  std::vector<double> here(processes_), all(processes_);
  double useful = 0, least = 0;
  for (const Frame& frame : parts_.frames)
    for (std::size_t cell = 0; cell < frame.cells.size(); ++cell)
      for (std::size_t i = 0; i < processes_; ++i) {
        const double ns = frame.at(cell, i).useful;
        all[i] += ns;
        useful += ns;
        if (loop.empty() || frame.loop == loop) here[i] += ns;
      }
  if (useful <= 0) return 0;
  // Some of it was for want of cores.
  const double rest = std::max(
      0.0, std::min(1.0, out_.ledger[static_cast<std::size_t>(Account::kUseful)] / useful) -
               not_needed / useful);
  const bool temporary =
      std::ranges::any_of(profile_.locations, &RunProfile::Location::temporary);
  for (std::size_t i = 0; i < processes_; ++i) {
    if (all[i] <= 0) continue;
    const double work = rest * here[i];
    const auto threads = static_cast<double>(std::max<std::size_t>(1, parts_.threads[i]));
    if (!temporary) least = std::max(least, work / threads);
    // What sleeps needs no core.
    base::ThreadUse use;
    for (const RunSummary::Location& location : summaries_[i].locations)
      use.add(location.use);
    const double on_cores =
        std::min(work, static_cast<double>(use.core_ns) * here[i] / all[i]);
    Host& host = hosts[summaries_[i].host];
    host.cores.add(use.cores);
    host.on_cores += on_cores;
    if (!use.cores.empty())
      least = std::max(least, on_cores / static_cast<double>(use.cores.size()));
  }
  for (const auto& [name, host] : hosts)
    if (!host.cores.empty())
      least = std::max(least, host.on_cores / static_cast<double>(host.cores.size()));
  return least;
}

void CauseSearch::bound_gain(RootCause& cause, double not_needed) const {
  const auto most = [&](double without) {
    return std::max(0.0, cause.of_ns - least_time(cause.loop, without));
  };
  cause.gain_ns = std::min(cause.gain_ns, most(not_needed));
  if (cause.shared_gain_ns > 0)
    cause.shared_gain_ns = std::min(cause.shared_gain_ns, most(0));
}

RootCause CauseSearch::whole_cause(Account account, double ns, std::string where,
                                   std::uint32_t path) const {
  RootCause cause;
  cause.account = account;
  cause.lost_ns = ns;
  cause.share = share(ns);
  cause.of_ns = counted_ / all_threads();
  cause.gain_ns = ns / all_threads();
  cause.where = std::move(where);
  cause.path = path;
  // More cores are all that those can gain which have none.
  if (account != Account::kCores || !crowded_) bound_gain(cause);
  cause.gain = gain_text(cause, "At best, without it", run_text(out_));
  return cause;
}

const char* account_name(Account account) noexcept {
  return kAccountNames[static_cast<std::size_t>(account)].name;
}

const char* account_title(Account account) noexcept {
  return kAccountNames[static_cast<std::size_t>(account)].title;
}

bool has_cause(const Conclusions& conclusions, Account account) noexcept {
  return std::ranges::count(conclusions.causes, account, &RootCause::account) != 0;
}

namespace {

// What saves most first; of what saves about as much, a barrier, which carries no data.
std::vector<std::size_t> first_to_change(const std::vector<RootCause*>& causes,
                                         const std::vector<WithoutWaits>& replays) {
  constexpr double kAsMuch = 0.9;
  std::vector<std::size_t> order(causes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) {
    const bool barrier = causes[i]->where.starts_with("MPI_Barrier");
    return replays[i].gain_ns / (barrier ? kAsMuch : 1);
  });
  return order;
}

// In the place of what its text said before.
void say_lost(RootCause& cause, const std::string& before, const std::string& more = {}) {
  if (const std::size_t at = cause.text.rfind(before); at != std::string::npos)
    cause.text.replace(at, before.size(), lost_text(cause) + more);
}

// Of the waits in a call, those that are gone with another one's are that one's.
void take_gone(RootCause& cause, RootCause& other, double gone) {
  constexpr double kFew = 0.2, kMost = 0.8;
  if (gone < kFew) return;
  if (gone >= kMost) gone = 1;
  const std::string lost = lost_text(other);
  const auto take = [&](double RootCause::*what) {
    const double part = gone * (other.*what);
    other.*what -= part;
    cause.*what += part;
    return part;
  };
  take(&RootCause::share);
  take(&RootCause::gain_ns);
  std::erase_if(cause.evidence,
                [&](const RootCause::Evidence& each) { return each.where == other.where; });
  cause.evidence.push_back({other.where, take(&RootCause::lost_ns)});
  say_lost(other, lost, ", without what is because of " + cause.where);
}

// When all wait for each other, no run is shorter by more than they wait on average.
double most_gained(const RootCause& cause) {
  return cause.waits == RootCause::Waits::kForAll ? cause.share * cause.of_ns
                                                  : cause.gain_ns;
}

void tell_replayed(const Conclusions& conclusions, RootCause& cause,
                   const WithoutWaits& replay) {
  constexpr double kMoved = 0.3;  // of the waits, that is worth a sentence
  const bool moves = !replay.moved_to.empty() && replay.moved >= kMoved;
  cause.gain = gain_text(cause, "Without these waits, by a replay of the events",
                         run_text(conclusions));
  const bool saves = !cause.gain.empty();
  if (!saves)
    cause.gain = "Without these waits, by a replay of the events, the run is not shorter.";
  if (!moves) return;
  cause.gain += fmt::format(" {:.0f} % of them are in {} then.",
                            100 * std::min(1.0, replay.moved), replay.moved_to);
  if (!saves)
    cause.hint = fmt::format(
        "What makes ranks late before {} is to be changed: without this call they wait there.",
        replay.moved_to);
}

// Work that varies needs no one to have less, where ranks need not wait for each other each time.
void tell_evened_out(const Conclusions& conclusions, RootCause& cause, double most) {
  constexpr double kMostOf = 0.5;  // of what the run gains if there is nothing to wait for
  RootCause without = cause;
  without.gain_ns = std::min(cause.gain_ns, most);
  if (without.gain_ns < kMostOf * cause.gain_ns) return;
  const std::string gain = gain_text(
      without,
      fmt::format("Without the waits in {}, by a replay of the events", cause.call()),
      run_text(conclusions));
  if (gain.empty()) return;
  cause.gain += (cause.gain.empty() ? "" : " ") + gain;
  cause.hint = fmt::format(
      "Differences even out over several iterations if ranks do not wait for each other in each: {}.",
      cause.call().starts_with("MPI_Barrier")
          ? "remove the barrier, unless the results need it"
          : "use fewer or non-blocking operations");
}

}  // namespace

void charge_to(Conclusions& conclusions, std::size_t into, std::size_t from, double part) {
  RootCause& to = conclusions.causes[into];
  RootCause& of = conclusions.causes[from];
  const std::string to_lost = lost_text(to), of_lost = lost_text(of);
  const double ns = part * of.lost_ns;
  conclusions.ledger[static_cast<std::size_t>(of.account)] -= ns;
  conclusions.ledger[static_cast<std::size_t>(to.account)] += ns;
  for (double RootCause::*what : {&RootCause::lost_ns, &RootCause::share}) {
    to.*what += part * (of.*what);
    of.*what -= part * (of.*what);
  }
  say_lost(to, to_lost);
  say_lost(of, of_lost);
}

void sort_causes(Conclusions& conclusions) {
  std::erase_if(conclusions.causes,
                [](const RootCause& cause) { return cause.share < kMinShare; });
  std::ranges::stable_sort(conclusions.causes, std::greater(), &RootCause::lost_ns);
}

std::string evidence_text(const RootCause& cause) {
  if (cause.evidence.empty()) return {};
  std::string text =
      cause.waits == RootCause::Waits::kNone || cause.waits == RootCause::Waits::kForWork
          ? "Over the whole run, others are in "
          : "Because of it, ranks also wait in ";
  for (const RootCause::Evidence& each : cause.evidence)
    text += fmt::format("{}{} ({})", &each == cause.evidence.data() ? "" : ", ", each.where,
                        time_text(each.ns));
  return text + '.';
}

bool set_replayed_gains(Conclusions& conclusions, const std::vector<std::size_t>& causes,
                        const std::vector<WithoutWaits>& replays) {
  // Room for what is known of few iterations only: the time of the replays compared with the waits in them.
  constexpr double kRoom = 1.5;
  if (causes.size() != replays.size()) return false;
  for (const WithoutWaits& replay : replays)
    if (replay.gone.size() != causes.size()) return false;
  std::vector<RootCause*> found;
  found.reserve(causes.size());
  for (const std::size_t cause : causes) found.push_back(&conclusions.causes[cause]);
  std::vector<double> at_most;
  at_most.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    at_most.push_back(std::min(replays[i].gain_ns, kRoom * std::max(0.0, replays[i].saved) *
                                                       found[i]->share * found[i]->of_ns));
  std::vector<std::size_t> order = first_to_change(found, replays);
  std::erase_if(order, [&](std::size_t i) {
    if (found[i]->waits != RootCause::Waits::kForWork) return false;
    tell_evened_out(conclusions, *found[i], at_most[i]);
    return true;
  });
  for (auto first = order.begin(); first != order.end(); ++first)
    for (auto other = first + 1; other != order.end(); ++other)
      take_gone(*found[*first], *found[*other], replays[*first].gone[*other]);
  for (const std::size_t i : order) {
    found[i]->gain_ns = std::min(most_gained(*found[i]), at_most[i]);
    tell_replayed(conclusions, *found[i], replays[i]);
  }
  sort_causes(conclusions);
  return true;
}

std::string loop_place(const std::string& name) {
  const std::size_t at = name.find(" @ ");
  return name.starts_with("loop ") && at != std::string::npos ? name.substr(at + 3) : name;
}

Conclusions conclude(const std::vector<RunSummary>& summaries) {
  return CauseSearch(summaries).find();
}

}  // namespace refrain::analysis
