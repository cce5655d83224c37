#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaWaitAtCreate final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_rma_wait_at_create", "mpi_mgmt_win", "MPI wait at window creation",
            "Time in MPI_Win_create or MPI_Win_allocate until the last rank entered it",
            "Uneven work before the call: the rank that waits least has most work."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kWindowMade)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_wait_at_create() {
  return std::make_unique<RmaWaitAtCreate>();
}

namespace {

class RmaWaitAtFree final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_rma_wait_at_free", "mpi_mgmt_win", "MPI wait at window free",
            "Time in MPI_Win_free until the last rank entered it",
            "Uneven work before the call: the rank that waits least has most work."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kWindowFreed)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_wait_at_free() {
  return std::make_unique<RmaWaitAtFree>();
}

namespace {

class RmaWaitAtFence final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_wait_at_fence", "mpi_rma_sync_active", "MPI wait at fence",
        "Time in MPI_Win_fence until the last rank entered it, if all had entered before "
        "the first left",
        "Uneven work before the call: the rank that waits least has most work. Where few "
        "pairs of processes communicate, MPI_Win_start and MPI_Win_post wait for "
        "these only."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind != CollectiveKind::kFence ||
        member.earliest_leave <= member.latest_enter)
      return;
    const Ticks wait = member.call.take(wait_until(member.call, member.latest_enter));
    if (wait == 0) return;
    charge(member.call, wait);
    others().fence_wait({member, wait});
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_wait_at_fence() {
  return std::make_unique<RmaWaitAtFence>();
}

