#include "analysis/report/profile_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "analysis/profile/path_names.h"
#include "analysis/report/profile_blocks.h"

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
                       rank_of(profile_.process_of(static_cast<std::uint32_t>(location))),
                       at.thread);
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
                      analysis::path_text(profile_, i), count_text(visits, "time", "times"),
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
