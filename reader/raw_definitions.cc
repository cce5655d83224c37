#include "reader/raw_definitions.h"

#include "reader/attribute_value.h"

namespace refrain::reader {
namespace {

// No exception may pass through libotf2, which is C.
template <typename Action>
OTF2_CallbackCode with(void* data, Action action) noexcept {
  try {
    action(*static_cast<RawDefinitions*>(data));
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

OTF2_CallbackCode on_clock(void* data, std::uint64_t resolution, std::uint64_t offset,
                           std::uint64_t length, std::uint64_t realtime) {
  return with(data, [&](RawDefinitions& raw) {
    raw.ticks_per_second = resolution;
    raw.offset_ticks = offset;
    raw.length_ticks = length;
    raw.realtime_ns = realtime;
  });
}

OTF2_CallbackCode on_string(void* data, OTF2_StringRef self, const char* text) {
  return with(data, [&](RawDefinitions& raw) { raw.strings[self] = text ? text : ""; });
}

OTF2_CallbackCode on_node(void* data, OTF2_SystemTreeNodeRef self, OTF2_StringRef name,
                          OTF2_StringRef, OTF2_SystemTreeNodeRef parent) {
  return with(data, [&](RawDefinitions& raw) { raw.nodes[self] = {name, parent}; });
}

OTF2_CallbackCode on_domain(void* data, OTF2_SystemTreeNodeRef node,
                            OTF2_SystemTreeDomain domain) {
  return with(data, [&](RawDefinitions& raw) {
    if (domain == OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY) raw.shared_memory.insert(node);
  });
}

OTF2_CallbackCode on_location_group(void* data, OTF2_LocationGroupRef self,
                                    OTF2_StringRef name, OTF2_LocationGroupType type,
                                    OTF2_SystemTreeNodeRef node,
                                    OTF2_LocationGroupRef creator) {
  return with(data, [&](RawDefinitions& raw) {
    raw.location_groups[self] = {name, type, node, creator};
  });
}

OTF2_CallbackCode on_location(void* data, OTF2_LocationRef self, OTF2_StringRef name,
                              OTF2_LocationType type, std::uint64_t events,
                              OTF2_LocationGroupRef group) {
  return with(data, [&](RawDefinitions& raw) {
    raw.locations[self] = {name, type, events, group};
    raw.used_groups.insert(group);
  });
}

OTF2_CallbackCode on_location_property(void* data, OTF2_LocationRef location,
                                       OTF2_StringRef name, OTF2_Type type,
                                       OTF2_AttributeValue value) {
  return with(data, [&](RawDefinitions& raw) {
    raw.location_properties[location].push_back({name, type, widened(type, value)});
  });
}

OTF2_CallbackCode on_region(void* data, OTF2_RegionRef self, OTF2_StringRef name,
                            OTF2_StringRef, OTF2_StringRef, OTF2_RegionRole role,
                            OTF2_Paradigm paradigm, OTF2_RegionFlag flags,
                            OTF2_StringRef file, std::uint32_t line, std::uint32_t) {
  return with(data, [&](RawDefinitions& raw) {
    raw.regions[self] = {name, file, line, role, paradigm, flags};
  });
}

OTF2_CallbackCode on_group(void* data, OTF2_GroupRef self, OTF2_StringRef,
                           OTF2_GroupType type, OTF2_Paradigm paradigm, OTF2_GroupFlag,
                           std::uint32_t count, const std::uint64_t* members) {
  return with(data, [&](RawDefinitions& raw) {
    raw.groups[self] = {type, paradigm, {}};
    if (members != nullptr) raw.groups[self].members.assign(members, members + count);
  });
}

OTF2_CallbackCode on_comm(void* data, OTF2_CommRef self, OTF2_StringRef name,
                          OTF2_GroupRef group, OTF2_CommRef, OTF2_CommFlag) {
  return with(data, [&](RawDefinitions& raw) { raw.comms[self] = {name, group}; });
}

OTF2_CallbackCode on_inter_comm(void* data, OTF2_CommRef self, OTF2_StringRef name,
                                OTF2_GroupRef group, OTF2_GroupRef remote, OTF2_CommRef,
                                OTF2_CommFlag) {
  return with(data, [&](RawDefinitions& raw) { raw.comms[self] = {name, group, remote}; });
}

OTF2_CallbackCode on_cart_dimension(void* data, OTF2_CartDimensionRef self, OTF2_StringRef,
                                    std::uint32_t size, OTF2_CartPeriodicity periodicity) {
  return with(data, [&](RawDefinitions& raw) {
    raw.cart_dimensions[self] = {size, periodicity == OTF2_CART_PERIODIC_TRUE};
  });
}

OTF2_CallbackCode on_cart_topology(void* data, OTF2_CartTopologyRef, OTF2_StringRef,
                                   OTF2_CommRef comm, std::uint8_t count,
                                   const OTF2_CartDimensionRef* dimensions) {
  return with(data, [&](RawDefinitions& raw) {
    raw.cart_topologies[comm].assign(dimensions, dimensions + count);
  });
}

OTF2_CallbackCode on_window(void* data, OTF2_RmaWinRef self, OTF2_StringRef name,
                            OTF2_CommRef comm, OTF2_RmaWinFlag) {
  return with(data, [&](RawDefinitions& raw) { raw.windows[self] = {name, 0, comm}; });
}

OTF2_CallbackCode on_parameter(void* data, OTF2_ParameterRef self, OTF2_StringRef name,
                               OTF2_ParameterType type) {
  return with(data, [&](RawDefinitions& raw) { raw.parameters[self] = {name, type}; });
}

OTF2_CallbackCode on_attribute(void* data, OTF2_AttributeRef self, OTF2_StringRef name,
                               OTF2_StringRef, OTF2_Type type) {
  return with(data, [&](RawDefinitions& raw) { raw.attributes[self] = {name, type}; });
}

OTF2_CallbackCode on_place(void* data, OTF2_SourceCodeLocationRef self, OTF2_StringRef file,
                           std::uint32_t line) {
  return with(data, [&](RawDefinitions& raw) { raw.places[self] = {file, line}; });
}

OTF2_CallbackCode on_metric_member(void* data, OTF2_MetricMemberRef self,
                                   OTF2_StringRef name, OTF2_StringRef,
                                   OTF2_MetricType type, OTF2_MetricMode mode, OTF2_Type,
                                   OTF2_Base, std::int64_t, OTF2_StringRef unit) {
  return with(data, [&](RawDefinitions& raw) {
    raw.metric_members[self] = {name, unit, type, mode};
  });
}

OTF2_CallbackCode on_metric_class(void* data, OTF2_MetricRef self, std::uint8_t count,
                                  const OTF2_MetricMemberRef* members,
                                  OTF2_MetricOccurrence, OTF2_RecorderKind) {
  return with(data, [&](RawDefinitions& raw) {
    raw.metric_classes[self].assign(members, members + count);
  });
}

OTF2_CallbackCode on_metric_instance(void* data, OTF2_MetricRef self,
                                     OTF2_MetricRef of_class, OTF2_LocationRef,
                                     OTF2_MetricScope, std::uint64_t) {
  return with(data, [&](RawDefinitions& raw) { raw.metric_instances[self] = of_class; });
}

OTF2_GlobalDefReaderCallbacks* make_callbacks(bool groups) {
  OTF2_GlobalDefReaderCallbacks* c = OTF2_GlobalDefReaderCallbacks_New();
  if (c == nullptr) return nullptr;
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_node);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeDomainCallback(c, on_domain);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_location_group);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
  OTF2_GlobalDefReaderCallbacks_SetLocationPropertyCallback(c, on_location_property);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
  if (groups) OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
  OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter_comm);
  OTF2_GlobalDefReaderCallbacks_SetCartDimensionCallback(c, on_cart_dimension);
  OTF2_GlobalDefReaderCallbacks_SetCartTopologyCallback(c, on_cart_topology);
  OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(c, on_window);
  OTF2_GlobalDefReaderCallbacks_SetParameterCallback(c, on_parameter);
  OTF2_GlobalDefReaderCallbacks_SetAttributeCallback(c, on_attribute);
  OTF2_GlobalDefReaderCallbacks_SetSourceCodeLocationCallback(c, on_place);
  OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(c, on_metric_member);
  OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(c, on_metric_class);
  OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback(c, on_metric_instance);
  return c;
}

}  // namespace

OTF2_ErrorCode read_raw_definitions(OTF2_Reader* reader, bool groups,
                                    RawDefinitions& definitions) {
  OTF2_GlobalDefReader* definition_reader = OTF2_Reader_GetGlobalDefReader(reader);
  if (definition_reader == nullptr) return OTF2_ERROR_FILE_CAN_NOT_OPEN;
  OTF2_GlobalDefReaderCallbacks* callbacks = make_callbacks(groups);
  if (callbacks == nullptr) return OTF2_ERROR_MEM_ALLOC_FAILED;
  OTF2_ErrorCode code = OTF2_Reader_RegisterGlobalDefCallbacks(reader, definition_reader,
                                                               callbacks, &definitions);
  OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
  std::uint64_t count = 0;
  if (code == OTF2_SUCCESS)
    code = OTF2_Reader_ReadAllGlobalDefinitions(reader, definition_reader, &count);
  OTF2_Reader_CloseGlobalDefReader(reader, definition_reader);
  return code;
}

}  // namespace refrain::reader