namespace {

class RmaEarlyFence final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_early_fence", "mpi_rma_wait_at_fence", "MPI early fence",
        "Part of the wait at a fence before the last access of another process to this "
        "one ended",
        "Processes have finished their own work, but others still write to them or read from them."};
  }
  std::vector<Compound> wants() const override { return {Compound::kFenceWait}; }

  void fence_wait(const FenceWait& found) override {
    const CollectiveMember& member = found.member;
    charge(member.call, std::min(found.wait, wait_until(member.call, member.accessed)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_early_fence() {
  return std::make_unique<RmaEarlyFence>();
}

namespace {

class RmaSyncLatePost final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_sync_late_post", "mpi_rma_sync_active", "MPI late post (synchronization)",
        "Time in MPI_Win_start or MPI_Win_complete until the last target entered MPI_Win_post",
        "The target has more work before it lets others access its window: post earlier."};
  }
  std::vector<Compound> wants() const override { return {Compound::kAccessEpoch}; }

  void access_epoch(AccessEpoch& epoch) override {
    for (Call* call : {&epoch.complete, &epoch.start}) {
      if (call->enter >= epoch.latest_post || epoch.latest_post >= call->leave) continue;
      charge(*call, call->take(wait_until(*call, epoch.latest_post)));
      return;
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_sync_late_post() {
  return std::make_unique<RmaSyncLatePost>();
}

namespace {

class RmaCommLatePost final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_comm_late_post", "mpi_rma_communication", "MPI late post (communication)",
        "Time in an access until its target entered MPI_Win_post",
        "The target has more work before it lets others access its window: post earlier."};
  }
  std::vector<Compound> wants() const override { return {Compound::kAccessEpoch}; }

  void access_epoch(AccessEpoch& epoch) override {
    for (AccessCall& access : epoch.calls)
      if (access.call.enter < access.posted && access.posted < access.call.leave)
        charge(access.call, access.call.take(wait_until(access.call, access.posted)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_comm_late_post() {
  return std::make_unique<RmaCommLatePost>();
}

namespace {

class RmaEarlyWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_early_wait", "mpi_rma_sync_active", "MPI early wait",
        "Time in MPI_Win_wait until the last origin entered MPI_Win_complete",
        "The target has less work than those that access its window: it could do some between MPI_Win_post and MPI_Win_wait."};
  }
  std::vector<Compound> wants() const override { return {Compound::kExposureEpoch}; }

  void exposure_epoch(ExposureEpoch& epoch) override {
    if (epoch.wait.test) return;
    const Ticks wait = epoch.wait.take(wait_until(epoch.wait, epoch.latest_complete));
    if (wait == 0) return;
    charge(epoch.wait, wait);
    others().early_wait({epoch.wait, epoch, wait});
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_early_wait() { return std::make_unique<RmaEarlyWait>(); }

namespace {

class RmaLateComplete final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_late_complete", "mpi_rma_early_wait", "MPI late complete",
        "Part of an early wait after the last access",
        "An origin does other work between its last access and MPI_Win_complete: complete earlier."};
  }
  std::vector<Compound> wants() const override { return {Compound::kEarlyWait}; }

  void early_wait(const EarlyWait& found) override {
    charge(
        found.call,
        found.wait - std::min(found.wait, wait_until(found.call, found.epoch.last_access)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_late_complete() {
  return std::make_unique<RmaLateComplete>();
}

namespace {

class RmaSyncLockCompetition final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_sync_lock_competition", "mpi_rma_sync_passive",
        "MPI lock contention (synchronization)",
        "Time in MPI_Win_lock, MPI_Win_unlock or MPI_Win_flush until the process with the "
        "lock entered MPI_Win_unlock",
        "A process keeps the lock for long, or many want it: lock for less work, MPI_LOCK_SHARED where nobody writes, or accesses that need no lock (MPI_Accumulate)."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockEpoch}; }

  void lock_epoch(LockEpoch& epoch) override {
    for (LockCall& each : epoch.calls) {
      Call& call = each.call;
      if (call.metric == kMpiRmaSyncPassive && call.enter < epoch.released &&
          epoch.released < call.leave)
        charge(call, call.take(wait_until(call, epoch.released)));
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_sync_lock_competition() {
  return std::make_unique<RmaSyncLockCompetition>();
}

namespace {

class RmaSyncWaitForProgress final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_sync_wait_for_progress", "mpi_rma_sync_passive",
        "MPI wait for progress (synchronization)",
        "Time in MPI_Win_lock, MPI_Win_unlock or MPI_Win_flush until the target, which "
        "was outside MPI, entered its next MPI call",
        "The target computes without calling MPI, which its library needs to go on: an MPI call (MPI_Iprobe) now and then, or the library's progress thread."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockEpoch}; }

  void lock_epoch(LockEpoch& epoch) override {
    for (LockCall& each : epoch.calls) {
      Call& call = each.call;
      if (call.metric != kMpiRmaSyncPassive || each.progress >= call.leave) continue;
      // What it waited for the lock is explained.
      const Ticks explained = call.leave - call.enter - call.left_over;
      const Ticks wait = wait_until(call, each.progress);
      if (wait > explained) charge(call, call.take(wait - explained));
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_sync_wait_for_progress() {
  return std::make_unique<RmaSyncWaitForProgress>();
}

namespace {

class RmaCommLockCompetition final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_comm_lock_competition", "mpi_rma_communication",
        "MPI lock contention (communication)",
        "Time in an access until the process with the lock entered MPI_Win_unlock",
        "A process keeps the lock for long, or many want it: lock for less work, MPI_LOCK_SHARED where nobody writes, or accesses that need no lock (MPI_Accumulate)."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockEpoch}; }

  void lock_epoch(LockEpoch& epoch) override {
    for (LockCall& each : epoch.calls) {
      Call& call = each.call;
      if (call.metric == kMpiRmaCommunication && call.enter < epoch.released &&
          epoch.released < call.leave)
        charge(call, call.take(wait_until(call, epoch.released)));
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_comm_lock_competition() {
  return std::make_unique<RmaCommLockCompetition>();
}

namespace {

class RmaCommWaitForProgress final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_comm_wait_for_progress", "mpi_rma_communication",
        "MPI wait for progress (communication)",
        "Time in an access until the target, which was outside MPI, entered its next MPI call",
        "The target computes without calling MPI, which its library needs to go on: an MPI call (MPI_Iprobe) now and then, or the library's progress thread."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockEpoch}; }

  void lock_epoch(LockEpoch& epoch) override {
    for (LockCall& each : epoch.calls) {
      Call& call = each.call;
      if (call.metric != kMpiRmaCommunication || each.progress >= call.leave) continue;
      // What it waited for the lock is explained.
      const Ticks explained = call.leave - call.enter - call.left_over;
      const Ticks wait = wait_until(call, each.progress);
      if (wait > explained) charge(call, call.take(wait - explained));
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_comm_wait_for_progress() {
  return std::make_unique<RmaCommWaitForProgress>();
}

}  // namespace refrain::waits
