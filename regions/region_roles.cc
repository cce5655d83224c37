#include "regions/region_roles.h"

#include "base/mpi_roles.h"

namespace refrain::regions {

OTF2_Paradigm paradigm_of(RegionClass cls) noexcept {
  if (cls == RegionClass::kNone || cls == RegionClass::kUser) return OTF2_PARADIGM_USER;
  if (cls == RegionClass::kFunction) return OTF2_PARADIGM_COMPILER;
  if (cls == RegionClass::kProgram) return OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  return cls == RegionClass::kMpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_OPENMP;
}

OTF2_RegionRole role_of(const RegionDef& region) noexcept {
  return region.cls == RegionClass::kMpi ? base::role_of_mpi(region.name)
                                         : role_of(region.cls);
}

OTF2_RegionRole role_of(RegionClass cls) noexcept {
  switch (cls) {
    case RegionClass::kParallel:
    case RegionClass::kTeams:
      return OTF2_REGION_ROLE_PARALLEL;
    case RegionClass::kLoop:
    case RegionClass::kDistribute:
    case RegionClass::kTaskloop:
      return OTF2_REGION_ROLE_LOOP;
    case RegionClass::kSections:
      return OTF2_REGION_ROLE_SECTIONS;
    case RegionClass::kSingle:
      return OTF2_REGION_ROLE_SINGLE;
    case RegionClass::kSingleBlock:
      return OTF2_REGION_ROLE_SINGLE_SBLOCK;
    case RegionClass::kWorkshare:
    case RegionClass::kScope:
      return OTF2_REGION_ROLE_WORKSHARE;
    case RegionClass::kMasked:
      return OTF2_REGION_ROLE_MASTER;
    // Also for taskwait and taskgroup, as in Score-P. A wait has the same role as its
    // region, so that a reader counts all of it as a barrier's time.
    case RegionClass::kBarrier:
    case RegionClass::kTaskwait:
    case RegionClass::kTaskgroup:
    case RegionClass::kBarrierWait:
    case RegionClass::kTaskwaitWait:
    case RegionClass::kTaskgroupWait:
      return OTF2_REGION_ROLE_BARRIER;
    case RegionClass::kImplicitBarrier:
    case RegionClass::kImplementationBarrier:
    case RegionClass::kTeamsBarrier:
    case RegionClass::kReductionSync:
    case RegionClass::kImplicitBarrierWait:
    case RegionClass::kImplementationBarrierWait:
    case RegionClass::kTeamsBarrierWait:
    case RegionClass::kReductionWait:
      return OTF2_REGION_ROLE_IMPLICIT_BARRIER;
    case RegionClass::kTarget:
    case RegionClass::kTargetSubmit:
    case RegionClass::kTargetAssociate:
    case RegionClass::kTargetDisassociate:
      return OTF2_REGION_ROLE_WRAPPER;
    case RegionClass::kTargetEnterData:
    case RegionClass::kTargetExitData:
    case RegionClass::kTargetUpdate:
    case RegionClass::kTargetToDevice:
    case RegionClass::kTargetFromDevice:
      return OTF2_REGION_ROLE_DATA_TRANSFER;
    case RegionClass::kTargetAlloc:
      return OTF2_REGION_ROLE_ALLOCATE;
    case RegionClass::kTargetDelete:
      return OTF2_REGION_ROLE_DEALLOCATE;
    case RegionClass::kTask:
      return OTF2_REGION_ROLE_TASK;
    case RegionClass::kTaskCreate:
      return OTF2_REGION_ROLE_TASK_CREATE;
    case RegionClass::kCritical:
      return OTF2_REGION_ROLE_CRITICAL;
    case RegionClass::kCriticalBlock:
      return OTF2_REGION_ROLE_CRITICAL_SBLOCK;
    case RegionClass::kOrdered:
      return OTF2_REGION_ROLE_ORDERED;
    case RegionClass::kOrderedBlock:
      return OTF2_REGION_ROLE_ORDERED_SBLOCK;
    case RegionClass::kAtomic:
      return OTF2_REGION_ROLE_ATOMIC;
    case RegionClass::kFlush:
      return OTF2_REGION_ROLE_FLUSH;
    case RegionClass::kSetLock:
    case RegionClass::kTestLock:
    case RegionClass::kSetNestLock:
    case RegionClass::kTestNestLock:
    case RegionClass::kRelockNestLock:
    case RegionClass::kUnlockNestLock:
    case RegionClass::kTargetKernel:
    case RegionClass::kFunction:
      return OTF2_REGION_ROLE_FUNCTION;
    case RegionClass::kNone:  // iterations of a loop
    case RegionClass::kReduction:
    case RegionClass::kUser:
      return OTF2_REGION_ROLE_CODE;
    default:  // the program
      return OTF2_REGION_ROLE_ARTIFICIAL;
  }
}

}  // namespace refrain::regions
