// Input and result of writing one location.
//
// Place in the flow: ARCHITECTURE.md, stage 5; made by archive_events.cc, one a location.
// Ownership: all pointers must outlive the writing; all are const and shared by all
// locations.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "writer/interpret/event_sink.h"
#include "writer/interpret/shadow_stack.h"
#include "writer/messages/message_plan.h"
#include "writer/messages/message_times.h"
#include "writer/messages/mpi_comms.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// What the MPI records of a process refer to.
struct MpiContext {
  ProcessComms comms;
  OTF2_CommRef first_comm = 0;        // reference of CommTable::comms[0]
  OTF2_GroupRef first_group = 0;      // of the locations of MPI
  const MessagePlan* plan = nullptr;  // nullptr: not known yet

  OTF2_GroupRef group_of(std::uint32_t index) const { return first_group + 1 + index; }
};

// Groups of MPI come after that of all threads and those of teams, and, where the program begins threads, that of these and one for
// each process that does (definitions.cc).
inline OTF2_GroupRef first_mpi_group(std::uint64_t teams, std::uint64_t contingents) {
  return static_cast<OTF2_GroupRef>(1 + teams + (contingents == 0 ? 0 : 1 + contingents));
}

struct LocationInput {
  const ProcessContext* process = nullptr;
  const spool::RecordSequence* records = nullptr;
  const LocationScan* scan = nullptr;
  std::uint32_t index = 0;              // in the process
  bool primary = false;                 // shows iterations, start and end of the program
  bool died = false;                    // it was not closed in an orderly way
  std::vector<StreamOutput> streams{};  // of the devices that it gave something to do
  // For MPI, see mpi_interpreter.h; nullptr where a pass does not need it.
  const MpiContext* mpi = nullptr;
  MessageLog* collect = nullptr;
  std::vector<bool>* decide = nullptr;         // by request, to be filled
  const std::vector<bool>* decided = nullptr;  // by request, filled earlier
  MessageTimes* checks = nullptr;
};

// Of a location of the model; without what MPI and devices need.
LocationInput location_input(const ProcessModel& model, std::size_t location);

inline constexpr std::size_t kEventKinds = 64;

// Messages and collectives of a job's processes that are in the archive, and those left out
// because another end is missing. Counted by end: a message has a send and a receive, a
// collective one end for each member.
struct MpiCounts {
  std::uint64_t sends = 0;
  std::uint64_t sends_dropped = 0;
  std::uint64_t receives = 0;
  std::uint64_t receives_dropped = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t collectives = 0;
  std::uint64_t collectives_dropped = 0;
  std::uint64_t one_sided = 0;
  std::uint64_t one_sided_dropped = 0;
  std::uint64_t polls_together =
      0;  // coalesced: without their own region, see docs/lab/mpi.md
  // Receives of which no message was recorded, in the whole run: the request was freed, the call failed, or it was
  // complete in MPI_Finalize or never.
  std::uint64_t receives_freed = 0;
  std::uint64_t receives_failed = 0;
  std::uint64_t receives_open = 0;

  std::uint64_t not_received() const noexcept {
    return receives_freed + receives_failed + receives_open;
  }

  void add(const MpiCounts& other) noexcept {
    sends += other.sends;
    sends_dropped += other.sends_dropped;
    receives += other.receives;
    receives_dropped += other.receives_dropped;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    collectives += other.collectives;
    collectives_dropped += other.collectives_dropped;
    one_sided += other.one_sided;
    one_sided_dropped += other.one_sided_dropped;
    polls_together += other.polls_together;
    receives_freed += other.receives_freed;
    receives_failed += other.receives_failed;
    receives_open += other.receives_open;
  }
};

struct LocationOutcome {
  std::uint64_t archive_events = 0;  // records in the archive
  std::uint64_t mark_records = 0;    // of these, marks of iterations
  std::uint64_t last_ticks = 0;      // of the last one
  std::uint64_t moved_ticks = 0;     // EventSink::moved_ticks()
  std::uint64_t events_written = 0;  // callbacks that are in the archive
  std::uint64_t filtered = 0;        // enters and leaves that the filter dropped
  std::uint64_t team_end = kNever;   // of its last team, if the end was not recorded
  std::uint64_t unmatched = 0;       // ends whose begin is not known
  std::array<std::uint64_t, kEventKinds> by_kind{};  // events_written by record kind
  std::vector<std::uint64_t> stream_events;          // records in the archive, by device
  MpiCounts mpi;
};

// --- Writes the events of one location: passes over its records, leaves out those in the
// process' gaps, and repairs what the recorder cut.
//
// Place in the flow: ARCHITECTURE.md, stage 5; called by archive_events.cc on a pool of
// threads, one call a location.
// Gaps: a record belongs to the epoch of the last Sync before it. On every location each
// gap is an OFF and an ON of the measurement, also where nothing happened; a location
// without any Sync is cut by time. A gap that lasted until the process ended is switched ON
// again at the end, so that OFF and ON always come in pairs.
// Thread-safety: calls for different locations may run at the same time.
// Cost: one pass over the records, O(1) each; memory for the open regions.

LocationOutcome write_location(const LocationInput& input, EventSink& sink);

}  // namespace refrain::writer
