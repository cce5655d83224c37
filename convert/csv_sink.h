// Writes a trace as comma-separated values: one row an event, RFC 4180.
//
// Place in the flow: ARCHITECTURE.md, stage 7, `refrain convert --to csv`.
// Columns, empty where an event has no such value:
//   time_ns        since the begin of the trace
//   process        MPI's rank, else the number of the process in the archive
//   thread         in its process, from 0
//   event          OTF2's name: Enter, Leave, MpiSend, ..., Marker
//   name           of the region, parameter, window, metric class; category of a marker
//   file, line     of the region
//   communicator   its name; for thread events the team's
//   peer           rank in the communicator: receiver, sender, root, target
//   tag
//   bytes          sent (receives: received) or moved
//   received       by collectives and atomic operations
//   request        number of a request, lock, or operation, by location
//   value          of parameters, operations' and modes' numbers, text of a marker; of metrics
//                  name=value;name=value
//   attributes     name=value;name=value
// Thread-safety: none. Errors: see trace_sink.h. Cost: no allocation for most events.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "convert/text_file.h"
#include "reader/trace_sink.h"

namespace refrain::convert {

class CsvSink final : public reader::TraceSink {
 public:
  explicit CsvSink(std::string path) : path_(std::move(path)) {}
  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return file_.error(); }
  base::Result<> finish(std::uint64_t end_ns) override;

 private:
  void markers_until(std::uint64_t ns);
  void marker(const reader::MarkerInfo& marker);
  void general(const reader::TraceEvent& event);
  std::string name_of(const reader::TraceEvent& event) const;
  std::string value_of(const reader::TraceEvent& event) const;
  void attributes(const reader::TraceEvent& event);

  std::string path_;
  TextFile file_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<std::string> places_;   // ",process,thread,"
  std::vector<std::string> regions_;  // ",name,file,line,,,,,,,,"
  std::vector<std::string> comms_;    // quoted
  std::size_t next_marker_ = 0;
};

// Quoted if necessary.
std::string csv_field(const std::string& text);

}  // namespace refrain::convert
