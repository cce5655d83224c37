// The regions that are open on a location at each moment, whether they are written or not;
// keeps the archive's view balanced and its durations true across gaps.
//
// Place in the flow: ARCHITECTURE.md, stage 5: record_interpreter.h -> ShadowStack ->
// shadow_stack.h.
// In a gap nothing is written at once. Regions that are in the archive and end inside the
// gap are remembered with their times; regions that began inside and are still open at its
// end are entered, at the time at which they truly began. Both are written, in order of
// time, between the measurement's OFF and ON.
//
// Thread-safety: none, one a location. Ownership: the Timeline must live longer.
// Cost: O(1) an event; memory for open regions, and in a gap for those that ended in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "spool/iteration_stream.h"
#include "writer/interpret/event_sink.h"
#include "writer/model/file_handles.h"
#include "writer/model/gap_plan.h"
#include "writer/model/thread_links.h"

namespace refrain::writer {

// --- Merges the program's events of a location and the iterations of its loops into one
// balanced stream of enters and leaves.
//
// Place in the flow: ARCHITECTURE.md, stage 5: shadow_stack.h (what the program did) ->
// Timeline -> event_sink.h.
// Order at equal ticks: iterations end, iterations begin, then the program's events. An
// iteration cannot end while a region that began inside it is open: its end waits for that
// region's, so that the end of a loop comes after the leave of its last region, though both
// have the same time. If a region must be left that contains an open iteration, the
// iteration is ended first. Loops inside an iteration that is not in the archive have no
// marks.
//
// Readers take OFF to ON for a region, so these are balanced with the others: what was
// begun before OFF and ends in the gap, and what begins in it and goes on after it, is
// written between a separate ON and OFF, with the attribute `edge`. Iterations that lie
// entirely in the gap are written inside; whether one does is known at its end, so its
// begin waits.
//
// Thread-safety: none, one a location. Ownership: all arguments must live longer.
// Cost: O(1) an event besides the sink's; memory for the open regions only.

enum class FrameKind : std::uint8_t {
  kFork,  // a parallel region on the thread that encounters it: not a region in the archive
  kTeam,  // an implicit task: the parallel region on a member of the team
  kTask,  // an explicit task
  kRegion,  // everything else
};

class ShadowStack;

// A region that is open on a location.
struct Frame {
  FrameKind kind = FrameKind::kRegion;
  std::uint8_t record_kind = 0;  // of the record that opened it
  std::uint8_t sub = 0;
  bool emitted = false;   // is in the archive
  bool derived = false;   // opened along with the frame below
  bool complete = false;  // kTask: it is done when it is closed
  std::uint32_t region = regions::kNoRegion;
  std::uint32_t place = regions::kNoRegion;  // where the call was made
  std::uint32_t inner_region =
      regions::kNoRegion;  // entered and left together with `region`
  std::uint32_t comm = OTF2_UNDEFINED_COMM;
  std::uint32_t number = 0;   // kFork: threads requested; kTask: generation
  std::uint32_t creator = 0;  // kTask: rank of the thread that created it
  std::uint64_t id = 0;       // instance of the region, task or lock
  std::uint64_t address = 0;  // kFork, kTeam: of the parallel region
  std::uint64_t begin_ticks = 0;
  FileCall file;                  // if it is a call on a file
  ThreadLink thread;              // if it makes, is or waits for a thread
  ShadowStack* stream = nullptr;  // of the device that does it: the innermost region there
};

class Timeline {
 public:
  // `journal`: nullptr if iterations are not to be shown. `ends`: see
  // spool::IterationStream.
  Timeline(EventSink& sink, const regions::ProcessRegions& regions,
           const spool::Journal* journal, std::span<const std::uint64_t> ends,
           const GapPlan& gaps);

  void open(const Frame& frame, std::uint64_t ticks);
  // Frames are closed in the reverse order of opening.
  void close(const Frame& frame, std::uint64_t ticks);
  void on_off(std::uint64_t ticks, bool on);
  // The sink for an event that opens and closes nothing.
  EventSink& at(std::uint64_t ticks) {
    advance(ticks);
    settle();
    lift(ticks);
    return sink_;
  }
  // Takes the remaining iterations; all frames have been closed.
  void finish(std::uint64_t ticks);
  // Records that mark iterations.
  std::uint64_t marks() const noexcept { return marks_; }

 private:
  struct Entry {
    bool iteration;
    std::size_t visit;
    std::uint32_t region;
    Kept kept = Kept::kWhole;  // of an iteration
  };

  struct Pending {  // an iteration in a gap, not written yet: the last of stack_
    std::uint64_t ticks;
    std::uint32_t region;
    std::uint64_t number;
    Kept kept;
    bool complete;
    std::vector<std::uint64_t> metrics;
  };

