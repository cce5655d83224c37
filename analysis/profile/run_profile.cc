#include "analysis/profile/run_profile.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/pthread_calls.h"
#include "base/reserve_tightly.h"
#include "reader/trace.h"
#include "summary/time_class.h"

namespace refrain::analysis {
namespace {

struct Names {
  const char* name;
  const char* title;
};

constexpr std::array<Names, kTimeClasses> kNames = {{
    {"useful", "useful computation"},
    {"synchronization", "threads, synchronization"},
    {"imbalance", "OpenMP, imbalance"},
    {"limited_parallelism", "OpenMP, limited parallelism"},
    {"thread_management", "threads, management"},
    {"mpi_point_to_point", "MPI, point-to-point"},
    {"mpi_collective", "MPI, collective"},
    {"mpi_synchronization", "MPI, synchronization"},
    {"mpi_one_sided", "MPI, one-sided"},
    {"mpi_io", "MPI, file I/O"},
    {"mpi_management", "MPI, management"},
    {"target_wait", "devices, waiting and management"},
    {"target_data", "devices, data"},
    {"target_kernels", "devices, submission of kernels"},
    {"file_io", "file I/O"},
    {"unknown", "without a place, or the tracer's"},
}};

}  // namespace

const char* class_name(TimeClass cls) noexcept {
  return kNames[static_cast<std::size_t>(cls)].name;
}

const char* class_title(TimeClass cls) noexcept {
  return kNames[static_cast<std::size_t>(cls)].title;
}

bool is_mpi(TimeClass cls) noexcept {
  return cls >= TimeClass::kMpiPointToPoint && cls <= TimeClass::kMpiManagement;
}

namespace {

// What OpenMP's target constructs do, by the names that they have in the field.
TimeClass class_of_target(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "!$omp target";
  std::string_view what = name.substr(kPrefix.size());
  what = what.substr(0, what.find(" @"));
  if (what == " submit" || what == " kernel") return TimeClass::kTargetKernels;
  for (const std::string_view construct : {"", " enter data", " exit data", " update"})
    if (what == construct) return TimeClass::kTargetWait;
  return TimeClass::kTargetData;
}

}  // namespace

TimeClass class_of(std::uint32_t role, std::uint32_t paradigm,
                   std::string_view name) noexcept {
  if (paradigm == OTF2_PARADIGM_MPI)
    return summary::class_of_mpi(reader::mpi_procedure(name),
                                 static_cast<OTF2_RegionRole>(role));
  if (paradigm == OTF2_PARADIGM_MEASUREMENT_SYSTEM) return TimeClass::kUnknown;
  switch (role) {
    case OTF2_REGION_ROLE_BARRIER:
    case OTF2_REGION_ROLE_CRITICAL:
    case OTF2_REGION_ROLE_ORDERED:
    case OTF2_REGION_ROLE_ATOMIC:
    case OTF2_REGION_ROLE_FLUSH:
    case OTF2_REGION_ROLE_TASK_WAIT:
    case OTF2_REGION_ROLE_THREAD_WAIT:
      return TimeClass::kSynchronization;
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
      return TimeClass::kImbalance;
    case OTF2_REGION_ROLE_TASK_CREATE:
    case OTF2_REGION_ROLE_THREAD_CREATE:
      return TimeClass::kThreadManagement;
    case OTF2_REGION_ROLE_FILE_IO:
    case OTF2_REGION_ROLE_FILE_IO_METADATA:
      return TimeClass::kFileIo;
    default:
      break;
  }
  if (paradigm == OTF2_PARADIGM_PTHREAD)
    return base::pthread_call(name) == base::PthreadCall::kOther
               ? TimeClass::kThreadManagement
               : TimeClass::kSynchronization;
  if (paradigm != OTF2_PARADIGM_OPENMP) return TimeClass::kUseful;
  if (name.starts_with("!$omp target")) return class_of_target(name);
  if (role == OTF2_REGION_ROLE_ARTIFICIAL || name.starts_with("omp_unset_"))
    return TimeClass::kThreadManagement;
  if (name.starts_with("omp_set_") || name.starts_with("omp_test_"))
    return TimeClass::kSynchronization;
  return TimeClass::kUseful;
}

bool is_parallel_region(std::uint32_t role, std::uint32_t paradigm) noexcept {
  return role == OTF2_REGION_ROLE_PARALLEL && paradigm == OTF2_PARADIGM_OPENMP;
}

}  // namespace refrain::analysis

