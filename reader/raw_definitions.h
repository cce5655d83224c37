// The global definitions of an OTF2 archive as they are written, by reference.
//
// Place in the flow: private to trace_definitions.h, which puts them in order.
// Errors: OTF2's code; contradictory definitions are kept as they are.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reader/trace_event.h"

namespace refrain::reader {

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
  std::map<OTF2_GroupRef, Group> groups;
  std::map<OTF2_CommRef, Comm> comms;
  std::map<OTF2_CartDimensionRef, std::pair<std::uint32_t, bool>> cart_dimensions;
  std::map<OTF2_CommRef, std::vector<OTF2_CartDimensionRef>> cart_topologies;
  std::map<std::uint32_t, Named> windows, parameters, attributes;
  std::map<std::uint32_t, std::pair<OTF2_StringRef, std::uint32_t>> places;
  std::map<OTF2_MetricMemberRef, MetricMember> metric_members;
  std::map<OTF2_MetricRef, std::vector<OTF2_MetricMemberRef>> metric_classes;
  std::map<OTF2_MetricRef, OTF2_MetricRef> metric_instances;
};

// `groups`: whether they are wanted. They take memory for each of their members.
OTF2_ErrorCode read_raw_definitions(OTF2_Reader* reader, bool groups,
                                    RawDefinitions& definitions);

}  // namespace refrain::reader
