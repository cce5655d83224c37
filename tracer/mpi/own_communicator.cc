#include "tracer/mpi/own_communicator.h"

#pragma weak PMPI_Allreduce
#pragma weak PMPI_Comm_create
#pragma weak PMPI_Comm_free
#pragma weak PMPI_Comm_get_errhandler
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_set_errhandler
#pragma weak PMPI_Errhandler_free
#pragma weak PMPI_Group_free

namespace refrain::mpi {

WorldErrorsReturned::WorldErrorsReturned() noexcept {
  if (PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_) != MPI_SUCCESS)
    before_ = MPI_ERRHANDLER_NULL;
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

WorldErrorsReturned::~WorldErrorsReturned() {
  if (before_ == MPI_ERRHANDLER_NULL) return;
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
  PMPI_Errhandler_free(&before_);
}

OwnCommunicator::OwnCommunicator() noexcept {
  const WorldErrorsReturned returned;
  MPI_Group world = MPI_GROUP_NULL;
  int made = 0;
  int all_made = 0;
  if (PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
    made = PMPI_Comm_create(MPI_COMM_WORLD, world, &comm_) == MPI_SUCCESS ? 1 : 0;
    PMPI_Group_free(&world);
  }
  if (made == 0) comm_ = MPI_COMM_NULL;
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  valid_ = PMPI_Allreduce(&made, &all_made, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) ==
               MPI_SUCCESS &&
           all_made != 0;
}

OwnCommunicator::~OwnCommunicator() {
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
}

}  // namespace refrain::mpi
