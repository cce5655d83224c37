// Reads an OTF2 archive of any tool from begin to end: definitions, then the events of all
// locations merged by time.
//
// Place in the flow: ARCHITECTURE.md, step 9. Uses libotf2's readers of single locations,
// a batch of events each, and a heap of its own.
// Thread-safety: one a process at a time (libotf2's error callback is global).
// Errors: one line. What the definitions say of numbers and sizes is not trusted.
// Cost: memory for a batch and libotf2's buffers for each location, whatever their number
// of events; markers are kept in memory. An open file for each location: the soft limit of
// open files is raised to the hard one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "reader/trace_definitions.h"
#include "reader/trace_sink.h"

namespace refrain::reader {

// Events read, and how many there seem to be.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

class ArchiveStream {
 public:
  ArchiveStream();
  ~ArchiveStream();
  ArchiveStream(const ArchiveStream&) = delete;
  ArchiveStream& operator=(const ArchiveStream&) = delete;

  // `path`: the archive's folder, or its anchor file.
  std::string open(const std::string& path);
  const TraceDefinitions& definitions() const;
  // Hands all events to the sink, from begin() to finish(). Once.
  std::string run(TraceSink& sink, const Progress& progress = {});
  std::uint64_t events() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace refrain::reader
