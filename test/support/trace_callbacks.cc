#include "test/support/trace_callbacks.h"

#include <stdexcept>

namespace refrain::test {
namespace {

Trace& trace_of(void* data) { return *static_cast<Trace*>(data); }

// See resolve_names().
std::string reference(OTF2_StringRef string) {
  return string == OTF2_UNDEFINED_STRING ? "" : std::to_string(string);
}

void resolve(const Trace& trace, std::string& name) {
  if (name.empty()) return;
  const auto found = trace.strings.find(static_cast<std::uint32_t>(std::stoul(name)));
  if (found == trace.strings.end()) throw std::runtime_error("undefined string " + name);
  name = found->second;
}

OTF2_CallbackCode on_clock(void* data, uint64_t resolution, uint64_t offset,
                           uint64_t length, uint64_t realtime) {
  trace_of(data).clock = {true, resolution, offset, length, realtime};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_string(void* data, OTF2_StringRef self, const char* text) {
  trace_of(data).strings[self] = text;
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_region(void* data, OTF2_RegionRef self, OTF2_StringRef name,
                            OTF2_StringRef canonical, OTF2_StringRef description,
                            OTF2_RegionRole role, OTF2_Paradigm paradigm,
                            OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
                            uint32_t end) {
  trace_of(data).regions[self] = {reference(name),
                                  reference(canonical),
                                  reference(description),
                                  reference(file),
                                  role,
                                  paradigm,
                                  flags,
                                  begin,
                                  end};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_system_node(void* data, OTF2_SystemTreeNodeRef self,
                                 OTF2_StringRef name, OTF2_StringRef class_name,
                                 OTF2_SystemTreeNodeRef parent) {
  trace_of(data).system_nodes[self] = {reference(name), reference(class_name), parent};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_location_group(void* data, OTF2_LocationGroupRef self,
                                    OTF2_StringRef name, OTF2_LocationGroupType type,
                                    OTF2_SystemTreeNodeRef parent,
                                    OTF2_LocationGroupRef creator) {
  trace_of(data).location_groups[self] = {reference(name), type, parent, creator};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_location(void* data, OTF2_LocationRef self, OTF2_StringRef name,
                              OTF2_LocationType type, uint64_t events,
                              OTF2_LocationGroupRef group) {
  Location location;
  location.reference = self;
  location.name = reference(name);
  location.type = type;
  location.group = group;
  location.defined_events = events;
  trace_of(data).locations.push_back(std::move(location));
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_location_property(void* data, OTF2_LocationRef location,
                                       OTF2_StringRef name, OTF2_Type type,
                                       OTF2_AttributeValue value) {
  Trace& trace = trace_of(data);
  std::string text;
  if (type == OTF2_TYPE_STRING) {
    text = trace.strings[value.stringRef];
  } else if (type == OTF2_TYPE_INT64 || type == OTF2_TYPE_INT32) {
    text = std::to_string(type == OTF2_TYPE_INT64 ? value.int64 : value.int32);
  } else {
    text = std::to_string(type == OTF2_TYPE_UINT32 ? value.uint32 : value.uint64);
  }
  for (Location& candidate : trace.locations)
    if (candidate.reference == location) candidate.properties[trace.strings[name]] = text;
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_group(void* data, OTF2_GroupRef self, OTF2_StringRef name,
                           OTF2_GroupType type, OTF2_Paradigm paradigm,
                           OTF2_GroupFlag flags, uint32_t count, const uint64_t* members) {
  trace_of(data).groups[self] = {
      reference(name), type, paradigm, flags, {members, members + count}};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_comm(void* data, OTF2_CommRef self, OTF2_StringRef name,
                          OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag) {
  trace_of(data).comms[self] = {reference(name), group, parent};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_inter_comm(void* data, OTF2_CommRef self, OTF2_StringRef name,
                                OTF2_GroupRef group, OTF2_GroupRef other_group,
                                OTF2_CommRef common, OTF2_CommFlag) {
  trace_of(data).comms[self] = {reference(name), group, common, other_group};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_window(void* data, OTF2_RmaWinRef self, OTF2_StringRef name,
                            OTF2_CommRef comm, OTF2_RmaWinFlag) {
  trace_of(data).windows[self] = {reference(name), comm};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_attribute(void* data, OTF2_AttributeRef self, OTF2_StringRef name,
                               OTF2_StringRef description, OTF2_Type type) {
  trace_of(data).attributes[self] = {reference(name), reference(description), type};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_metric_member(void* data, OTF2_MetricMemberRef self,
                                   OTF2_StringRef name, OTF2_StringRef, OTF2_MetricType,
                                   OTF2_MetricMode, OTF2_Type, OTF2_Base, int64_t,
                                   OTF2_StringRef) {
  trace_of(data).metric_members[self] = trace_of(data).strings[name];
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_metric_class(void* data, OTF2_MetricRef self, uint8_t count,
                                  const OTF2_MetricMemberRef* members,
                                  OTF2_MetricOccurrence, OTF2_RecorderKind) {
  for (uint8_t i = 0; i < count; ++i)
    trace_of(data).metrics[self].push_back(trace_of(data).metric_members[members[i]]);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_parameter(void* data, OTF2_ParameterRef self, OTF2_StringRef name,
                               OTF2_ParameterType type) {
  trace_of(data).parameters[self] = {reference(name), "", type};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_callsite(void* data, OTF2_CallsiteRef, OTF2_StringRef file,
                              uint32_t line, OTF2_RegionRef entered, OTF2_RegionRef left) {
  trace_of(data).callsites.push_back({reference(file), line, entered, left});
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_marker_kind(void* data, OTF2_MarkerRef self, const char* group,
                                 const char* category, OTF2_MarkerSeverity severity) {
  Marker kind;
  kind.group = group;
  kind.category = category;
  kind.severity = severity;
  static_cast<MarkerState*>(data)->kinds[self] = kind;
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_marker(void* data, OTF2_TimeStamp time, OTF2_TimeStamp duration,
                            OTF2_MarkerRef kind, OTF2_MarkerScope scope,
                            uint64_t scope_reference, const char* text) {
  MarkerState& state = *static_cast<MarkerState*>(data);
  Marker marker = state.kinds[kind];
  marker.time = time;
  marker.duration = duration;
  marker.scope = scope;
  marker.scope_reference = scope_reference;
  marker.text = text;
  state.trace->markers.push_back(marker);
  return OTF2_CALLBACK_SUCCESS;
}

}  // namespace

DefinitionCallbacks::DefinitionCallbacks()
    : callbacks_(OTF2_GlobalDefReaderCallbacks_New()) {
  OTF2_GlobalDefReaderCallbacks* c = callbacks_;
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_system_node);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_location_group);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
  OTF2_GlobalDefReaderCallbacks_SetLocationPropertyCallback(c, on_location_property);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
  OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter_comm);
  OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(c, on_window);
  OTF2_GlobalDefReaderCallbacks_SetAttributeCallback(c, on_attribute);
  OTF2_GlobalDefReaderCallbacks_SetParameterCallback(c, on_parameter);
  OTF2_GlobalDefReaderCallbacks_SetCallsiteCallback(c, on_callsite);
  OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(c, on_metric_member);
  OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(c, on_metric_class);
}

DefinitionCallbacks::~DefinitionCallbacks() {
  OTF2_GlobalDefReaderCallbacks_Delete(callbacks_);
}

MarkerCallbacks::MarkerCallbacks() : callbacks_(OTF2_MarkerReaderCallbacks_New()) {
  OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(callbacks_, on_marker_kind);
  OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks_, on_marker);
}

MarkerCallbacks::~MarkerCallbacks() { OTF2_MarkerReaderCallbacks_Delete(callbacks_); }

void resolve_names(Trace& trace) {
  for (auto& [self, region] : trace.regions) {
    resolve(trace, region.name);
    resolve(trace, region.canonical_name);
    resolve(trace, region.description);
    resolve(trace, region.file);
  }
  for (Location& location : trace.locations) resolve(trace, location.name);
  for (auto& [self, group] : trace.location_groups) resolve(trace, group.name);
  for (auto& [self, group] : trace.groups) resolve(trace, group.name);
  for (auto& [self, comm] : trace.comms) resolve(trace, comm.name);
  for (auto& [self, window] : trace.windows) resolve(trace, window.name);
  for (auto& [self, parameter] : trace.parameters) resolve(trace, parameter.name);
  for (Callsite& callsite : trace.callsites) resolve(trace, callsite.file);
  for (auto& [self, attribute] : trace.attributes) {
    resolve(trace, attribute.name);
    resolve(trace, attribute.description);
  }
  for (auto& [self, node] : trace.system_nodes) {
    resolve(trace, node.name);
    resolve(trace, node.class_name);
  }
}

}  // namespace refrain::test
