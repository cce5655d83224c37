#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class InitCompletion final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_init_completion", "mpi_init_exit", "MPI init completion",
            "Time from when the first rank left MPI_Init and all had entered it until the "
            "own leave",
            ""};
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
        "Time in MPI_Finalize until the last rank entered it",
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
    return {"mpi_barrier_wait", "mpi_sync_collective", "MPI wait at barrier",
            "Time in a barrier until the last rank entered it",
            "Uneven work before the barrier, or the barrier is not needed."};
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
            "Time in a barrier after the first rank left it and all had entered it", ""};
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
            "Time in which the root waits for the last sender to enter the operation",
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
            "Time until the last lower rank entered the scan",
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
        "Time in which other ranks wait for the root to enter the operation",
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
    return {"mpi_wait_nxn", "mpi_collective", "MPI wait at N x N",
            "Time in an N x N operation until the last rank entered it",
            "Uneven work before the operation: the rank that waits least has most work."};
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
    return {
        "mpi_nxn_completion", "mpi_collective", "MPI N x N completion",
        "Time in an N x N operation after the first rank left it and all had entered it",
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
        "Time in a neighbourhood collective until the last neighbour of the Cartesian "
        "communicator entered it",
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
        "Time in the completing call until the last rank whose part is needed started the "
        "operation (N x N: all ranks; 1 x N: the root; N x 1, at the root: all ranks; "
        "scan: lower ranks)",
        "Some ranks start the operation late: uneven work before it. More work between "
        "its start and MPI_Wait hides the wait."};
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
