// What the replay of processes hands over of what they do together with others: ends of messages, parts of operations of a
// communicator, epochs of windows, and notes for the critical path.
//
// Place in the flow: ARCHITECTURE.md, stage 6: from replay.h to joint_replay.h, at once or by way of another thread or
// process (waits/parallel). Nothing comes back, so that processes can be replayed by whoever reads them.
// In the order of the events, which is that of their times and, of the same time, of their locations.
// Thread-safety: none. Units: ticks of the archive since its begin.
#pragma once

#include <cstdint>

#include "reader/trace_event.h"
#include "waits/metrics/call_paths.h"
#include "waits/metrics/pattern.h"
#include "waits/paths/notes.h"
#include "waits/replay/message_ends.h"
#include "waits/replay/region_kinds.h"

namespace refrain::waits {

// An end of a message, or of a request. `process` has it, inside of a call that began at `enter`; `in_call`: left() comes
// for it.
struct MessageStep {
  reader::EventKind kind = reader::EventKind::kUnknown;
  bool in_call = false;
  ProcessId process{};
  LocationId location{};
  ProcessId partner{kNone};  // process; kNone: it is not known, or has none
  std::uint32_t comm = 0, tag = 0;
  std::uint64_t request = 0;
  Ticks enter = 0;
};

// A part of an operation of a communicator or window, as the archive has it, in a call that began at `enter`.
struct GroupStep {
  reader::EventKind kind = reader::EventKind::kUnknown;
  bool in_call = false;
  bool neighbours = false;  // the call is one of neighbours only
  ProcessId process{};
  LocationId location{};
  std::uint32_t ref = 0, peer = 0, op = 0, tag = 0;
  std::uint64_t request = 0;
  Ticks enter = 0;
};

class JointSteps : public paths::Notes {
 public:
  // What comes after the events, in the order of locations or processes: see Replay::finish().
  enum class Part : std::uint8_t { kEvents, kOpenRegions, kEnds, kIdle };

  // A call path of the process, as the next one.
  virtual void path(ProcessId process, const CallPaths::Path& path) = 0;
  virtual void message(const MessageStep& step) = 0;
  virtual void group(const GroupStep& step) = 0;
  // An MPI call begins, of archives with windows.
  virtual void entered_mpi(ProcessId process, Ticks time) = 0;
  // A call with such steps, or that is a synchronisation point, is left. Before any pattern has looked at it.
  virtual void left(const Call& call, const RegionKind& kind) = 0;
  // What follows is of this part and this location or process of it.
  virtual void begins(Part part, std::uint32_t number) = 0;
  // All regions are left: what has no other end until now has none.
  virtual void all_left() = 0;
};

}  // namespace refrain::waits
