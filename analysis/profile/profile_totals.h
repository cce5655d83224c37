// What a profile comes to: time by class, parallel regions, MPI procedures, efficiencies.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after run_profile.h; `refrain profile` prints it.
// Definitions: docs/profile.md. Thread-safety: pure. Units: nanoseconds, summed over locations
// where nothing else is said; shares from 0 to 1.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"

namespace refrain::analysis {

using ClassTimes = std::array<double, kTimeClasses>;  // by TimeClass

// Of a call path, over all locations.
struct PathTotal {
  std::uint64_t visits = 0;
  double time_ns = 0;
  double own_ns = 0;
  double management_ns = 0;
  double minimum_ns = 0;
  double maximum_ns = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
};

// What lies in a parallel region and in no other one within it.
struct ParallelRegion {
  std::uint32_t region = 0;     // index in RunProfile::regions
  std::uint64_t forks = 0;      // 0: not known, as of archives without a summary
  std::uint64_t visits = 0;     // of all threads
  double fork_ns = 0;           // from fork to join, of the threads that open it
  ClassTimes times{};           // of all threads
  std::vector<double> busy_ns;  // useful time by location
  double total_ns() const;
};

struct MpiProcedure {
  std::string name;
  TimeClass cls = TimeClass::kMpiManagement;
  std::uint64_t calls = 0;
  double time_ns = 0;
  double minimum_ns = 0;
  double maximum_ns = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t messages = 0;  // sent or received
  // Of a message; of a call, where there are no messages.
  double average_bytes() const;
};

// POP's. Each is a product of those under it.
struct RunEfficiencies {
  double parallel = 0;       // mean useful time / run time
  double load_balance = 0;   // mean / maximum useful time of locations
  double communication = 0;  // maximum useful time / run time
  bool has_mpi = false;
  double mpi = 0;  // the same of processes, where all outside of MPI is useful
  double mpi_load_balance = 0;
  double mpi_communication = 0;
  double openmp = 0;  // parallel / mpi
};

struct ProfileTotals {
  double run_ns = 0;         // of the process that ran longest
  double time_ns = 0;        // of all locations
  ClassTimes times{};        // add up to time_ns
  double outside_ns = 0;     // in no region
  double management_ns = 0;  // see RunProfile
  double elsewhere_ns = 0;
  std::uint64_t regions_elsewhere = 0;
  std::vector<ClassTimes> by_location;
  std::vector<PathTotal> paths;                  // as RunProfile::paths
  std::vector<ParallelRegion> parallel_regions;  // by their time
  std::vector<MpiProcedure> mpi;                 // by their time
  RunEfficiencies efficiencies;
};

ProfileTotals total(const RunProfile& profile);

}  // namespace refrain::analysis
