// libotf2's callbacks that turn a location's records into Events (part of trace.cc).
#pragma once

#include <otf2/otf2.h>

#include "test/support/read_trace.h"

namespace refrain::test {

// User data of the callbacks: std::vector<Event>.
class EventCallbacks {
 public:
  EventCallbacks();
  ~EventCallbacks();
  EventCallbacks(const EventCallbacks&) = delete;
  EventCallbacks& operator=(const EventCallbacks&) = delete;
  const OTF2_EvtReaderCallbacks* get() const { return callbacks_; }

 private:
  OTF2_EvtReaderCallbacks* callbacks_;
};

// Takes the event's attributes from their list, and appends it to the events in `data`.
OTF2_CallbackCode add_event(void* data, OTF2_AttributeList* list, Event event);

// Sets the callbacks for MPI's events (trace_mpi_events.cc).
void set_mpi_callbacks(OTF2_EvtReaderCallbacks* callbacks);

}  // namespace refrain::test
