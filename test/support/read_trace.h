// An OTF2 archive as plain structures: definitions, and the events of every location in
// their order. Read with libotf2 alone, so that it shows what any reader would see.
//
// Shapes: references are those of the archive's definitions; times are ticks of the
// archive's clock (Trace::clock), with clock offsets applied.
// Thread-safety: none needed. Errors: std::runtime_error with libotf2's own messages.
// Checks and queries: trace_checks.h, of MPI's events mpi_checks.h. Events of I/O are not
// read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace refrain::test {

enum class EventType : std::uint8_t {
  // The comments name `reference`, `value` and `extra` of the event.
  kEnter,                // region
  kLeave,                // region
  kMeasurementOn,        //
  kMeasurementOff,       //
  kBufferFlush,          // -, stop time
  kThreadFork,           // paradigm, requested threads
  kThreadJoin,           // paradigm
  kTeamBegin,            // communicator of the team
  kTeamEnd,              // communicator of the team
  kAcquireLock,          // lock, acquisition order
  kReleaseLock,          // lock, acquisition order
  kTaskCreate,           // team, generation number, creating thread
  kTaskSwitch,           // team, generation number, creating thread
  kTaskComplete,         // team, generation number, creating thread
  kThreadCreate,         // contingent, sequence count
  kThreadBegin,          // contingent, sequence count
  kThreadWait,           // contingent, sequence count
  kThreadEnd,            // contingent, sequence count
  kParameterInt,         // parameter, value
  kParameterUnsigned,    // parameter, value
  kParameterString,      // parameter, string
  kMetric,               // metric, number of values
  kProgramBegin,         // name, number of arguments
  kProgramEnd,           // -, exit status
  kIoCreateHandle,       // handle, access mode
  kIoDestroyHandle,      // handle
  kIoOperationBegin,     // handle, bytes, matching id
  kIoOperationComplete,  // handle, bytes, matching id

  // MPI; see also `tag`, `sent`, `received` and `request`.
  kMpiSend,                   // communicator, destination
  kMpiIsend,                  // communicator, destination
  kMpiIsendComplete,          //
  kMpiIrecvRequest,           //
  kMpiRecv,                   // communicator, source
  kMpiIrecv,                  // communicator, source
  kMpiRequestTest,            //
  kMpiRequestCancelled,       //
  kMpiCollectiveBegin,        //
  kMpiCollectiveEnd,          // communicator, operation, root
  kMpiCollectiveRequest,      // start of a non-blocking one
  kMpiCollectiveComplete,     // communicator, operation, root; of a non-blocking one
  kCommCreate,                // communicator
  kCommDestroy,               // communicator
  kRmaWinCreate,              // window
  kRmaWinDestroy,             // window
  kRmaCollectiveBegin,        //
  kRmaCollectiveEnd,          // window, operation, root
  kRmaGroupSync,              // window, level, group
  kRmaRequestLock,            // window, target, lock type
  kRmaAcquireLock,            // window, target, lock type
  kRmaTryLock,                // window, target, lock type
  kRmaReleaseLock,            // window, target
  kRmaSync,                   // window, target, kind
  kRmaWaitChange,             // window
  kRmaPut,                    // window, target
  kRmaGet,                    // window, target
  kRmaAtomic,                 // window, target, kind
  kRmaOpCompleteBlocking,     // window
  kRmaOpCompleteNonBlocking,  // window
  kRmaOpTest,                 // window
  kRmaOpCompleteRemote,       // window
  kTypes
};
const char* event_name(EventType type);

struct Attribute {
  std::uint32_t attribute = 0;
  std::uint8_t type = 0;    // OTF2_Type
  std::uint64_t value = 0;  // integers widened (with sign), floating point as its bits
};

struct Event {
  EventType type{};
  std::uint64_t time = 0;
  std::uint32_t reference = 0;
  std::int64_t value = 0;
  std::uint32_t extra = 0;
  std::vector<Attribute> attributes;
  // Of MPI's events, where they have them.
  std::uint32_t tag = 0;
  std::uint64_t sent = 0, received = 0;  // bytes
  std::uint64_t request = 0;             // request, matching or lock id
  std::vector<std::uint64_t> values{};   // kMetric: one for each member of the class
};

struct Region {
  std::string name, canonical_name, description, file;
  std::uint8_t role = 0;      // OTF2_RegionRole
  std::uint8_t paradigm = 0;  // OTF2_Paradigm
  std::uint32_t flags = 0;    // OTF2_RegionFlag
  std::uint32_t begin_line = 0, end_line = 0;
};

struct Location {
  std::uint64_t reference = 0;
  std::string name;
  std::uint8_t type = 0;  // OTF2_LocationType
  std::uint32_t group = 0;
  std::uint64_t defined_events = 0;  // number of events by the definition
  std::map<std::string, std::string> properties;
  std::vector<Event> events;
};

struct LocationGroup {
  std::string name;
  std::uint8_t type = 0;
  std::uint32_t parent = 0, creator = 0;
};

struct Group {
  std::string name;
  std::uint8_t type = 0, paradigm = 0;
  std::uint32_t flags = 0;
  std::vector<std::uint64_t> members;
};

inline constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

struct Comm {
  std::string name;
  std::uint32_t group = 0, parent = 0;
  std::uint32_t other_group = kNoGroup;  // of an intercommunicator: its second group
};

struct Window {
  std::string name;
  std::uint32_t comm = 0;
};

struct Named {  // attributes and parameters
  std::string name, description;
  std::uint8_t type = 0;  // OTF2_Type, OTF2_ParameterType
};

struct Callsite {
  std::string file;
  std::uint32_t line = 0, entered = 0, left = 0;
};

struct SystemNode {
  std::string name, class_name;
  std::uint32_t parent = 0;
};

struct Marker {
  std::string group, category, text;
  std::uint64_t time = 0, duration = 0;
  std::uint8_t severity = 0, scope = 0;
  std::uint64_t scope_reference = 0;
};

struct ClockProperties {
  bool defined = false;
  std::uint64_t ticks_per_second = 0, global_offset = 0, trace_length = 0;
  std::uint64_t realtime_ns = 0;  // OTF2_UNDEFINED_TIMESTAMP: not given
};

struct Trace {
  std::string machine, creator, description;
  std::map<std::string, std::string> properties;  // of the anchor file
  ClockProperties clock;
  std::map<std::uint32_t, std::string> strings;
  std::map<std::uint32_t, Region> regions;
  std::map<std::uint32_t, LocationGroup> location_groups;
  std::map<std::uint32_t, SystemNode> system_nodes;
  std::map<std::uint32_t, Group> groups;
  std::map<std::uint32_t, Comm> comms;
  std::map<std::uint32_t, Window> windows;
  std::map<std::uint32_t, Named> attributes, parameters;
  std::map<std::uint32_t, std::string> metric_members;
  std::map<std::uint32_t, std::vector<std::string>> metrics;  // names of a class' members
  std::vector<Callsite> callsites;
  std::vector<Location> locations;  // in the order of their definitions
  std::vector<Marker> markers;

  double ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * 1e9 / static_cast<double>(clock.ticks_per_second);
  }
};

// Of an archive's directory or its anchor file.
std::filesystem::path anchor_file(const std::filesystem::path& archive);

Trace read_trace(const std::filesystem::path& archive);

}  // namespace refrain::test
