#include "analysis/archive_marks.h"

namespace refrain::analysis {
namespace {

OTF2_CallbackCode on_enter(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                           void* data, OTF2_AttributeList* list, OTF2_RegionRef region) {
  auto& marks = *static_cast<MarkReader*>(data);
  if (!marks.is_phase(region)) return OTF2_CALLBACK_SUCCESS;
  std::uint8_t kept = 0;
  std::uint8_t complete = 1;
  if (OTF2_AttributeList_TestAttributeByID(list, marks.written))
    OTF2_AttributeList_GetUint8(list, marks.written, &kept);
  if (OTF2_AttributeList_TestAttributeByID(list, marks.complete))
    OTF2_AttributeList_GetUint8(list, marks.complete, &complete);
  try {
    marks.open.push_back({region, ticks, kept, complete != 0});
    ++marks.sums[region].begun;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_leave(OTF2_LocationRef, OTF2_TimeStamp ticks, std::uint64_t,
                           void* data, OTF2_AttributeList*, OTF2_RegionRef region) {
  auto& marks = *static_cast<MarkReader*>(data);
  if (marks.open.empty() || marks.open.back().region != region)
    return OTF2_CALLBACK_SUCCESS;
  const MarkReader::Open mark = marks.open.back();
  marks.open.pop_back();
  if (mark.complete && ticks >= mark.ticks)
    marks.sums[region].add(ticks - mark.ticks, mark.kept);
  return OTF2_CALLBACK_SUCCESS;
}

}  // namespace

void set_mark_callbacks(OTF2_EvtReaderCallbacks* callbacks) {
  OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_leave);
}

}  // namespace refrain::analysis
