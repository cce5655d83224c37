#include "regions/region_class.h"

#include "spool/mpi_format.h"
#include "spool/ompt_values.h"

namespace refrain::regions {
namespace {

namespace ompt = spool::ompt;

constexpr std::array<const char*, static_cast<std::size_t>(RegionClass::kCount)> kNames = {
    nullptr,
    "!$omp parallel",
    "!$omp teams",
    "!$omp for",
    "!$omp sections",
    "!$omp single",
    "!$omp single sblock",
    "!$omp workshare",
    "!$omp distribute",
    "!$omp taskloop",
    "!$omp scope",
    "!$omp masked",
    "!$omp barrier",
    "!$omp implicit barrier",
    "!$omp implementation barrier",
    "!$omp teams barrier",
    "!$omp taskwait",
    "!$omp taskgroup",
    "!$omp reduction sync",
    "!$omp barrier wait",
    "!$omp implicit barrier wait",
    "!$omp implementation barrier wait",
    "!$omp teams barrier wait",
    "!$omp taskwait wait",
    "!$omp taskgroup wait",
    "!$omp reduction wait",
    "!$omp reduction",
    "!$omp task",
    "!$omp create task",
    "!$omp critical",
    "!$omp critical sblock",
    "!$omp ordered",
    "!$omp ordered sblock",
    "!$omp atomic",
    "omp_set_lock",
    "omp_test_lock",
    "omp_set_nest_lock",
    "omp_test_nest_lock",
    "omp_set_nest_lock again",
    "omp_unset_nest_lock inner",
    "!$omp flush",
    "!$omp cancel",
    "!$omp target",
    "!$omp target enter data",
    "!$omp target exit data",
    "!$omp target update",
    "!$omp target alloc",
    "!$omp target data to device",
    "!$omp target data from device",
    "!$omp target free",
    "!$omp target associate",
    "!$omp target disassociate",
    "!$omp target submit",
    "!$omp target kernel",
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

const char* class_name(RegionClass cls) noexcept {
  const auto index = static_cast<std::size_t>(cls);
  return index < kNames.size() ? kNames[index] : nullptr;
}

RegionClass work_class(std::uint8_t sub) noexcept {
  switch (sub) {
    case ompt::kWorkSections:
      return RegionClass::kSections;
    case ompt::kWorkSingleExecutor:
    case ompt::kWorkSingleOther:
      return RegionClass::kSingle;
    case ompt::kWorkWorkshare:
      return RegionClass::kWorkshare;
    case ompt::kWorkDistribute:
      return RegionClass::kDistribute;
    case ompt::kWorkTaskloop:
      return RegionClass::kTaskloop;
    case ompt::kWorkScope:
      return RegionClass::kScope;
    default:
      return RegionClass::kLoop;
  }
}

RegionClass sync_class(std::uint8_t sub) noexcept {
  switch (sub) {
    case ompt::kSyncBarrierImplicit:
    case ompt::kSyncBarrierImplicitWorkshare:
    case ompt::kSyncBarrierImplicitParallel:
      return RegionClass::kImplicitBarrier;
    case ompt::kSyncBarrierImplementation:
      return RegionClass::kImplementationBarrier;
    case ompt::kSyncBarrierTeams:
      return RegionClass::kTeamsBarrier;
    case ompt::kSyncTaskwait:
      return RegionClass::kTaskwait;
    case ompt::kSyncTaskgroup:
      return RegionClass::kTaskgroup;
    case ompt::kSyncReduction:
      return RegionClass::kReductionSync;
    default:
      return RegionClass::kBarrier;
  }
}

RegionClass wait_class(std::uint8_t sub) noexcept {
  constexpr int kFromSyncToWait =
      static_cast<int>(RegionClass::kBarrierWait) - static_cast<int>(RegionClass::kBarrier);
  return static_cast<RegionClass>(static_cast<int>(sync_class(sub)) + kFromSyncToWait);
}

RegionClass mutex_class(std::uint8_t sub) noexcept {
  switch (sub) {
    case ompt::kMutexTestLock:
      return RegionClass::kTestLock;
    case ompt::kMutexNestLock:
      return RegionClass::kSetNestLock;
    case ompt::kMutexTestNestLock:
      return RegionClass::kTestNestLock;
    case ompt::kMutexCritical:
      return RegionClass::kCritical;
    case ompt::kMutexAtomic:
      return RegionClass::kAtomic;
    case ompt::kMutexOrdered:
      return RegionClass::kOrdered;
    default:
      return RegionClass::kSetLock;
  }
}

RegionClass mutex_block_class(std::uint8_t sub) noexcept {
  if (sub == ompt::kMutexCritical) return RegionClass::kCriticalBlock;
  if (sub == ompt::kMutexOrdered) return RegionClass::kOrderedBlock;
  return RegionClass::kNone;
}

RegionClass parallel_class(std::uint8_t sub) noexcept {
  return (sub & spool::kTeamLeague) != 0 ? RegionClass::kTeams : RegionClass::kParallel;
}

RegionClass target_class(std::uint8_t sub) noexcept {
  switch (sub & spool::kTargetKinds & ~ompt::kTargetNowait) {
    case ompt::kTargetEnterData:
      return RegionClass::kTargetEnterData;
    case ompt::kTargetExitData:
      return RegionClass::kTargetExitData;
    case ompt::kTargetUpdate:
      return RegionClass::kTargetUpdate;
    default:
      return RegionClass::kTarget;
  }
}

RegionClass target_data_class(std::uint8_t sub) noexcept {
  switch (sub) {
    case ompt::kDataToDevice:
      return RegionClass::kTargetToDevice;
    case ompt::kDataFromDevice:
      return RegionClass::kTargetFromDevice;
    case ompt::kDataDelete:
      return RegionClass::kTargetDelete;
    case ompt::kDataAssociate:
      return RegionClass::kTargetAssociate;
    case ompt::kDataDisassociate:
      return RegionClass::kTargetDisassociate;
    default:
      return RegionClass::kTargetAlloc;
  }
}

bool is_implicit_barrier(RegionClass cls) noexcept {
  return cls == RegionClass::kImplicitBarrier || cls == RegionClass::kImplicitBarrierWait;
}

RegionKeys keys_opened_by(const spool::Record& record) noexcept {
  const std::uint64_t address = record.payload & spool::kAddressMask;
  const auto one = [address](RegionClass cls) {
    return RegionKeys{RegionKey{cls, address}, RegionKey{}};
  };
  const auto two = [address](RegionClass first, RegionClass second) {
    return RegionKeys{RegionKey{first, address}, RegionKey{second, address}};
  };
  switch (record.kind & ~spool::kSnapshot) {
    case spool::kParallelBegin:
      return one(parallel_class(record.sub));
    case spool::kWorkBegin:
      if (record.sub == ompt::kWorkSingleExecutor)
        return two(RegionClass::kSingle, RegionClass::kSingleBlock);
      return one(work_class(record.sub));
    case spool::kSyncRegionBegin:
      return one(sync_class(record.sub));
    case spool::kWaitBegin:
      return one(wait_class(record.sub));
    case spool::kMaskedBegin:
      return one(RegionClass::kMasked);
    case spool::kReductionBegin:
      return one(RegionClass::kReduction);
    case spool::kTaskCreate:
      return one(RegionClass::kTaskCreate);
    case spool::kTaskSchedule:
      if ((record.payload >> 48 & spool::kTaskNextExplicit) == 0) return {};
      return one(RegionClass::kTask);
    case spool::kMutexAcquire:
    case spool::kMutexAcquired:
      return two(mutex_class(record.sub), mutex_block_class(record.sub));
    case spool::kNestLock:
      return one(record.sub == ompt::kScopeBegin ? RegionClass::kRelockNestLock
                                                 : RegionClass::kUnlockNestLock);
    case spool::kFlush:
      return one(RegionClass::kFlush);
    case spool::kCancel:
      return one(RegionClass::kCancel);
    case spool::kTargetBegin:
      return one(target_class(record.sub));
    case spool::kTargetDataBegin:
      return one(target_data_class(record.sub));
    case spool::kTargetSubmitBegin:
      return two(RegionClass::kTargetSubmit, RegionClass::kTargetKernel);
    case spool::kMpiEnter:
      return {RegionKey{RegionClass::kMpi, record.payload >> spool::kMpiProcedureShift},
              RegionKey{RegionClass::kCallSite, address}};
    case spool::kUserEnter:
      return {RegionKey{RegionClass::kUser, record.payload & 0xffffffff}, RegionKey{}};
    case spool::kFunctionEnter:
      return one(RegionClass::kFunction);
    case spool::kUserParameter:
      return {RegionKey{record.sub == spool::kParameterText ? RegionClass::kText
                                                            : RegionClass::kNumber,
                        record.a48()},
              RegionKey{}};
    default:
      return {};
  }
}

}  // namespace refrain::regions
