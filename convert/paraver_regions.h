// How a region appears in a Paraver trace: the event type of its start and end, the value,
// and the state of a thread inside.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after formats.h.
// Each region has one event type, so that its enters and leaves can be found again: value
// at the enter, 0 at the leave. Values numbered by Refrain have labels in the .pcf.
// Thread-safety: plain values.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reader/trace.h"

namespace refrain::convert {

// States.
enum ParaverState : std::uint8_t {
  kIdle = 0,
  kRunning = 1,
  kNotCreated = 2,
  kSynchronisation = 5,
  kForkJoin = 7,
  kIoState = 12,
  kTracingDisabled = 14,
  kMemoryTransfer = 17,
};

// Event types.
enum ParaverType : std::uint32_t {
  kTypeIteration = 40'000'000,
  kTypeApplication = 40'000'001,
  kTypeFlush = 40'000'003,
  kTypeTracing = 40'000'012,
  kTypeMpi = 50'000'000,  // plus the class
  kTypeBytesSent = 50'100'001,
  kTypeBytesReceived = 50'100'002,
  kTypeRoot = 50'100'003,
  kTypeComm = 50'100'004,
  kTypeParallel = 60'000'001,
  kTypeWorksharing = 60'000'002,
  kTypeBarrier = 60'000'005,
  kTypeFunction = 60'000'018,  // plus 100 more: the line
  kTypeUserFunction = 60'000'019,
  kTypeTaskwait = 60'000'022,
  kTypeTask = 60'000'023,
  kTypeTaskCreate = 60'000'024,
  kTypeTaskId = 60'000'028,
  kTypeCritical = 60'000'050,
  kTypeAtomic = 60'000'051,
  kTypeWorkshare = 60'000'053,
  kTypeMaster = 60'000'056,
  kTypeTaskgroup = 60'000'057,
  kTypeOtherOmp = 60'000'099,
  kTypeTarget = 60'000'300,  // target constructs; plus 100 more: the line
  kTypeTargetData = 60'000'301,
  kTypeKernel = 60'000'302,  // its submission, and itself on the device's stream
  kTypeTargetBytes = 60'000'310,
  kTypePeriod = 666'001,
  kTypeDetail = 666'002,
  kTypeInnerIteration = 666'100,  // plus the level of the loop
  kTypeCallLine = 80'000'001,
};
inline constexpr std::uint32_t kLineOffset = 100;

struct ParaverRegion {
  std::uint32_t type = kTypeUserFunction;
  std::uint64_t value = 0;  // of a loop: number of its period
  bool has_line = false;    // a second event: type + kLineOffset, same value
  bool is_loop = false;
  bool is_mpi = false;
  std::uint8_t state = kRunning;
};

struct ParaverRegions {
  std::vector<ParaverRegion> regions;  // as TraceDefinitions::regions
  // Values of MPI calls without a number: from 1001 on.
  std::map<std::uint64_t, std::string> other_calls;
};

ParaverRegions paraver_regions(const reader::TraceDefinitions& definitions);

// The numbers of MPI calls, counters and states in Paraver's configurations.
//
// Pure. Source: the event types that Extrae's merger writes; calls unknown to it have no number.

inline constexpr std::uint32_t kParaverInit = 31;  // MPI_Init

// "MPI_Send": 1. 0: none.
std::uint32_t paraver_mpi_call(std::string_view procedure);

// Event type of a counter: PAPI's presets by their code, others by a hash of the name.
std::uint32_t paraver_counter(const std::string& name);

// The classes of calls are event types 50000001 and following.
enum class MpiClass : std::uint8_t {
  kPointToPoint = 1,
  kCollective,
  kOther,
  kOneSided,
  kIo
};
struct MpiCall {
  MpiClass cls = MpiClass::kOther;
  std::uint32_t state = 15;
};
MpiCall classify_mpi(std::string_view procedure, OTF2_RegionRole role);

}  // namespace refrain::convert
