#include "reader/otf2_callbacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/notes.h"
#include "base/texts.h"

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
  return with(data, [&](RawDefinitions& raw) {
    raw.strings[self] = base::clean_text(text != nullptr ? text : "");
  });
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

OTF2_CallbackCode on_calling_context(void* data, OTF2_CallingContextRef self,
                                     OTF2_RegionRef region, OTF2_SourceCodeLocationRef,
                                     OTF2_CallingContextRef parent) {
  return with(data, [&](RawDefinitions& raw) { raw.contexts[self] = {region, parent}; });
}

// A file or a directory.
OTF2_CallbackCode on_io_file(void* data, OTF2_IoFileRef self, OTF2_StringRef name,
                             OTF2_SystemTreeNodeRef) {
  return with(data, [&](RawDefinitions& raw) { raw.io_files[self] = name; });
}

OTF2_CallbackCode on_io_handle(void* data, OTF2_IoHandleRef self, OTF2_StringRef name,
                               OTF2_IoFileRef file, OTF2_IoParadigmRef, OTF2_IoHandleFlag,
                               OTF2_CommRef, OTF2_IoHandleRef parent) {
  return with(data, [&](RawDefinitions& raw) {
    raw.io_handles[self] = {name, file, parent};
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
  OTF2_GlobalDefReaderCallbacks_SetCallingContextCallback(c, on_calling_context);
  OTF2_GlobalDefReaderCallbacks_SetIoRegularFileCallback(c, on_io_file);
  OTF2_GlobalDefReaderCallbacks_SetIoDirectoryCallback(c, on_io_file);
  OTF2_GlobalDefReaderCallbacks_SetIoHandleCallback(c, on_io_handle);
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

OTF2_ErrorCode read_raw_definitions(OTF2_Reader* reader, bool groups, std::uint64_t most,
                                    RawDefinitions& definitions, std::uint64_t& count) {
  OTF2_GlobalDefReader* definition_reader = OTF2_Reader_GetGlobalDefReader(reader);
  if (definition_reader == nullptr) return OTF2_ERROR_FILE_CAN_NOT_OPEN;
  OTF2_GlobalDefReaderCallbacks* callbacks = make_callbacks(groups);
  if (callbacks == nullptr) return OTF2_ERROR_MEM_ALLOC_FAILED;
  OTF2_ErrorCode code = OTF2_Reader_RegisterGlobalDefCallbacks(reader, definition_reader,
                                                               callbacks, &definitions);
  OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
  if (code == OTF2_SUCCESS)
    code = OTF2_Reader_ReadGlobalDefinitions(reader, definition_reader, most, &count);
  OTF2_Reader_CloseGlobalDefReader(reader, definition_reader);
  return code;
}

}  // namespace refrain::reader

namespace refrain::reader {
namespace {

using Event = TraceEvent;
using Kind = EventKind;

void take_attributes(EventBatch& batch, Event& event, OTF2_AttributeList* list) {
  std::uint32_t count = OTF2_AttributeList_GetNumberOfElements(list);
  count = std::min<std::uint32_t>(count, std::numeric_limits<std::uint16_t>::max());
  for (std::uint32_t i = 0; i < count; ++i) {
    OTF2_AttributeRef ref = 0;
    OTF2_Type type = OTF2_TYPE_NONE;
    OTF2_AttributeValue value{};
    if (OTF2_AttributeList_GetAttributeByIndex(list, i, &ref, &type, &value) !=
        OTF2_SUCCESS)
      break;
    batch.extras.push_back({ref, type, widened(type, value)});
    ++event.attributes;
  }
}

EventBatch::Entry& add(EventBatch& batch, OTF2_TimeStamp ticks, Kind kind) {
  batch.last_ticks = std::max(batch.last_ticks, ticks);
  EventBatch::Entry& entry = batch.entries.emplace_back();
  entry.event.ticks = batch.last_ticks;
  entry.extras = static_cast<std::uint32_t>(batch.extras.size());
  entry.event.kind = kind;
  entry.event.location = batch.location;
  return entry;
}

template <typename Fill>
OTF2_CallbackCode put(void* data, OTF2_TimeStamp ticks, OTF2_AttributeList* list, Kind kind,
                      Fill fill) noexcept {
  auto& batch = *static_cast<EventBatch*>(data);
  try {
    ++batch.records;
    EventBatch::Entry& entry = add(batch, ticks, kind);
    fill(batch, entry.event);
    if (list != nullptr) take_attributes(batch, entry.event, list);
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

// Where an argument of a record goes; references are resolved on the way.
template <auto kMember>
struct Into {
  template <typename Argument>
  static void set(const TraceDefinitions&, Event& event, Argument argument) {
    auto& field = event.*kMember;
    field = static_cast<std::remove_reference_t<decltype(field)>>(argument);
  }
};
template <auto kTable>
struct Through {
  static void set(const TraceDefinitions& definitions, Event& event, std::uint32_t ref) {
    event.ref = (definitions.*kTable).of(ref);
  }
};
struct ToRegion {
  static void set(const TraceDefinitions& definitions, Event& event, std::uint32_t ref) {
    const std::uint32_t index = definitions.region_table.of(ref);
    event.ref =
        index != kNone ? index : static_cast<std::uint32_t>(definitions.regions.size() - 1);
  }
};
struct ToGroup {
  static void set(const TraceDefinitions& definitions, Event& event, std::uint32_t ref) {
    event.tag = definitions.group_table.of(ref);
  }
};
struct Nowhere {
  template <typename Argument>
  static void set(const TraceDefinitions&, Event&, Argument) {}
};

using Region = ToRegion;
using Comm = Through<&TraceDefinitions::comm_table>;
using Window = Through<&TraceDefinitions::window_table>;
using Parameter = Through<&TraceDefinitions::parameter_table>;
using Ref = Into<&Event::ref>;
using Peer = Into<&Event::peer>;
using Tag = Into<&Event::tag>;
using Op = Into<&Event::op>;
using Bytes = Into<&Event::bytes>;
using Received = Into<&Event::received>;
using Request = Into<&Event::request>;
using Value = Into<&Event::value>;

// The callback of a record whose arguments go to these places, in their order.
template <Kind kKind, typename... Places>
struct On {
  template <typename... Arguments>
  static OTF2_CallbackCode call(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                                void* data, OTF2_AttributeList* list,
                                Arguments... arguments) {
    return put(data, ticks, list, kKind, [&](EventBatch& batch, Event& event) {
      (Places::set(*batch.definitions, event, arguments), ...);
    });
  }
};

// Of a trace with loops: of most events nothing is kept.
template <Kind kKind>
OTF2_CallbackCode on_mark(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t, void* data,
                          OTF2_AttributeList* list, OTF2_RegionRef region) {
  const TraceDefinitions& definitions = *static_cast<EventBatch*>(data)->definitions;
  const std::uint32_t index = definitions.region_table.of(region);
  if (index == kNone || !definitions.regions[index].is_loop) return OTF2_CALLBACK_SUCCESS;
  return put(data, ticks, list, kKind,
             [index](EventBatch&, Event& event) { event.ref = index; });
}

OTF2_CallbackCode on_unknown(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                             void* data, OTF2_AttributeList* list) {
  return put(data, ticks, list, Kind::kUnknown, [](EventBatch&, Event&) {});
}

// From the open contexts to this one (kNone: to none): leaves what it is not in, enters what it is in.
void change_context(EventBatch& batch, OTF2_TimeStamp ticks, std::uint32_t context) {
  const std::vector<CallingContextInfo>& all = batch.definitions->contexts;
  std::vector<std::uint32_t>& next = batch.next_contexts;
  next.clear();
  // They may be a circle.
  for (; context < all.size() && next.size() < all.size(); context = all[context].parent)
    next.push_back(context);
  std::reverse(next.begin(), next.end());
  const auto [open, wanted] = std::ranges::mismatch(batch.contexts, next);
  const auto same = static_cast<std::size_t>(open - batch.contexts.begin());
  for (; batch.contexts.size() > same; batch.contexts.pop_back())
    add(batch, ticks, Kind::kLeave).event.ref = all[batch.contexts.back()].region;
  for (std::size_t i = same; i < next.size(); ++i) {
    add(batch, ticks, Kind::kEnter).event.ref = all[next[i]].region;
    batch.contexts.push_back(next[i]);
  }
}

std::uint32_t context_of(const EventBatch& batch, OTF2_CallingContextRef ref) {
  return batch.definitions->context_table.of(ref);
}

template <typename Action>
OTF2_CallbackCode on_batch(void* data, Action action) noexcept {
  try {
    return action(*static_cast<EventBatch*>(data));
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

OTF2_CallbackCode on_context_enter(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                                   void* data, OTF2_AttributeList* list,
                                   OTF2_CallingContextRef context, std::uint32_t unwind) {
  return on_batch(data, [&](EventBatch& batch) {
    // An instrumented region: it is entered anew, also where it was open.
    const std::uint32_t index = context_of(batch, context);
    if (index != kNone && !batch.contexts.empty() && batch.contexts.back() == index)
      change_context(batch, ticks, batch.definitions->contexts[index].parent);
    if (index != kNone) change_context(batch, ticks, index);
    return put(data, ticks, list, Kind::kCallingContextEnter,
               [&](EventBatch&, Event& event) {
                 event.ref = context;
                 event.value = unwind;
               });
  });
}

OTF2_CallbackCode on_context_leave(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                                   void* data, OTF2_AttributeList* list,
                                   OTF2_CallingContextRef context) {
  return on_batch(data, [&](EventBatch& batch) {
    const OTF2_CallbackCode done =
        put(data, ticks, list, Kind::kCallingContextLeave,
            [context](EventBatch&, Event& event) { event.ref = context; });
    const std::uint32_t index = context_of(batch, context);
    if (index != kNone)
      change_context(batch, ticks, batch.definitions->contexts[index].parent);
    return done;
  });
}

OTF2_CallbackCode on_context_sample(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                                    void* data, OTF2_AttributeList* list,
                                    OTF2_CallingContextRef context, std::uint32_t unwind,
                                    OTF2_InterruptGeneratorRef generator) {
  return on_batch(data, [&](EventBatch& batch) {
    ++batch.samples;
    const std::uint32_t index = context_of(batch, context);
    if (index != kNone) change_context(batch, ticks, index);
    return put(data, ticks, list, Kind::kCallingContextSample,
               [&](EventBatch&, Event& event) {
                 event.ref = context;
                 event.value = unwind;
                 event.op = generator;
               });
  });
}

OTF2_CallbackCode on_flush(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                           void* data, OTF2_AttributeList* list, OTF2_TimeStamp end) {
  return on_batch(data, [&](EventBatch& batch) {
    const OTF2_CallbackCode done =
        put(data, ticks, list, Kind::kBufferFlush,
            [end](EventBatch&, Event& event) { event.value = end; });
    const std::uint32_t region = batch.definitions->flush_region;
    if (region != kNone) {
      add(batch, ticks, Kind::kEnter).event.ref = region;
      add(batch, end, Kind::kLeave).event.ref = region;
    }
    return done;
  });
}

OTF2_CallbackCode on_metric(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                            void* data, OTF2_AttributeList* list, OTF2_MetricRef metric,
                            std::uint8_t count, const OTF2_Type* types,
                            const OTF2_MetricValue* values) {
  return put(data, ticks, list, Kind::kMetric, [&](EventBatch& batch, Event& event) {
    event.ref = metric;
    for (std::uint8_t i = 0; i < count; ++i) {
      batch.extras.push_back({i, types[i], values[i].unsigned_int});
      ++event.metrics;
    }
  });
}

// Around events that are in the archive though they lie in a gap, which goes on.
bool is_edge(const EventBatch& batch, OTF2_AttributeList* list) {
  const std::uint32_t count = OTF2_AttributeList_GetNumberOfElements(list);
  for (std::uint32_t i = 0; i < count; ++i) {
    OTF2_AttributeRef ref = 0;
    OTF2_Type type = OTF2_TYPE_NONE;
    OTF2_AttributeValue value{};
    if (OTF2_AttributeList_GetAttributeByIndex(list, i, &ref, &type, &value) !=
        OTF2_SUCCESS)
      return false;
    const auto known = batch.definitions->attributes.find(ref);
    if (known != batch.definitions->attributes.end() && known->second.name == "edge")
      return batch.definitions->is_refrain();
  }
  return false;
}

OTF2_CallbackCode on_measurement(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                                 void* data, OTF2_AttributeList* list,
                                 OTF2_MeasurementMode mode) {
  if (is_edge(*static_cast<EventBatch*>(data), list)) return OTF2_CALLBACK_SUCCESS;
  return put(data, ticks, list, Kind::kMeasurementOnOff,
             [mode](EventBatch&, Event& event) { event.op = mode; });
}

void set_process_callbacks(OTF2_EvtReaderCallbacks* c) {
#define SET(name, ...)                         \
  OTF2_EvtReaderCallbacks_Set##name##Callback( \
      c, On<Kind::k##name __VA_OPT__(, ) __VA_ARGS__>::call)
  SET(Enter, Region);
  SET(Leave, Region);
  OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(c, on_measurement);
  OTF2_EvtReaderCallbacks_SetBufferFlushCallback(c, on_flush);
  SET(MpiSend, Peer, Comm, Tag, Bytes);
  SET(MpiIsend, Peer, Comm, Tag, Bytes, Request);
  SET(MpiIsendComplete, Request);
  SET(MpiIrecvRequest, Request);
  SET(MpiRecv, Peer, Comm, Tag, Bytes);
  SET(MpiIrecv, Peer, Comm, Tag, Bytes, Request);
  SET(MpiRequestTest, Request);
  SET(MpiRequestCancelled, Request);
  SET(MpiCollectiveBegin);
  SET(MpiCollectiveEnd, Op, Comm, Peer, Bytes, Received);
  SET(NonBlockingCollectiveRequest, Request);
  SET(NonBlockingCollectiveComplete, Op, Comm, Peer, Bytes, Received, Request);
  SET(CommCreate, Comm);
  SET(CommDestroy, Comm);
  SET(ParameterString, Parameter, Value);
  SET(ParameterInt, Parameter, Value);
  SET(ParameterUnsignedInt, Parameter, Value);
  SET(RmaWinCreate, Window);
  SET(RmaWinDestroy, Window);
  SET(RmaCollectiveBegin);
  SET(RmaCollectiveEnd, Op, Tag, Window, Peer, Bytes, Received);
  SET(RmaGroupSync, Op, Window, ToGroup);
  SET(RmaRequestLock, Window, Peer, Request, Op);
  SET(RmaAcquireLock, Window, Peer, Request, Op);
  SET(RmaTryLock, Window, Peer, Request, Op);
  SET(RmaReleaseLock, Window, Peer, Request);
  SET(RmaSync, Window, Peer, Op);
  SET(RmaWaitChange, Window);
  SET(RmaPut, Window, Peer, Bytes, Request);
  SET(RmaGet, Window, Peer, Bytes, Request);
  SET(RmaAtomic, Window, Peer, Op, Bytes, Received, Request);
  SET(RmaOpCompleteBlocking, Window, Request);
  SET(RmaOpCompleteNonBlocking, Window, Request);
  SET(RmaOpTest, Window, Request);
  SET(RmaOpCompleteRemote, Window, Request);
  SET(ProgramBegin, Value, Nowhere, Nowhere);
  SET(ProgramEnd, Value);
}

void set_thread_callbacks(OTF2_EvtReaderCallbacks* c) {
  SET(OmpFork, Value);
  SET(OmpJoin);
  SET(OmpAcquireLock, Request, Value);
  SET(OmpReleaseLock, Request, Value);
  SET(OmpTaskCreate, Value);
  SET(OmpTaskSwitch, Value);
  SET(OmpTaskComplete, Value);
  SET(ThreadFork, Op, Value);
  SET(ThreadJoin, Op);
  SET(ThreadTeamBegin, Comm);
  SET(ThreadTeamEnd, Comm);
  SET(ThreadAcquireLock, Op, Request, Value);
  SET(ThreadReleaseLock, Op, Request, Value);
  SET(ThreadTaskCreate, Comm, Tag, Value);
  SET(ThreadTaskSwitch, Comm, Tag, Value);
  SET(ThreadTaskComplete, Comm, Tag, Value);
  SET(ThreadCreate, Comm, Value);
  SET(ThreadBegin, Comm, Value);
  SET(ThreadWait, Comm, Value);
  SET(ThreadEnd, Comm, Value);
  OTF2_EvtReaderCallbacks_SetCallingContextEnterCallback(c, on_context_enter);
  OTF2_EvtReaderCallbacks_SetCallingContextLeaveCallback(c, on_context_leave);
  OTF2_EvtReaderCallbacks_SetCallingContextSampleCallback(c, on_context_sample);
  SET(IoCreateHandle, Ref, Op, Tag, Value);
  SET(IoDestroyHandle, Ref);
  SET(IoDuplicateHandle, Ref, Tag, Value);
  SET(IoSeek, Ref, Nowhere, Op, Value);
  SET(IoChangeStatusFlags, Ref, Value);
  SET(IoDeleteFile, Op, Ref);
  SET(IoOperationBegin, Ref, Op, Tag, Bytes, Request);
  SET(IoOperationTest, Ref, Request);
  SET(IoOperationIssued, Ref, Request);
  SET(IoOperationComplete, Ref, Bytes, Request);
  SET(IoOperationCancelled, Ref, Request);
  SET(IoAcquireLock, Ref, Op);
  SET(IoReleaseLock, Ref, Op);
  SET(IoTryLock, Ref, Op);
#undef SET
}

}  // namespace

EventCallbacks make_event_callbacks(EventChoice which) {
  EventCallbacks callbacks(OTF2_EvtReaderCallbacks_New());
  if (callbacks == nullptr) return nullptr;
  if (which == EventChoice::kMarks) {
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks.get(), on_mark<Kind::kEnter>);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks.get(), on_mark<Kind::kLeave>);
    return callbacks;
  }
  OTF2_EvtReaderCallbacks_SetUnknownCallback(callbacks.get(), on_unknown);
  OTF2_EvtReaderCallbacks_SetMetricCallback(callbacks.get(), on_metric);
  set_process_callbacks(callbacks.get());
  set_thread_callbacks(callbacks.get());
  return callbacks;
}

}  // namespace refrain::reader

namespace refrain::reader {

void UnusedRecords::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  if (definitions.is_refrain()) return;
  std::uint64_t streams = 0, events = 0;
  for (const LocationInfo& location : definitions.locations) {
    if (location.is_thread() || location.events == 0) continue;
    ++streams;
    events += location.events;
  }
  if (streams != 0)
    base::note(fmt::format(
        "{}: {} locations of devices or of metrics with {} events are not used: all times are those of threads",
        definitions.archive, streams, events));
}

void UnusedRecords::add(EventKind kind, std::uint32_t region) {
  static constexpr const char* kWhat[] = {"operations on files", "unknown kinds",
                                          "values of counters"};
  const bool io = kind >= EventKind::kIoCreateHandle && kind <= EventKind::kIoTryLock;
  if (!io && kind != EventKind::kUnknown && (kind != EventKind::kMetric || counters_))
    return;
  const int what = io ? 0 : kind == EventKind::kUnknown ? 1 : 2;
  if (named_[what] || definitions_ == nullptr || definitions_->is_refrain()) return;
  if (io && region < definitions_->regions.size() && definitions_->regions[region].is_io())
    return;
  named_[what] = true;
  base::note(fmt::format("{}: records of {} are not used here", definitions_->archive,
                         kWhat[what]));
}

}  // namespace refrain::reader
