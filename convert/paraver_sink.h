// Writes a trace for Paraver: .prv (records), .pcf (labels), .row (names of objects).
//
// Place in the flow: ARCHITECTURE.md, stage 7, `refrain convert --to paraver` and
// `--format paraver`.
// Shapes: an application; a task for each process, in the order of ranks; a thread for each
// location. Records by time: states by their begin, communications by their logical send.
//   states          from the innermost region: see paraver_regions.h; 2 before a thread's first
//                   event, 0 outside of all regions on threads other than a process' first,
//                   14 where measurement is off
//   events          one type a region, see paraver_regions.h; iterations 40000000 (number + 1;
//                   inner loops 666100 + level), periods 666001, detail 666002 (0 skipped, 3
//                   not), measurement 40000012; collectives' details at the begin of their
//                   call; counters as differences to the value before, where they accumulate
//   communications  logical send: posted; physical send: the call has returned, or the
//                   message has arrived; logical receive: posted; physical receive: complete
// Units: nanoseconds from the begin of the trace, the resolution of Paraver.
// Thread-safety: none. Errors: see trace_sink.h.
// Cost: records are sorted on disk, in a temporary file next to the .prv of about its size;
// memory is that of record_sorter.h and of messages in flight.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "convert/paraver_labels.h"
#include "convert/paraver_records.h"
#include "convert/paraver_regions.h"
#include "reader/message_matcher.h"
#include "reader/trace_sink.h"

namespace refrain::convert {

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
    std::vector<Frame> frames;
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
  void close_level(std::uint32_t location, std::size_t level, std::uint64_t ns);
  void iteration_number(const reader::TraceEvent& event, const Location& location);
  void other(const reader::TraceEvent& event, Location& location);
  void task(const reader::TraceEvent& event);
  void collective(const reader::TraceEvent& event, const Location& location);
  void metric(const reader::TraceEvent& event, Location& location);
  void on_off(const reader::TraceEvent& event, Location& location);
  void update_state(std::uint32_t index, Location& location, std::uint64_t ns);
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
