#include "reader/unused_records.h"

#include <fmt/format.h>

#include "base/notes.h"

namespace refrain::reader {

void UnusedRecords::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  if (definitions.is_refrain()) return;
  std::uint64_t streams = 0, events = 0;
  for (const LocationInfo& location : definitions.locations) {
    if (location.type == OTF2_LOCATION_TYPE_CPU_THREAD || location.events == 0) continue;
    ++streams;
    events += location.events;
  }
  if (streams != 0)
    base::note(fmt::format(
        "{}: {} locations of devices or of metrics with {} events are not used: all times are those of threads",
        definitions.archive, streams, events));
}

void UnusedRecords::add(EventKind kind) {
  static constexpr const char* kWhat[] = {"operations on files", "unknown kinds",
                                          "values of counters"};
  const bool io = kind >= EventKind::kIoCreateHandle && kind <= EventKind::kIoTryLock;
  if (!io && kind != EventKind::kUnknown && (kind != EventKind::kMetric || counters_))
    return;
  const int what = io ? 0 : kind == EventKind::kUnknown ? 1 : 2;
  if (named_[what] || definitions_ == nullptr || definitions_->is_refrain()) return;
  named_[what] = true;
  base::note(fmt::format("{}: records of {} are not used here", definitions_->archive,
                         kWhat[what]));
}

}  // namespace refrain::reader
