#include "waits/metrics/metric.h"

#include <algorithm>

namespace refrain::waits {

const std::vector<MetricInfo>& base_metrics() {
  static const std::vector<MetricInfo> kMetrics = {
      {"time", "", "Time", "Time of all locations", ""},
      {"execution", "time", "Execution", "Time in regions of the program", ""},
      {"mpi", "execution", "MPI", "Time in MPI calls", ""},
      {"mpi_management", "mpi", "MPI management",
       "Time in MPI calls that manage MPI objects", ""},
      {"mpi_init_exit", "mpi_management", "MPI init and exit",
       "Time in MPI_Init and MPI_Finalize", ""},
      {"mpi_mgmt_comm", "mpi_management", "MPI communicator management",
       "Time in calls that create and free communicators and groups", ""},
      {"mpi_mgmt_file", "mpi_management", "MPI file management",
       "Time in calls that open and close files", ""},
      {"mpi_mgmt_win", "mpi_management", "MPI window management",
       "Time in calls that create and free windows", ""},
      {"mpi_synchronization", "mpi", "MPI synchronization",
       "Time in MPI calls that only synchronize", ""},
      {"mpi_sync_collective", "mpi_synchronization", "MPI collective synchronization",
       "Time in MPI barriers", ""},
      {"mpi_rma_synchronization", "mpi_synchronization", "MPI one-sided synchronization",
       "Time in calls that synchronize one-sided communication", ""},
      {"mpi_rma_sync_active", "mpi_rma_synchronization",
       "MPI active target synchronization",
       "Time in MPI_Win_fence, MPI_Win_post, MPI_Win_start, MPI_Win_complete, MPI_Win_wait",
       ""},
      {"mpi_rma_sync_passive", "mpi_rma_synchronization",
       "MPI passive target synchronization",
       "Time in calls that lock, unlock and flush windows", ""},
      {"mpi_communication", "mpi", "MPI communication",
       "Time in MPI calls that communicate", ""},
      {"mpi_point2point", "mpi_communication", "MPI point-to-point communication",
       "Time in point-to-point communication", ""},
      {"mpi_collective", "mpi_communication", "MPI collective communication",
       "Time in collective communication", ""},
      {"mpi_rma_communication", "mpi_communication", "MPI one-sided communication",
       "Time in one-sided communication", ""},
      {"mpi_io", "mpi", "MPI file I/O", "Time in MPI file I/O", ""},
      {"mpi_io_individual", "mpi_io", "MPI individual file I/O",
       "Time in file I/O of single processes", ""},
      {"mpi_io_collective", "mpi_io", "MPI collective file I/O",
       "Time in collective file I/O", ""},
      {"omp_time", "execution", "OpenMP", "Time in the OpenMP runtime", ""},
      {"omp_flush", "omp_time", "OpenMP flush", "Time in flush", ""},
      {"omp_management", "omp_time", "OpenMP thread management",
       "From the fork to the start of a thread in the region, and from its end to the join",
       ""},
      {"omp_synchronization", "omp_time", "OpenMP synchronization",
       "Time in OpenMP synchronization", ""},
      {"omp_barrier", "omp_synchronization", "OpenMP barrier", "Time in barriers", ""},
      {"omp_ebarrier", "omp_barrier", "OpenMP explicit barrier",
       "Time in explicit barriers", ""},
      {"omp_ibarrier", "omp_barrier", "OpenMP implicit barrier",
       "Time in barriers at the end of parallel regions, loops, sections and singles", ""},
      {"omp_critical", "omp_synchronization", "OpenMP critical and atomic",
       "Time to enter and leave critical and atomic", ""},
      {"omp_lock_api", "omp_synchronization", "OpenMP lock API",
       "Time in omp_set_lock and other lock functions", ""},
      {"omp_ordered", "omp_synchronization", "OpenMP ordered", "Time to enter ordered", ""},
      {"omp_taskwait", "omp_synchronization", "OpenMP taskwait",
       "Time in taskwait and taskgroup", ""},
      {"omp_target", "omp_time", "OpenMP target constructs",
       "Time in target constructs: waiting for the device, and the runtime's management",
       ""},
      {"omp_target_data", "omp_target", "OpenMP device data",
       "Time in device data operations: allocation, transfers", ""},
      {"omp_target_submit", "omp_target", "OpenMP submission of kernels",
       "Time to submit kernels, or to run them on synchronous devices", ""},
      {"pthread_time", "execution", "POSIX threads", "Time in calls of POSIX threads", ""},
      {"pthread_management", "pthread_time", "POSIX threads management",
       "Time to make threads", ""},
      {"pthread_synchronization", "pthread_time", "POSIX threads synchronization",
       "Time in waits for threads, and for their end", ""},
      {"pthread_lock_api", "pthread_synchronization", "POSIX threads locks",
       "Time in waits for mutexes, read-write locks and spin locks",
       "Hold the lock for a shorter time or less often, or use one for each part of the data."},
      {"pthread_conditional", "pthread_synchronization", "POSIX threads conditions",
       "Time in waits for conditions, semaphores and barriers",
       "Threads have no work meanwhile: give them other work, or divide that of the others."},
      {"omp_idle_threads", "time", "OpenMP idle threads",
       "Time of worker threads while the program is outside parallel regions, or in one "
       "without them; charged to the call path of the primary thread",
       "Parts of the program are serial, or regions have fewer threads than there are."},
      {"skipped", "time", "Not written",
       "Time in gaps, without events in the archive: waits there are unknown", ""},
  };
  return kMetrics;
}

bool MetricTree::is_time(std::uint32_t metric) const {
  while (parents[metric] != kNone) metric = parents[metric];
  return metric == kTime;
}

std::uint32_t MetricTree::of(const std::string& name) const {
  const auto found = std::ranges::find(metrics, name, &MetricInfo::name);
  return found == metrics.end() ? kNone
                                : static_cast<std::uint32_t>(found - metrics.begin());
}

}  // namespace refrain::waits
