// The definitions of an archive that archive_info.cc asks for, by reference.
//
// Place in the flow: private to analysis/archive_info.
// Errors: what a definition refers to may be missing; text() answers "" then.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
#include <string>

namespace refrain::analysis {

struct ArchiveDefinitions {
  struct Location {
    OTF2_StringRef name = OTF2_UNDEFINED_STRING;
    std::uint64_t events = 0;
    OTF2_LocationGroupRef group = 0;
    std::map<OTF2_StringRef, std::uint64_t> properties;
  };
  struct Region {
    OTF2_StringRef name = OTF2_UNDEFINED_STRING;
    OTF2_StringRef file = OTF2_UNDEFINED_STRING;
    std::uint32_t line = 0;
    bool phase = false;
  };

  std::uint64_t ticks_per_second = 0;
  std::uint64_t length_ticks = 0;
  std::uint64_t realtime_ns = OTF2_UNDEFINED_TIMESTAMP;
  std::map<OTF2_StringRef, std::string> strings;
  std::map<OTF2_LocationRef, Location> locations;
  std::map<OTF2_LocationGroupRef, OTF2_StringRef> groups;
  std::map<OTF2_RegionRef, Region> regions;
  std::map<OTF2_AttributeRef, OTF2_StringRef> attributes;

  std::string text(OTF2_StringRef ref) const {
    const auto found = strings.find(ref);
    return found == strings.end() ? std::string() : found->second;
  }
  // OTF2_UNDEFINED_ATTRIBUTE if there is none of this name.
  OTF2_AttributeRef attribute(const std::string& name) const;
};

// Reads all global definitions.
OTF2_ErrorCode read_definitions(OTF2_Reader* reader, ArchiveDefinitions& definitions);

}  // namespace refrain::analysis
