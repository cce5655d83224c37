#include "analysis/profile/efficiencies.h"

#include <algorithm>
#include <cstddef>

namespace refrain::analysis {
namespace {

// The threads of a process.
struct Team {
  double threads = 0;
  double time = 0;  // of the one that was there longest
  double mpi = 0;
  double primary_mpi = 0;
  double idle = 0;

  void add(const ThreadTimes& thread) {
    ++threads;
    time = std::max(time, thread.all());
    mpi += thread.mpi;
    idle += thread.idle;
    if (thread.primary) primary_mpi = thread.mpi;
  }
  double idle_in_mpi() const {
    return std::clamp((threads - 1) * primary_mpi, 0.0, std::max(idle, 0.0));
  }
  // The mean of its threads.
  double outside() const { return time - (mpi + idle_in_mpi()) / threads; }
};

double quotient(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void ThreadTimes::add(summary::TimeClass cls, double ns) {
  using summary::TimeClass;
  switch (cls) {
    case TimeClass::kUseful:
      useful += ns;
      break;
    case TimeClass::kMpiPointToPoint:
    case TimeClass::kMpiCollective:
    case TimeClass::kMpiSynchronization:
    case TimeClass::kMpiOneSided:
    case TimeClass::kMpiIo:
    case TimeClass::kMpiManagement:
      mpi += ns;
      break;
    case TimeClass::kLimitedParallelism:
      idle += ns;
      break;
    case TimeClass::kSynchronization:
    case TimeClass::kImbalance:
    case TimeClass::kThreadManagement:
      openmp += ns;
      break;
    case TimeClass::kUnknown:
      unknown += ns;
      break;
    default:
      other += ns;
  }
}

void ThreadTimes::add(const ThreadTimes& more, double times) {
  useful += times * more.useful;
  mpi += times * more.mpi;
  idle += times * more.idle;
  openmp += times * more.openmp;
  other += times * more.other;
  unknown += times * more.unknown;
}

RunEfficiencies efficiencies_of(const std::vector<ThreadTimes>& threads, double time) {
  std::vector<Team> teams;
  double useful = 0, most = 0, openmp = 0, unknown = 0;
  bool has_mpi = false;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const ThreadTimes& thread = threads[i];
    if (i == 0 || thread.process != threads[i - 1].process) teams.emplace_back();
    teams.back().add(thread);
    useful += thread.useful;
    most = std::max(most, thread.useful);
    openmp += thread.openmp;
    unknown += thread.unknown;
    has_mpi = has_mpi || thread.mpi > 0;
    time = std::max(time, thread.all());
  }
  RunEfficiencies out;
  if (threads.empty() || !(time > 0)) return out;
  const double all = static_cast<double>(threads.size()) * time;
  out.unknown = unknown / all;
  out.parallel = useful / all;
  out.communication = most / time;
  out.load_balance = quotient(out.parallel, out.communication);
  out.has_mpi = has_mpi;
  double outside = 0, outside_most = 0, serial = 0;
  for (const Team& team : teams) {
    outside += team.threads * team.outside();
    outside_most = std::max(outside_most, team.outside());
    serial += team.idle - team.idle_in_mpi();
  }
  // Without MPI, that a process is not there is no matter of MPI.
  out.mpi = has_mpi ? outside / all : 1;
  out.mpi_communication = has_mpi ? outside_most / time : 1;
  out.mpi_load_balance = quotient(out.mpi, out.mpi_communication);
  out.openmp = quotient(out.parallel, out.mpi);
  out.openmp_load_balance = quotient(out.load_balance, out.mpi_load_balance);
  out.openmp_communication = quotient(out.communication, out.mpi_communication);
  out.lost_mpi = 1 - out.mpi;
  out.lost_serial = serial / all;
  out.lost_openmp = openmp / all;
  out.lost_other = out.mpi - out.parallel - out.lost_serial - out.lost_openmp;
  return out;
}

}  // namespace refrain::analysis
