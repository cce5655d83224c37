// Where one of several readers of a trace gets the events of its processes from.
//
// Place in the flow: ARCHITECTURE.md, stage 6: an archive (parallel_archive.cc), or a made-up trace. Thread-safety: one a
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/archive_stream.h"
#include "reader/trace_definitions.h"
#include "reader/trace_sink.h"

namespace refrain::waits {

class EventSource {
 public:
  virtual ~EventSource() = default;
  // First. After that the definitions are known.
  virtual base::Result<> open() = 0;
  virtual const reader::TraceDefinitions& definitions() const = 0;
  // Of these locations: where their time begins.
  virtual base::Result<std::uint64_t> choose(const std::vector<LocationId>& locations) = 0;
  virtual base::Result<> run(std::uint64_t base_ticks, reader::TraceSink& sink,
                             const reader::Progress& progress) = 0;
  virtual std::uint64_t events() const = 0;  // handed over
};

}  // namespace refrain::waits
