#include "tracer/recorder/record_time_class.h"

#include <array>
#include <catch2/catch.hpp>

#include "analysis/profile/run_profile.h"
#include "regions/region_class.h"
#include "summary/time_class.h"

namespace refrain::recorder::record_time_class_test {
namespace {

using spool::CallKey;
using summary::TimeClass;

constexpr TimeClass kUseful = TimeClass::kUseful;

// As a profile says of the region that the node becomes in the archive.
TimeClass in_archive(CallKey key) {
  const regions::RegionKeys keys = regions::keys_of_node(key);
  const bool block = key.kind() == spool::kMutexAcquired;
  const regions::RegionClass cls = keys[block ? 1 : 0].cls;
  const char* const name = regions::class_name(cls);
  const bool holder = cls == spool::RegionClass::kHolder;
  return analysis::class_of(regions::role_of(cls), regions::paradigm_of(cls),
                            holder            ? "held by f"
                            : name == nullptr ? ""
                                              : name);
}

TEST_CASE("Region class: every kind of region - as in a profile") {
  for (const spool::RecordKind& row : spool::kRecordKinds) {
    // Those of the other cases.
    if (row.effect == spool::Effect::kNone || row.effect == spool::Effect::kEnd ||
        row.kind == spool::kParallelBegin || row.kind == spool::kMpiEnter ||
        row.kind == spool::kMutexAcquired || row.kind == spool::kMutexReleased)
      continue;
    const spool::Kind kind = row.kind;
    for (unsigned sub = 0; sub < 16; ++sub) {
      const CallKey key = CallKey::make(kind, static_cast<std::uint8_t>(sub), 5);
      CAPTURE(static_cast<int>(kind), sub);
      CHECK(class_of_region(key, {}, kUseful, {}) == in_archive(key));
    }
  }
  // Those that have a block.
  for (const std::uint8_t sub : {5, 7}) {
    const CallKey key = CallKey::make(spool::kMutexAcquired, sub, 5);
    CHECK(class_of_region(key, {}, kUseful, {}) == in_archive(key));
  }
}

TEST_CASE("Region class: barriers - after a single, and the wait in one") {
  const CallKey barrier = CallKey::make(spool::kSyncRegionBegin, 8, 5);
  const CallKey wait = CallKey::make(spool::kWaitBegin, 8, 5);
  const CallKey single = CallKey::make(spool::kWorkBegin, 4, 5);
  const CallKey loop = CallKey::make(spool::kWorkBegin, 1, 5);
  CHECK(class_of_region(barrier, {}, kUseful, loop) == TimeClass::kImbalance);
  CHECK(class_of_region(barrier, {}, kUseful, single) == TimeClass::kLimitedParallelism);
  CHECK(class_of_region(wait, barrier, TimeClass::kLimitedParallelism, {}) ==
        TimeClass::kLimitedParallelism);
  CHECK(class_of_region(wait, barrier, TimeClass::kImbalance, {}) == TimeClass::kImbalance);
  const CallKey explicit_barrier = CallKey::make(spool::kSyncRegionBegin, 3, 5);
  CHECK(class_of_region(explicit_barrier, {}, kUseful, single) ==
        TimeClass::kSynchronization);
}

TEST_CASE("Region class: forks and what had no place") {
  CHECK(class_of_region(CallKey::make(spool::kParallelBegin, 0, 1), {}, kUseful, {}) ==
        TimeClass::kThreadManagement);
  CHECK(class_of_region({spool::kOtherRegions, 0}, {}, kUseful, {}) == TimeClass::kUnknown);
}

TEST_CASE("Region class: MPI - by the procedure's number") {
  const auto call = [](std::uint64_t procedure) {
    return class_of_region(CallKey::make(spool::kMpiEnter, 0, procedure << 48 | 0x1234), {},
                           kUseful, {});
  };
  CHECK(call(1) == TimeClass::kMpiManagement);
  static const std::array<TimeClass, 2> kClasses = {summary::class_of_mpi("MPI_Barrier"),
                                                    summary::class_of_mpi("MPI_Send")};
  set_mpi_classes({kClasses.data(), 2});
  CHECK(call(0) == TimeClass::kMpiSynchronization);
  CHECK(call(1) == TimeClass::kMpiPointToPoint);
  CHECK(call(2) == TimeClass::kMpiManagement);
}

}  // namespace
}  // namespace refrain::recorder::record_time_class_test
