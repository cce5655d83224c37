#include "test/support/trace_events.h"

namespace refrain::test {
namespace {

using Time = OTF2_TimeStamp;
using List = OTF2_AttributeList*;
using Where = OTF2_LocationRef;
using Code = OTF2_CallbackCode;

std::uint64_t widen(OTF2_Type type, const OTF2_AttributeValue& value) {
  switch (type) {
    case OTF2_TYPE_UINT8:
      return value.uint8;
    case OTF2_TYPE_UINT16:
      return value.uint16;
    case OTF2_TYPE_INT8:
      return static_cast<std::uint64_t>(std::int64_t{value.int8});
    case OTF2_TYPE_INT16:
      return static_cast<std::uint64_t>(std::int64_t{value.int16});
    case OTF2_TYPE_INT32:
      return static_cast<std::uint64_t>(std::int64_t{value.int32});
    case OTF2_TYPE_UINT64:
    case OTF2_TYPE_INT64:
    case OTF2_TYPE_DOUBLE:
    case OTF2_TYPE_LOCATION:
      return value.uint64;
    default:
      return value.uint32;  // uint32, float and all other references
  }
}

Code add(void* data, List list, Event event) {
  return add_event(data, list, std::move(event));
}

Code on_enter(Where, Time time, uint64_t, void* data, List list, OTF2_RegionRef region) {
  return add(data, list, {EventType::kEnter, time, region, 0, 0, {}});
}

Code on_leave(Where, Time time, uint64_t, void* data, List list, OTF2_RegionRef region) {
  return add(data, list, {EventType::kLeave, time, region, 0, 0, {}});
}

Code on_measurement(Where, Time time, uint64_t, void* data, List list,
                    OTF2_MeasurementMode mode) {
  const bool on = mode == OTF2_MEASUREMENT_ON;
  const EventType type = on ? EventType::kMeasurementOn : EventType::kMeasurementOff;
  return add(data, list, {type, time, 0, 0, 0, {}});
}

Code on_flush(Where, Time time, uint64_t, void* data, List list, Time stop) {
  return add(data, list,
             {EventType::kBufferFlush, time, 0, static_cast<std::int64_t>(stop), 0, {}});
}

Code on_fork(Where, Time time, uint64_t, void* data, List list, OTF2_Paradigm model,
             uint32_t threads) {
  return add(data, list, {EventType::kThreadFork, time, model, threads, 0, {}});
}

Code on_join(Where, Time time, uint64_t, void* data, List list, OTF2_Paradigm model) {
  return add(data, list, {EventType::kThreadJoin, time, model, 0, 0, {}});
}

Code on_acquire(Where, Time time, uint64_t, void* data, List list, OTF2_Paradigm,
                uint32_t lock, uint32_t order) {
  return add(data, list, {EventType::kAcquireLock, time, lock, order, 0, {}});
}

Code on_release(Where, Time time, uint64_t, void* data, List list, OTF2_Paradigm,
                uint32_t lock, uint32_t order) {
  return add(data, list, {EventType::kReleaseLock, time, lock, order, 0, {}});
}

template <EventType kType>
Code on_team(Where, Time time, uint64_t, void* data, List list, OTF2_CommRef team) {
  return add(data, list, {kType, time, team, 0, 0, {}});
}

template <EventType kType>
Code on_task(Where, Time time, uint64_t, void* data, List list, OTF2_CommRef team,
             uint32_t creator, uint32_t number) {
  return add(data, list, {kType, time, team, number, creator, {}});
}

template <EventType kType>
Code on_thread(Where, Time time, uint64_t, void* data, List list, OTF2_CommRef contingent,
               uint64_t sequence) {
  return add(data, list,
             {kType, time, contingent, static_cast<std::int64_t>(sequence), 0, {}});
}

template <EventType kType, typename Value>
Code on_parameter(Where, Time time, uint64_t, void* data, List list,
                  OTF2_ParameterRef parameter, Value value) {
  return add(data, list, {kType, time, parameter, static_cast<std::int64_t>(value), 0, {}});
}

Code on_metric(Where, Time time, uint64_t, void* data, List list, OTF2_MetricRef metric,
               uint8_t count, const OTF2_Type*, const OTF2_MetricValue* values) {
  Event event{EventType::kMetric, time, metric, count, 0, {}};
  for (uint8_t i = 0; i < count; ++i) event.values.push_back(values[i].unsigned_int);
  return add(data, list, std::move(event));
}

Code on_program_begin(Where, Time time, uint64_t, void* data, List list,
                      OTF2_StringRef name, uint32_t count, const OTF2_StringRef*) {
  return add(data, list, {EventType::kProgramBegin, time, name, count, 0, {}});
}

Code on_program_end(Where, Time time, uint64_t, void* data, List list, int64_t status) {
  return add(data, list, {EventType::kProgramEnd, time, 0, status, 0, {}});
}

Code on_create_handle(Where, Time time, uint64_t, void* data, List list,
                      OTF2_IoHandleRef handle, OTF2_IoAccessMode mode, OTF2_IoCreationFlag,
                      OTF2_IoStatusFlag) {
  return add(data, list, {EventType::kIoCreateHandle, time, handle, mode, 0, {}});
}

Code on_destroy_handle(Where, Time time, uint64_t, void* data, List list,
                       OTF2_IoHandleRef handle) {
  return add(data, list, {EventType::kIoDestroyHandle, time, handle, 0, 0, {}});
}

Code on_operation_begin(Where, Time time, uint64_t, void* data, List list,
                        OTF2_IoHandleRef handle, OTF2_IoOperationMode, OTF2_IoOperationFlag,
                        uint64_t bytes, uint64_t id) {
  return add(data, list,
             {EventType::kIoOperationBegin,
              time,
              handle,
              static_cast<std::int64_t>(bytes),
              static_cast<std::uint32_t>(id),
              {}});
}

Code on_operation_complete(Where, Time time, uint64_t, void* data, List list,
                           OTF2_IoHandleRef handle, uint64_t bytes, uint64_t id) {
  return add(data, list,
             {EventType::kIoOperationComplete,
              time,
              handle,
              static_cast<std::int64_t>(bytes),
              static_cast<std::uint32_t>(id),
              {}});
}

}  // namespace

OTF2_CallbackCode add_event(void* data, OTF2_AttributeList* list, Event event) {
  OTF2_AttributeRef attribute;
  OTF2_Type type;
  OTF2_AttributeValue value;
  while (OTF2_AttributeList_GetNumberOfElements(list) > 0 &&
         OTF2_AttributeList_PopAttribute(list, &attribute, &type, &value) == OTF2_SUCCESS)
    event.attributes.push_back({attribute, type, widen(type, value)});
  static_cast<std::vector<Event>*>(data)->push_back(std::move(event));
  return OTF2_CALLBACK_SUCCESS;
}

EventCallbacks::EventCallbacks() : callbacks_(OTF2_EvtReaderCallbacks_New()) {
  using enum EventType;
  OTF2_EvtReaderCallbacks* c = callbacks_;
  OTF2_EvtReaderCallbacks_SetEnterCallback(c, on_enter);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(c, on_leave);
  OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(c, on_measurement);
  OTF2_EvtReaderCallbacks_SetBufferFlushCallback(c, on_flush);
  OTF2_EvtReaderCallbacks_SetThreadForkCallback(c, on_fork);
  OTF2_EvtReaderCallbacks_SetThreadJoinCallback(c, on_join);
  OTF2_EvtReaderCallbacks_SetThreadTeamBeginCallback(c, on_team<kTeamBegin>);
  OTF2_EvtReaderCallbacks_SetThreadTeamEndCallback(c, on_team<kTeamEnd>);
  OTF2_EvtReaderCallbacks_SetThreadAcquireLockCallback(c, on_acquire);
  OTF2_EvtReaderCallbacks_SetThreadReleaseLockCallback(c, on_release);
  OTF2_EvtReaderCallbacks_SetThreadTaskCreateCallback(c, on_task<kTaskCreate>);
  OTF2_EvtReaderCallbacks_SetThreadTaskSwitchCallback(c, on_task<kTaskSwitch>);
  OTF2_EvtReaderCallbacks_SetThreadTaskCompleteCallback(c, on_task<kTaskComplete>);
  OTF2_EvtReaderCallbacks_SetThreadCreateCallback(c, on_thread<kThreadCreate>);
  OTF2_EvtReaderCallbacks_SetThreadBeginCallback(c, on_thread<kThreadBegin>);
  OTF2_EvtReaderCallbacks_SetThreadWaitCallback(c, on_thread<kThreadWait>);
  OTF2_EvtReaderCallbacks_SetThreadEndCallback(c, on_thread<kThreadEnd>);
  OTF2_EvtReaderCallbacks_SetParameterIntCallback(c, on_parameter<kParameterInt, int64_t>);
  OTF2_EvtReaderCallbacks_SetParameterUnsignedIntCallback(
      c, on_parameter<kParameterUnsigned, uint64_t>);
  OTF2_EvtReaderCallbacks_SetParameterStringCallback(
      c, on_parameter<kParameterString, OTF2_StringRef>);
  OTF2_EvtReaderCallbacks_SetMetricCallback(c, on_metric);
  OTF2_EvtReaderCallbacks_SetProgramBeginCallback(c, on_program_begin);
  OTF2_EvtReaderCallbacks_SetProgramEndCallback(c, on_program_end);
  OTF2_EvtReaderCallbacks_SetIoCreateHandleCallback(c, on_create_handle);
  OTF2_EvtReaderCallbacks_SetIoDestroyHandleCallback(c, on_destroy_handle);
  OTF2_EvtReaderCallbacks_SetIoOperationBeginCallback(c, on_operation_begin);
  OTF2_EvtReaderCallbacks_SetIoOperationCompleteCallback(c, on_operation_complete);
  set_mpi_callbacks(c);
}

EventCallbacks::~EventCallbacks() { OTF2_EvtReaderCallbacks_Delete(callbacks_); }

}  // namespace refrain::test
