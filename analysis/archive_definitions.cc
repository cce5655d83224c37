#include "analysis/archive_definitions.h"

namespace refrain::analysis {
namespace {

ArchiveDefinitions& of(void* data) { return *static_cast<ArchiveDefinitions*>(data); }

// No exception may pass through libotf2, which is C.
template <typename Action>
OTF2_CallbackCode guarded(Action action) noexcept {
  try {
    action();
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

OTF2_CallbackCode on_clock(void* data, std::uint64_t resolution, std::uint64_t,
                           std::uint64_t length, std::uint64_t realtime) {
  of(data).ticks_per_second = resolution;
  of(data).length_ticks = length;
  of(data).realtime_ns = realtime;
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_string(void* data, OTF2_StringRef self, const char* text) {
  return guarded([&] { of(data).strings[self] = text != nullptr ? text : ""; });
}

OTF2_CallbackCode on_group(void* data, OTF2_LocationGroupRef self, OTF2_StringRef name,
                           OTF2_LocationGroupType, OTF2_SystemTreeNodeRef,
                           OTF2_LocationGroupRef) {
  return guarded([&] { of(data).groups[self] = name; });
}

OTF2_CallbackCode on_location(void* data, OTF2_LocationRef self, OTF2_StringRef name,
                              OTF2_LocationType, std::uint64_t events,
                              OTF2_LocationGroupRef group) {
  return guarded([&] {
    auto& location = of(data).locations[self];
    location.name = name;
    location.events = events;
    location.group = group;
  });
}

OTF2_CallbackCode on_location_property(void* data, OTF2_LocationRef location,
                                       OTF2_StringRef name, OTF2_Type type,
                                       OTF2_AttributeValue value) {
  if (type != OTF2_TYPE_UINT64) return OTF2_CALLBACK_SUCCESS;
  return guarded([&] {
    const auto known = of(data).locations.find(location);
    if (known != of(data).locations.end()) known->second.properties[name] = value.uint64;
  });
}

OTF2_CallbackCode on_region(void* data, OTF2_RegionRef self, OTF2_StringRef name,
                            OTF2_StringRef, OTF2_StringRef, OTF2_RegionRole, OTF2_Paradigm,
                            OTF2_RegionFlag flags, OTF2_StringRef file, std::uint32_t line,
                            std::uint32_t) {
  return guarded([&] {
    of(data).regions[self] = {name, file, line, (flags & OTF2_REGION_FLAG_PHASE) != 0};
  });
}

OTF2_CallbackCode on_attribute(void* data, OTF2_AttributeRef self, OTF2_StringRef name,
                               OTF2_StringRef, OTF2_Type) {
  return guarded([&] { of(data).attributes[self] = name; });
}

}  // namespace

OTF2_AttributeRef ArchiveDefinitions::attribute(const std::string& name) const {
  for (const auto& [ref, text_ref] : attributes)
    if (text(text_ref) == name) return ref;
  return OTF2_UNDEFINED_ATTRIBUTE;
}

OTF2_ErrorCode read_definitions(OTF2_Reader* reader, ArchiveDefinitions& definitions) {
  OTF2_GlobalDefReader* definition_reader = OTF2_Reader_GetGlobalDefReader(reader);
  if (definition_reader == nullptr) return OTF2_ERROR_FILE_CAN_NOT_OPEN;
  OTF2_GlobalDefReaderCallbacks* callbacks = OTF2_GlobalDefReaderCallbacks_New();
  if (callbacks == nullptr) return OTF2_ERROR_MEM_ALLOC_FAILED;
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(callbacks, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(callbacks, on_string);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(callbacks, on_group);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location);
  OTF2_GlobalDefReaderCallbacks_SetLocationPropertyCallback(callbacks,
                                                            on_location_property);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(callbacks, on_region);
  OTF2_GlobalDefReaderCallbacks_SetAttributeCallback(callbacks, on_attribute);
  OTF2_ErrorCode code = OTF2_Reader_RegisterGlobalDefCallbacks(reader, definition_reader,
                                                               callbacks, &definitions);
  OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
  std::uint64_t count = 0;
  if (code == OTF2_SUCCESS)
    code = OTF2_Reader_ReadAllGlobalDefinitions(reader, definition_reader, &count);
  OTF2_Reader_CloseGlobalDefReader(reader, definition_reader);
  return code;
}

}  // namespace refrain::analysis
