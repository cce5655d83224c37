#include "analysis/report/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string_view>

#include "analysis/profile/run_profile.h"
#include "analysis/report/event_blocks.h"
#include "analysis/report/flow_blocks.h"
#include "base/quantity_text.h"

namespace refrain::report {
namespace {

using json = nlohmann::ordered_json;

const char* kind_name(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kWait:
      return "wait";
    case Finding::Kind::kImbalance:
      return "imbalance";
    case Finding::Kind::kOverhead:
      return "overhead";
    case Finding::Kind::kEfficiency:
      return "efficiency";
    case Finding::Kind::kDetection:
      return "detection";
    case Finding::Kind::kLoss:
      return "loss";
  }
  return "";
}

json value_of(const Finding& finding, double all_seconds) {
  const bool costs = finding.seconds && all_seconds > 0;
  return {{"kind", kind_name(finding.kind)},
          {"what", finding.what},
          {"text", finding.text},
          {"hint", finding.hint},
          {"seconds", finding.seconds ? json(*finding.seconds) : json()},
          {"share", costs ? json(*finding.seconds / all_seconds) : json()},
          {"evidence", finding.evidence}};
}

}  // namespace

json ranked(std::vector<Finding> findings, double all_seconds, double least_share,
            std::size_t most) {
  const auto facts = std::ranges::stable_partition(
      findings, [](const Finding& finding) { return finding.seconds.has_value(); });
  const auto costing = std::ranges::subrange(findings.begin(), facts.begin());
  std::ranges::stable_sort(
      costing, [](const Finding& a, const Finding& b) { return *a.seconds > *b.seconds; });
  json out = json::array();
  for (const Finding& finding : costing)
    if (out.size() < most && *finding.seconds >= least_share * all_seconds)
      out.push_back(value_of(finding, all_seconds));
  for (const Finding& finding : facts) out.push_back(value_of(finding, all_seconds));
  return out;
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (percent >= 9.95) return fmt::format("{:.0f} %", percent);
  if (percent >= 0.05) return fmt::format("{:.1f} %", percent);
  return percent > 0 ? "less than 0.1 %" : "0 %";
}

std::string time_text(double ns) { return base::duration_text(ns, 3); }

std::string digits_text(double count) {
  const std::string digits = fmt::format("{:.0f}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0 && digits.size() > 4) text += ' ';
    text += digits[i];
  }
  return text;
}

std::string count_text(double count, const std::string& one, const std::string& more) {
  const std::string digits = digits_text(count);
  return digits + " " + (digits == "1" ? one : more);
}

std::string place_text(const std::string& file, std::uint32_t line) {
  if (file.empty()) return {};
  const std::string name = std::filesystem::path(file).filename().string();
  return line == 0 ? name : name + ":" + std::to_string(line);
}

}  // namespace refrain::report

namespace refrain::report {
namespace {

using analysis::ParallelRegion;
using analysis::RunProfile;
using analysis::TimeClass;

constexpr double kLeastShare = 0.005;
class ProfileFinder {
 public:
  ProfileFinder(const RunProfile& profile, const analysis::ProfileTotals& totals)
      : profile_(profile), totals_(totals) {
    for (const RunProfile::Process& process : profile.processes)
      mpi_ = mpi_ || process.rank != RunProfile::kNone;
  }

  std::vector<Finding> find() {
    for (const ParallelRegion& region : totals_.parallel_regions) {
      imbalance(region);
      management(region);
    }
    synchronization();
    without_work();
    transfers();
    well();
    return std::move(out_);
  }

