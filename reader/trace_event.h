// One event of an OTF2 archive, in one shape for all kinds, as sinks get it.
//
// Place in the flow: ARCHITECTURE.md, stage 7: archive_stream.h makes them, the sinks
// (csv_sink.h, chrome_sink.h, paraver_sink.h) write them. Ownership: plain values; `extras`
// belongs to the stream and is valid while the sink is called. Units: nanoseconds since the
// begin of the trace (TraceDefinitions::base_ticks), or as archive_stream.h says; ticks are as
// in the archive, with no such begin. Cost: 88 bytes, no allocation.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace refrain::reader {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Kinds by OTF2's names. Meaning of `ref`, `op` and others, where the name does not say it:
//   Enter, Leave            ref: index of the region (TraceDefinitions::regions)
//   Mpi*, NonBlocking*, CommCreate   ref: index of the communicator
//   Rma*                    ref: index of the window; RmaGroupSync: tag: index of the group
//   Thread*Team*, ThreadTask*   ref: index of the communicator; tag: creator; value: number
//   Parameter*              ref: index of the parameter; value: its bits, or the string
//   Metric                  ref: reference of class or instance; extras: the values
//   Io*                     ref: reference of the handle
//   others                  OTF2's own numbers
// clang-format off
#define REFRAIN_TRACE_EVENTS(X)                                                            \
  X(Enter)                                                                                 \
  X(Leave)                                                                                 \
  X(MeasurementOnOff)                                                                      \
  X(BufferFlush)                                                                           \
  X(MpiSend)                                                                               \
  X(MpiIsend)                                                                              \
  X(MpiIsendComplete) X(MpiIrecvRequest) X(MpiRecv) X(MpiIrecv) X(MpiRequestTest) X(       \
      MpiRequestCancelled) X(MpiCollectiveBegin) X(MpiCollectiveEnd)                       \
      X(NonBlockingCollectiveRequest) X(NonBlockingCollectiveComplete) X(CommCreate) X(    \
          CommDestroy) X(OmpFork) X(OmpJoin) X(OmpAcquireLock) X(OmpReleaseLock)           \
          X(OmpTaskCreate) X(OmpTaskSwitch) X(OmpTaskComplete) X(ThreadFork) X(ThreadJoin) \
              X(ThreadTeamBegin) X(ThreadTeamEnd) X(ThreadAcquireLock) X(                  \
                  ThreadReleaseLock) X(ThreadTaskCreate) X(ThreadTaskSwitch)               \
                  X(ThreadTaskComplete) X(ThreadCreate) X(ThreadBegin) X(ThreadWait) X(    \
                      ThreadEnd) X(Metric) X(ParameterString) X(ParameterInt)              \
                      X(ParameterUnsignedInt) X(RmaWinCreate) X(RmaWinDestroy) X(          \
                          RmaCollectiveBegin) X(RmaCollectiveEnd) X(RmaGroupSync)          \
                          X(RmaRequestLock) X(RmaAcquireLock) X(RmaTryLock) X(             \
                              RmaReleaseLock) X(RmaSync) X(RmaWaitChange) X(RmaPut)        \
                              X(RmaGet) X(RmaAtomic) X(RmaOpCompleteBlocking) X(           \
                                  RmaOpCompleteNonBlocking) X(RmaOpTest)                   \
                                  X(RmaOpCompleteRemote) X(CallingContextEnter) X(         \
                                      CallingContextLeave) X(CallingContextSample)         \
                                      X(IoCreateHandle) X(IoDestroyHandle) X(              \
                                          IoDuplicateHandle) X(IoSeek)                     \
                                          X(IoChangeStatusFlags) X(IoDeleteFile) X(        \
                                              IoOperationBegin) X(IoOperationTest)         \
                                              X(IoOperationIssued) X(IoOperationComplete)  \
                                                  X(IoOperationCancelled) X(IoAcquireLock) \
                                                      X(IoReleaseLock) X(IoTryLock)        \
                                                          X(ProgramBegin) X(ProgramEnd)    \
                                                              X(Unknown)
// clang-format on

enum class EventKind : std::uint8_t {
#define REFRAIN_KIND(name) k##name,
  REFRAIN_TRACE_EVENTS(REFRAIN_KIND)
#undef REFRAIN_KIND
      kCount
};

const char* event_name(EventKind kind) noexcept;

// Which events are read: all, or the marks of iterations only, which are Enter and Leave of
// loops that Refrain detected (RegionInfo::is_loop); a trace of another tool has none.
enum class EventChoice { kAll, kMarks };

// An attribute, or a value of a metric (ref: its place in the class).
struct ExtraValue {
  std::uint32_t ref = 0;
  std::uint8_t type = 0;   // OTF2_Type
  std::uint64_t bits = 0;  // widened, with sign; floating point as its own bits
};

struct TraceEvent {
  std::uint64_t ns = 0;
  std::uint64_t ticks = 0;             // the same, in ticks of the archive's clock
  std::uint64_t bytes = 0;             // sent, or in any direction
  std::uint64_t received = 0;          // of collectives and atomic operations
  std::uint64_t request = 0;           // request, matching, task or lock number
  std::uint64_t value = 0;             // of parameters; else as above
  const ExtraValue* extras = nullptr;  // metric values, then attributes
  LocationId location{};               // index
  std::uint32_t ref = kNone;
  std::uint32_t peer = kNone;  // rank in the communicator; root of a collective
  std::uint32_t tag = 0;
  std::uint32_t op = 0;  // collective operation, mode, paradigm, ...
  std::uint16_t metrics = 0;
  std::uint16_t attributes = 0;
  EventKind kind = EventKind::kUnknown;
};

}  // namespace refrain::reader
