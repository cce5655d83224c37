// Interprets each kind of record: which region it opens or closes, which tasks and locks
// are involved.
//
// Place in the flow: ARCHITECTURE.md, stage 5: location_writer.h (which records count) ->
// RecordInterpreter -> shadow_stack.h.
// Any sequence of records gives balanced regions. An end closes everything above its
// region, but nothing outside its own task; an end without a start is counted and dropped.
// Where a runtime reports no end for a construct (gcc's single), the next worksharing
// construct or barrier of the task closes it.
// Explicit tasks run nested on a thread: a task that is resumed closes those above it; if
// they are resumed later they are entered anew.
//
// Thread-safety: none, one a location. Cost: O(open regions) an end, O(1) otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "writer/interpret/location_writer.h"
#include "writer/interpret/mpi_interpreter.h"
#include "writer/interpret/shadow_stack.h"

namespace refrain::writer {

class RecordInterpreter {
 public:
  RecordInterpreter(const LocationInput& input, ShadowStack& stack, DeviceStreams& streams,
                    LocationOutcome& outcome);

  // `index`: of the record in the location's sequence.
  void take(const spool::Record& record, std::size_t index);

  // There are no more records.
  void finish() { mpi_.finish(); }

  // Opens the frame of a start record (or its snapshot), if it has one.
  void begin(const spool::Record& record);
  // Index of the frame that an end record closes; size() if there is none.
  std::size_t frame_ended_by(const spool::Record& record);
  // The true time of an end. A member of an outermost team that is not its first gets the
  // region's end only when the next one begins: the end on the thread that began the region
  // counts, for the implicit task and for the barrier before it.
  std::uint64_t true_ticks(const spool::Record& end);
  // The end, on the thread that began it, of the outermost region that is open here; kNever
  // if it is not known. `frame`: index of its frame.
  std::uint64_t known_end_of_team(std::size_t& frame);
  // The same for a nested team that had ended when the process was killed. `last`: time of
  // this thread's last event.
  std::uint64_t known_end_of_nested_team(std::size_t& frame, std::uint64_t last);
  // Returns true if an open frame came from this snapshot's record.
  static bool is_same(const Frame& frame, const spool::Record& snapshot) noexcept;

 private:
  void begin_parallel(const spool::Record& record);
  void begin_implicit_task(const spool::Record& record);
  void begin_work(const spool::Record& record);
  void begin_sync(const spool::Record& record);
  void begin_mpi(const spool::Record& record);
  void begin_thread_call(const spool::Record& record, std::size_t index);
  void begin_user(const spool::Record& record);
  void parameter(const spool::Record& record);
  void begin_file(const spool::Record& record, const spool::Record* next);
  void file_moved(const spool::Record& record);
  const spool::Record* next_record(std::size_t index) const;
  void begin_target(const spool::Record& record);
  void end_target_data(const spool::Record& record);
  void begin_region(const spool::Record& record, regions::RegionClass cls);
  void end(const spool::Record& record);

  void create_task(const spool::Record& record);
  void schedule_task(const spool::Record& record);
  void push_task(const spool::Record& record);
  void end_left_task(std::uint64_t ticks, bool complete);
  void back_to_implicit(const spool::Record& record);

  void acquire(const spool::Record& record, const spool::Record* next);
  void acquired(const spool::Record& record);
  void released(const spool::Record& record);
  void moment(const spool::Record& record);

  void close_worksharing(std::uint64_t ticks);
  std::size_t task_base();
  const Frame* team_frame();
  regions::RegionKey parallel_region(const spool::Record& task);
  std::uint32_t region(regions::RegionClass cls, std::uint64_t address);
  std::uint32_t creator_rank(std::uint64_t task, OTF2_CommRef comm) const;

  const LocationInput& input_;
  const ProcessContext& process_;
  ShadowStack& stack_;
  DeviceStreams& streams_;
  MpiInterpreter mpi_;
  Frame left_task_;  // the latest explicit task that was suspended for another
  LocationOutcome& outcome_;
  std::size_t parallel_hint_ = 0;
  std::size_t end_hint_ = 0;
  std::size_t acquisitions_ = 0;
  struct HeldLock {
    std::uint32_t order = 0;
    bool emitted = false;
  };
  std::unordered_map<std::uint64_t, HeldLock> held_locks_;
};

}  // namespace refrain::writer
