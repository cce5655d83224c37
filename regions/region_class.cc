#include "regions/region_class.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <iterator>

#include "spool/mpi_format.h"
#include "spool/ompt_values.h"
#include "spool/thread_format.h"

namespace refrain::regions {

namespace {

namespace ompt = spool::ompt;

struct Class {
  RegionClass cls;
  const char* name;
  OTF2_RegionRole role;
};
using R = RegionClass;
// In the order of their numbers. Taskwait and taskgroup are barriers, as in Score-P. A wait has the same role as
// its region, so that a reader counts all of it as a barrier's time. What has no region has the program's role.
constexpr Class kClasses[] = {
    {R::kNone, nullptr, OTF2_REGION_ROLE_CODE},
    {R::kParallel, "!$omp parallel", OTF2_REGION_ROLE_PARALLEL},
    {R::kTeams, "!$omp teams", OTF2_REGION_ROLE_PARALLEL},
    {R::kLoop, "!$omp for", OTF2_REGION_ROLE_LOOP},
    {R::kSections, "!$omp sections", OTF2_REGION_ROLE_SECTIONS},
    {R::kSingle, "!$omp single", OTF2_REGION_ROLE_SINGLE},
    {R::kSingleBlock, "!$omp single sblock", OTF2_REGION_ROLE_SINGLE_SBLOCK},
    {R::kWorkshare, "!$omp workshare", OTF2_REGION_ROLE_WORKSHARE},
    {R::kDistribute, "!$omp distribute", OTF2_REGION_ROLE_LOOP},
    {R::kTaskloop, "!$omp taskloop", OTF2_REGION_ROLE_LOOP},
    {R::kScope, "!$omp scope", OTF2_REGION_ROLE_WORKSHARE},
    {R::kMasked, "!$omp masked", OTF2_REGION_ROLE_MASTER},
    {R::kBarrier, "!$omp barrier", OTF2_REGION_ROLE_BARRIER},
    {R::kImplicitBarrier, "!$omp implicit barrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kImplementationBarrier, "!$omp implementation barrier",
     OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kTeamsBarrier, "!$omp teams barrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kTaskwait, "!$omp taskwait", OTF2_REGION_ROLE_BARRIER},
    {R::kTaskgroup, "!$omp taskgroup", OTF2_REGION_ROLE_BARRIER},
    {R::kReductionSync, "!$omp reduction sync", OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kBarrierWait, "!$omp barrier wait", OTF2_REGION_ROLE_BARRIER},
    {R::kImplicitBarrierWait, "!$omp implicit barrier wait",
     OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kImplementationBarrierWait, "!$omp implementation barrier wait",
     OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kTeamsBarrierWait, "!$omp teams barrier wait", OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kTaskwaitWait, "!$omp taskwait wait", OTF2_REGION_ROLE_BARRIER},
    {R::kTaskgroupWait, "!$omp taskgroup wait", OTF2_REGION_ROLE_BARRIER},
    {R::kReductionWait, "!$omp reduction wait", OTF2_REGION_ROLE_IMPLICIT_BARRIER},
    {R::kReduction, "!$omp reduction", OTF2_REGION_ROLE_CODE},
    {R::kTask, "!$omp task", OTF2_REGION_ROLE_TASK},
    {R::kTaskCreate, "!$omp create task", OTF2_REGION_ROLE_TASK_CREATE},
    {R::kCritical, "!$omp critical", OTF2_REGION_ROLE_CRITICAL},
    {R::kCriticalBlock, "!$omp critical sblock", OTF2_REGION_ROLE_CRITICAL_SBLOCK},
    {R::kOrdered, "!$omp ordered", OTF2_REGION_ROLE_ORDERED},
    {R::kOrderedBlock, "!$omp ordered sblock", OTF2_REGION_ROLE_ORDERED_SBLOCK},
    {R::kAtomic, "!$omp atomic", OTF2_REGION_ROLE_ATOMIC},
    {R::kSetLock, "omp_set_lock", OTF2_REGION_ROLE_FUNCTION},
    {R::kTestLock, "omp_test_lock", OTF2_REGION_ROLE_FUNCTION},
    {R::kSetNestLock, "omp_set_nest_lock", OTF2_REGION_ROLE_FUNCTION},
    {R::kTestNestLock, "omp_test_nest_lock", OTF2_REGION_ROLE_FUNCTION},
    {R::kRelockNestLock, "omp_set_nest_lock again", OTF2_REGION_ROLE_FUNCTION},
    {R::kUnlockNestLock, "omp_unset_nest_lock inner", OTF2_REGION_ROLE_FUNCTION},
    {R::kFlush, "!$omp flush", OTF2_REGION_ROLE_FLUSH},
    {R::kCancel, "!$omp cancel", OTF2_REGION_ROLE_ARTIFICIAL},
    {R::kTarget, "!$omp target", OTF2_REGION_ROLE_WRAPPER},
    {R::kTargetEnterData, "!$omp target enter data", OTF2_REGION_ROLE_DATA_TRANSFER},
    {R::kTargetExitData, "!$omp target exit data", OTF2_REGION_ROLE_DATA_TRANSFER},
    {R::kTargetUpdate, "!$omp target update", OTF2_REGION_ROLE_DATA_TRANSFER},
    {R::kTargetAlloc, "!$omp target alloc", OTF2_REGION_ROLE_ALLOCATE},
    {R::kTargetToDevice, "!$omp target data to device", OTF2_REGION_ROLE_DATA_TRANSFER},
    {R::kTargetFromDevice, "!$omp target data from device", OTF2_REGION_ROLE_DATA_TRANSFER},
    {R::kTargetDelete, "!$omp target free", OTF2_REGION_ROLE_DEALLOCATE},
    {R::kTargetAssociate, "!$omp target associate", OTF2_REGION_ROLE_WRAPPER},
    {R::kTargetDisassociate, "!$omp target disassociate", OTF2_REGION_ROLE_WRAPPER},
    {R::kTargetSubmit, "!$omp target submit", OTF2_REGION_ROLE_WRAPPER},
    {R::kTargetKernel, "!$omp target kernel", OTF2_REGION_ROLE_FUNCTION},
    {R::kMpi, nullptr, OTF2_REGION_ROLE_ARTIFICIAL},
    {R::kCallSite, nullptr, OTF2_REGION_ROLE_ARTIFICIAL},
    {R::kUser, nullptr, OTF2_REGION_ROLE_CODE},
    {R::kFunction, nullptr, OTF2_REGION_ROLE_FUNCTION},
    {R::kNumber, nullptr, OTF2_REGION_ROLE_ARTIFICIAL},
    {R::kText, nullptr, OTF2_REGION_ROLE_ARTIFICIAL},
    {R::kProgram, nullptr, OTF2_REGION_ROLE_ARTIFICIAL},
    {R::kKokkos, nullptr, OTF2_REGION_ROLE_CODE},
    {R::kFile, nullptr, OTF2_REGION_ROLE_FILE_IO},
    {R::kFileName, nullptr, OTF2_REGION_ROLE_ARTIFICIAL},
    {R::kThreadCreate, "pthread_create", OTF2_REGION_ROLE_THREAD_CREATE},
    {R::kThreadJoin, "pthread_join", OTF2_REGION_ROLE_THREAD_WAIT},
    {R::kMutexLock, "pthread_mutex_lock", OTF2_REGION_ROLE_FUNCTION},
    {R::kReadLock, "pthread_rwlock_rdlock", OTF2_REGION_ROLE_FUNCTION},
    {R::kWriteLock, "pthread_rwlock_wrlock", OTF2_REGION_ROLE_FUNCTION},
    {R::kSpinLock, "pthread_spin_lock", OTF2_REGION_ROLE_FUNCTION},
    {R::kCondition, "pthread_cond_wait", OTF2_REGION_ROLE_FUNCTION},
    {R::kThreadBarrier, "pthread_barrier_wait", OTF2_REGION_ROLE_BARRIER},
    {R::kSemaphore, "sem_wait", OTF2_REGION_ROLE_FUNCTION},
    {R::kC11Create, "thrd_create", OTF2_REGION_ROLE_THREAD_CREATE},
    {R::kC11Join, "thrd_join", OTF2_REGION_ROLE_THREAD_WAIT},
    {R::kC11Mutex, "mtx_lock", OTF2_REGION_ROLE_FUNCTION},
    {R::kC11Condition, "cnd_wait", OTF2_REGION_ROLE_FUNCTION},
    {R::kHolder, nullptr, OTF2_REGION_ROLE_FUNCTION},
};

static_assert([] {
  std::size_t number = 0;
  for (const Class& row : kClasses)
    if (static_cast<std::size_t>(row.cls) != number++) return false;
  return number == static_cast<std::size_t>(R::kCount);
}());

const Class& row_of(RegionClass cls) noexcept {
  const auto index = static_cast<std::size_t>(cls);
  return kClasses[index < std::size(kClasses) ? index : 0];
}

}  // namespace

std::uint8_t paradigm_of(RegionClass cls) noexcept {
  if (cls == RegionClass::kNone || cls == RegionClass::kUser) return OTF2_PARADIGM_USER;
  if (cls == RegionClass::kFunction) return OTF2_PARADIGM_COMPILER;
  if (cls == RegionClass::kKokkos) return OTF2_PARADIGM_KOKKOS;
  if (cls == RegionClass::kFile) return OTF2_PARADIGM_NONE;
  if (cls >= RegionClass::kThreadCreate && cls <= RegionClass::kHolder)
    return OTF2_PARADIGM_PTHREAD;
  if (cls == RegionClass::kProgram) return OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  return cls == RegionClass::kMpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_OPENMP;
}

std::uint8_t role_of(RegionClass cls) noexcept { return row_of(cls).role; }

const char* class_name(RegionClass cls) noexcept { return row_of(cls).name; }

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

RegionClass thread_call_class(std::uint8_t sub) noexcept {
  constexpr auto kLast = static_cast<unsigned>(spool::ThreadCall::kCount) - 1;
  return static_cast<RegionClass>(static_cast<unsigned>(RegionClass::kThreadCreate) +
                                  std::min<unsigned>(sub & spool::kThreadCalls, kLast));
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
  const std::uint8_t kind = record.kind & static_cast<std::uint8_t>(~spool::kSnapshot);
  switch (kind) {
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
    case spool::kTaskSchedule:
      if ((record.payload >> 48 & spool::kTaskNextExplicit) == 0) return {};
      return one(RegionClass::kTask);
    case spool::kMutexAcquire:
    case spool::kMutexAcquired:
      return two(mutex_class(record.sub), mutex_block_class(record.sub));
    case spool::kNestLock:
      return one(record.sub == ompt::kScopeBegin ? RegionClass::kRelockNestLock
                                                 : RegionClass::kUnlockNestLock);
    case spool::kThreadCallBegin:
      return one(thread_call_class(record.sub));
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
    case spool::kFileEnter:
      return {RegionKey{RegionClass::kFile,
                        address | std::uint64_t{record.sub} << spool::kFileOperationShift},
              RegionKey{}};
    case spool::kFileMoved:
      return {RegionKey{RegionClass::kFileName, record.payload >> spool::kFileShift},
              RegionKey{}};
    case spool::kUserParameter:
      return {RegionKey{record.sub == spool::kParameterText ? RegionClass::kText
                                                            : RegionClass::kNumber,
                        record.a48()},
              RegionKey{}};
    default: {
      const RegionClass cls = spool::kind_row(kind).region;
      return cls == RegionClass::kNone ? RegionKeys{} : one(cls);
    }
  }
}

using spool::CallKey;
using spool::CallTree;

namespace {

// A begin as keys_opened_by() wants it.
spool::Record record_of(CallKey key) {
  spool::Record record{};
  record.kind = key.kind();
  record.sub = key.sub();
  record.payload = key.payload;
  if (record.kind == spool::kTaskSchedule)
    record.payload |= std::uint64_t{spool::kTaskNextExplicit} << 48;
  return record;
}

}  // namespace

RegionKeys keys_of_node(CallKey key) noexcept {
  if (key.what == spool::kOtherRegions) return {};
  if (key.kind() == spool::kImplicitTaskBegin)
    return {RegionKey{parallel_class(key.sub()), key.payload}, RegionKey{}};
  return keys_opened_by(record_of(key));
}

std::vector<std::uint64_t> keys_of(const spool::CallTree& tree) {
  std::vector<std::uint64_t> keys;
  for (const CallTree::Node& node : tree.nodes)
    for (const RegionKey& key : keys_of_node(node.key))
      if (key.cls != RegionClass::kNone) keys.push_back(key.packed());
  return keys;
}

std::vector<std::uint64_t> keys_of(const spool::FlowGraph& graph) {
  std::vector<std::uint64_t> keys;
  for (const spool::FlowNode& node : graph.nodes) {
    if (node.kind != spool::FlowKind::kCall) continue;
    const RegionKeys of_call =
        keys_of_node(CallKey::make(spool::kMpiEnter, 0, node.payload));
    keys.push_back(of_call[0].packed());
    if (of_call[1].address != 0) keys.push_back(of_call[1].packed());
  }
  return keys;
}

std::map<std::uint64_t, std::uint64_t> inner_of(const spool::CallTree& tree) {
  std::map<std::uint64_t, std::uint64_t> inner;
  for (const CallTree::Node& node : tree.nodes) {
    const std::uint8_t kind = node.key.kind();
    if (kind != spool::kWorkBegin && kind != spool::kSyncRegionBegin &&
        kind != spool::kMaskedBegin)
      continue;
    const CallKey around = tree.nodes[node.parent].key;
    const std::uint64_t address = node.key.payload & spool::kAddressMask;
    if (around.kind() == spool::kImplicitTaskBegin && address != 0 &&
        address != around.payload)
      inner.emplace(around.payload, address);
  }
  return inner;
}

void add_sums(const spool::CallTree::Node& node, summary::RunSummary::Sums& sums) noexcept {
  const bool ended = node.least <= node.greatest;
  if (ended) {
    const bool first = sums.greatest == 0 && sums.least == 0 && sums.time == 0;
    sums.least = first ? node.least : std::min(sums.least, node.least);
    sums.greatest = std::max(sums.greatest, node.greatest);
  }
  sums.visits += node.visits;
  sums.time += node.time;
  sums.bytes_sent += node.bytes_sent;
  sums.bytes_received += node.bytes_received;
  sums.messages_sent += node.messages_sent;
  sums.messages_received += node.messages_received;
  sums.time_elsewhere += node.time_elsewhere;
  sums.regions_elsewhere += node.regions_elsewhere;
}

}  // namespace refrain::regions