namespace refrain::analysis {
namespace {

using summary::RunSummary;

constexpr double kMaxTicks = 9e18;

// A file may hold any numbers: no sum overflows, it wraps around.
void add_to(std::int64_t& sum, std::uint64_t value) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + value);
}

bool is_empty(const RunSummary::Sums& sums) { return sums == RunSummary::Sums(); }

bool is_common(const RunProfile::Sums& sums) {
  return (static_cast<std::uint64_t>(sums.management) |
          static_cast<std::uint64_t>(sums.elsewhere) | sums.regions_elsewhere |
          sums.bytes_sent | sums.bytes_received | sums.messages_sent |
          sums.messages_received | sums.forks | sums.fork_time) == 0;
}

class Merger {
 public:
  RunProfile merge(const std::vector<RunSummary>& summaries) {
    for (const RunSummary& summary : summaries) add(summary);
    for (std::uint32_t path = 0; path < profile_.paths.size(); ++path) classify(path);
    return std::move(profile_);
  }

 private:
  // What comes before a path at its level, over all locations: how often, and how often a
  // `single` or the like.
  struct Before {
    std::uint64_t any = 0;
    std::uint64_t single = 0;
  };
  struct Forks {
    std::uint64_t count = 0;
    std::uint64_t time = 0;
  };

  void add(const RunSummary& summary) {
    profile_.processes.push_back(
        {.number = summary.process,
         .rank = summary.rank,
         .host = summary.host,
         .program = summary.program,
         .complete = summary.complete,
         .exited = summary.exited,
         .ticks_per_second = summary.ticks_per_second,
         .time = summary.end - std::min(summary.begin, summary.end),
         .peak_memory_bytes = summary.peak_memory_bytes,
         .memory_bytes = summary.memory_bytes});
    profile_.locations_without += summary.locations_without.size();
    find_paths(summary);
    find_forks(summary);
    for (const RunSummary::Location& location : summary.locations) {
      profile_.core_wait_ns += static_cast<double>(location.use.core_wait_ns);
      add_location(summary, location);
    }
  }

  // --- The tree ---------------------------------------------------------------------

