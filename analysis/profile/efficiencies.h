// POP's efficiencies of a part of a run, of what its threads did: one definition for all commands.
//
// Thread-safety: pure. Units: ns of one thread; shares of 1. Errors: none; of no threads or no time all are 0.
// Each value is at most 1, except those of `openmp_load_balance` and `openmp_communication`, which are quotients.
// Source: POP's standard metrics; the hybrid ones in the multiplicative form (BSC) and the additive one (Rathnayake et al.). One
// deviation: a process' time in MPI is the mean of its threads', to which belongs time without work while its primary thread
// is in MPI. That is POP's time of the primary thread where that alone calls MPI, between parallel regions. Where other threads
// compute meanwhile, or another one calls MPI, POP's would give an OpenMP efficiency above 1. Processes count by their threads.
// Cost: linear.
#pragma once

#include <cstdint>
#include <vector>

#include "summary/time_class.h"

namespace refrain::analysis {

struct ThreadTimes {
  std::uint32_t process = 0;  // index; threads of a process follow each other
  bool primary = false;       // of a process one, else none is known
  double useful = 0;
  double mpi = 0;
  double idle = 0;     // a worker's, outside of parallel regions, and while a `single` runs
  double openmp = 0;   // imbalance, synchronization and management of threads
  double other = 0;    // devices, file I/O
  double unknown = 0;  // in no event, or the tracer's

  double all() const { return useful + mpi + idle + openmp + other + unknown; }
  void add(summary::TimeClass cls, double ns);
  void add(const ThreadTimes& more, double times);  // so many times the times of `more`
};

struct RunEfficiencies {
  // With more of the time unknown the values below are no efficiencies: they would take it for lost.
  static constexpr double kMaxUnknown = 0.05;
  double unknown = 0;  // share of the time of all threads
  bool known() const { return unknown <= kMaxUnknown; }

  double parallel = 0;       // mean useful time / time; the product of the next two
  double load_balance = 0;   // mean / maximum useful time
  double communication = 0;  // maximum useful time / time
  bool has_mpi = false;
  // Of processes, all outside of MPI is useful; without MPI 1.
  double mpi = 0;  // likewise
  double mpi_load_balance = 0;
  double mpi_communication = 0;
  double openmp = 0;  // parallel / mpi: multiplicative
  double openmp_load_balance = 0;
  double openmp_communication = 0;
  // Additive: parallel = 1 - the losses, each as a share of the time of all threads.
  double lost_mpi = 0;     // 1 - mpi
  double lost_serial = 0;  // threads without work, not while MPI is waited for
  double lost_openmp = 0;  // inside of parallel regions
  double lost_other = 0;
};

// `time`: of the part of the run; that of the thread that was there longest, if that is more.
RunEfficiencies efficiencies_of(const std::vector<ThreadTimes>& threads, double time);

}  // namespace refrain::analysis
