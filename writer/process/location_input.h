// Input and result of writing one location.
//
// Place in the flow: ARCHITECTURE.md, step 7; made by archive_events.cc, one a location.
// Ownership: all pointers must outlive the writing; all are const and shared by all
// locations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "writer/archive/event_sink.h"
#include "writer/archive/region_table.h"
#include "writer/archive/write_options.h"
#include "writer/job/message_plan.h"
#include "writer/job/message_times.h"
#include "writer/job/mpi_comms.h"
#include "writer/process/device_streams.h"
#include "writer/process/gap_plan.h"
#include "writer/process/location_scan.h"
#include "writer/process/lock_table.h"
#include "writer/process/team_table.h"

namespace refrain::writer {

// What the MPI records of a process refer to.
struct MpiContext {
  ProcessComms comms;
  OTF2_CommRef first_comm = 0;        // reference of CommTable::comms[0]
  const MessagePlan* plan = nullptr;  // nullptr: not known yet

  // Groups come after those of teams, of which each communicator before has one, and those of all threads and of the
  // locations of MPI (mpi_definitions.cc).
  OTF2_GroupRef group_of(std::uint32_t index) const { return first_comm + 2 + index; }
};

// What all locations of a process share.
struct ProcessContext {
  const spool::RecordSequence* primary =
      nullptr;  // records of the location that feeds the detector
  const LocationScan* primary_scan = nullptr;
  const GapPlan* gaps = nullptr;
  const TeamTable* teams = nullptr;
  const LockTable* locks = nullptr;
  const ProcessRegions* regions = nullptr;
  const spool::Journal* journal = nullptr;
  std::unordered_map<std::uint32_t, std::uint32_t> index_of;  // location's number -> index
  std::uint32_t process = 0;                                  // index of its location group
  std::uint32_t first_comm = 0;               // reference of the process' team 0
  std::vector<std::uint64_t> iteration_ends;  // see spool::IterationStream
  // When nested teams ended, of those that some thread entered last; 0: at an unknown time.
  // Teams that did not end are not here.
  std::unordered_map<std::uint64_t, std::uint64_t> nested_ends;
  std::uint64_t end_ticks = 0;  // of the process: what is open then is closed
  std::uint64_t start_ticks = 0;
  bool left_out = false;  // one gap from the first event to the last
  OTF2_StringRef program = OTF2_UNDEFINED_STRING;
  std::vector<OTF2_StringRef> arguments;
  OTF2_MetricRef metric = 0;  // class of the process' counters, if it has any
  std::unordered_map<std::uint32_t, OTF2_StringRef> user_strings;  // values of parameters
  MpiContext mpi;
};

struct LocationInput {
  const ProcessContext* process = nullptr;
  const spool::RecordSequence* records = nullptr;
  const LocationScan* scan = nullptr;
  std::uint32_t index = 0;              // in the process
  bool primary = false;                 // shows iterations, begin and end of the program
  bool died = false;                    // it was not closed in an orderly way
  std::vector<StreamOutput> streams{};  // of the devices that it gave something to do
  // For MPI, see mpi_interpreter.h; nullptr where a pass does not need it.
  MessageLog* collect = nullptr;
  std::vector<bool>* decide = nullptr;         // by request, to be filled
  const std::vector<bool>* decided = nullptr;  // by request, filled earlier
  MessageTimes* checks = nullptr;
};

inline constexpr std::size_t kEventKinds = 64;

struct LocationOutcome {
  std::uint64_t archive_events = 0;  // records in the archive
  std::uint64_t last_ticks = 0;      // of the last one
  std::uint64_t moved_ticks = 0;     // EventSink::moved_ticks()
  std::uint64_t events_written = 0;  // callbacks that are in the archive
  std::uint64_t filtered = 0;        // enters and leaves that the filter dropped
  std::uint64_t team_end = kNever;   // of its last team, if the end was not recorded
  std::uint64_t unmatched = 0;       // ends whose begin is not known
  std::array<std::uint64_t, kEventKinds> by_kind{};  // events_written by record kind
  std::vector<std::uint64_t> stream_events;          // records in the archive, by device
  MpiCounts mpi;
  std::string error;
};

}  // namespace refrain::writer
