#include "analysis/causes/root_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"

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
    {"management", "start and end of parallel regions"},
    {"mpi_io", "MPI file I/O"},
    {"start", "start and end of MPI"},
    {"devices", "devices"},
    {"cores", "ready to run, but no free core"},
    {"unknown", "unknown"},
}};

}  // namespace

CauseSearch::CauseSearch(const std::vector<summary::RunSummary>& summaries)
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
    out_.start_ns[i] = parts_.frames.front().at(0, i).start;
  out_.time_ns = std::accumulate(out_.ledger.begin(), out_.ledger.end(), 0.0);
  out_.run_ns = totals_.run_ns;
  counted_ = out_.time_ns - ledger(Account::kStart);
  cores();
  if (mpi_ && processes_ > 1)
    for (Frame& frame : parts_.frames) ranks(frame);
  serial_parts();
  locks();
  threads();
  synchronization();
  files();
  management();
  communication();
  few_cores();
  std::erase_if(out_.causes,
                [](const RootCause& cause) { return cause.share < kLeastShare; });
  std::ranges::stable_sort(out_.causes, std::greater(), &RootCause::lost_ns);
  return std::move(out_);
}

std::uint32_t CauseSearch::rank_of(std::size_t process) const {
  const RunProfile::Process& at = profile_.processes[process];
  return at.rank == RunProfile::kNone ? at.number : at.rank;
}

void CauseSearch::cores() {
  core_waits_.resize(processes_);
  constexpr double kMuch = 0.02;
  std::map<std::pair<std::uint32_t, std::uint32_t>, LocationId> known;
  for (LocationId i; i < profile_.locations.size(); ++i)
    known.try_emplace({profile_.process_of(i).number, profile_.locations[i].thread}, i);
  double all = 0, most = 0;
  const RunSummary::Location* longest = nullptr;
  const RunSummary* of = nullptr;
  for (const RunSummary& summary : summaries_)
    for (const RunSummary::Location& location : summary.locations) {
      const auto waited = static_cast<double>(location.core_wait_ns);
      out_.core_wait_ns += waited;
      const double time =
          static_cast<double>(summary.end - std::min(summary.begin, summary.end)) * 1e9 /
          summary.ticks_per_second;
      all += time;
      if (const auto at = known.find({summary.process, location.number}); at != known.end())
        add_core_wait(at->second, waited, time);
      if (waited <= most) continue;
      most = waited;
      longest = &location;
      of = &summary;
    }
  if (longest == nullptr || out_.core_wait_ns < kMuch * all) return;
  out_.cores = fmt::format(
      "Threads were ready to run but had no core for {}, {} of the time of all threads, "
      "mostly {}thread {} ({}): there are more threads than cores, or other programs "
      "use the cores",
      time_text(out_.core_wait_ns), percent_text(out_.core_wait_ns / all),
      of->rank == RunSummary::kNone ? "" : fmt::format("rank {}, ", of->rank),
      longest->number, time_text(most));
}

void CauseSearch::add_core_wait(LocationId thread, double waited, double time) {
  const std::size_t process = profile_.locations[thread].process;
  if (time <= 0 || profile_.locations[thread].helper) return;
  const double start = std::min(out_.start_ns[process], time);
  const double counted = std::min(waited, time) * (1 - start / time);
  const double useful =
      totals_.by_location[thread][static_cast<std::size_t>(TimeClass::kUseful)];
  const double computing =
      std::min(useful, std::max(0.0, counted - (time - start - useful)));
  move(Account::kUseful, Account::kCores, computing);
  if (profile_.locations[thread].primary) core_waits_[process] += counted;
  cores_left_ += counted - computing;
  cores_are_few_ += counted;
}

double CauseSearch::without_core(Account account, double ns) {
  const double part = std::clamp(cores_left_, 0.0, ns);
  cores_left_ -= part;
  move(account, Account::kCores, part);
  return ns - part;
}

bool CauseSearch::had_no_core(const std::vector<std::size_t>& causers,
                              double excess) const {
  double theirs = 0, all = 0;
  for (const double each : core_waits_) all += each;
  for (const std::size_t each : causers) theirs += core_waits_[each];
  const auto number = static_cast<double>(causers.size());
  const double others =
      (all - theirs) / std::max(1.0, static_cast<double>(processes_) - number);
  return !out_.cores.empty() && excess > 0 && theirs / number - others >= kNamed * excess;
}

void CauseSearch::few_cores() {
  const double ns = ledger(Account::kCores);
  if (share(ns) < kLeastShare || out_.cores.empty()) return;
  RootCause cause = whole_cause(Account::kCores, ns, {}, RootCause::kNone);
  cause.what = "Too few cores";
  cause.text =
      fmt::format("{}. Not explained by anything else: {}.", out_.cores, lost_text(cause));
  cause.hint =
      "Run one thread per core and bind it (OMP_PROC_BIND, mpirun --bind-to core). Until "
      "then, the other times include waiting for a core.";
  out_.causes.push_back(std::move(cause));
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

void CauseSearch::move(Account from, Account to, double ns) {
  ledger(from) -= ns;
  ledger(to) += ns;
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
  for (const std::size_t threads : parts_.threads) sum += static_cast<double>(threads);
  return std::max(1.0, sum);
}

void CauseSearch::in_frame(RootCause& cause, const Frame* frame, double Part::*part) const {
  cause.of_ns = frame != nullptr ? time_of(*frame) : counted_ / all_threads();
  if (frame == nullptr) return;
  cause.loop = frame->loop;
  cause.iterations = frame->iterations;
  cause.when = shape_of(amounts_of(*frame, part));
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
  cause.gain = gain_text(cause, "At best, without it", run_text());
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

std::string loop_place(const std::string& name) {
  const std::size_t at = name.find(" @ ");
  return name.starts_with("loop ") && at != std::string::npos ? name.substr(at + 3) : name;
}

Conclusions conclude(const std::vector<RunSummary>& summaries) {
  return CauseSearch(summaries).find();
}

}  // namespace refrain::analysis
