#include <otf2/otf2.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "analysis/profile/run_profile.h"

namespace refrain::analysis::region_time_class_test {
namespace {

TimeClass of_mpi(const char* name) {
  return class_of(OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI, name);
}
TimeClass of_openmp(std::uint32_t role, const char* name = "!$omp") {
  return class_of(role, OTF2_PARADIGM_OPENMP, name);
}

}  // namespace

TEST_CASE("Time class: MPI procedures - by their names, whatever role the archive says") {
  CHECK(of_mpi("MPI_Isend") == TimeClass::kMpiPointToPoint);
  CHECK(of_mpi("MPI_Waitall") == TimeClass::kMpiPointToPoint);
  CHECK(of_mpi("MPI_Send_c") == TimeClass::kMpiPointToPoint);
  CHECK(of_mpi("MPI_Allreduce") == TimeClass::kMpiCollective);
  CHECK(of_mpi("MPI_Ibcast") == TimeClass::kMpiCollective);
  CHECK(of_mpi("MPI_Barrier") == TimeClass::kMpiSynchronization);
  CHECK(of_mpi("MPI_Put") == TimeClass::kMpiOneSided);
  CHECK(of_mpi("MPI_Win_fence") == TimeClass::kMpiOneSided);
  CHECK(of_mpi("MPI_Win_allocate") == TimeClass::kMpiManagement);
  CHECK(of_mpi("MPI_Win_free") == TimeClass::kMpiManagement);
  CHECK(of_mpi("MPI_File_write_all") == TimeClass::kMpiIo);
  CHECK(of_mpi("MPI_File_open") == TimeClass::kMpiIo);
  CHECK(of_mpi("MPI_Init_thread") == TimeClass::kMpiManagement);
  CHECK(of_mpi("MPI_Comm_dup") == TimeClass::kMpiManagement);
}

TEST_CASE("Time class: OpenMP - overheads by role, locks by name, the rest is work") {
  CHECK(of_openmp(OTF2_REGION_ROLE_BARRIER) == TimeClass::kSynchronization);
  CHECK(of_openmp(OTF2_REGION_ROLE_CRITICAL) == TimeClass::kSynchronization);
  CHECK(of_openmp(OTF2_REGION_ROLE_ORDERED) == TimeClass::kSynchronization);
  CHECK(of_openmp(OTF2_REGION_ROLE_IMPLICIT_BARRIER) == TimeClass::kImbalance);
  CHECK(of_openmp(OTF2_REGION_ROLE_TASK_CREATE) == TimeClass::kThreadManagement);
  CHECK(of_openmp(OTF2_REGION_ROLE_FUNCTION, "omp_set_lock") ==
        TimeClass::kSynchronization);
  CHECK(of_openmp(OTF2_REGION_ROLE_FUNCTION, "omp_unset_nest_lock inner") ==
        TimeClass::kThreadManagement);
  for (const auto role :
       {OTF2_REGION_ROLE_PARALLEL, OTF2_REGION_ROLE_LOOP, OTF2_REGION_ROLE_SECTIONS,
        OTF2_REGION_ROLE_SINGLE, OTF2_REGION_ROLE_SINGLE_SBLOCK, OTF2_REGION_ROLE_TASK,
        OTF2_REGION_ROLE_CRITICAL_SBLOCK, OTF2_REGION_ROLE_MASTER})
    CHECK(of_openmp(role) == TimeClass::kUseful);
  // A function of the program's may have such a name.
  CHECK(class_of(OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER, "omp_set_things") ==
        TimeClass::kUseful);
  CHECK(is_parallel_region(OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP));
  CHECK_FALSE(is_parallel_region(OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_OPENMP));
}

TEST_CASE("Time class: each has a name and a title of its own") {
  std::set<std::string> names, titles;
  std::size_t of_mpi = 0;
  for (std::size_t i = 0; i < kTimeClasses; ++i) {
    const auto cls = static_cast<TimeClass>(i);
    names.insert(class_name(cls));
    titles.insert(class_title(cls));
    of_mpi += is_mpi(cls) ? 1 : 0;
  }
  CHECK(names.size() == kTimeClasses);
  CHECK(titles.size() == kTimeClasses);
  CHECK(of_mpi == 6);
}

}  // namespace refrain::analysis::region_time_class_test