  void find_paths(const RunSummary& summary) {
    if (!regions_of_.is_shared_with(summary.regions)) {
      regions_.assign(summary.regions.size(), RunProfile::kNone);
      regions_of_ = summary.regions;
    } else if (nodes_of_.is_shared_with(summary.nodes) && sites_of_ == summary.sites) {
      return;  // as those of the process before
    }
    nodes_of_ = summary.nodes;
    sites_of_ = summary.sites;
    paths_.assign(summary.nodes.size(), RunProfile::kNone);
    below_.assign(summary.nodes.size(), RunProfile::kNone);
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      const RunSummary::Node& node = summary.nodes[i];
      const std::uint32_t parent =
          node.parent == RunProfile::kNone ? RunProfile::kNone : below_[node.parent];
      const bool other =
          node.kind == RunSummary::Kind::kOther || node.region == RunProfile::kNone;
      if (!other && regions_[node.region] == RunProfile::kNone)
        regions_[node.region] = region_index(summary.regions[node.region]);
      paths_[i] = path_index(
          parent, other ? RunProfile::kNone : regions_[node.region],
          node.site == RunProfile::kNone ? std::string() : summary.sites[node.site]);
      below_[i] = node.kind == RunSummary::Kind::kFork ? parent : paths_[i];
    }
  }

  std::uint32_t region_index(const RunSummary::Region& region) {
    const auto next = static_cast<std::uint32_t>(profile_.regions.size());
    const auto [at, is_new] =
        region_ids_.try_emplace({region.name, region.file, region.line}, next);
    if (is_new)
      profile_.regions.push_back(
          {region.name, region.file, region.line, region.role, region.paradigm});
    return at->second;
  }

  std::uint32_t path_index(std::uint32_t parent, std::uint32_t region,
                           const std::string& site) {
    const auto next = static_cast<std::uint32_t>(profile_.paths.size());
    const auto [at, is_new] = path_ids_.try_emplace({parent, region, site}, next);
    if (is_new) {
      profile_.paths.push_back({.parent = parent, .region = region, .site = site});
      before_.emplace_back();
    }
    return at->second;
  }

  // --- The numbers ------------------------------------------------------------------

  // Those of the location that is being added.
  RunProfile::Sums& sums_of(PathId path, LocationId location) {
    const auto next = static_cast<std::uint32_t>(sums_.size());
    sums_at_.resize(std::max(sums_at_.size(), profile_.paths.size()), RunProfile::kNone);
    std::uint32_t& at = sums_at_[path];
    if (at == RunProfile::kNone) {
      at = next;
      sums_.push_back({path, {.location = location}});
    }
    return sums_[at].second;
  }
  void keep_sums() {
    for (const auto& [path, sums] : sums_) {
      profile_.paths[path].sums.push_back(sums);
      sums_at_[path] = RunProfile::kNone;
    }
    sums_.clear();
  }

  void find_forks(const RunSummary& summary) {
    forks_.clear();
    for (const RunSummary::Location& from : summary.locations)
      for (std::size_t i = 0; i < summary.nodes.size(); ++i)
        if (summary.nodes[i].kind == RunSummary::Kind::kFork && !is_empty(from.sums[i])) {
          Forks& forks = forks_[profile_.paths[paths_[i]].region];
          forks.count += from.sums[i].visits;
          forks.time += from.sums[i].time;
        }
  }

  void add_location(const RunSummary& summary, const RunSummary::Location& from) {
    const LocationId number(profile_.locations.size());
    std::vector<std::uint64_t> inside(summary.nodes.size());
    std::uint64_t top = 0;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      const std::uint32_t parent = summary.nodes[i].parent;
      (parent == RunProfile::kNone ? top : inside[parent]) += from.sums[i].time;
    }
    const std::uint64_t inside_regions = top + from.outside.time_elsewhere;
    const std::uint64_t run =
        from.only_in_regions() ? inside_regions : profile_.processes.back().time;
    profile_.locations.push_back(
        {.process = static_cast<std::uint32_t>(profile_.processes.size() - 1),
         .reference = from.reference,
         .thread = from.number,
         .primary = from.primary,
         .worker = !from.only_in_regions() && is_worker(summary, from),
         .outside = static_cast<std::int64_t>(run - inside_regions),
         .elsewhere = static_cast<std::int64_t>(from.outside.time_elsewhere),
         .helper = from.helper,
         .temporary = from.temporary,
         .time = run});
    if (from.killed_in != RunSummary::kNone) {
      profile_.locations.back().killed_in = paths_[from.killed_in];
      profile_.locations.back().killed_since =
          from.killed_since - std::min(summary.begin, from.killed_since);
    }
    for (std::size_t i = 0; i < summary.nodes.size(); ++i)
      if (!is_empty(from.sums[i])) add_node(summary, i, from.sums[i], inside[i], number);
    add_management(summary, from);
    keep_sums();
    add_edges(summary, from);
  }

  void add_node(const RunSummary& summary, std::size_t node, const RunSummary::Sums& from,
                std::uint64_t inside, LocationId location) {
    RunProfile::Sums& sums = sums_of(PathId(paths_[node]), location);
    const std::uint64_t own = from.time - inside - from.time_elsewhere;
    add_to(sums.elsewhere, from.time_elsewhere);
    sums.regions_elsewhere += from.regions_elsewhere;
    if (summary.nodes[node].kind == RunSummary::Kind::kFork) {
      add_to(sums.management, own);
      sums.forks += from.visits;
      sums.fork_time += from.time;
      return;
    }
    sums.minimum = sums.visits == 0 ? from.least : std::min(sums.minimum, from.least);
    sums.maximum = std::max(sums.maximum, from.greatest);
    sums.visits += from.visits;
    sums.time += from.time;
    add_to(sums.own, own);
    sums.bytes_sent += from.bytes_sent;
    sums.bytes_received += from.bytes_received;
    sums.messages_sent += from.messages_sent;
    sums.messages_received += from.messages_received;
  }

  // A thread that does nothing but take part in parallel regions of others.
  static bool is_worker(const RunSummary& summary, const RunSummary::Location& location) {
    if (location.primary || location.outside.regions_elsewhere != 0) return false;
    bool any = false;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      const RunSummary::Node& node = summary.nodes[i];
      if (node.parent != RunProfile::kNone || is_empty(location.sums[i])) continue;
      if (node.kind != RunSummary::Kind::kRegion || node.region == RunProfile::kNone)
        return false;
      const RunSummary::Region& region = summary.regions[node.region];
      if (!is_parallel_region(region.role, region.paradigm)) return false;
      any = true;
    }
    return any || location.number != 0;
  }

  // Of what a worker spent between fork and join, what it was not in the region is management.
  // A fork's mean time counts, for a team need not have all threads.
  void add_management(const RunSummary& summary, const RunSummary::Location& from) {
    RunProfile::Location& location = profile_.locations.back();
    if (!location.worker) return;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      if (summary.nodes[i].parent != RunProfile::kNone || from.sums[i].visits == 0)
        continue;
      const auto forks = forks_.find(profile_.paths[paths_[i]].region);
      if (forks == forks_.end() || forks->second.count == 0) continue;
      const double share = static_cast<double>(from.sums[i].visits) /
                           static_cast<double>(forks->second.count);
      const double open = std::round(share * static_cast<double>(forks->second.time));
      const double late = std::min({open - static_cast<double>(from.sums[i].time),
                                    static_cast<double>(location.outside), kMaxTicks});
      if (!(late > 0)) continue;
      const auto ticks = static_cast<std::int64_t>(late);
      add_to(
          sums_of(PathId(paths_[i]), LocationId(profile_.locations.size() - 1)).management,
          static_cast<std::uint64_t>(ticks));
      location.outside -= ticks;
    }
  }

  // --- Classes ----------------------------------------------------------------------

  void add_edges(const RunSummary& summary, const RunSummary::Location& location) {
    for (const RunSummary::Edge& edge : location.edges) {
      keep_edge(summary, edge);
      if (edge.from == edge.to) continue;  // one after another of the same
      Before& before = before_[paths_[edge.to]];
      before.any += edge.count;
      if (edge.from == RunProfile::kNone ||
          summary.nodes[edge.from].region == RunProfile::kNone)
        continue;
      const bool sibling = summary.nodes[edge.from].parent == summary.nodes[edge.to].parent;
      const RunSummary::Region& region = summary.regions[summary.nodes[edge.from].region];
      if (sibling && region.role == OTF2_REGION_ROLE_SINGLE) before.single += edge.count;
    }
  }

  // Of the location that was added last. That a parallel region is the first in its fork says
  // nothing; what comes before the fork comes before the region.
  void keep_edge(const RunSummary& summary, const RunSummary::Edge& edge) {
    const std::uint32_t around = summary.nodes[edge.to].parent;
    const bool first = edge.from == around;
    if (first && around != RunProfile::kNone &&
        summary.nodes[around].kind == RunSummary::Kind::kFork)
      return;
    std::vector<RunProfile::Before>& before = profile_.paths[paths_[edge.to]].before;
    base::reserve_tightly(before);
    before.push_back({.location = LocationId(profile_.locations.size() - 1),
                      .path = first ? RunProfile::kNone : paths_[edge.from],
                      .count = edge.count});
  }

  bool is_implicit_barrier(std::uint32_t path) const {
    const std::uint32_t region =
        path == RunProfile::kNone ? RunProfile::kNone : profile_.paths[path].region;
    return region != RunProfile::kNone &&
           profile_.regions[region].role == OTF2_REGION_ROLE_IMPLICIT_BARRIER;
  }

  void classify(std::uint32_t number) {
    RunProfile::Path& path = profile_.paths[number];
    if (path.region == RunProfile::kNone) return;
    const RunProfile::Region& region = profile_.regions[path.region];
    path.cls = class_of(region.role, region.paradigm, region.name);
    if (path.cls != TimeClass::kImbalance) return;
    const Before& before = before_[number];
    if (is_implicit_barrier(path.parent)) {  // the wait in a barrier
      path.cls = profile_.paths[path.parent].cls;
    } else if (2 * before.single > before.any) {
      path.cls = TimeClass::kLimitedParallelism;
    }
  }

  RunProfile profile_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> region_ids_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::uint32_t> path_ids_;
  std::vector<Before> before_;  // by path
  // Of the process that is being added: by node, its path, and that of what lies in it.
  std::vector<std::uint32_t> paths_, below_;
  base::SharedVector<RunSummary::Region> regions_of_;  // what they were found for
  base::SharedVector<RunSummary::Node> nodes_of_;
  std::vector<std::string> sites_of_;
  std::vector<std::uint32_t> regions_;  // of regions_of_: those in the profile
  // Of the location that is being added; by path, where they are.
  std::vector<std::pair<PathId, RunProfile::Sums>> sums_;
  std::vector<std::uint32_t> sums_at_;
  std::map<std::uint32_t, Forks> forks_;  // by region
};

}  // namespace

