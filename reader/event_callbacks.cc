#include "reader/event_callbacks.h"

#include <algorithm>
#include <limits>

#include "reader/attribute_value.h"

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

template <typename Fill>
OTF2_CallbackCode put(void* data, OTF2_TimeStamp ticks, OTF2_AttributeList* list, Kind kind,
                      Fill fill) noexcept {
  auto& batch = *static_cast<EventBatch*>(data);
  try {
    batch.last_ticks = std::max(batch.last_ticks, ticks);
    EventBatch::Entry& entry = batch.entries.emplace_back();
    entry.event.ticks = batch.last_ticks;
    entry.extras = static_cast<std::uint32_t>(batch.extras.size());
    entry.event.kind = kind;
    entry.event.location = batch.location;
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
  SET(BufferFlush, Value);
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
  SET(CallingContextEnter, Ref, Value);
  SET(CallingContextLeave, Ref);
  SET(CallingContextSample, Ref, Value, Op);
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
