// An artificial trace, event by event, for tests of patterns: times in ticks of a microsecond.
//
// Thread-safety: none. Shape: each rank has `threads` locations; regions are MadeUpRegion; communicator 0 is the world,
// 1 the processes themselves, 2 the team of threads.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "waits/metrics/pattern.h"
#include "waits/parallel/made_up_shares.h"
#include "waits/replay/replay.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

enum MadeUpRegion : std::uint32_t {
  rMain,
  rSend,
  rRecv,
  rIsend,
  rIrecv,
  rWait,
  rWaitall,
  rTest,
  rSendrecv,
  rBarrier,
  rAllreduce,
  rBcast,
  rReduce,
  rScan,
  rInit,
  rFinalize,
  rParallel,
  rLoop,
  rExplicit,
  rImplicit,
  rCritical,
  rSetLock,
  rTask,
  rUndefined
};

class MadeUpTrace {
 public:
  explicit MadeUpTrace(std::uint32_t ranks, std::uint32_t threads = 1) : threads_(threads) {
    d.ticks_per_second = 1'000'000;
    const auto region = [&](const char* name, OTF2_RegionRole role,
                            OTF2_Paradigm paradigm) {
      d.regions.push_back(
          {.name = name, .file = "p.c", .line = 7, .role = role, .paradigm = paradigm});
    };
    region("main", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER);
    for (const char* name :
         {"MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall",
          "MPI_Test", "MPI_Sendrecv", "MPI_Barrier", "MPI_Allreduce", "MPI_Bcast",
          "MPI_Reduce", "MPI_Scan", "MPI_Init", "MPI_Finalize"})
      region(name, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI);
    region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP);
    region("!$omp for", OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_OPENMP);
    region("!$omp barrier", OTF2_REGION_ROLE_BARRIER, OTF2_PARADIGM_OPENMP);
    region("!$omp implicit barrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER,
           OTF2_PARADIGM_OPENMP);
    region("!$omp critical", OTF2_REGION_ROLE_CRITICAL, OTF2_PARADIGM_OPENMP);
    region("omp_set_lock", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_OPENMP);
    region("!$omp task", OTF2_REGION_ROLE_TASK, OTF2_PARADIGM_OPENMP);
    region("undefined", OTF2_REGION_ROLE_UNKNOWN, OTF2_PARADIGM_UNKNOWN);
    std::vector<ProcessId> world;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      reader::ProcessInfo& process = d.processes.emplace_back();
      process.rank = rank;
      process.name = "rank " + std::to_string(rank);
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        process.locations.emplace_back(d.locations.size());
        reader::LocationInfo& location = d.locations.emplace_back();
        location.process = ProcessId(rank);
        location.thread = thread;
      }
      world.emplace_back(rank);
    }
    d.nodes.push_back("host");
    d.groups.push_back(world);
    reader::CommInfo comm;
    comm.of_processes = true;
    comm.group = 0;
    d.comms.push_back(comm);
    comm.group = reader::kNone;
    comm.self = true;
    d.comms.push_back(comm);
    d.comms.emplace_back();
  }

  // Of the rank's first thread, or of `at.thread`.
  struct At {
    At(std::uint32_t rank_, std::uint32_t thread_ = 0) : rank(rank_), thread(thread_) {}
    std::uint32_t rank, thread;
  };
  reader::TraceEvent& add(At at, std::uint64_t time, reader::EventKind kind) {
    reader::TraceEvent& event = events_.emplace_back();
    event.location = LocationId(at.rank * threads_ + at.thread);
    event.ticks = time;
    event.kind = kind;
    return event;
  }
  void enter(At at, std::uint64_t time, std::uint32_t region) {
    add(at, time, reader::EventKind::kEnter).ref = region;
  }
  void leave(At at, std::uint64_t time, std::uint32_t region) {
    add(at, time, reader::EventKind::kLeave).ref = region;
  }
  void region(At at, std::uint64_t begin, std::uint64_t end, std::uint32_t region) {
    enter(at, begin, region);
    leave(at, end, region);
  }
  // A message's end in a call of its own.
  void send(At at, std::uint64_t begin, std::uint64_t end, std::uint32_t to,
            std::uint32_t tag = 0) {
    enter(at, begin, rSend);
    message(at, begin, reader::EventKind::kMpiSend, to, tag);
    leave(at, end, rSend);
  }
  void receive(At at, std::uint64_t begin, std::uint64_t end, std::uint32_t from,
               std::uint32_t tag = 0) {
    enter(at, begin, rRecv);
    message(at, end, reader::EventKind::kMpiRecv, from, tag);
    leave(at, end, rRecv);
  }
  void message(At at, std::uint64_t time, reader::EventKind kind, std::uint32_t peer,
               std::uint32_t tag = 0, std::uint64_t request = 0) {
    reader::TraceEvent& event = add(at, time, kind);
    event.ref = 0;
    event.peer = peer;
    event.tag = tag;
    event.request = request;
  }
  void request(At at, std::uint64_t time, reader::EventKind kind, std::uint64_t request) {
    add(at, time, kind).request = request;
  }
  void collective(At at, std::uint64_t begin, std::uint64_t end, std::uint32_t region,
                  OTF2_CollectiveOp operation, std::uint32_t root = 0) {
    enter(at, begin, region);
    reader::TraceEvent& event = add(at, end, reader::EventKind::kMpiCollectiveEnd);
    event.ref = 0;
    event.op = operation;
    event.peer = root;
    leave(at, end, region);
  }
  void team_begin(At at, std::uint64_t time) {
    add(at, time, reader::EventKind::kThreadTeamBegin).ref = 2;
  }
  void team_end(At at, std::uint64_t time) {
    add(at, time, reader::EventKind::kThreadTeamEnd).ref = 2;
  }

  // In the order of their times and locations; each location's events in the order of their making. Also by two readers,
  // with the same result. With more patterns by one alone, which may fail.
  WaitAnalysis analyze() { return *analyze({}); }
  base::Result<WaitAnalysis> analyze(std::vector<std::unique_ptr<Pattern>> more) {
    std::ranges::stable_sort(events_, [](const auto& a, const auto& b) {
      return std::tie(a.ticks, a.location) < std::tie(b.ticks, b.location);
    });
    const bool shared = more.empty();
    PatternSet patterns(with_more(all_patterns(), std::move(more)));
    Replay replay(patterns);
    if (const auto done = replay.begin(d); !done) return done.failure();
    for (const reader::TraceEvent& event : events_) replay.event(event);
    if (const auto done = replay.finish(0); !done) return done.failure();
    WaitAnalysis alone = analysis_of(replay, patterns.tree());
    if (!shared) return alone;
    const std::string differs = difference(alone, *analyze_shared(d, events_, {}));
    if (!differs.empty()) throw std::logic_error("two readers differ: " + differs);
    return alone;
  }

  // To leave some out, or move them.
  std::vector<reader::TraceEvent>& events() { return events_; }
  // The same where each rank's clock is ahead by so much.
  MadeUpTrace ahead(const std::vector<std::uint64_t>& of_rank) const {
    MadeUpTrace moved = *this;
    for (reader::TraceEvent& event : moved.events_)
      event.ticks += of_rank[event.location / threads_];
    return moved;
  }

  reader::TraceDefinitions d;

 private:
  std::uint32_t threads_;
  std::vector<reader::TraceEvent> events_;
};

// In ticks: over all, and of one location.
inline double total(const WaitAnalysis& analysis, const std::string& metric) {
  return analysis.total(analysis.tree.of(metric));
}
inline Ticks of_location(const WaitAnalysis& analysis, const std::string& metric,
                         std::size_t location) {
  Ticks sum = 0;
  for (PathId path; path < analysis.paths.size(); ++path) {
    const auto row = analysis.inclusive(analysis.tree.of(metric), path);
    if (!row.empty()) sum += row[location];
  }
  return sum;
}

}  // namespace refrain::waits
