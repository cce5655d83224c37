// Collective operations of MPI: their members are put together, whatever the order in which they are read.
//
// Place in the flow: private to waits/. A communicator's operations are numbered on each of its processes, as MPI
// requires them to be called in the same order; a window's likewise. MPI_Init and MPI_Finalize are operations of all ranks.
// Of an intercommunicator each group waits for the other one.
// Operations that do not block are numbered apart, in the order in which they begin. Of which communicator one is, the
// archive says where it completes: so those that began after it wait for that, kMaxOpen at most.
// Thread-safety: none. Units: ticks of the archive since its start.
// Memory: operations of which some members are missing yet, at most kMaxPending a communicator.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "reader/communicators.h"
#include "reader/trace.h"
#include "waits/metrics/pattern.h"
#include "waits/paths/recorder.h"
#include "waits/replay/replay_state.h"

namespace refrain::waits {

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

class Collectives {
 public:
  static constexpr std::size_t kMaxPending = std::size_t{1} << 14;
  static constexpr std::size_t kMaxOpen = 4096;

  Collectives(const reader::TraceDefinitions& definitions, PatternSet& patterns,
              Problems& problems, paths::Notes& log);

  // Of several, each of some processes: operations of these are handed over and counted, parts of all come.
  void share(std::vector<bool> own) { own_ = std::move(own); }

  // kMpiCollectiveEnd, inside of a call; kRmaCollectiveEnd.
  void end(const GroupStep& step);
  void end_on_window(const GroupStep& step);
  // An access to another process' part of a window, between two fences, has ended.
  void accessed(ProcessId process, std::uint32_t window, ProcessId target, Ticks time);
  // kNonBlockingCollectiveRequest, kNonBlockingCollectiveComplete.
  void started(const GroupStep& step);
  void completed(const GroupStep& step);
  // That call, or any other one, is left.
  void left(const Call& call) {
    if (pending_[call.location].comm != kNone) join(call);
    if (completing_[call.location] != kNone) left_completing(call);
  }
  void init(const Call& call) {
    add(init_, call.process, kNone, CollectiveKind::kInit, call);
  }
  void finalize(const Call& call) {
    add(finalize_, call.process, kNone, CollectiveKind::kFinalize, call);
  }
  // The process is at its end: what it has started and not completed is lost.
  void flush(ProcessId process);
  // After that of all.
  void finish();

 private:
  // When a member entered, which location, and when it left; 0, where that is no synchronisation point.
  struct Entered {
    Ticks time = 0;
    LocationId location{};
    Ticks leave = 0;
  };

  struct Pending {
    std::uint32_t comm = kNone;
    bool window = false;         // `comm` is one
    std::uint32_t root = kNone;  // rank
    CollectiveKind kind = CollectiveKind::kOther;
  };
  struct Member {
    Call call;  // not of those that do not block
    std::uint32_t rank = 0;
    Ticks enter = 0;                   // of the call that begins it
    std::uint32_t completion = kNone;  // number of the call that it completes in
    ProcessId process{};
  };
  struct Instance {
    std::vector<Member> members;
    std::vector<Ticks> accessed;  // of windows: latest access to each rank; empty: none
    CollectiveKind kind = CollectiveKind::kOther;
    std::uint32_t root = kNone;
    bool mixed = false;
    std::uint32_t root_side = kNone;  // of an intercommunicator
    bool done = false;
  };
  struct Comm {
    bool window = false;
    bool started = false;  // operations that do not block
    const std::vector<reader::GridDimension>* grid = nullptr;
    // By process: target and latest access since its last fence.
    std::map<ProcessId, std::map<ProcessId, Ticks>> accesses;
    reader::CommOperations<Instance> operations;

    bool between() const { return operations.members().first() != 0; }
  };

  // One that does not block, from its start until all before it have completed.
  struct Open {
    LocationId location{};
    Ticks enter = 0;
    bool neighbours = false;
    bool known = false;  // it has completed
    bool lost = false;
    std::uint32_t comm = kNone;
    std::uint32_t root = kNone;
    CollectiveKind kind = CollectiveKind::kOther;
    std::uint32_t completion = kNone;
  };
  struct OpenOnes {
    std::deque<Open> queue;
    std::uint32_t front = 0;  // its number, modulo 2^32
  };
  // A call in which some complete.
  struct Completion {
    Call call;
    Ticks until = 0;
    std::uint32_t open = 0;
    bool left = false;
  };
  struct Sides {
    Ticks latest_enter[2] = {0, 0};
    Ticks earliest_leave[2] = {~Ticks{0}, ~Ticks{0}};
  };

  // Those of MPI_Init and MPI_Finalize are one more.
  std::uint32_t group_of(const Comm& comm) const {
    const bool life = &comm == &init_ || &comm == &finalize_;
    return static_cast<std::uint32_t>(life ? comms_.size() : &comm - comms_.data());
  }
  bool owns(ProcessId process) const { return own_.empty() || own_[process]; }
  // By one of those that know it.
  bool counts(const Instance& instance) const {
    return !instance.members.empty() && owns(instance.members.front().process);
  }
  void join(const Call& call);
  void left_completing(const Call& call);
  void release(ProcessId process);
  void settle(std::uint32_t completion, Ticks until);
  void set_root(Comm& comm, Instance& instance, std::uint32_t rank, std::uint32_t root);
  void between(Comm& comm, Instance& instance);
  CollectiveKind neighbour_kind(std::uint32_t comm) const;
  void enters_of(const Instance& instance);
  static CollectiveKind kind_of(std::uint32_t operation);
  static Ticks needed(const CollectiveMember& member);
  Comm& comm_of(std::vector<Comm>& comms, std::uint32_t comm);
  Comm& window_of(std::uint32_t window);
  static std::uint32_t side_of(const Comm& comm, std::uint32_t rank) {
    return rank >= comm.operations.members().first() ? 1 : 0;
  }
  void add(Comm& comm, ProcessId process, std::uint32_t root, CollectiveKind kind,
           Member member);
  void add(Comm& comm, ProcessId process, std::uint32_t root, CollectiveKind kind,
           const Call& call) {
    add(comm, process, root, kind, Member{call, 0, call.enter, kNone, process});
  }
  void complete(Comm& comm, Instance& instance);
  void hand_out(const Comm& comm, Member& member, CollectiveMember& event);
  void note_wait(CollectiveKind kind, const Call& call, const Entered& latest);
  static bool is_on_path(const Comm& comm, CollectiveKind kind);
  static bool later(const Entered& a, const Entered& b);
  void drop_front(Comm& comm);
  void give_up(Comm& comm);

  const reader::TraceDefinitions& definitions_;
  PatternSet& patterns_;
  Problems& problems_;
  paths::Notes& log_;
  std::vector<bool> own_;         // by process; none: all
  std::vector<Pending> pending_;  // by location
  std::vector<Comm> comms_;
  std::vector<Comm> windows_;
  std::vector<Comm> started_;   // by communicator
  std::vector<OpenOnes> open_;  // by process
  std::vector<base::FlatMap<std::uint64_t, std::uint32_t>>
      requests_;                           // by location: numbers in open_
  std::vector<std::uint32_t> completing_;  // by location
  std::vector<Completion> completions_;
  std::vector<std::uint32_t> free_completions_;
  Comm init_, finalize_;
  std::vector<std::vector<Member>> spare_;
  std::vector<Entered> below_;
  std::vector<Ticks> enters_;
  std::vector<paths::GroupMember> group_;
};

}  // namespace refrain::waits