 private:
  static double of(const analysis::ClassTimes& times, TimeClass cls) {
    return times[static_cast<std::size_t>(cls)];
  }
  double share(double ns) const { return totals_.time_ns > 0 ? ns / totals_.time_ns : 0; }
  std::string lost(double ns) const {
    return fmt::format("{} of the time ({})", percent_text(share(ns)), time_text(ns));
  }
  std::string region_name(std::uint32_t region) const {
    return analysis::region_text(profile_.regions[region]);
  }
  std::string location_name(std::size_t location) const {
    const RunProfile::Location& at = profile_.locations[location];
    if (profile_.processes.size() == 1) return fmt::format("thread {}", at.thread);
    return fmt::format("{} {}, thread {}", mpi_ ? "rank" : "process",
                       rank_of(profile_.process_of(LocationId(location))), at.thread);
  }
  // The outermost path of a region.
  std::uint32_t path_of(std::uint32_t region) const {
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i)
      if (profile_.paths[i].region == region) return i;
    return RunProfile::kNone;
  }
  nlohmann::ordered_json evidence(const char* view, std::uint32_t path,
                                  TimeClass cls) const {
    nlohmann::ordered_json out = {{"view", view}, {"class", analysis::class_name(cls)}};
    if (path != RunProfile::kNone) out["path"] = path;
    return out;
  }
  void add(Finding::Kind kind, const char* what, std::string text, const char* hint,
           double ns, nlohmann::ordered_json evidence) {
    out_.push_back({.kind = kind,
                    .what = what,
                    .text = std::move(text),
                    .hint = hint,
                    .seconds = ns / 1e9,
                    .evidence = std::move(evidence)});
  }

  void imbalance(const ParallelRegion& region) {
    const double ns = of(region.times, TimeClass::kImbalance);
    if (share(ns) < kLeastShare) return;
    std::vector<double> busy;
    std::size_t most = 0;
    for (std::size_t i = 0; i < region.busy_ns.size(); ++i) {
      if (region.busy_ns[i] > 0) busy.push_back(region.busy_ns[i]);
      if (region.busy_ns[i] > region.busy_ns[most]) most = i;
    }
    const double mean = busy.empty() ? 0
                                     : std::accumulate(busy.begin(), busy.end(), 0.0) /
                                           static_cast<double>(busy.size());
    const double more = mean > 0 ? region.busy_ns[most] / mean - 1 : 0;
    // The longest thread has more by so much, and all others wait for it.
    const double explained =
        mean > 0 ? (region.busy_ns[most] - mean) * static_cast<double>(busy.size()) : 0;
    std::string text = fmt::format("{} is lost at the end of {}: threads wait for others",
                                   lost(ns), region_name(region.region));
    auto see = evidence("heat", path_of(region.region), TimeClass::kImbalance);
    if (explained > 0.5 * ns && more > 0.02) {
      text += fmt::format(
          ", because work is divided unevenly: {} computes {}, {} more than the mean.",
          location_name(most), time_text(region.busy_ns[most]), percent_text(more));
      see["location"] = most;
      add(Finding::Kind::kImbalance, "Uneven work in a parallel region", std::move(text),
          "Divide the work more evenly: another schedule of the loop, smaller chunks, or other "
          "limits of the parts.",
          ns, std::move(see));
      return;
    }
    text += fmt::format(
        ", though over the whole run they have the same work (the most is {} more than the mean).",
        percent_text(more));
    if (region.forks > 0)
      text += fmt::format(" The region runs {} of {} each.",
                          count_text(static_cast<double>(region.forks), "time", "times"),
                          time_text(region.fork_ns / static_cast<double>(region.forks)));
    add(Finding::Kind::kImbalance, "Waiting at the end of a parallel region",
        std::move(text),
        "It is another thread each time: work that changes from time to time, other programs on "
        "the same cores, or regions that are too short for their barriers.",
        ns, std::move(see));
  }

  void management(const ParallelRegion& region) {
    const double ns = of(region.times, TimeClass::kThreadManagement);
    if (share(ns) < kLeastShare || region.forks == 0) return;
    const auto forks = static_cast<double>(region.forks);
    add(Finding::Kind::kOverhead, "Starting and ending a parallel region",
        fmt::format(
            "{} is spent to start and end {}: it runs {} and takes {} each, of which {} "
            "on each thread are neither work nor waiting.",
            lost(ns), region_name(region.region), count_text(forks, "time", "times"),
            time_text(region.fork_ns / forks),
            time_text(ns / std::max<double>(1, static_cast<double>(region.visits)))),
        "Put several regions into one, or give the region more work; threads that sleep "
        "between regions start late (OMP_WAIT_POLICY, KMP_BLOCKTIME).",
        ns, evidence("graph", path_of(region.region), TimeClass::kThreadManagement));
  }

