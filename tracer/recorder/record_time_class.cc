#include "tracer/recorder/record_time_class.h"

#include "spool/thread_format.h"

namespace refrain::recorder {

using spool::CallKey;
using summary::TimeClass;

namespace {

// ompt_work_t, ompt_sync_region_t, ompt_scope_endpoint_t
constexpr std::uint8_t kSingleExecutor = 3;
constexpr std::uint8_t kSingleOther = 4;
constexpr std::uint8_t kBarrierImplicit = 2;
constexpr std::uint8_t kBarrierImplementation = 4;
constexpr std::uint8_t kReduction = 7;
constexpr std::uint8_t kBarrierTeams = 10;
constexpr std::uint8_t kScopeBegin = 1;

constinit std::atomic<const TimeClass*> g_mpi_classes{nullptr};
constinit std::atomic<std::uint32_t> g_mpi_count{0};

TimeClass class_of_sync(std::uint8_t sub) noexcept {
  const bool implicit = sub == kBarrierImplicit || sub == kBarrierImplementation ||
                        (sub >= kReduction && sub <= kBarrierTeams);
  return implicit ? TimeClass::kImbalance : TimeClass::kSynchronization;
}

bool is_sync(CallKey key) noexcept {
  return key.kind() == spool::kSyncRegionBegin || key.kind() == spool::kWaitBegin;
}

bool is_single(CallKey key) noexcept {
  return key.kind() == spool::kWorkBegin &&
         (key.sub() == kSingleExecutor || key.sub() == kSingleOther);
}

TimeClass class_of_procedure(std::uint64_t payload) noexcept {
  const std::uint64_t procedure = payload >> 48;
  const TimeClass* const classes = g_mpi_classes.load(std::memory_order_acquire);
  if (classes == nullptr || procedure >= g_mpi_count.load(std::memory_order_relaxed))
    return TimeClass::kMpiManagement;
  return classes[procedure];
}

}  // namespace

void set_mpi_classes(const MpiClasses& classes) noexcept {
  g_mpi_count.store(classes.count, std::memory_order_relaxed);
  g_mpi_classes.store(classes.classes, std::memory_order_release);
}

TimeClass class_of_region(CallKey key, CallKey parent_key, TimeClass parent,
                          CallKey before) noexcept {
  if (key.what == spool::kOtherRegions) return TimeClass::kUnknown;
  switch (key.kind()) {
    case spool::kSyncRegionBegin:
    case spool::kWaitBegin: {
      const TimeClass cls = class_of_sync(key.sub());
      if (cls != TimeClass::kImbalance) return cls;
      const bool inside =
          is_sync(parent_key) && class_of_sync(parent_key.sub()) == TimeClass::kImbalance;
      if (inside) return parent;
      return is_single(before) ? TimeClass::kLimitedParallelism : cls;
    }
    case spool::kThreadCallBegin:
      if (key.sub() == static_cast<std::uint8_t>(spool::ThreadCall::kCreate) ||
          key.sub() == static_cast<std::uint8_t>(spool::ThreadCall::kC11Create))
        return TimeClass::kThreadManagement;
      break;
    case spool::kNestLock:
      if (key.sub() == kScopeBegin) return TimeClass::kSynchronization;
      break;
    case spool::kMpiEnter:
      return class_of_procedure(key.payload);
    default:
      break;
  }
  return spool::kind_row(key.kind()).time;
}

}  // namespace refrain::recorder