  struct LatestVisit {
    std::size_t visit = ~std::size_t{0};
    bool marked = true;  // as a whole: has marks, or none
  };

  void advance(std::uint64_t ticks);
  bool apply(const spool::IterationEvent& event);
  bool end_visit(const spool::IterationEvent& event);
  void begin_iteration(const spool::IterationEvent& event);
  std::vector<std::uint64_t> metrics_of(const spool::IterationEvent& event) const;
  void pop_iteration(std::uint64_t ticks);
  void write_pending();
  void settle();
  void lift(std::uint64_t ticks);
  void lower();

  EventSink& sink_;
  const regions::ProcessRegions& regions_;
  const spool::Journal* journal_;
  const GapPlan& gaps_;
  std::optional<spool::IterationStream> iterations_;
  std::vector<Entry> stack_;
  std::vector<LatestVisit> latest_;  // by level
  std::optional<Pending> pending_;
  std::uint64_t marks_ = 0;
  bool off_ = false;
  bool lifted_ = false;  // in a gap, between an ON and an OFF of an edge
  std::uint64_t lifted_ticks_ = 0;
  std::size_t off_at_ = 0;  // in a gap: how much of stack_ was open at OFF
};

class ShadowStack {
 public:
  explicit ShadowStack(Timeline& timeline) : timeline_(timeline) {}

  std::size_t size() const noexcept { return frames_.size(); }
  Frame& operator[](std::size_t index) noexcept { return frames_[index]; }
  bool in_gap() const noexcept { return in_gap_; }

  // Opens at frame.begin_ticks.
  void push(Frame frame);
  // Closes the upper frames until `size` are left.
  void close_to(std::size_t size, std::uint64_t ticks);

  // Begins and ends of regions that lie in gaps and are in the archive nevertheless.
  std::uint64_t at_edges() const noexcept { return at_edges_; }

  void begin_gap(std::uint64_t ticks);
  void end_gap(std::uint64_t ticks);

  // Writes something that opens and closes nothing; not in a gap. `write` gets the sink.
  template <typename Write>
  void point(std::uint64_t ticks, Write write) {
    if (!in_gap_) write(timeline_.at(ticks));
  }
  // Likewise, but also in a gap: for the end of something that is in the archive.
  void release_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order);

 private:
  struct Edge {  // something in the archive that ended inside a gap
    bool is_lock;
    std::uint64_t ticks;
    std::uint32_t lock;
    std::uint32_t order;
    Frame frame;
  };

  Timeline& timeline_;
  std::vector<Frame> frames_;
  std::vector<Edge> edges_;
  bool in_gap_ = false;
  std::uint64_t at_edges_ = 0;
};

// --- Streams of devices in the archive: what a thread gave a device to do.
//
// Place in the flow: ARCHITECTURE.md, stage 5: record_interpreter.h opens a region of a stream
// together with the one of its thread that gives the work; location_writer.h writes both at once.
// A location is the stream of one thread on one device, so that its events come in order and nest:
// devices work for several threads at once. Its regions start and end, lie in gaps and are cut as
// those of the thread.
//
// Thread-safety: none, one set a location. Ownership: sinks and gaps must live longer.
// Cost: a look-up among the devices of the thread for each operation.

// Where the events of a stream go.
struct StreamOutput {
  std::uint16_t device = 0;
  EventSink* sink = nullptr;
};

// The streams of one thread.
class DeviceStreams {
 public:
  DeviceStreams(const std::vector<StreamOutput>& outputs,
                const regions::ProcessRegions& regions, const GapPlan& gaps) {
    for (const StreamOutput& output : outputs) streams_.emplace_back(output, regions, gaps);
  }
  DeviceStreams(const DeviceStreams&) = delete;
  DeviceStreams& operator=(const DeviceStreams&) = delete;

  // Null: nothing of it is written.
  ShadowStack* of(std::uint16_t device) noexcept {
    for (Stream& stream : streams_)
      if (stream.device == device) return &stream.stack;
    return nullptr;
  }
  void begin_gap(std::uint64_t ticks) {
    for (Stream& stream : streams_) stream.stack.begin_gap(ticks);
  }
  void end_gap(std::uint64_t ticks) {
    for (Stream& stream : streams_) stream.stack.end_gap(ticks);
  }

 private:
  struct Stream {
    Stream(const StreamOutput& output, const regions::ProcessRegions& regions,
           const GapPlan& gaps)
        : device(output.device), timeline(*output.sink, regions, nullptr, {}, gaps) {}
    std::uint16_t device;
    Timeline timeline;
    ShadowStack stack{timeline};
  };
  std::deque<Stream> streams_;
};

}  // namespace refrain::writer