RunProfile::Sums RunProfile::SumsByLocation::operator[](std::size_t i) const {
  const Common& common = common_[i];
  if (common.all != kNone) return all_[common.all];
  return {.location = common.location,
          .visits = common.visits,
          .time = common.time,
          .own = common.own,
          .minimum = common.minimum,
          .maximum = common.maximum};
}

void RunProfile::SumsByLocation::push_back(const Sums& sums) {
  const bool common = is_common(sums);
  base::reserve_tightly(common_);
  common_.push_back({sums.location,
                     common ? kNone : static_cast<std::uint32_t>(all_.size()), sums.visits,
                     sums.time, sums.own, sums.minimum, sums.maximum});
  if (!common) all_.push_back(sums);
}

RunProfile merge_summaries(const std::vector<RunSummary>& summaries) {
  return Merger().merge(summaries);
}

std::string region_text(const RunProfile::Region& region) {
  constexpr std::string_view kDirective = "!$omp ";
  std::string name = region.name;
  if (name.starts_with(kDirective)) name.erase(0, kDirective.size());
  if (region.line == 0 || name.find('@') != std::string::npos) return name;
  return name + " @" + std::filesystem::path(region.file).filename().string() + ":" +
         std::to_string(region.line);
}

std::string path_name(const RunProfile& profile, PathId path) {
  const RunProfile::Path& at = profile.paths[path];
  if (at.region == RunProfile::kNone) return "other regions";
  const RunProfile::Region& region = profile.regions[at.region];
  if (at.site.empty()) return region_text(region);
  return region.name + " @" + std::filesystem::path(at.site).filename().string();
}

