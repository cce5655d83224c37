#include "analysis/profile/profile_totals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace refrain::analysis {
namespace {

double& of(ClassTimes& times, TimeClass cls) {
  return times[static_cast<std::size_t>(cls)];
}

double mpi_time(const ClassTimes& times) {
  double sum = 0;
  for (std::size_t i = 0; i < kTimeClasses; ++i)
    if (is_mpi(static_cast<TimeClass>(i))) sum += times[i];
  return sum;
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
    efficiencies();
    return std::move(out_);
  }

 private:
  double ns(std::uint32_t location, std::uint64_t ticks) const {
    return profile_.nanoseconds(location, static_cast<double>(ticks));
  }
  double ns(std::uint32_t location, std::int64_t ticks) const {
    return profile_.nanoseconds(location, static_cast<double>(ticks));
  }

  void locations() {
    out_.by_location.resize(profile_.locations.size());
    for (std::uint32_t i = 0; i < profile_.locations.size(); ++i) {
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
    if (region != nullptr && is_mpi(path.cls)) {
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
    const std::uint32_t at = sums.location;
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
    const std::uint32_t at = sums.location;
    if (sums.visits != 0) {
      row.minimum_ns = smaller(row.calls, row.minimum_ns, ns(at, sums.minimum));
      row.maximum_ns = std::max(row.maximum_ns, ns(at, sums.maximum));
    }
    row.calls += sums.visits;
    row.time_ns += ns(at, sums.own);
    row.bytes_sent += sums.bytes_sent;
    row.bytes_received += sums.bytes_received;
    row.messages += sums.messages_sent + sums.messages_received;
  }

  // Mean and maximum of some times, as shares of the run.
  struct Balance {
    double efficiency = 0, balance = 0, maximum = 0;
  };
  Balance balance_of(const std::vector<double>& times) const {
    if (times.empty() || out_.run_ns <= 0) return {};
    const double maximum = *std::max_element(times.begin(), times.end());
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) /
                        static_cast<double>(times.size());
    return {mean / out_.run_ns, maximum > 0 ? mean / maximum : 0, maximum / out_.run_ns};
  }

  void efficiencies() {
    RunEfficiencies& out = out_.efficiencies;
    std::vector<double> useful;
    std::vector<double> in_mpi(profile_.processes.size());
    for (std::uint32_t i = 0; i < profile_.locations.size(); ++i) {
      if (profile_.locations[i].helper) continue;
      useful.push_back(of(out_.by_location[i], TimeClass::kUseful));
      double& most = in_mpi[profile_.locations[i].process];
      most = std::max(most, mpi_time(out_.by_location[i]));
    }
    const Balance all = balance_of(useful);
    out.parallel = all.efficiency;
    out.load_balance = all.balance;
    out.communication = all.maximum;
    out.has_mpi = !out_.mpi.empty();
    if (!out.has_mpi) return;
    std::vector<double> outside;
    for (std::size_t i = 0; i < in_mpi.size(); ++i) {
      const RunProfile::Process& process = profile_.processes[i];
      outside.push_back(static_cast<double>(process.time) * 1e9 / process.ticks_per_second -
                        in_mpi[i]);
    }
    const Balance mpi = balance_of(outside);
    out.mpi = mpi.efficiency;
    out.mpi_load_balance = mpi.balance;
    out.mpi_communication = mpi.maximum;
    out.openmp = mpi.efficiency > 0 ? out.parallel / mpi.efficiency : 0;
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
  const std::uint64_t number = messages != 0 ? messages : calls;
  if (number == 0) return 0;
  return (static_cast<double>(bytes_sent) + static_cast<double>(bytes_received)) /
         static_cast<double>(number);
}

ProfileTotals total(const RunProfile& profile) { return Totaller(profile).take(); }

}  // namespace refrain::analysis
