#include "writer/archive/event_sink.h"

namespace refrain::writer {

EventSink::EventSink(OTF2_EvtWriter* writer, const std::vector<RegionDef>& regions)
    : writer_(writer), attributes_(OTF2_AttributeList_New()), regions_(regions) {
  if (attributes_ == nullptr) error_ = OTF2_ERROR_MEM_ALLOC_FAILED;
}

EventSink::~EventSink() {
  if (attributes_ != nullptr) OTF2_AttributeList_Delete(attributes_);
}

bool EventSink::skips(std::uint32_t region) noexcept {
  if (!ok() || region >= regions_.size()) return true;
  if (!regions_[region].filtered) return false;
  ++filtered_;
  return true;
}

// Before an enter or leave at the time last_. `counted`: the values are of that time.
void EventSink::put_metric(bool counted) {
  if (metric_values_.empty()) return;
  if (counted && ok()) {
    std::vector<OTF2_Type> types(metric_values_.size(), OTF2_TYPE_UINT64);
    std::vector<OTF2_MetricValue> values(metric_values_.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i].unsigned_int = metric_values_[i];
    check(OTF2_EvtWriter_Metric(writer_, nullptr, last_, metric_,
                                static_cast<std::uint8_t>(values.size()), types.data(),
                                values.data()));
  }
  metric_values_.clear();
}

void EventSink::enter(std::uint64_t ticks, std::uint32_t region, std::uint32_t place) {
  if (skips(region)) return metric_values_.clear();
  ticks = at_edge(ticks);
  if (place != kNoRegion)
    check(OTF2_AttributeList_AddSourceCodeLocationRef(attributes_, kCallSiteAttribute,
                                                      place));
  check(OTF2_EvtWriter_Enter(writer_, attributes_, ticks, region));
  if (place != kNoRegion) check(OTF2_AttributeList_RemoveAllAttributes(attributes_));
}

void EventSink::leave(std::uint64_t ticks, std::uint32_t region) {
  if (skips(region)) return metric_values_.clear();
  ticks = at_edge(ticks);
  check(OTF2_EvtWriter_Leave(writer_, nullptr, ticks, region));
}

void EventSink::enter_iteration(std::uint64_t ticks, std::uint32_t region,
                                std::uint64_t number, std::uint8_t kept, bool complete) {
  if (!ok() || region >= regions_.size()) return;
  ticks = at_edge(ticks);
  // Nearly all iterations of a long run are skipped; leaving it out of these keeps a mark
  // at 30 bytes.
  if (kept != 0) check(OTF2_AttributeList_AddUint8(attributes_, kWrittenAttribute, kept));
  if (!complete) check(OTF2_AttributeList_AddUint8(attributes_, kCompleteAttribute, 0));
  check(OTF2_EvtWriter_Enter(writer_, attributes_, ticks, region));
  check(OTF2_AttributeList_RemoveAllAttributes(attributes_));
  if (!ok()) return;  // libotf2 does not survive a write after one that failed
  check(OTF2_EvtWriter_ParameterInt(writer_, nullptr, ticks, kIterationParameter,
                                    static_cast<std::int64_t>(number)));
}

void EventSink::on_off(std::uint64_t ticks, bool on) {
  if (!ok()) return;
  const OTF2_MeasurementMode mode = on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF;
  check(OTF2_EvtWriter_MeasurementOnOff(writer_, nullptr, at(ticks), mode));
}

void EventSink::edge(std::uint64_t ticks, bool on) {
  if (!ok()) return;
  const OTF2_MeasurementMode mode = on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF;
  check(OTF2_AttributeList_AddUint8(attributes_, kEdgeAttribute, 1));
  check(OTF2_EvtWriter_MeasurementOnOff(writer_, attributes_, at(ticks), mode));
  check(OTF2_AttributeList_RemoveAllAttributes(attributes_));
}

void EventSink::fork(std::uint64_t ticks, std::uint32_t requested) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadFork(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP,
                                  requested));
}

void EventSink::join(std::uint64_t ticks) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadJoin(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP));
}

void EventSink::team_begin(std::uint64_t ticks, std::uint32_t comm) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadTeamBegin(writer_, nullptr, at(ticks), comm));
}

void EventSink::team_end(std::uint64_t ticks, std::uint32_t comm) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadTeamEnd(writer_, nullptr, at(ticks), comm));
}

void EventSink::task_create(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                            std::uint32_t number) {
  if (!ok()) return;
  check(
      OTF2_EvtWriter_ThreadTaskCreate(writer_, nullptr, at(ticks), comm, creator, number));
}

void EventSink::task_switch(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                            std::uint32_t number) {
  if (!ok() || (number == 0 && !in_task_)) return;
  in_task_ = number != 0;
  check(
      OTF2_EvtWriter_ThreadTaskSwitch(writer_, nullptr, at(ticks), comm, creator, number));
}

void EventSink::task_complete(std::uint64_t ticks, std::uint32_t comm,
                              std::uint32_t creator, std::uint32_t number) {
  if (!ok()) return;
  in_task_ = false;
  check(OTF2_EvtWriter_ThreadTaskComplete(writer_, nullptr, at(ticks), comm, creator,
                                          number));
}

void EventSink::acquire_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadAcquireLock(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP,
                                         lock, order));
}

void EventSink::release_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadReleaseLock(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP,
                                         lock, order));
}

void EventSink::parameter(std::uint64_t ticks, OTF2_ParameterRef parameter,
                          std::int64_t value) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ParameterInt(writer_, nullptr, at(ticks), parameter, value));
}

void EventSink::parameter_text(std::uint64_t ticks, OTF2_ParameterRef parameter,
                               OTF2_StringRef value) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ParameterString(writer_, nullptr, at(ticks), parameter, value));
}

void EventSink::program_begin(std::uint64_t ticks, OTF2_StringRef name,
                              const std::vector<OTF2_StringRef>& arguments) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ProgramBegin(writer_, nullptr, at(ticks), name,
                                    static_cast<std::uint32_t>(arguments.size()),
                                    arguments.data()));
}

void EventSink::program_end(std::uint64_t ticks) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ProgramEnd(writer_, nullptr, at(ticks), OTF2_UNDEFINED_INT64));
}

std::uint64_t EventSink::count() const {
  std::uint64_t count = 0;
  if (writer_ != nullptr) OTF2_EvtWriter_GetNumberOfEvents(writer_, &count);
  return count;
}

}  // namespace refrain::writer
