#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class InitCompletion final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_init_completion", "mpi_init_exit", "MPI init completion",
            "Own leave of MPI_Init - max(earliest leave, latest enter)", ""};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kInit)
      charge_end(member.call, member.call.take(completion(member)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_init_completion() {
  return std::make_unique<InitCompletion>();
}

namespace {

class FinalizeWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_finalize_wait", "mpi_init_exit", "MPI wait at finalize",
        "Latest enter of MPI_Finalize - own enter",
        "Processes finish at different times: work is distributed unevenly, or one has more to do at the end (output)."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kFinalize)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_finalize_wait() { return std::make_unique<FinalizeWait>(); }

namespace {

class BarrierWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_barrier_wait", "mpi_sync_collective", "MPI wait at barrier",
        "Latest enter of all ranks - own enter",
        "Work before the barrier is distributed unevenly, or the barrier is not needed."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kBarrier)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_barrier_wait() { return std::make_unique<BarrierWait>(); }

namespace {

class BarrierCompletion final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_barrier_completion", "mpi_sync_collective", "MPI barrier completion",
            "Own leave - max(earliest leave, latest enter)", ""};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kBarrier)
      charge_end(member.call, member.call.take(completion(member)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_barrier_completion() {
  return std::make_unique<BarrierCompletion>();
}

namespace {

class EarlyReduce final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_earlyreduce", "mpi_collective", "MPI early reduce",
            "On the root: enter of the latest sender - own enter",
            "The root has less to do than the others, or one of them is late."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kAllToOne && member.root)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_early_reduce() { return std::make_unique<EarlyReduce>(); }

namespace {

class EarlyScan final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_earlyscan", "mpi_collective", "MPI early scan",
            "Latest enter of the ranks below - own enter",
            "Lower ranks, whose data a scan needs first, have more to do before it."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kScan)
      charge(member.call, member.call.take(wait_until(member.call, member.lower_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_early_scan() { return std::make_unique<EarlyScan>(); }

namespace {

class LateBroadcast final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_latebroadcast", "mpi_collective", "MPI late broadcast",
        "The root's enter - own enter, on all but the root",
        "The root has more to do before it sends (input, serial work) than the others."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kOneToAll && !member.root)
      charge(member.call, member.call.take(wait_until(member.call, member.root_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_late_broadcast() { return std::make_unique<LateBroadcast>(); }

namespace {

class WaitNxN final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_wait_nxn", "mpi_collective", "MPI wait at N x N",
        "Latest enter of all ranks - own enter, in operations from all to all",
        "Work before the operation is distributed unevenly: the rank that waits least has most of it."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kAllToAll)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_wait_nxn() { return std::make_unique<WaitNxN>(); }

namespace {

class NxNCompletion final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_nxn_completion", "mpi_collective", "MPI N x N completion",
            "Own leave - max(earliest leave, latest enter), in operations from all to all",
            ""};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kAllToAll)
      charge_end(member.call, member.call.take(completion(member)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_nxn_completion() { return std::make_unique<NxNCompletion>(); }

namespace {

class NeighborWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_neighbor_wait", "mpi_collective", "MPI wait for neighbours",
        "Latest enter of the neighbours in the Cartesian communicator - own enter, in neighbourhood collectives",
        "Neighbours come late: work is distributed unevenly, or they wait for their own neighbours."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kNeighbours)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_neighbor_wait() { return std::make_unique<NeighborWait>(); }

namespace {

class NonBlockingCollective final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_nonblocking_collective_wait", "mpi_point2point",
        "MPI wait for non-blocking collective",
        "When the last one whose part was needed began it (of all: all; from the root: the root; at the root: all; prefixes: lower ranks) - enter of the call in which the operation completes, at most until its leave",
        "Some begin the operation late: work before it is distributed unevenly. More work between its begin and MPI_Wait hides the wait."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollectiveCompletion}; }

  void collective_completion(CollectiveCompletion& event) override {
    if (event.call.test || event.call.metric != kMpiPoint2Point) return;
    charge(event.call, event.call.take(wait_until(event.call, event.until)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_nonblocking_collective() {
  return std::make_unique<NonBlockingCollective>();
}

}  // namespace refrain::waits