std::string path_text(const RunProfile& profile, PathId path) {
  std::string text = path_name(profile, path);
  while ((path = PathId(profile.paths[path].parent)) != RunProfile::kNone)
    text.insert(0, path_name(profile, path) + " > ");
  return text;
}

}  // namespace refrain::analysis

namespace refrain::analysis {
namespace {

double& of(ClassTimes& times, TimeClass cls) {
  return times[static_cast<std::size_t>(cls)];
}

template <typename Value>
Value smaller(std::uint64_t visits_before, Value before, Value now) {
  return visits_before == 0 ? now : std::min(before, now);
}

class Totaller {
 public:
  explicit Totaller(const RunProfile& profile) : profile_(profile) {}

  ProfileTotals take() {
    locations();
    enclosing_.assign(profile_.paths.size(), RunProfile::kNone);
    for (std::uint32_t i = 0; i < profile_.paths.size(); ++i) add(i);
    for (const ClassTimes& times : out_.by_location)
      for (std::size_t i = 0; i < kTimeClasses; ++i) out_.times[i] += times[i];
    for (auto& [region, row] : regions_) out_.parallel_regions.push_back(std::move(row));
    for (auto& [name, row] : procedures_) out_.mpi.push_back(std::move(row));
    std::stable_sort(out_.parallel_regions.begin(), out_.parallel_regions.end(),
                     [](const ParallelRegion& a, const ParallelRegion& b) {
                       return a.total_ns() > b.total_ns();
                     });
    std::stable_sort(
        out_.mpi.begin(), out_.mpi.end(),
        [](const MpiProcedure& a, const MpiProcedure& b) { return a.time_ns > b.time_ns; });
    out_.efficiencies =
        efficiencies_of(thread_times(profile_, out_.by_location), out_.run_ns);
    return std::move(out_);
  }

