// Where one of several readers of a trace gets the events of its processes from.
//
// Place in the flow: ARCHITECTURE.md, stage 6: an archive (archive_source.h), or a made-up trace. Thread-safety: one a
// thread. Errors: one line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reader/archive_stream.h"
#include "reader/trace_definitions.h"
#include "reader/trace_sink.h"

namespace refrain::waits {

class EventSource {
 public:
  virtual ~EventSource() = default;
  // First. After that the definitions are known.
  virtual std::string open() = 0;
  virtual const reader::TraceDefinitions& definitions() const = 0;
  // Of these locations: where their time begins.
  virtual std::string choose(const std::vector<std::uint32_t>& locations,
                             std::uint64_t& base_ticks) = 0;
  virtual std::string run(std::uint64_t base_ticks, reader::TraceSink& sink,
                          const reader::Progress& progress) = 0;
  virtual std::uint64_t events() const = 0;  // handed over
};

}  // namespace refrain::waits