  void synchronization() {
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) {
      const double ns = totals_.paths[i].own_ns;
      if (profile_.paths[i].cls != TimeClass::kSynchronization || share(ns) < kLeastShare)
        continue;
      const auto visits = static_cast<double>(totals_.paths[i].visits);
      add(Finding::Kind::kOverhead, "OpenMP synchronization",
          fmt::format("{} is spent in {}: {} of {} each.", lost(ns),
                      analysis::path_text(profile_, PathId(i)),
                      count_text(visits, "time", "times"),
                      time_text(visits > 0 ? ns / visits : 0)),
          "Synchronize less often: critical sections that are shorter or have names of their own, "
          "atomic or a reduction in their place, nowait where no barrier is needed.",
          ns, evidence("graph", i, TimeClass::kSynchronization));
    }
  }

  void without_work() {
    const double ns = of(totals_.times, TimeClass::kLimitedParallelism);
    if (share(ns) < kLeastShare) return;
    const auto workers = static_cast<double>(std::ranges::count_if(
        profile_.locations, [](const RunProfile::Location& at) { return at.worker; }));
    std::string text = fmt::format("{} is lost because threads have no work", lost(ns));
    if (workers > 0)
      text += fmt::format(
          ": {} {} while the program runs on one thread, or in regions that "
          "have work for fewer threads",
          workers == 1 ? std::string("the other thread waits")
                       : fmt::format("{:.0f} other threads wait", workers),
          workers == 1 ? time_text(ns) : time_text(ns / workers) + " each");
    add(Finding::Kind::kOverhead, "Threads without work", text + ".",
        "Make more of the program parallel, where most time passes outside of parallel regions; "
        "or use fewer threads.",
        ns, evidence("heat", RunProfile::kNone, TimeClass::kLimitedParallelism));
  }

  // Waits in them are findings of the analysis; this is how much there is in all.
  void transfers() {
    for (const analysis::MpiProcedure& procedure : totals_.mpi) {
      if (procedure.cls != TimeClass::kMpiIo && procedure.cls != TimeClass::kMpiManagement)
        continue;
      if (share(procedure.time_ns) < kLeastShare) continue;
      add(Finding::Kind::kOverhead,
          procedure.cls == TimeClass::kMpiIo ? "MPI file I/O" : "MPI management",
          fmt::format("{} is spent in {}: {}.", lost(procedure.time_ns), procedure.name,
                      count_text(static_cast<double>(procedure.calls), "call", "calls")),
          procedure.cls == TimeClass::kMpiIo
              ? "Fewer and larger accesses, or collective ones."
              : "It is part of starting and ending MPI, or makes handles that can be kept.",
          procedure.time_ns, {{"view", "mpi"}, {"procedure", procedure.name}});
    }
  }

  void well() {
    const double useful = totals_.efficiencies.parallel;
    if (useful < 0.95) return;
    out_.push_back(
        {.kind = Finding::Kind::kEfficiency,
         .what = "Little is lost",
         .text = fmt::format(
             "{} of the time of all threads is computation: little can be gained by "
             "a better distribution of work or less communication.",
             percent_text(useful)),
         .hint = {},
         .seconds = std::nullopt,
         .evidence = {}});
  }

  const RunProfile& profile_;
  const analysis::ProfileTotals& totals_;
  bool mpi_ = false;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> profile_findings(const RunProfile& profile,
                                      const analysis::ProfileTotals& totals) {
  return ProfileFinder(profile, totals).find();
}

}  // namespace refrain::report

