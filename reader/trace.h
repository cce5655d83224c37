// A trace as plain structures: its events, one shape for all kinds; its definitions; and who gets them.
//
// Place in the flow: ARCHITECTURE.md, stage 7: archive_stream.h makes them, sinks
// (TraceSink) get them. Ownership: plain values; `extras`
// belongs to the stream and is valid while the sink is called. Units: nanoseconds since the
// start of the trace (TraceDefinitions::base_ticks), or as archive_stream.h says; ticks are as
// in the archive, with no such begin. Cost: 88 bytes, no allocation.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

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
//   CallingContext*         ref: reference of the context; what it opens and closes comes as Enter and Leave
//   BufferFlush             value: its end, in ticks; comes with Enter and Leave of TraceDefinitions::flush_region
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
  // By a hole in a damaged file: the reader leaves there what is open, says that nothing is written until the hole ends, and enters what is
  // left later. Such events are made, and their times are not those of the program. Of messages and the like: one
  // that its process may have lost others before, so that who counts them finds the wrong other end.
  bool uncertain = false;
};

// Where an MPI procedure is called, says an attribute of its Enter: reference of a source code location, or kNone.
std::uint32_t call_site(const TraceEvent& enter) noexcept;

// What an OTF2 archive defines, put in order for those who write other formats: processes
// in the order of their ranks, threads numbered in them, references resolved to indices.
//
// Shapes: kNone means undefined. An archive may define nonsense: a dangling reference becomes an empty name or kNone,
// never an error. Thread-safety: plain values.

// From a reference of the archive to an index; dense ones by a table.
class RefTable {
 public:
  void add(std::uint64_t ref, std::uint32_t index);
  std::uint32_t of(std::uint64_t ref) const noexcept {
    if (ref < dense_.size()) return dense_[ref];
    return sparse_.empty() ? kNone : slow(ref);
  }

 private:
  std::uint32_t slow(std::uint64_t ref) const noexcept;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint64_t, std::uint32_t> sparse_;
};

struct RegionInfo {
  std::string name;
  std::string file;
  std::uint32_t line = 0;
  OTF2_RegionRole role = OTF2_REGION_ROLE_UNKNOWN;
  OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
  OTF2_RegionFlag flags = OTF2_REGION_FLAG_NONE;
  bool is_loop = false;  // detected by Refrain: an enter is an iteration

  bool is_io() const noexcept {
    return role == OTF2_REGION_ROLE_FILE_IO || role == OTF2_REGION_ROLE_FILE_IO_METADATA;
  }
};

// The name of an MPI procedure without what tools add: "MPI_Recv()", "PMPI_Recv", "mpi_recv_", "MPI_Recv [rank 1]".
std::string mpi_procedure(std::string_view name);

struct LocationInfo {
  std::uint64_t ref = 0;
  std::string name;
  OTF2_LocationType type = OTF2_LOCATION_TYPE_CPU_THREAD;
  std::uint64_t events = 0;            // as defined, which may be wrong
  ProcessId process{};                 // index
  std::uint32_t thread = 0;            // in its process
  std::vector<ExtraValue> properties;  // `ref`: their name, a string; as they were defined
  // One of the OpenMP runtime's own threads, or of threads that the program begins itself, says the archive: its time counts in
  // regions only.
  bool helper = false;
  bool temporary = false;
  bool only_in_regions() const noexcept { return helper || temporary; }

  // Of a process; else a stream of a device, or a place for values of metrics.
  bool is_thread() const noexcept {
    return type != OTF2_LOCATION_TYPE_ACCELERATOR_STREAM &&
           type != OTF2_LOCATION_TYPE_METRIC;
  }
};

struct ProcessInfo {
  std::uint32_t ref = 0;  // of its location group
  std::string name;
  std::uint32_t node = 0;      // index
  std::uint32_t rank = kNone;  // of MPI
  std::vector<LocationId> locations;
};

struct GridDimension {
  std::uint32_t size = 1;
  bool periodic = false;
};

struct CommInfo {
  std::string name;
  bool self = false;             // each process alone
  bool of_processes = false;     // MPI and the like; else a team of threads
  std::uint32_t group = kNone;   // index in `groups`
  std::uint32_t remote = kNone;  // of an intercommunicator: the other group
  // Cartesian: ranks lie row by row, as MPI prescribes. As many places as members; else empty.
  std::vector<GridDimension> grid;
};

struct NamedInfo {
  std::string name;
  std::uint8_t type = 0;       // OTF2_Type or OTF2_ParameterType
  std::uint32_t comm = kNone;  // of windows
};

struct MetricInfo {
  std::string name;
  std::string unit;
  OTF2_MetricType type = OTF2_METRIC_TYPE_OTHER;
  OTF2_MetricMode mode = OTF2_METRIC_ABSOLUTE_POINT;
};

// Of archives of tools that sample call stacks: a region in the context of those around it.
struct CallingContextInfo {
  std::uint32_t region = 0;      // index
  std::uint32_t parent = kNone;  // index
};

struct MarkerInfo {
  std::uint64_t ns = 0;
  std::uint64_t duration_ns = 0;
  std::string category;
  std::string text;
  LocationId location{kNone};  // kNone: of the whole trace or a group
};

