// What time is spent for: work, one of OpenMP's overheads, one of MPI's kinds of calls, or devices.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by iteration) and 6 (of a profile).
// Source: OpenMP's four classes of overhead are those of ompP (Furlinger and Moore, OpenMP-centric
// Performance Analysis of Hybrid Applications, section 3); MPI's are Scalasca's.
// The numbers are part of the spool's format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/mpi_roles.h"

namespace refrain::summary {

enum class TimeClass : std::uint8_t {
  kUseful,
  kSynchronization,
  kImbalance,
  kLimitedParallelism,
  kThreadManagement,
  kMpiPointToPoint,
  kMpiCollective,
  kMpiSynchronization,
  kMpiOneSided,
  kMpiIo,
  kMpiManagement,
  kTargetWait,     // target constructs themselves: waiting for the device, management
  kTargetData,     // operations on data of devices
  kTargetKernels,  // submitting kernels
  kFileIo,         // slow calls on files that are none of MPI's
  kUnknown,        // of regions that found no place in the summary
};
inline constexpr std::size_t kTimeClasses = 16;

// Of an MPI procedure, by its name, and by the role that an archive defines (base::role_of_mpi()); to read the clock is work of the
// program's own. Pure; cost: as that.
TimeClass class_of_mpi(std::string_view procedure,
                       OTF2_RegionRole defined = OTF2_REGION_ROLE_FUNCTION) noexcept;

}  // namespace refrain::summary
