// What libotf2 hands over: values of attributes, definitions, events.
//
// Place in the flow: private to reader/.
#pragma once

#include <otf2/otf2.h>

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reader/trace.h"

namespace refrain::reader {

// A value of an attribute or a property in 64 bits, as ExtraValue has it; one of unknown type is read as 32 bits.
// Integers with their sign, floating point as its own bits, references as numbers.
inline std::uint64_t widened(OTF2_Type type, const OTF2_AttributeValue& value) {
  const auto from_signed = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  switch (type) {
    case OTF2_TYPE_UINT8:
      return value.uint8;
    case OTF2_TYPE_UINT16:
      return value.uint16;
    case OTF2_TYPE_INT8:
      return from_signed(value.int8);
    case OTF2_TYPE_INT16:
      return from_signed(value.int16);
    case OTF2_TYPE_INT32:
      return from_signed(value.int32);
    case OTF2_TYPE_FLOAT:
      return std::bit_cast<std::uint32_t>(value.float32);
    case OTF2_TYPE_UINT64:
    case OTF2_TYPE_INT64:
    case OTF2_TYPE_DOUBLE:
    case OTF2_TYPE_LOCATION:
      return value.uint64;
    default:
      return value.uint32;  // 32 bits, and references
  }
}

// The global definitions of an OTF2 archive as they are written, by reference.
//
// Errors: OTF2's code; contradictory definitions are kept as they are.

struct RawDefinitions {
  struct Location {
    OTF2_StringRef name;
    OTF2_LocationType type;
    std::uint64_t events;
    OTF2_LocationGroupRef group;
  };
  struct LocationGroup {
    OTF2_StringRef name;
    OTF2_LocationGroupType type;
    OTF2_SystemTreeNodeRef node;
    OTF2_LocationGroupRef creator;
  };
  struct Node {
    OTF2_StringRef name;
    OTF2_SystemTreeNodeRef parent;
  };
  struct Region {
    OTF2_StringRef name, file;
    std::uint32_t line;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
    OTF2_RegionFlag flags;
  };
  struct Group {
    OTF2_GroupType type;
    OTF2_Paradigm paradigm;
    std::vector<std::uint64_t> members;
  };
  struct Comm {
    OTF2_StringRef name;
    OTF2_GroupRef group;
    OTF2_GroupRef remote = OTF2_UNDEFINED_GROUP;
  };
  struct Named {
    OTF2_StringRef name;
    std::uint8_t type = 0;
    std::uint32_t comm = 0;
  };
  struct CallingContext {
    OTF2_RegionRef region;
    OTF2_CallingContextRef parent;
  };
  struct MetricMember {
    OTF2_StringRef name, unit;
    OTF2_MetricType type;
    OTF2_MetricMode mode;
  };

  std::uint64_t ticks_per_second = 0, offset_ticks = 0, length_ticks = 0;
  std::uint64_t realtime_ns = OTF2_UNDEFINED_TIMESTAMP;
  std::unordered_map<std::uint32_t, std::string> strings;
  std::map<OTF2_LocationRef, Location> locations;
  std::map<OTF2_LocationRef, std::vector<ExtraValue>> location_properties;
  std::map<OTF2_LocationGroupRef, LocationGroup> location_groups;
  std::set<OTF2_LocationGroupRef> used_groups;  // that have a location
  std::map<OTF2_SystemTreeNodeRef, Node> nodes;
  std::set<OTF2_SystemTreeNodeRef> shared_memory;
  std::map<OTF2_RegionRef, Region> regions;
  std::map<OTF2_CallingContextRef, CallingContext> contexts;
  std::map<OTF2_GroupRef, Group> groups;
  std::map<OTF2_CommRef, Comm> comms;
  std::map<OTF2_CartDimensionRef, std::pair<std::uint32_t, bool>> cart_dimensions;
  std::map<OTF2_CommRef, std::vector<OTF2_CartDimensionRef>> cart_topologies;
  std::map<std::uint32_t, Named> windows, parameters, attributes;
  std::map<std::uint32_t, std::pair<OTF2_StringRef, std::uint32_t>> places;
  struct IoHandle {
    OTF2_StringRef name;
    OTF2_IoFileRef file;
    OTF2_IoHandleRef parent;
  };
  std::map<OTF2_IoFileRef, OTF2_StringRef> io_files;
  std::map<OTF2_IoHandleRef, IoHandle> io_handles;
  std::map<OTF2_MetricMemberRef, MetricMember> metric_members;
  std::map<OTF2_MetricRef, std::vector<OTF2_MetricMemberRef>> metric_classes;
  std::map<OTF2_MetricRef, OTF2_MetricRef> metric_instances;
};

// `groups`: whether they are wanted. They take memory for each of their members. At most so many are read; `count` were.
OTF2_ErrorCode read_raw_definitions(OTF2_Reader* reader, bool groups, std::uint64_t most,
                                    RawDefinitions& definitions, std::uint64_t& count);

// Turns the records of one location into TraceEvents, a batch at a time.
//
// Of calling contexts, which tools write that sample, enters and leaves of their regions are made, so that nobody else has
// to know them: a context is open from the first record that names it to the first one that does not. A flush of the
// tool's buffer becomes a region of its own. The records themselves are kept.
//
// Thread-safety: none; the callbacks run on the thread that reads. Units: `ticks` of the batch are the archive's,
// never falling in a location. Cost: one copy an event; a batch keeps its memory.

struct EventBatch {
  struct Entry {
    TraceEvent event;          // without nanoseconds and extras
    std::uint32_t extras = 0;  // first of them
  };
  const TraceDefinitions* definitions = nullptr;
  LocationId location{};
  std::uint64_t last_ticks = 0;
  std::vector<Entry> entries;
  std::vector<ExtraValue> extras;
  std::uint64_t records = 0;  // of which the entries were made
  // Calling contexts: those that are open, from outside, of the whole location; and how many samples there were.
  std::vector<std::uint32_t> contexts;
  std::vector<std::uint32_t> next_contexts;  // for change_context()
  std::uint64_t samples = 0;

  void clear() {
    entries.clear();
    extras.clear();
    records = 0;
  }
};

struct DeleteEventCallbacks {
  void operator()(OTF2_EvtReaderCallbacks* callbacks) const {
    OTF2_EvtReaderCallbacks_Delete(callbacks);
  }
};
using EventCallbacks = std::unique_ptr<OTF2_EvtReaderCallbacks, DeleteEventCallbacks>;

// For a reader of events whose user data is an EventBatch; needed until they are registered.
// nullptr: no memory.
EventCallbacks make_event_callbacks(EventChoice which);

// Records of other tools' archives that an analysis of times does not use: named once, so that nobody takes silence for
// "there is nothing".
//
// Place in the flow: for sinks (trace.h). Thread-safety: none. Cost: a look-up for each event that is handed to it.

class UnusedRecords {
 public:
  // Counters: whether this analysis uses them.
  explicit UnusedRecords(bool counters = false) : counters_(counters) {}
  // Devices, whose streams are no threads, are named here.
  void begin(const TraceDefinitions& definitions);
  // An event of which no use is made. `region`: the innermost one, if any; of a region that is a call on a file, operations are
  // its time.
  void add(EventKind kind, std::uint32_t region = kNone);

 private:
  const TraceDefinitions* definitions_ = nullptr;
  bool counters_ = false;
  bool named_[3] = {};
};

}  // namespace refrain::reader
