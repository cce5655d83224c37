#include "summary/time_class.h"

#include <catch2/catch.hpp>

namespace refrain::summary::time_class_test {

TEST_CASE("Time class: variants of a procedure of MPI - have its class") {
  for (const char* name :
       {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init", "MPI_Allreduce_c",
        "MPI_Allreduce_init_c", "MPIX_Allreduce_init"}) {
    CAPTURE(name);
    CHECK(class_of_mpi(name) == TimeClass::kMpiCollective);
  }
}

// Whatever a tool defines.
TEST_CASE("Time class: to read the clock is computation") {
  for (const auto role : {OTF2_REGION_ROLE_FUNCTION, OTF2_REGION_ROLE_UNKNOWN})
    for (const char* name : {"MPI_Wtime", "MPI_Wtick"})
      CHECK(class_of_mpi(name, role) == TimeClass::kUseful);
  CHECK(class_of_mpi("MPI_Comm_rank") == TimeClass::kMpiManagement);
}

}  // namespace refrain::summary::time_class_test
