#include "base/mpi_roles.h"

#include <catch2/catch.hpp>

namespace refrain::base::mpi_roles_test {

TEST_CASE("Roles of MPI: variants of a procedure - have its role") {
  for (const char* name :
       {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init", "MPI_Allreduce_c",
        "MPI_Allreduce_init_c", "MPIX_Allreduce_init"}) {
    CAPTURE(name);
    CHECK(role_of_mpi(name) == OTF2_REGION_ROLE_COLL_ALL2ALL);
  }
  CHECK(role_of_mpi("MPIX_Barrier_init") == OTF2_REGION_ROLE_BARRIER);
  CHECK(role_of_mpi("MPIX_Comm_revoke") == OTF2_REGION_ROLE_FUNCTION);
}

}  // namespace refrain::base::mpi_roles_test
