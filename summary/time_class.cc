#include "summary/time_class.h"

#include "base/mpi_roles.h"

namespace refrain::summary {
namespace {

// Windows are made and removed by all of their processes, without moving data.
bool manages_windows(std::string_view procedure) {
  for (const char* begin : {"MPI_Win_create", "MPI_Win_allocate", "MPI_Win_free",
                            "MPI_Win_attach", "MPI_Win_detach", "MPI_Win_shared_query"})
    if (procedure.starts_with(begin)) return true;
  return false;
}

// A thread that waits until a time is where the program wants it.
bool reads_clock(std::string_view procedure) {
  return procedure == "MPI_Wtime" || procedure == "MPI_Wtick";
}

}  // namespace

TimeClass class_of_mpi(std::string_view procedure, OTF2_RegionRole defined) noexcept {
  if (reads_clock(procedure)) return TimeClass::kUseful;
  switch (base::role_of_mpi(procedure, defined)) {
    case OTF2_REGION_ROLE_POINT2POINT:
      return TimeClass::kMpiPointToPoint;
    case OTF2_REGION_ROLE_BARRIER:
      return TimeClass::kMpiSynchronization;
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
    case OTF2_REGION_ROLE_COLL_OTHER:
      return TimeClass::kMpiCollective;
    case OTF2_REGION_ROLE_RMA:
      return manages_windows(procedure) ? TimeClass::kMpiManagement
                                        : TimeClass::kMpiOneSided;
    case OTF2_REGION_ROLE_FILE_IO:
    case OTF2_REGION_ROLE_FILE_IO_METADATA:
      return TimeClass::kMpiIo;
    default:
      return TimeClass::kMpiManagement;
  }
}

}  // namespace refrain::summary
