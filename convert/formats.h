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

#include <functional>
#include <memory>
#include <string>
#include <string_view>
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

// A message of protocol buffers, as it lies in a file: its fields in the order in which they are added.
//
// Source: the encoding of protobuf.dev; only what Perfetto's traces need. Thread-safety: none. Cost: bytes in a string that stays
// allocated.
class ProtoMessage {
 public:
  void clear() noexcept { bytes_.clear(); }
  void number(unsigned field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
  }
  void fixed(unsigned field, std::uint64_t value) {
    tag(field, 1);
    for (unsigned i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void text(unsigned field, std::string_view text) {
    tag(field, 2);
    varint(text.size());
    bytes_ += text;
  }
  void message(unsigned field, const ProtoMessage& inner) { text(field, inner.bytes_); }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void tag(unsigned field, unsigned type) { varint(field << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Writes a trace in Perfetto's own format: TracePackets of protocol buffers.
//
// Shapes, by the names of Perfetto's .proto files: one packet sequence for all, with interned names and an incremental clock.
//   TrackDescriptor   processes (in the order of ranks), threads, and of threads: "iterations" of loops that Refrain detected,
//                     "measurement off", and counters
//   TrackEvent        slices: regions (those of suspended tasks as ChromeSink's), iterations; instants: parameters, markers, and both
//                     ends of messages, which a flow connects: posted, and a nanosecond before they arrived
// pids and tids are numbers of the archive's threads from 1 on: tids of different processes may not be the same.
// Units: ns from the start of the trace, as CLOCK_BOOTTIME, Perfetto's default.
// Source: protos/perfetto/trace of github.com/google/perfetto. Thread-safety: none. Errors: see trace.h.
// Cost: no allocation for most events; memory for messages in flight, and a quarter of a megabyte.
class PerfettoSink final : public reader::TraceSink {
 public:
  using Compress = std::function<std::string(std::string_view)>;
  // `compress`: as in convert.h.
  PerfettoSink(std::string path, Compress compress)
      : path_(std::move(path)), compress_(std::move(compress)) {}
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
    bool numbered = false;
    std::uint64_t number = 0;
  };
  struct Location {
    std::uint64_t track = 0;
    std::uint64_t iterations_track = 0;  // 0: none yet
    std::uint64_t off_track = 0;
    std::vector<std::uint64_t> counters;  // tracks, by metric
    base::RegionStack<Frame> frames;
    std::vector<Iteration> iterations;
    bool off = false;
    bool after_iteration = false;  // its number follows
  };

  void start();
  void tracks();
  std::uint64_t child_track(std::uint64_t parent, std::string_view name,
                            const std::string* unit = nullptr);
  void begin_event(unsigned type, std::uint64_t track);
  void name(std::uint64_t iid, std::string_view text);
  void annotate(unsigned name, std::uint64_t value, bool is_signed = false);
  void annotate_text(unsigned name, std::string_view text);
  void put_event(std::uint64_t ns);
  void put_apart(std::uint64_t ns);
  void put_packet();
  void write_packets();
  void enter(const reader::TraceEvent& event, Location& location);
  void leave(const reader::TraceEvent& event, Location& location);
  void end_slice(std::uint64_t track, std::uint64_t ns);
  void end_iteration(Location& location, std::uint64_t ns);
  void on_off(Location& location, std::uint64_t ns, bool on);
  void message(const reader::MatchedMessage& message);
  void parameter(const reader::TraceEvent& event, Location& location);
  void metric(const reader::TraceEvent& event, Location& location);
  void marker(const reader::MarkerInfo& marker);

  std::string path_;
  Compress compress_;
  TextFile file_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Location> locations_;
  std::vector<bool> interned_;  // names, by iid
  std::uint64_t next_track_ = 1;
  std::uint64_t markers_track_ = 0;
  std::uint64_t last_ns_ = 0;
  ProtoMessage packet_, event_, data_, inner_, part_;
  ProtoMessage packets_;  // not written yet
  std::unique_ptr<reader::MessageMatcher> messages_;
  std::uint64_t message_ = 0;
  std::uint64_t not_nested_ = 0;
  std::vector<std::string> notes_;
};

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
