// Reads the events of an archive with their state: one after the other, and at random in a window around the latest one.
//
// Place in the flow: ARCHITECTURE.md, stage 6: over archive_stream.h and event_window.h, which says what is known of an
// event. Thread-safety: as archive_stream.h. After a failure there are no more events.
// Cost and memory: those of both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/archive_stream.h"
#include "reader/event_window.h"

namespace refrain::reader {

class TraceAccess {
 public:
  struct Window {
    std::uint64_t before = 1000;  // events of each location that stay
    std::uint64_t after = 1000;   // events of all locations that are read ahead
  };

  TraceAccess() : TraceAccess(Window{}) {}
  explicit TraceAccess(Window window) : after_(window.after), window_(window.before) {}

  base::Result<> open(const std::string& archive);
  const TraceDefinitions& definitions() const { return stream_.definitions(); }

  // The next event in the order of time; nullptr: there is none, or error() says why.
  const StatefulEvent* next();
  const std::string& error() const { return error_; }
  // nullptr: it is not in the window.
  const StatefulEvent* find(EventId id) const { return window_.find(id); }
  std::vector<OpenRegion> open_regions(const StatefulEvent& at) const {
    return window_.open_regions(at);
  }
  std::uint64_t memory() const { return window_.memory(); }

 private:
  std::uint64_t after_;
  EventWindow window_;
  ArchiveStream stream_;
  std::string error_;
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace refrain::reader
