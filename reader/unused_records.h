// Records of other tools' archives that an analysis of times does not use: named once, so that nobody takes silence for
// "there is nothing".
//
// Place in the flow: for sinks (trace.h). Thread-safety: none. Cost: a look-up for each event that is handed to it.
#pragma once

#include <cstdint>

#include "reader/trace.h"

namespace refrain::reader {

class UnusedRecords {
 public:
  // Counters: whether this analysis uses them.
  explicit UnusedRecords(bool counters = false) : counters_(counters) {}
  // Devices, whose streams are no threads, are named here.
  void begin(const TraceDefinitions& definitions);
  // An event of which no use is made.
  void add(EventKind kind);

 private:
  const TraceDefinitions* definitions_ = nullptr;
  bool counters_ = false;
  bool named_[3] = {};
};

}  // namespace refrain::reader
