#include "analysis/profile/region_time_class.h"

#include <otf2/otf2.h>

#include "summary/time_class.h"

namespace refrain::analysis {
namespace {

struct Names {
  const char* name;
  const char* title;
};

constexpr std::array<Names, kTimeClasses> kNames = {{
    {"useful", "useful computation"},
    {"synchronization", "OpenMP, synchronization"},
    {"imbalance", "OpenMP, imbalance"},
    {"limited_parallelism", "OpenMP, limited parallelism"},
    {"thread_management", "OpenMP, thread management"},
    {"mpi_point_to_point", "MPI, point-to-point"},
    {"mpi_collective", "MPI, collective"},
    {"mpi_synchronization", "MPI, synchronization"},
    {"mpi_one_sided", "MPI, one-sided"},
    {"mpi_io", "MPI, file I/O"},
    {"mpi_management", "MPI, management"},
    {"target_wait", "devices, waiting and management"},
    {"target_data", "devices, data"},
    {"target_kernels", "devices, submission of kernels"},
    {"unknown", "regions without a place"},
}};

}  // namespace

const char* class_name(TimeClass cls) noexcept {
  return kNames[static_cast<std::size_t>(cls)].name;
}

const char* class_title(TimeClass cls) noexcept {
  return kNames[static_cast<std::size_t>(cls)].title;
}

bool is_mpi(TimeClass cls) noexcept {
  return cls >= TimeClass::kMpiPointToPoint && cls <= TimeClass::kMpiManagement;
}

namespace {

// What OpenMP's target constructs do, by the names that they have in the field.
TimeClass class_of_target(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "!$omp target";
  std::string_view what = name.substr(kPrefix.size());
  what = what.substr(0, what.find(" @"));
  if (what == " submit" || what == " kernel") return TimeClass::kTargetKernels;
  for (const std::string_view construct : {"", " enter data", " exit data", " update"})
    if (what == construct) return TimeClass::kTargetWait;
  return TimeClass::kTargetData;
}

}  // namespace

TimeClass class_of(std::uint32_t role, std::uint32_t paradigm,
                   std::string_view name) noexcept {
  if (paradigm == OTF2_PARADIGM_MPI) return summary::class_of_mpi(name);
  switch (role) {
    case OTF2_REGION_ROLE_BARRIER:
    case OTF2_REGION_ROLE_CRITICAL:
    case OTF2_REGION_ROLE_ORDERED:
    case OTF2_REGION_ROLE_ATOMIC:
    case OTF2_REGION_ROLE_FLUSH:
    case OTF2_REGION_ROLE_TASK_WAIT:
    case OTF2_REGION_ROLE_THREAD_WAIT:
      return TimeClass::kSynchronization;
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
      return TimeClass::kImbalance;
    case OTF2_REGION_ROLE_TASK_CREATE:
    case OTF2_REGION_ROLE_THREAD_CREATE:
      return TimeClass::kThreadManagement;
    default:
      break;
  }
  if (paradigm != OTF2_PARADIGM_OPENMP) return TimeClass::kUseful;
  if (name.starts_with("!$omp target")) return class_of_target(name);
  if (role == OTF2_REGION_ROLE_ARTIFICIAL || name.starts_with("omp_unset_"))
    return TimeClass::kThreadManagement;
  if (name.starts_with("omp_set_") || name.starts_with("omp_test_"))
    return TimeClass::kSynchronization;
  return TimeClass::kUseful;
}

bool is_parallel_region(std::uint32_t role, std::uint32_t paradigm) noexcept {
  return role == OTF2_REGION_ROLE_PARALLEL && paradigm == OTF2_PARADIGM_OPENMP;
}

}  // namespace refrain::analysis
