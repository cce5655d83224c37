// The values of OMPT enumerations that records have in `sub`. The writer does not
// include <omp-tools.h> because it also reads spools of other machines and runtimes. The
// numbers are fixed by the OpenMP specification 5.1 / 5.2, section "OMPT data types".
#pragma once

#include <cstdint>

namespace refrain::spool::ompt {

// ompt_work_t
inline constexpr std::uint8_t kWorkLoop = 1;
inline constexpr std::uint8_t kWorkSections = 2;
inline constexpr std::uint8_t kWorkSingleExecutor = 3;
inline constexpr std::uint8_t kWorkSingleOther = 4;
inline constexpr std::uint8_t kWorkWorkshare = 5;
inline constexpr std::uint8_t kWorkDistribute = 6;
inline constexpr std::uint8_t kWorkTaskloop = 7;
inline constexpr std::uint8_t kWorkScope = 8;
inline constexpr std::uint8_t kWorkLoopStatic = 10;
inline constexpr std::uint8_t kWorkLoopDynamic = 11;
inline constexpr std::uint8_t kWorkLoopGuided = 12;
inline constexpr std::uint8_t kWorkLoopOther = 13;

// ompt_sync_region_t
inline constexpr std::uint8_t kSyncBarrier = 1;
inline constexpr std::uint8_t kSyncBarrierImplicit = 2;
inline constexpr std::uint8_t kSyncBarrierExplicit = 3;
inline constexpr std::uint8_t kSyncBarrierImplementation = 4;
inline constexpr std::uint8_t kSyncTaskwait = 5;
inline constexpr std::uint8_t kSyncTaskgroup = 6;
inline constexpr std::uint8_t kSyncReduction = 7;
inline constexpr std::uint8_t kSyncBarrierImplicitWorkshare = 8;
inline constexpr std::uint8_t kSyncBarrierImplicitParallel = 9;
inline constexpr std::uint8_t kSyncBarrierTeams = 10;

// ompt_mutex_t
inline constexpr std::uint8_t kMutexLock = 1;
inline constexpr std::uint8_t kMutexTestLock = 2;
inline constexpr std::uint8_t kMutexNestLock = 3;
inline constexpr std::uint8_t kMutexTestNestLock = 4;
inline constexpr std::uint8_t kMutexCritical = 5;
inline constexpr std::uint8_t kMutexAtomic = 6;
inline constexpr std::uint8_t kMutexOrdered = 7;

// ompt_task_status_t
inline constexpr std::uint8_t kTaskComplete = 1;
inline constexpr std::uint8_t kTaskCancel = 3;
inline constexpr std::uint8_t kTaskDetach = 4;

// ompt_target_t: with kTargetNowait, of those with a nowait clause
inline constexpr std::uint8_t kTarget = 1;
inline constexpr std::uint8_t kTargetEnterData = 2;
inline constexpr std::uint8_t kTargetExitData = 3;
inline constexpr std::uint8_t kTargetUpdate = 4;
inline constexpr std::uint8_t kTargetNowait = 8;

// ompt_target_data_op_t
inline constexpr std::uint8_t kDataAlloc = 1;
inline constexpr std::uint8_t kDataToDevice = 2;
inline constexpr std::uint8_t kDataFromDevice = 3;
inline constexpr std::uint8_t kDataDelete = 4;
inline constexpr std::uint8_t kDataAssociate = 5;
inline constexpr std::uint8_t kDataDisassociate = 6;
// Without whether it is asynchronous (16 more).
constexpr std::uint8_t to_target_operation(unsigned operation) noexcept {
  return static_cast<std::uint8_t>(operation & 15);
}

// ompt_scope_endpoint_t
inline constexpr std::uint8_t kScopeBegin = 1;

}  // namespace refrain::spool::ompt