 private:
  double ns(LocationId location, std::uint64_t ticks) const {
    return profile_.nanoseconds(location, static_cast<double>(ticks));
  }
  double ns(LocationId location, std::int64_t ticks) const {
    return profile_.nanoseconds(location, static_cast<double>(ticks));
  }

  void locations() {
    out_.by_location.resize(profile_.locations.size());
    for (LocationId i; i < profile_.locations.size(); ++i) {
      const RunProfile::Location& location = profile_.locations[i];
      const double run = ns(i, profile_.time_of(i));
      const double outside = ns(i, location.outside);
      const double elsewhere = ns(i, location.elsewhere);
      if (!location.helper) out_.run_ns = std::max(out_.run_ns, run);
      out_.time_ns += run;
      out_.outside_ns += outside;
      out_.elsewhere_ns += elsewhere;
      of(out_.by_location[i], profile_.outside_class(i)) += outside;
      of(out_.by_location[i], TimeClass::kUnknown) += elsewhere;
    }
  }

  void add(std::uint32_t number) {
    const RunProfile::Path& path = profile_.paths[number];
    enclosing_[number] =
        path.parent == RunProfile::kNone ? RunProfile::kNone : enclosing_[path.parent];
    const RunProfile::Region* region =
        path.region == RunProfile::kNone ? nullptr : &profile_.regions[path.region];
    if (region != nullptr && is_parallel_region(region->role, region->paradigm))
      enclosing_[number] = path.region;
    const std::uint32_t around = enclosing_[number];
    ParallelRegion* row = nullptr;
    if (around != RunProfile::kNone) {
      row = &regions_[around];
      row->region = around;
      row->busy_ns.resize(profile_.locations.size());
    }
    MpiProcedure* procedure = nullptr;
    if (region != nullptr && region->paradigm == OTF2_PARADIGM_MPI) {
      procedure = &procedures_[region->name];
      procedure->name = region->name;
      procedure->cls = path.cls;
    }
    PathTotal& total = out_.paths.emplace_back();
    for (const RunProfile::Sums& sums : path.sums) {
      add(sums, total);
      add(sums, path.cls, out_.by_location[sums.location]);
      out_.management_ns += ns(sums.location, sums.management);
      out_.elsewhere_ns += ns(sums.location, sums.elsewhere);
      out_.regions_elsewhere += sums.regions_elsewhere;
      if (row != nullptr) add(sums, path, path.region == around, *row);
      if (procedure != nullptr) add(sums, *procedure);
    }
  }

