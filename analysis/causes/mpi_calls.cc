#include "analysis/causes/mpi_calls.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace refrain::analysis {
namespace {

constexpr double kLeast_ns = 2e3;     // of a fast network
constexpr double kLatency_ns = 10e3;  // of a slow one
constexpr double kByte_ns = 1;
constexpr double kLeastByte_ns = 0.05;
constexpr double kShortCall_ns = 100e3;
constexpr std::uint64_t kSmall_bytes = 4096;
constexpr std::uint64_t kMany = 1000;

double sum_of_all(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

MpiCall::Kind kind_of(TimeClass cls, const PathTotal& total) {
  if (cls == TimeClass::kMpiSynchronization) return MpiCall::Kind::kBarrier;
  if (cls == TimeClass::kMpiCollective) return MpiCall::Kind::kCollective;
  return total.bytes_sent > 0 && total.bytes_received == 0 ? MpiCall::Kind::kSend
                                                           : MpiCall::Kind::kReceive;
}

// By process: how long sends take that need not.
std::vector<double> slow_sends(const std::vector<MpiCall>& calls, std::size_t processes) {
  std::vector<double> slow(processes);
  for (const MpiCall& call : calls) {
    if (call.kind != MpiCall::Kind::kSend) continue;
    for (std::size_t i = 0; i < processes; ++i)
      if (call.is_long(call.mean_ns(i))) slow[i] += call.lost_ns[i];
  }
  return slow;
}

void charge_collectives(std::vector<MpiCall>& calls,
                        const std::vector<WaitsOfProcess>& processes) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    double collective = 0, messages = 0;
    for (const MpiCall& call : calls)
      (call.is_of_messages() ? messages : collective) += call.lost_ns[i];
    for (MpiCall& call : calls) {
      if (!call.is_of_messages() && collective > 0)
        call.lost_ns[i] *= std::max(0.0, 1 - processes[i].chained_ns / collective);
      if (call.is_of_messages() && messages > 0)
        call.others_ns += processes[i].in_turn_ns * call.lost_ns[i] / messages;
    }
  }
}

void charge_receives(std::vector<MpiCall>& calls,
                     const std::vector<WaitsOfProcess>& processes) {
  const std::vector<double> slow = slow_sends(calls, processes.size());
  const double all = sum_of_all(slow);
  if (all <= 0) return;
  // Of what a process waits in its receives: no more, in all of them, than the others' sends take.
  std::vector<double> share(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    double others = 0;  // in the threads of this process
    for (std::size_t other = 0; other < processes.size(); ++other)
      if (other != i)
        others += slow[other] / processes[other].threads * processes[i].threads;
    double receives = 0;
    for (const MpiCall& call : calls)
      if (call.kind == MpiCall::Kind::kReceive) receives += call.lost_ns[i];
    share[i] = receives > others ? others / receives : 1;
  }
  double taken = 0;
  for (MpiCall& call : calls) {
    if (call.kind != MpiCall::Kind::kReceive) continue;
    const double before = call.total_lost();
    double left = 0;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const double part = call.lost_ns[i] * share[i];
      call.lost_ns[i] -= part;
      taken += part;
      left += call.lost_ns[i];
    }
    if (before <= 0) continue;
    taken += call.others_ns * (1 - left / before);
    call.others_ns *= left / before;
  }
  for (MpiCall& call : calls) {
    if (call.kind != MpiCall::Kind::kSend) continue;
    for (std::size_t i = 0; i < processes.size(); ++i)
      if (call.is_long(call.mean_ns(i))) call.others_ns += taken * call.lost_ns[i] / all;
  }
}

}  // namespace

double MpiCall::total_ns() const { return sum_of_all(time_ns); }

double MpiCall::total_lost() const { return sum_of_all(lost_ns); }

double MpiCall::mean_ns(std::size_t process) const {
  return calls[process] > 0 ? time_ns[process] / calls[process] : 0;
}

double MpiCall::possible_ns() const {
  // The fastest may have been a smaller message.
  const auto size = static_cast<double>(bytes);
  return std::clamp(fastest_ns, kLeast_ns + kLeastByte_ns * size,
                    kLatency_ns + kByte_ns * size);
}

bool MpiCall::polls() const {
  return name.starts_with("MPI_Test") || name.starts_with("MPI_Iprobe") ||
         name.starts_with("MPI_Improbe") || name.starts_with("MPI_Request_get_status");
}

bool MpiCall::is_fine() const {
  const double each = visits > 0 ? total_ns() / static_cast<double>(visits) : 0;
  return visits >= kMany && bytes < kSmall_bytes && each < kShortCall_ns && !is_long(each);
}

std::vector<MpiCall> mpi_calls(const RunProfile& profile) {
  std::map<std::string, MpiCall> found;
  std::map<std::string, PathTotal> totals;
  for (PathId i; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    if (!is_mpi(path.cls) || path.cls == TimeClass::kMpiManagement ||
        path.cls == TimeClass::kMpiIo)
      continue;
    const std::string name = path_name(profile, i);
    MpiCall& call = found[name];
    PathTotal& total = totals[name];
    if (call.path == RunProfile::kNone) {
      call.path = static_cast<std::uint32_t>(i);
      call.time_ns.resize(profile.processes.size());
      call.calls.resize(profile.processes.size());
    }
    for (const RunProfile::Sums& sums : path.sums) {
      const std::size_t process = profile.locations[sums.location].process;
      call.time_ns[process] +=
          profile.nanoseconds(sums.location, static_cast<double>(sums.own));
      call.calls[process] += static_cast<double>(sums.visits);
      const double least =
          profile.nanoseconds(sums.location, static_cast<double>(sums.minimum));
      if (sums.visits > 0 && (call.visits == 0 || least < call.fastest_ns))
        call.fastest_ns = least;
      call.visits += sums.visits;
      call.bytes += sums.size_bytes();
      total.bytes_sent += sums.bytes_sent;
      total.bytes_received += sums.bytes_received;
    }
    call.kind = kind_of(path.cls, total);
  }
  std::vector<MpiCall> out;
  for (auto& [name, call] : found) {
    call.name = name;
    const std::uint64_t visits = std::max<std::uint64_t>(1, call.visits);
    call.bytes = (call.bytes + visits / 2) / visits;
    out.push_back(std::move(call));
  }
  return out;
}

void charge_waits(std::vector<MpiCall>& calls,
                  const std::vector<WaitsOfProcess>& processes) {
  for (MpiCall& call : calls) {
    call.others_ns = 0;
    call.lost_ns.assign(processes.size(), 0);
    for (std::size_t i = 0; i < processes.size(); ++i)
      call.lost_ns[i] = std::max(0.0, 1 - processes[i].explained) * call.time_ns[i] *
                        processes[i].threads;
  }
  charge_collectives(calls, processes);
  charge_receives(calls, processes);
}

}  // namespace refrain::analysis
