#include "analysis/region_use.h"

namespace refrain::analysis {

bool is_thread(const reader::LocationInfo& location) {
  return location.type != OTF2_LOCATION_TYPE_ACCELERATOR_STREAM &&
         location.type != OTF2_LOCATION_TYPE_METRIC;
}

bool is_useful(const reader::RegionInfo& region) {
  switch (region.role) {
    case OTF2_REGION_ROLE_BARRIER:
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
    case OTF2_REGION_ROLE_FLUSH:
    case OTF2_REGION_ROLE_CRITICAL:
    case OTF2_REGION_ROLE_TASK_WAIT:
    case OTF2_REGION_ROLE_TASK_CREATE:
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
    case OTF2_REGION_ROLE_COLL_OTHER:
    case OTF2_REGION_ROLE_FILE_IO:
    case OTF2_REGION_ROLE_POINT2POINT:
    case OTF2_REGION_ROLE_RMA:
    case OTF2_REGION_ROLE_DATA_TRANSFER:
    case OTF2_REGION_ROLE_ARTIFICIAL:
    case OTF2_REGION_ROLE_THREAD_CREATE:
    case OTF2_REGION_ROLE_THREAD_WAIT:
    case OTF2_REGION_ROLE_ALLOCATE:
    case OTF2_REGION_ROLE_DEALLOCATE:
      return false;
    default:
      return region.paradigm != OTF2_PARADIGM_MPI &&
             region.paradigm != OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  }
}

}  // namespace refrain::analysis
