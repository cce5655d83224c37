// A made-up trace with one-sided communication: window 0 of all ranks, a group for each rank alone (from kGroupOf0 on).
//
// Thread-safety: none. Units: ticks, as in made_up_trace.h.
#pragma once

#include <string>
#include <vector>

#include "waits/made_up_trace.h"

namespace refrain::waits {

class MadeUpWindows : public MadeUpTrace {
 public:
  explicit MadeUpWindows(std::uint32_t ranks) : MadeUpTrace(ranks) {
    d.windows.push_back({"window 0", 0, 0});
    first_group_ = static_cast<std::uint32_t>(d.groups.size());
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      d.groups.push_back({ProcessId{rank}});
  }
  // Of these ranks, for start() and post().
  std::uint32_t group(const std::vector<std::uint32_t>& ranks) {
    d.groups.emplace_back(ranks.begin(), ranks.end());
    return static_cast<std::uint32_t>(d.groups.size() - 1);
  }
  std::uint32_t only(std::uint32_t rank) const { return first_group_ + rank; }

  void together(At at, std::uint64_t begin, std::uint64_t end, const std::string& name,
                OTF2_CollectiveOp operation) {
    const std::uint32_t region = region_of(name);
    enter(at, begin, region);
    reader::TraceEvent& event = add(at, end, reader::EventKind::kRmaCollectiveEnd);
    event.ref = 0;
    event.op = operation;
    leave(at, end, region);
  }
  void fence(At at, std::uint64_t begin, std::uint64_t end) {
    together(at, begin, end, "MPI_Win_fence", OTF2_COLLECTIVE_OP_BARRIER);
  }
  void access(At at, std::uint64_t begin, std::uint64_t end, std::uint32_t target,
              reader::EventKind kind = reader::EventKind::kRmaPut) {
    const std::uint32_t region = region_of("MPI_Put");
    enter(at, begin, region);
    reader::TraceEvent& event = add(at, begin, kind);
    event.ref = 0;
    event.peer = target;
    leave(at, end, region);
  }
  // MPI_Win_start, MPI_Win_complete, MPI_Win_post, MPI_Win_wait, MPI_Win_test.
  void sync(At at, std::uint64_t begin, std::uint64_t end, const std::string& name,
            std::uint32_t group, OTF2_RmaSyncLevel level = OTF2_RMA_SYNC_LEVEL_PROCESS) {
    const std::uint32_t region = region_of(name);
    enter(at, begin, region);
    reader::TraceEvent& event = add(at, end, reader::EventKind::kRmaGroupSync);
    event.ref = 0;
    event.tag = group;
    event.op = level;
    leave(at, end, region);
  }
  void lock(At at, std::uint64_t begin, std::uint64_t end, std::uint32_t target,
            OTF2_LockType type = OTF2_LOCK_EXCLUSIVE) {
    const std::uint32_t region = region_of("MPI_Win_lock");
    enter(at, begin, region);
    reader::TraceEvent& event = add(at, begin, reader::EventKind::kRmaRequestLock);
    event.ref = 0;
    event.peer = target;
    event.op = type;
    leave(at, end, region);
  }
  void unlock(At at, std::uint64_t begin, std::uint64_t end, std::uint32_t target) {
    const std::uint32_t region = region_of("MPI_Win_unlock");
    enter(at, begin, region);
    reader::TraceEvent& event = add(at, end, reader::EventKind::kRmaReleaseLock);
    event.ref = 0;
    event.peer = target;
    leave(at, end, region);
  }
  std::uint32_t region_of(const std::string& name) {
    for (std::uint32_t i = 0; i < d.regions.size(); ++i)
      if (d.regions[i].name == name) return i;
    d.regions.push_back({.name = name,
                         .file = "p.c",
                         .line = 7,
                         .role = OTF2_REGION_ROLE_RMA,
                         .paradigm = OTF2_PARADIGM_MPI});
    return static_cast<std::uint32_t>(d.regions.size() - 1);
  }

 private:
  std::uint32_t first_group_ = 0;
};

}  // namespace refrain::waits
