// Writes the events of one location into the archive, in order of time.
//
// Place in the flow: ARCHITECTURE.md, stage 5; the last stop before libotf2.
// Thread-safety: none; each location has its own, and libotf2 writers of different
// locations may be used at the same time.
// Ownership: does not own the OTF2_EvtWriter.
// Units: ticks. A time before the last one is raised to it, so that time never runs
// backwards. No two enters and leaves have the same time, because readers may sort by it:
// the second gets the next tick, and so do those after it until the program's own times are
// ahead again.
// Errors: the first error of libotf2 is kept in error(); everything after it is dropped.
// Cost: that of libotf2, 12..25 ns an event, and a pause when its buffer is flushed.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "regions/region_table.h"
#include "writer/model/file_handles.h"
#include "writer/model/thread_links.h"

namespace refrain::writer {

// References of definitions that events refer to besides regions and teams.
inline constexpr OTF2_ParameterRef kIterationParameter = 0;
inline constexpr OTF2_AttributeRef kWrittenAttribute = 0;
inline constexpr OTF2_AttributeRef kCompleteAttribute = 1;
inline constexpr OTF2_AttributeRef kEdgeAttribute = 2;
inline constexpr OTF2_AttributeRef kCallSiteAttribute = 3;
inline constexpr OTF2_ParameterRef kBytesParameter = 1;
inline constexpr OTF2_ParameterRef kPollsParameter = 2;
inline constexpr OTF2_ParameterRef kFirstUserParameter = 3;

// One end of a message, as its sender or its receiver reports it.
struct MessageEnd {
  std::uint32_t peer = 0;  // rank in the communicator
  OTF2_CommRef comm = 0;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
};

struct Collective {
  OTF2_CollectiveOp operation = OTF2_COLLECTIVE_OP_BARRIER;
  OTF2_CommRef comm = 0;
  std::uint32_t root = 0;  // OTF2_UNDEFINED_UINT32: none
  std::uint64_t sent = 0;  // bytes
  std::uint64_t received = 0;
};

class EventSink {
 public:
  // Without a writer it accepts everything and writes nothing.
  EventSink(OTF2_EvtWriter* writer, const std::vector<regions::RegionDef>& regions);
  ~EventSink();
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  // `place`: where the call was made, as an attribute; kNoRegion for none.
  void enter(std::uint64_t ticks, std::uint32_t region,
             std::uint32_t place = regions::kNoRegion);
  void leave(std::uint64_t ticks, std::uint32_t region);
  // Enter of an iteration with its number and attributes, see archive_writer.h.
  void enter_iteration(std::uint64_t ticks, std::uint32_t region, std::uint64_t number,
                       std::uint8_t kept, bool complete);
  void on_off(std::uint64_t ticks, bool on);
  // The same inside a gap, around an event that is in the archive nevertheless.
  void edge(std::uint64_t ticks, bool on);
  void fork(std::uint64_t ticks, std::uint32_t requested);
  void join(std::uint64_t ticks);
  void team_begin(std::uint64_t ticks, std::uint32_t comm);
  void team_end(std::uint64_t ticks, std::uint32_t comm);
  void task_create(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                   std::uint32_t number);
  // `number` 0: to the implicit task; not written if that runs already. Readers return to
  // it when an explicit task completes, and do not expect a switch.
  void task_switch(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                   std::uint32_t number);
  void task_complete(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                     std::uint32_t number);
  // Returns true if the filter drops a region; what belongs to it is not written either.
  bool drops(std::uint32_t region) const noexcept {
    return region < regions_.size() && regions_[region].filtered;
  }
  void acquire_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order);
  void release_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order);
  // Messages, collectives, one-sided operations. Requests are numbered
  // by location. `request` 0: the call blocks.
  void send(std::uint64_t ticks, const MessageEnd& message, std::uint64_t request);
  void receive(std::uint64_t ticks, const MessageEnd& message, std::uint64_t request);
  void send_complete(std::uint64_t ticks, std::uint64_t request);
  void receive_request(std::uint64_t ticks, std::uint64_t request);
  // By a call of `region`: if the filter drops the call, nothing of the poll is written.
  void request_test(std::uint64_t ticks, std::uint64_t request, std::uint32_t region);
  // How many polls were coalesced into the innermost region, `region`.
  void polls(std::uint64_t ticks, std::uint64_t number, std::uint32_t region);
  void request_cancelled(std::uint64_t ticks, std::uint64_t request);
  void collective_begin(std::uint64_t ticks);
  void collective_end(std::uint64_t ticks, const Collective& collective);
  void collective_request(std::uint64_t ticks, std::uint64_t request);
  void collective_complete(std::uint64_t ticks, const Collective& collective,
                           std::uint64_t request);
  void rma(std::uint64_t ticks, std::uint8_t operation, OTF2_RmaWinRef window,
           std::uint32_t target, std::uint64_t bytes, std::uint64_t id);
  void rma_complete(std::uint64_t ticks, OTF2_RmaWinRef window, std::uint64_t id);
  // Those that all processes of a window take part in, and how they synchronize otherwise.
  void rma_collective_begin(std::uint64_t ticks);
  void rma_collective_end(std::uint64_t ticks, OTF2_CollectiveOp operation,
                          OTF2_RmaWinRef window);
  void rma_group_sync(std::uint64_t ticks, OTF2_RmaWinRef window, OTF2_GroupRef group,
                      OTF2_RmaSyncLevel level);
  void rma_request_lock(std::uint64_t ticks, OTF2_RmaWinRef window, std::uint32_t target,
                        bool exclusive);
  void rma_release_lock(std::uint64_t ticks, OTF2_RmaWinRef window, std::uint32_t target);
  // A call on a file, after the enter of its region and before its leave: OTF2's records of I/O, or, of a first pass, what
  // FileHandles are made of.
  void begin_file_call(std::uint64_t ticks, std::uint32_t region, const FileCall& call);
  void end_file_call(std::uint64_t ticks, std::uint32_t region, const FileCall& call);
  void collect_files(std::vector<FileMoment>* into) noexcept { file_moments_ = into; }
  // `first`: reference of the process' first handle. `location`: its index in the process.
  void set_files(const FileHandles* handles, OTF2_IoHandleRef first,
                 std::uint32_t location) noexcept {
    files_ = handles;
    first_handle_ = first;
    location_ = location;
  }
  // A thread that the program begins: who makes it and who waits for its end, inside of `region`; its own start and end, around
  // it. Of a first pass, what ThreadLinks are made of: of a wait and a thread when they end and begin.
  void thread_create(std::uint64_t ticks, std::uint32_t region, const ThreadLink& link);
  void thread_begin(std::uint64_t ticks, std::uint32_t region, const ThreadLink& link);
  void thread_wait(std::uint64_t ticks, std::uint32_t region, const ThreadLink& link);
  void thread_end(std::uint64_t ticks, std::uint32_t region, const ThreadLink& link);
  void collect_threads(std::vector<ThreadLink>* into) noexcept { thread_links_ = into; }
  // `contingent`: reference of the process' communicator for them.
  void set_threads(const ThreadLinks* links, OTF2_CommRef contingent) noexcept {
    threads_ = links;
    contingent_ = contingent;
  }
  // What the innermost region, `region`, has moved.
  void bytes_moved(std::uint64_t ticks, std::uint64_t bytes, std::uint32_t region);

  void parameter(std::uint64_t ticks, OTF2_ParameterRef parameter, std::int64_t value);
  void parameter_text(std::uint64_t ticks, OTF2_ParameterRef parameter,
                      OTF2_StringRef value);

  // Values of counters, in the order of the process' metrics: written directly before the
  // next enter or leave if that has this time.
  void queue_metric(std::uint64_t ticks, std::vector<std::uint64_t> values) {
    metric_ticks_ = std::max(ticks, last_);
    metric_values_ = std::move(values);
  }
  void set_metric(OTF2_MetricRef metric) noexcept { metric_ = metric; }
  // The minimum number of ticks between two enters or leaves: one, or two where readers
  // interpolate between clock offsets, which rounds.
  void set_spacing(std::uint64_t ticks) noexcept { spacing_ = ticks; }

  void program_begin(std::uint64_t ticks, OTF2_StringRef name,
                     const std::vector<OTF2_StringRef>& arguments);
  void program_end(std::uint64_t ticks);

  std::uint64_t last_ticks() const noexcept { return last_; }
  // The most by which an enter or leave is later than it was to be.
  std::uint64_t moved_ticks() const noexcept { return moved_ticks_; }
  std::uint64_t filtered() const noexcept { return filtered_; }
  std::uint64_t count() const;
  OTF2_ErrorCode error() const noexcept { return error_; }

 private:
  void rma_atomic(std::uint64_t ticks, OTF2_RmaAtomicType type, OTF2_RmaWinRef window,
                  std::uint32_t target, std::uint64_t sent, std::uint64_t received,
                  std::uint64_t id);
  std::uint64_t at(std::uint64_t ticks) noexcept { return last_ = std::max(last_, ticks); }
  // The time of an enter or leave; the values of counters go before it.
  std::uint64_t at_edge(std::uint64_t ticks) {
    const bool counted = metric_ticks_ == at(ticks);
    last_ = std::max(last_, next_edge_);
    moved_ticks_ = std::max(moved_ticks_, last_ - ticks);
    next_edge_ = last_ + spacing_;
    put_metric(counted);
    return last_;
  }
  void check(OTF2_ErrorCode code) noexcept {
    if (code != OTF2_SUCCESS && error_ == OTF2_SUCCESS) error_ = code;
  }
  bool ok() const noexcept { return writer_ != nullptr && error_ == OTF2_SUCCESS; }
  bool skips(std::uint32_t region) noexcept;
  // The handle of a call whose number is next, if its region is in the archive.
  OTF2_IoHandleRef handle_of(std::uint32_t region, const FileCall& call) const noexcept;
  // Whether a record of it is written; a first pass collects it.
  bool takes_thread(std::uint32_t region, const ThreadLink& link);
  void put_metric(bool counted);

  OTF2_EvtWriter* writer_;
  OTF2_AttributeList* attributes_;
  const std::vector<regions::RegionDef>& regions_;
  std::uint64_t last_ = 0;
  std::uint64_t next_edge_ = 0;  // earliest time of the next enter or leave
  std::uint64_t spacing_ = 1;
  std::uint64_t moved_ticks_ = 0;
  std::uint64_t filtered_ = 0;
  bool in_task_ = false;  // an explicit one
  OTF2_MetricRef metric_ = 0;
  std::uint64_t metric_ticks_ = 0;
  std::vector<std::uint64_t> metric_values_;  // to be written
  OTF2_ErrorCode error_ = OTF2_SUCCESS;
  std::vector<FileMoment>* file_moments_ = nullptr;
  const FileHandles* files_ = nullptr;
  OTF2_IoHandleRef first_handle_ = 0;
  std::uint32_t location_ = 0;
  std::size_t file_calls_ = 0;
  std::vector<ThreadLink>* thread_links_ = nullptr;
  const ThreadLinks* threads_ = nullptr;
  OTF2_CommRef contingent_ = OTF2_UNDEFINED_COMM;
};

}  // namespace refrain::writer
