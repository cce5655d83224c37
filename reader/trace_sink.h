// Takes the events of a trace in the order of their times and writes them in some format.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after archive_stream.h.
// Thread-safety: none. Ownership: a sink owns its files; those that were not finished are
// removed with it.
// After a failure nothing more is handed over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/trace_definitions.h"
#include "reader/trace_event.h"

namespace refrain::reader {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // `definitions` lives as long as the sink is used.
  virtual base::Result<> begin(const TraceDefinitions& definitions) = 0;
  // Times never decrease; at equal times, events of a location keep their order.
  virtual void event(const TraceEvent& event) = 0;
  // One line, empty: none. Called now and then.
  virtual std::string error() const = 0;
  // What this format cannot express, a line each; after finish().
  virtual std::vector<std::string> notes() const { return {}; }
  using Share = std::function<void(double share)>;
  // True: finish() takes about as long as everything before it, and sets `share` to the part
  // that is done, from 0 to 1. Before begin().
  virtual bool tells_share(const Share&) { return false; }
  // `end_ns`: of the trace; no event is later. All files are complete afterwards.
  virtual base::Result<> finish(std::uint64_t end_ns) = 0;
};

}  // namespace refrain::reader
