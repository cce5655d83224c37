// libotf2's callbacks that turn definitions and markers into a Trace (part of trace.cc).
#pragma once

#include <otf2/otf2.h>

#include <map>
#include <string>
#include <utility>

#include "test/support/read_trace.h"

namespace refrain::test {

// User data of the callbacks: the Trace.
class DefinitionCallbacks {
 public:
  DefinitionCallbacks();
  ~DefinitionCallbacks();
  DefinitionCallbacks(const DefinitionCallbacks&) = delete;
  DefinitionCallbacks& operator=(const DefinitionCallbacks&) = delete;
  const OTF2_GlobalDefReaderCallbacks* get() const { return callbacks_; }

 private:
  OTF2_GlobalDefReaderCallbacks* callbacks_;
};

struct MarkerState {
  Trace* trace;
  std::map<OTF2_MarkerRef, Marker> kinds;
};

// User data of the callbacks: a MarkerState.
class MarkerCallbacks {
 public:
  MarkerCallbacks();
  ~MarkerCallbacks();
  MarkerCallbacks(const MarkerCallbacks&) = delete;
  MarkerCallbacks& operator=(const MarkerCallbacks&) = delete;
  const OTF2_MarkerReaderCallbacks* get() const { return callbacks_; }

 private:
  OTF2_MarkerReaderCallbacks* callbacks_;
};

// A definition may name strings that follow it: until all are read, names contain the
// references of strings. This replaces them by the strings.
void resolve_names(Trace& trace);

}  // namespace refrain::test