  void add(const RunProfile::Sums& sums, TimeClass cls, ClassTimes& times) const {
    of(times, cls) += ns(sums.location, sums.own);
    of(times, TimeClass::kThreadManagement) += ns(sums.location, sums.management);
    of(times, TimeClass::kUnknown) += ns(sums.location, sums.elsewhere);
  }

  void add(const RunProfile::Sums& sums, PathTotal& total) const {
    const LocationId at = sums.location;
    if (sums.visits != 0) {
      total.minimum_ns = smaller(total.visits, total.minimum_ns, ns(at, sums.minimum));
      total.maximum_ns = std::max(total.maximum_ns, ns(at, sums.maximum));
    }
    total.visits += sums.visits;
    total.time_ns += ns(at, sums.time);
    total.own_ns += ns(at, sums.own);
    total.management_ns += ns(at, sums.management);
    total.bytes_sent += sums.bytes_sent;
    total.bytes_received += sums.bytes_received;
    total.messages_sent += sums.messages_sent;
    total.messages_received += sums.messages_received;
  }

  void add(const RunProfile::Sums& sums, const RunProfile::Path& path, bool itself,
           ParallelRegion& row) const {
    add(sums, path.cls, row.times);
    if (path.cls == TimeClass::kUseful)
      row.busy_ns[sums.location] += ns(sums.location, sums.own);
    if (!itself) return;
    row.forks += sums.forks;
    row.visits += sums.visits;
    row.fork_ns += ns(sums.location, sums.fork_time);
  }

  void add(const RunProfile::Sums& sums, MpiProcedure& row) const {
    const LocationId at = sums.location;
    if (sums.visits != 0) {
      row.minimum_ns = smaller(row.calls, row.minimum_ns, ns(at, sums.minimum));
      row.maximum_ns = std::max(row.maximum_ns, ns(at, sums.maximum));
    }
    row.calls += sums.visits;
    row.time_ns += ns(at, sums.own);
    row.bytes_sent += sums.bytes_sent;
    row.bytes_received += sums.bytes_received;
    row.size_bytes += sums.size_bytes();
    row.messages += sums.messages_sent + sums.messages_received;
  }

  const RunProfile& profile_;
  ProfileTotals out_;
  std::vector<std::uint32_t>
      enclosing_;  // by path: region of the innermost parallel region
  std::map<std::uint32_t, ParallelRegion> regions_;
  std::map<std::string, MpiProcedure> procedures_;
};

}  // namespace

double ParallelRegion::total_ns() const {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

double MpiProcedure::average_bytes() const {
  if (messages != 0)
    return (static_cast<double>(bytes_sent) + static_cast<double>(bytes_received)) /
           static_cast<double>(messages);
  return calls == 0 ? 0 : static_cast<double>(size_bytes) / static_cast<double>(calls);
}

std::vector<ThreadTimes> thread_times(const RunProfile& profile,
                                      const std::vector<ClassTimes>& by_location) {
  std::vector<ThreadTimes> out;
  // Of a process of which no thread is known to be the primary one, the first is.
  std::vector<bool> has_primary(profile.processes.size());
  for (const RunProfile::Location& location : profile.locations)
    if (location.primary && !location.helper) has_primary[location.process] = true;
  for (LocationId i; i < profile.locations.size(); ++i) {
    const RunProfile::Location& location = profile.locations[i];
    if (location.helper) continue;
    ThreadTimes& to = out.emplace_back();
    to.process = location.process;
    to.primary = has_primary[location.process]
                     ? location.primary
                     : out.size() == 1 || out[out.size() - 2].process != location.process;
    for (std::size_t cls = 0; cls < kTimeClasses; ++cls)
      to.add(static_cast<TimeClass>(cls), by_location[i][cls]);
  }
  return out;
}

ProfileTotals total(const RunProfile& profile) { return Totaller(profile).take(); }

}  // namespace refrain::analysis
