// Turns the records of one location into TraceEvents, a batch at a time.
//
// Place in the flow: private to archive_stream.h; called by libotf2's reader of a
// location. Thread-safety: none; the callbacks run on the thread that reads. Units: `ticks`
// of the batch are the archive's, never falling in a location. Cost: one copy an event; a
// batch keeps its memory.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "reader/trace_definitions.h"

namespace refrain::reader {

struct EventBatch {
  struct Entry {
    TraceEvent event;          // without nanoseconds and extras
    std::uint32_t extras = 0;  // first of them
  };
  const TraceDefinitions* definitions = nullptr;
  LocationId location{};
  std::uint64_t last_ticks = 0;
  std::vector<Entry> entries;
  std::vector<ExtraValue> extras;

  void clear() {
    entries.clear();
    extras.clear();
  }
};

struct DeleteEventCallbacks {
  void operator()(OTF2_EvtReaderCallbacks* callbacks) const {
    OTF2_EvtReaderCallbacks_Delete(callbacks);
  }
};
using EventCallbacks = std::unique_ptr<OTF2_EvtReaderCallbacks, DeleteEventCallbacks>;

// For a reader of events whose user data is an EventBatch; needed until they are registered.
// nullptr: no memory.
EventCallbacks make_event_callbacks(EventChoice which);

}  // namespace refrain::reader
