#include <algorithm>

#include "reader/trace_definitions.h"

namespace refrain::reader {
namespace {

struct MarkerState {
  TraceDefinitions& definitions;
  std::unordered_map<std::uint64_t, std::uint32_t> locations;
  std::unordered_map<OTF2_MarkerRef, std::string> categories;
};

OTF2_CallbackCode on_kind(void* data, OTF2_MarkerRef self, const char*,
                          const char* category, OTF2_MarkerSeverity) {
  try {
    static_cast<MarkerState*>(data)->categories[self] = category != nullptr ? category : "";
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

OTF2_CallbackCode on_marker(void* data, OTF2_TimeStamp time, OTF2_TimeStamp duration,
                            OTF2_MarkerRef kind, OTF2_MarkerScope scope,
                            std::uint64_t reference, const char* text) {
  try {
    auto& state = *static_cast<MarkerState*>(data);
    const TraceDefinitions& definitions = state.definitions;
    MarkerInfo marker;
    marker.ns = definitions.ns(time);
    marker.duration_ns = definitions.ns(time + duration) - marker.ns;
    if (time + duration < time) marker.duration_ns = 0;
    marker.category = state.categories[kind];
    marker.text = text != nullptr ? text : "";
    const auto location = state.locations.find(reference);
    if (scope == OTF2_MARKER_SCOPE_LOCATION && location != state.locations.end())
      marker.location = location->second;
    state.definitions.markers.push_back(std::move(marker));
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    return OTF2_CALLBACK_ERROR;
  }
}

}  // namespace

void read_markers(OTF2_Reader* reader, TraceDefinitions& definitions) {
  OTF2_MarkerReader* markers = OTF2_Reader_GetMarkerReader(reader);
  if (markers == nullptr) return;
  MarkerState state{definitions, {}, {}};
  for (std::uint32_t i = 0; i < definitions.locations.size(); ++i)
    state.locations[definitions.locations[i].ref] = i;
  OTF2_MarkerReaderCallbacks* callbacks = OTF2_MarkerReaderCallbacks_New();
  if (callbacks != nullptr) {
    OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(callbacks, on_kind);
    OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks, on_marker);
    std::uint64_t count = 0;
    if (OTF2_Reader_RegisterMarkerCallbacks(reader, markers, callbacks, &state) ==
        OTF2_SUCCESS)
      OTF2_Reader_ReadAllMarkers(reader, markers, &count);
    OTF2_MarkerReaderCallbacks_Delete(callbacks);
  }
  OTF2_Reader_CloseMarkerReader(reader, markers);
  std::stable_sort(definitions.markers.begin(), definitions.markers.end(),
                   [](const MarkerInfo& a, const MarkerInfo& b) { return a.ns < b.ns; });
}

}  // namespace refrain::reader
