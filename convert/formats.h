// The formats that a trace is written in, each a sink. First comma-separated values: one row an event, RFC 4180.
//
// Place in the flow: ARCHITECTURE.md, stage 7, `refrain convert`.
// Columns, empty where an event has no such value:
//   time_ns        since the start of the trace
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
// Thread-safety: none. Errors: see trace.h. Cost: no allocation for most events.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/region_stack.h"
#include "base/result.h"
#include "convert/paraver_labels.h"
#include "convert/paraver_records.h"
#include "convert/paraver_regions.h"
#include "convert/text_file.h"
#include "reader/message_matcher.h"
#include "reader/trace.h"

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

// Writes a trace as JSON in Chrome's Trace Event format, for Perfetto and speedscope.
//
// Shapes: one object a line in "traceEvents"; pid is the process in the order of ranks, tid
// the thread in it.
//   B, E        regions. Those of suspended tasks need not nest: regions inside one that ends
//               are ended with it
//   b, e        iterations of loops that Refrain detected (cat "iteration", args of the end: the
//               number), and intervals without measurement (cat "measurement off")
//   s, f        messages (cat "message"): posted, and a nanosecond before they arrived
//   C           values of metrics, by thread
//   i           markers, parameters
//   M           names and order of processes and threads
// Units: microseconds with three decimals, from the start of the trace.
// Thread-safety: none. Errors: see trace.h.
// Cost: no allocation for most events; memory for messages in flight.

class ChromeSink final : public reader::TraceSink {
 public:
  explicit ChromeSink(std::string path) : path_(std::move(path)) {}
  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return file_.error(); }
  base::Result<> finish(std::uint64_t end_ns) override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  struct Frame {
    std::uint32_t region = 0;
    std::uint64_t begin_ns = 0;
  };
  struct Iteration {
    std::uint32_t region = 0;
    bool numbered = false;
    std::int64_t number = 0;
  };
  struct Location {
    std::string ids;  // "pid":...,"tid":...,
    base::RegionStack<Frame> frames;
    std::vector<Iteration> iterations;
    bool off = false;
    bool after_iteration = false;  // its number follows
  };

  void names();
  void open(char phase, const Location& location, std::uint64_t ns);
  void time(std::uint64_t ns);
  void enter(const reader::TraceEvent& event, Location& location);
  void leave(const reader::TraceEvent& event, Location& location);
  void end_region(Location& location, std::uint64_t ns);
  void end_iteration(LocationId index, Location& location, std::uint64_t ns);
  void on_off(const reader::TraceEvent& event, Location& location, bool on);
  void message(const reader::MatchedMessage& message);
  void parameter(const reader::TraceEvent& event, Location& location);
  void metric(const reader::TraceEvent& event, const Location& location);
  void marker(const reader::MarkerInfo& marker);
  void id(LocationId location, std::size_t level);

  std::string path_;
  TextFile file_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Location> locations_;
  std::vector<std::string> regions_;  // "name":...,"cat":...
  std::vector<std::string> places_;   // ,"args":{...}
  std::unique_ptr<reader::MessageMatcher> messages_;
  std::uint64_t message_ = 0;
  std::uint64_t not_nested_ = 0;
  std::vector<std::string> notes_;
};

// As a JSON string, with its quotes; invalid UTF-8 is replaced.
std::string json_string(std::string_view text);

// Writes a trace for Paraver: .prv (records), .pcf (labels), .row (names of objects).
//
// Shapes: an application; a task for each process, in the order of ranks; a thread for each
// location. Records by time: states by their start, communications by their logical send.
//   states          from the innermost region: see paraver_regions.h; 2 before a thread's first
//                   event, 0 outside of all regions on threads other than a process' first,
//                   14 where measurement is off
//   events          one type a region, see paraver_regions.h; iterations 40000000 (number + 1;
//                   inner loops 666100 + level), periods 666001, detail 666002 (0 skipped, 3
//                   not), measurement 40000012; collectives' details at the start of their
//                   call; counters as differences to the value before, where they accumulate
//   communications  logical send: posted; physical send: the call has returned, or the
//                   message has arrived; logical receive: posted; physical receive: complete
// Units: nanoseconds from the start of the trace, the resolution of Paraver.
// Thread-safety: none. Errors: see trace.h.
// Cost: records are sorted on disk, in a temporary file next to the .prv of about its size;
// memory is that of paraver_records.h and of messages in flight.

class ParaverSink final : public reader::TraceSink {
 public:
  // `path` ends with .prv.
  explicit ParaverSink(std::string path);
  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return records_.error(); }
  bool tells_share(const Share& share) override {
    share_ = share;
    return true;
  }
  base::Result<> finish(std::uint64_t end_ns) override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  struct Frame {
    std::uint32_t region = reader::kNone;  // kNone: between fork and join
    std::uint8_t state = kRunning;
    bool has_place = false;
    std::uint64_t begin_ns = 0;
  };
  struct Level {        // of loops
    bool open = false;  // an iteration is running
    bool ended =
        false;  // its end is not reported yet: the next iteration may follow at once
    std::uint64_t ended_ns = 0;
    std::uint32_t region = reader::kNone;
  };
  struct Location {
    base::RegionStack<Frame> frames;
    std::vector<Level> levels;
    std::size_t loops = 0;  // open ones
    std::uint8_t state = kNotCreated;
    std::uint8_t base = kIdle;  // outside of all regions
    std::uint64_t since = 0;
    bool begun = false;
    bool off = false;
    bool first_thread = false;
    std::vector<std::uint64_t> counters;  // last values, by metric
  };

  void begin_location(const reader::TraceEvent& event, Location& location);
  void enter(const reader::TraceEvent& event, Location& location);
  void leave(const reader::TraceEvent& event, Location& location);
  void enter_iteration(const reader::TraceEvent& event, Location& location);
  void leave_iteration(std::uint64_t ns, Location& location);
  void device_bytes(const reader::TraceEvent& event, const Location& location);
  void close_level(LocationId location, std::size_t level, std::uint64_t ns);
  void iteration_number(const reader::TraceEvent& event, const Location& location);
  void other(const reader::TraceEvent& event, Location& location);
  void task(const reader::TraceEvent& event);
  void collective(const reader::TraceEvent& event, const Location& location);
  void metric(const reader::TraceEvent& event, Location& location);
  void on_off(const reader::TraceEvent& event, Location& location);
  void update_state(LocationId index, Location& location, std::uint64_t ns);
  void communication(const reader::MatchedMessage& message);
  std::string header(std::uint64_t end_ns) const;

  std::string path_;
  ParaverRecords records_;
  TextFile prv_, pcf_, row_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  ParaverRegions regions_;
  ParaverObjects objects_;
  std::vector<std::uint32_t> metric_types_;
  std::vector<Location> locations_;
  std::vector<bool> ended_;  // processes whose end was reported
  std::unique_ptr<reader::MessageMatcher> messages_;
  std::vector<std::string> notes_;
  Share share_;
};

}  // namespace refrain::convert