// Which OpenMP runtime ran the program's regions: "libgomp", "LLVM's libomp", or the name that another one gives. Empty:
// none, or not known. Of an archive's properties.
std::string openmp_runtime(const std::map<std::string, std::string>& properties);
// Of a program linked with libgomp what that means for its times and regions; else empty.
std::string openmp_note(const std::map<std::string, std::string>& properties);
// How many threads are not in an archive of Refrain's because there was no room to record them; empty: all are.
std::string unrecorded_note(const std::map<std::string, std::string>& properties);

struct TraceDefinitions {
  std::uint64_t ticks_per_second = 1'000'000'000;
  std::uint64_t base_ticks = 0;   // time zero
  std::uint64_t end_ticks = 0;    // by the definitions
  std::uint64_t realtime_ns = 0;  // of time zero; 0: not known
  std::string archive;            // as it was named to open it
  std::string machine;
  std::string creator;
  std::map<std::string, std::string> properties;  // of the anchor file
  std::unordered_map<std::uint32_t, std::string> strings;
  std::vector<RegionInfo> regions;  // the last one: any that is not defined
  std::vector<CallingContextInfo> contexts;
  std::uint32_t flush_region =
      kNone;  // of tools that write their buffers while the program runs
  std::vector<LocationInfo> locations;
  std::vector<ProcessInfo> processes;  // that have locations
  std::size_t location_groups = 0;     // defined, also those without locations
  std::vector<std::string> nodes;
  std::vector<CommInfo> comms;
  std::vector<std::vector<ProcessId>> groups;  // processes by rank
  std::vector<NamedInfo> windows;
  std::vector<NamedInfo> parameters;
  std::vector<MetricInfo> metrics;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> metric_classes;
  std::unordered_map<std::uint32_t, NamedInfo> attributes;
  std::unordered_map<std::uint32_t, std::string> places;  // source code locations
  // What handles of I/O are of: a path, or the handle's own name. By their references.
  std::unordered_map<std::uint32_t, std::string> io_files;
  std::vector<MarkerInfo> markers;  // by time
  RefTable region_table, comm_table, window_table, parameter_table, group_table,
      context_table;

  bool is_refrain() const { return properties.contains("REFRAIN::VERSION"); }
  // For what is about threads: fails where there are only streams of devices and places for metrics.
  base::Result<> need_threads() const;
  // Recorded by `refrain run --summary-only`: there are no events, and no marks of iterations.
  bool summary_only() const;
  std::uint64_t ns(std::uint64_t ticks) const noexcept;  // nearest; 0 before time zero
  std::uint64_t duration_ns(std::uint64_t ticks) const noexcept;  // so many ticks
  // Returns true if a region that begins then continues one that ended: enters and leaves of Refrain's archives
  // are ticks apart where the program's were not.
  bool adjoins(std::uint64_t end_ns, std::uint64_t begin_ns) const noexcept;
  const std::string& text(std::uint32_t ref) const noexcept;
  // The process that is `rank` in a communicator, as process `self` sees it, or kNone.
  ProcessId process_of(std::uint32_t comm, std::uint32_t rank,
                       ProcessId self) const noexcept;
  // A value of an attribute or a metric, in words.
  std::string value_text(std::uint8_t type, std::uint64_t bits) const;
};

// Which definitions are read. Without groups, members of communicators and ranks are not known
// (processes are in the order of their references); groups take memory for each member of each
// communicator.
enum class DefinitionChoice { kAll, kWithoutGroups };

struct DefinitionsRead {
  OTF2_ErrorCode code =
      OTF2_SUCCESS;  // else there is nothing after the last one that was read
  std::uint64_t count = 0;
  bool clock = false;  // is among them
};
// Reads the global definitions, at most so many, without those of the anchor file.
DefinitionsRead read_trace_definitions(OTF2_Reader* reader, DefinitionChoice which,
                                       std::uint64_t most, TraceDefinitions& definitions);
// Which regions are loops that Refrain detected. After the properties are known.
void mark_loops(TraceDefinitions& definitions);
// Markers are optional; unreadable ones are left out. After base_ticks is known.
void read_markers(OTF2_Reader* reader, TraceDefinitions& definitions);

// Takes the events of a trace in the order of their times and writes them in some format.
//
// Thread-safety: none. Ownership: a sink owns its files; those that were not finished are removed with it. After a
// failure nothing more is handed over.

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // `definitions` lives as long as the sink is used.
  virtual base::Result<> begin(const TraceDefinitions& definitions) = 0;
  // Times never decrease; at equal times, events of a location keep their order.
  virtual void event(const TraceEvent& event) = 0;
  // One line, empty: none. Called now and then.
  virtual std::string error() const = 0;
  // What this format cannot express, a line each; after finish().
  virtual std::vector<std::string> notes() const { return {}; }
  using Share = std::function<void(double share)>;
  // True: finish() takes about as long as everything before it, and sets `share` to the part
  // that is done, from 0 to 1. Before begin().
  virtual bool tells_share(const Share&) { return false; }
  // `end_ns`: of the trace; no event is later. All files are complete afterwards.
  virtual base::Result<> finish(std::uint64_t end_ns) = 0;
};

}  // namespace refrain::reader
