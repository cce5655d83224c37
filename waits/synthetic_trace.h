// An artificial trace, event by event, for tests of patterns: times in ticks of a microsecond.
//
// Thread-safety: none. Shape: each rank has `threads` locations; regions are SyntheticRegion; communicator 0 is the world,
// 1 the processes themselves, 2 the team of threads.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "waits/metrics/pattern.h"
#include "waits/parallel/synthetic_shares.h"
#include "waits/replay/replay.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

enum SyntheticRegion : std::uint32_t {
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

class SyntheticTrace {
 public:
  explicit SyntheticTrace(std::uint32_t ranks, std::uint32_t threads = 1)
      : threads_(threads) {
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
  SyntheticTrace ahead(const std::vector<std::uint64_t>& of_rank) const {
    SyntheticTrace moved = *this;
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
    sum += analysis.inclusive(analysis.tree.of(metric), path)[location];
  }
  return sum;
}

// A synthetic trace with one-sided communication: window 0 of all ranks, a group for each rank alone (from kGroupOf0 on).

class SyntheticWindows : public SyntheticTrace {
 public:
  explicit SyntheticWindows(std::uint32_t ranks) : SyntheticTrace(ranks) {
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

// Programs that are drawn at random, of fixed seeds: artificial traces for tests of what holds of every analysis.

// Ranks that work, send, synchronize and fork, each with a clock of its own. `as`: the rank that plays each part.
class RandomProgram {
 public:
  RandomProgram(std::uint32_t seed, std::uint32_t ranks, std::uint32_t threads,
                std::vector<std::uint32_t> as)
      : trace_(ranks, threads),
        ranks_(ranks),
        threads_(threads),
        as_(std::move(as)),
        random_(seed),
        now_(ranks, 10) {
    for (std::uint32_t i = 0; i < ranks; ++i) trace_.enter(as_[i], 10, rMain);
  }

  SyntheticTrace& run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (std::uint32_t i = 0; i < ranks_; ++i)
      trace_.leave(as_[i], now_[i] + 1 + draw(50), rMain);
    return trace_;
  }

  // The same without one event in ten, and one in twenty earlier than it was.
  SyntheticTrace& run_damaged(int steps, std::uint32_t seed) {
    SyntheticTrace& trace = run(steps);
    std::mt19937 random(seed);
    std::erase_if(trace.events(),
                  [&](const reader::TraceEvent&) { return random() % 10 == 0; });
    for (reader::TraceEvent& event : trace.events())
      if (random() % 20 == 0) event.ticks -= std::min<std::uint64_t>(event.ticks, 90);
    return trace;
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  std::uint64_t latest() const { return *std::ranges::max_element(now_); }

  void step() {
    for (std::uint64_t& each : now_) each += 1 + draw(200);
    switch (draw(5)) {
      case 0:
        return collective(rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
      case 1:
        return collective(rAllreduce, OTF2_COLLECTIVE_OP_ALLREDUCE);
      case 2:
        return collective(rScan, OTF2_COLLECTIVE_OP_SCAN);
      case 3:
        return threads_ > 1 ? parallel() : message();
      default:
        return message();
    }
  }

  void collective(std::uint32_t region, OTF2_CollectiveOp operation) {
    const std::uint64_t all_there = latest();
    for (std::uint32_t i = 0; i < ranks_; ++i) {
      const std::uint64_t end = all_there + 1 + draw(30);
      trace_.collective(as_[i], now_[i], end, region, operation);
      now_[i] = end;
    }
  }

  // Half of them by MPI_Irecv and MPI_Wait, a quarter of the blocking sends wait for the receive.
  void message() {
    if (ranks_ < 2) return;
    const auto from = static_cast<std::uint32_t>(draw(ranks_));
    const auto to = static_cast<std::uint32_t>((from + 1 + draw(ranks_ - 1)) % ranks_);
    const bool waits = draw(4) == 0;
    const bool posted_before = draw(2) == 0;
    const std::uint64_t sent = now_[from], received = std::max(sent, now_[to]) + 3;
    if (posted_before) {
      trace_.enter(as_[to], now_[to], rIrecv);
      trace_.request(as_[to], now_[to], reader::EventKind::kMpiIrecvRequest, ++request_);
      trace_.leave(as_[to], now_[to] + 1, rIrecv);
      trace_.enter(as_[to], now_[to] + 1, rWait);
      trace_.message(as_[to], received, reader::EventKind::kMpiIrecv, as_[from], 0,
                     request_);
      trace_.leave(as_[to], received, rWait);
    } else {
      trace_.receive(as_[to], now_[to], received, as_[from]);
    }
    const std::uint64_t send_ends = waits ? std::max(sent, now_[to]) + 2 : sent + 2;
    trace_.send(as_[from], sent, send_ends, as_[to]);
    now_[to] = received;
    now_[from] = send_ends;
  }

  void parallel() {
    const auto rank = static_cast<std::uint32_t>(draw(ranks_));
    const std::uint32_t as = as_[rank];
    const std::uint64_t fork = now_[rank];
    std::uint64_t all_there = 0;
    std::vector<std::uint64_t> arrives;
    for (std::uint32_t i = 0; i < threads_; ++i) {
      arrives.push_back(fork + 5 + draw(300));
      all_there = std::max(all_there, arrives.back());
    }
    trace_.add(as, fork, reader::EventKind::kThreadFork);
    for (std::uint32_t i = 0; i < threads_; ++i) {
      const std::uint64_t begin = fork + (i == 0 ? 0 : 1 + draw(4));
      trace_.team_begin({as, i}, begin);
      trace_.enter({as, i}, begin, rParallel);
      const std::uint64_t end = all_there + 1 + draw(5);
      trace_.region({as, i}, arrives[i], end, rImplicit);
      trace_.leave({as, i}, end, rParallel);
      trace_.team_end({as, i}, end);
    }
    now_[rank] = all_there + 10;
    trace_.add(as, now_[rank], reader::EventKind::kThreadJoin);
  }

  SyntheticTrace trace_;
  std::uint32_t ranks_, threads_;
  std::vector<std::uint32_t> as_;
  std::mt19937 random_;
  std::vector<std::uint64_t> now_;
  std::uint64_t request_ = 0;
};

// Ranks that work and send, upwards or also downwards. A receive ends when its send begins, or at once: so a wait is as
// long as it is where the receiver's clock is behind, and shorter where it is ahead.
inline SyntheticTrace drawn_messages(std::uint32_t seed, std::uint32_t ranks, int steps,
                                     bool upwards) {
  SyntheticTrace trace(ranks);
  std::mt19937 random(seed);
  std::vector<std::uint64_t> now(ranks, 10);
  for (int i = 0; i < steps; ++i) {
    auto from = static_cast<std::uint32_t>(random() % (ranks - 1));
    auto to = static_cast<std::uint32_t>(from + 1 + random() % (ranks - 1 - from));
    if (!upwards && random() % 2 == 0) std::swap(from, to);
    for (const std::uint32_t rank : {from, to}) {
      const std::uint64_t work = 1 + random() % (rank == from ? 200 : 100);
      trace.region(rank, now[rank], now[rank] + work, random() % 2 == 0 ? rTask : rLoop);
      now[rank] += work;
    }
    const std::uint64_t sent = now[from], end = std::max(sent, now[to]);
    trace.send(from, sent, sent, to);
    trace.receive(to, now[to], end, from);
    now[to] = end;
  }
  return trace;
}

inline std::vector<std::uint32_t> in_order(std::uint32_t ranks) {
  std::vector<std::uint32_t> as(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) as[i] = i;
  return as;
}

}  // namespace refrain::waits