namespace refrain::report {
namespace {

using analysis::ArchiveInfo;
using analysis::PhaseInfo;

class RunFinder {
 public:
  RunFinder(const ArchiveInfo& info, std::uint32_t marks_of, const EventViews* views,
            std::size_t threads)
      : info_(info), marks_of_(marks_of), views_(views), threads_(threads) {}

  std::vector<Finding> find() {
    if (views_ != nullptr)
      for (const auto& [region, loop] : views_->nest().loops()) {
        const PhaseInfo* const phase = phase_of(loop.name);
        if (phase == nullptr || !loop.outermost) continue;
        slow_iterations(*phase, loop.series);
        trend(*phase, loop.series);
        changes(*phase, region);
      }
    left_out();
    losses();
    return std::move(out_);
  }

 private:
  const PhaseInfo* phase_of(const std::string& name) const {
    for (const PhaseInfo& phase : info_.phases)
      if (phase.name == name && phase.process == marks_of_) return &phase;
    return nullptr;
  }
  double of_all_threads(double ns) const {
    return ns / 1e9 * static_cast<double>(threads_);
  }
  void fact(Finding::Kind kind, const char* what, std::string text, std::string hint,
            nlohmann::ordered_json evidence = {}) {
    out_.push_back({.kind = kind,
                    .what = what,
                    .text = std::move(text),
                    .hint = std::move(hint),
                    .seconds = std::nullopt,
                    .evidence = std::move(evidence)});
  }

  // Longer than half as much again as the median.
  void slow_iterations(const PhaseInfo& phase, const IterationSeries& series) {
    constexpr double kMuch = 1.5;
    if (series.iterations() < 10) return;
    const double median = series.median_ns();
    double excess = 0;
    std::uint64_t number = 0;
    for (const SeriesRow& row : series.rows()) {
      if (median <= 0 || row.max_ns < kMuch * median) continue;
      // Of merged rows one is known.
      excess += row.max_ns - median;
      ++number;
    }
    if (number == 0) return;
    // Where every third one is, that is how the loop is.
    if (static_cast<double>(number) > 0.3 * static_cast<double>(series.rows().size()))
      return;
    const IterationSeries::Slow most = series.slowest().front();
    out_.push_back(
        {.kind = Finding::Kind::kDetection,
         .what = "Slow iterations",
         .text = fmt::format(
             "{} of {} in {} {} more than half as much again as the median of {}; together "
             "they cost {} of the run. The slowest is iteration {:.0f}, {:.1f} times the median.",
             number,
             count_text(static_cast<double>(series.iterations()), "iteration",
                        "iterations"),
             loop_title(phase), number == 1 ? "takes" : "take", time_text(median),
             time_text(excess), most.number, most.ns / median),
         .hint =
             "Look at what the slowest ones do that others do not: they are in the time line.",
         .seconds = of_all_threads(excess),
         .evidence = {{"view", "iterations"},
                      {"loop", phase.id},
                      {"first", most.number},
                      {"last", most.number},
                      {"begin_ns", most.begin_ns},
                      {"end_ns", most.begin_ns + most.ns}}});
  }

  static double mean_of(std::span<const SeriesRow> rows) {
    double sum = 0, count = 0;
    for (const SeriesRow& row : rows) {
      sum += row.sum_ns;
      count += static_cast<double>(row.count);
    }
    return count > 0 ? sum / count : 0;
  }

  // The last tenth beside the first one, as far as most iterations in between follow.
  void trend(const PhaseInfo& phase, const IterationSeries& series) {
    const std::span<const SeriesRow> rows(series.rows());
    if (rows.size() < 50) return;
    const std::size_t tenth = rows.size() / 10;
    double before = 0;
    bool rises = true;
    for (std::size_t part = 0; part < 5; ++part) {
      const double mean = mean_of(rows.subspan(part * rows.size() / 5, rows.size() / 5));
      rises = rises && mean > 1.02 * before;
      before = mean;
    }
    if (!rises) return;
    const double first = mean_of(rows.first(tenth)), last = mean_of(rows.last(tenth));
    double excess = 0;
    for (const SeriesRow& row : rows)
      excess += std::max(0.0, row.sum_ns - first * static_cast<double>(row.count));
    out_.push_back(
        {.kind = Finding::Kind::kDetection,
         .what = "A loop gets slower",
         .text =
             fmt::format("Iterations of {} get longer in the course of the run: the last "
                         "tenth takes {} more than the first ({} beside {}).",
                         loop_title(phase), percent_text(last / first - 1), time_text(last),
                         time_text(first)),
         .hint =
             "Data that grows or is scattered more and more, or cores that become slower.",
         .seconds = of_all_threads(excess),
         .evidence = {{"view", "iterations"}, {"loop", phase.id}}});
  }

  void changes(const PhaseInfo& phase, std::uint32_t region) {
    std::vector<const NestSink::Moment*> found;
    for (const NestSink::Moment& moment : views_->nest().breaks())
      if (moment.region == region) found.push_back(&moment);
    if (found.empty()) return;
    std::string at;
    for (std::size_t i = 0; i < found.size() && i < 5; ++i)
      if (found[i]->iteration >= 0)
        at += fmt::format("{}{:.0f}", at.empty() ? " (iteration " : ", ",
                          found[i]->iteration);
    if (!at.empty()) at += found.size() > 5 ? ", ...)" : ")";
    fact(Finding::Kind::kDetection, "The pattern changes",
         fmt::format(
             "What an iteration of {} consists of changed {}{}; the iterations before "
             "and in each change are in the archive.",
             loop_title(phase),
             count_text(static_cast<double>(found.size()), "time", "times"), at),
         "",
         {{"view", "run"},
          {"loop", phase.id},
          {"begin_ns", found.front()->ns},
          {"end_ns", found.back()->ns}});
  }

  void left_out() {
    if (info_.events_seen == 0 || info_.events_written >= info_.events_seen) return;
    const double share =
        static_cast<double>(info_.events_written) / static_cast<double>(info_.events_seen);
    fact(Finding::Kind::kDetection, "What is in the archive",
         fmt::format(
             "The archive has {} of the run's events ({} of {}): the first iterations "
             "of each loop, slow ones, and those at changes. Profile and iterations are "
             "exact for the whole run; the time line and waits show what was written.",
             percent_text(share), digits_text(static_cast<double>(info_.events_written)),
             count_text(static_cast<double>(info_.events_seen), "event", "events")),
         "To write all events: refrain run -n 0.", {{"view", "run"}});
  }

  void losses() {
    for (const auto& [cause, number] : info_.lost)
      if (number != 0)
        fact(Finding::Kind::kLoss, "Events were lost",
             fmt::format("{} could not be recorded ({}).",
                         count_text(static_cast<double>(number), "event", "events"), cause),
             "What depends on them is missing here.");
    if (info_.recovered)
      fact(
          Finding::Kind::kLoss, "The program was killed",
          "The archive was recovered from what a process left that died: it ends where that "
          "died.",
          "");
    const std::uint64_t dropped = info_.mpi.sends_dropped + info_.mpi.receives_dropped +
                                  info_.mpi.collectives_dropped +
                                  info_.mpi.one_sided_dropped;
    if (dropped != 0)
      fact(Finding::Kind::kLoss, "Messages without both ends",
           fmt::format(
               "{} left out of the archive, because only one side of them was written.",
               count_text(static_cast<double>(dropped), "record of MPI was",
                          "records of MPI were")),
           info_.events_written < info_.events_seen
               ? "To keep all: refrain run -n 0."
               : "Nothing was skipped: their requests were freed (MPI_Request_free), their "
                 "calls failed, or MPI_Finalize completed them.");
  }

  const ArchiveInfo& info_;
  const std::uint32_t marks_of_;
  const EventViews* const views_;
  const std::size_t threads_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> run_findings(const ArchiveInfo& info, std::uint32_t marks_of,
                                  const EventViews* views, std::size_t threads) {
  return RunFinder(info, marks_of, views, threads).find();
}

}  // namespace refrain::report
