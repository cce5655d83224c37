// Bytes of collectives. Predefined types only: their sizes are in their handles, so no MPI
// library is needed.
#include "tracer/mpi/collective_amounts.h"

#include <array>
#include <catch2/catch.hpp>

namespace refrain::mpi::collective_amounts_test {
namespace {

struct Member : Communicator {
  Member(int own, int members) {
    rank = own;
    size = members;
  }
};

struct InterMember : Communicator {
  InterMember(int own, int local, int remote) {
    kind = spool::kMpiCommInter;
    rank = own;
    size = local;
    remote_size = remote;
  }
};

void check(const Amounts& amounts, spool::MpiCollective operation, int root,
           std::uint64_t sent, std::uint64_t received) {
  CHECK(amounts.operation == operation);
  CHECK(amounts.root == root);
  CHECK(amounts.sent == sent);
  CHECK(amounts.received == received);
}

const int kNone = static_cast<int>(spool::kMpiNoRoot);
const int kBuffer = 0;

}  // namespace

TEST_CASE("Collective amounts: rooted - the root's side and the others'") {
  const Member root(2, 4);
  const Member other(1, 4);
  check(bcast(root, 5, MPI_INT, 2), spool::kMpiBcast, 2, 80, 20);
  check(bcast(other, 5, MPI_INT, 2), spool::kMpiBcast, 2, 0, 20);
  check(gather(root, &kBuffer, 3, MPI_INT, 3, MPI_INT, 2), spool::kMpiGather, 2, 12, 48);
  check(gather(root, MPI_IN_PLACE, 3, MPI_INT, 3, MPI_INT, 2), spool::kMpiGather, 2, 0, 36);
  // What does not count there may be anything.
  check(gather(other, &kBuffer, 3, MPI_INT, -7, MPI_DATATYPE_NULL, 2), spool::kMpiGather, 2,
        12, 0);
  check(scatter(root, 2, MPI_DOUBLE, &kBuffer, 2, MPI_DOUBLE, 2), spool::kMpiScatter, 2, 64,
        16);
  check(scatter(root, 2, MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 2),
        spool::kMpiScatter, 2, 48, 0);
  const std::array<int, 4> counts = {1, 2, 3, 4};
  check(gatherv(root, &kBuffer, 3, MPI_INT, counts.data(), MPI_INT, 2), spool::kMpiGatherv,
        2, 12, 40);
  check(gatherv(root, MPI_IN_PLACE, 0, MPI_INT, counts.data(), MPI_INT, 2),
        spool::kMpiGatherv, 2, 0, 28);
  check(scatterv(other, static_cast<const int*>(nullptr), MPI_INT, &kBuffer, 2, MPI_INT, 2),
        spool::kMpiScatterv, 2, 0, 8);
  check(reduce(root, &kBuffer, 4, MPI_INT, 2), spool::kMpiReduce, 2, 16, 64);
  check(reduce(root, MPI_IN_PLACE, 4, MPI_INT, 2), spool::kMpiReduce, 2, 0, 48);
  check(reduce(other, &kBuffer, 4, MPI_INT, 2), spool::kMpiReduce, 2, 16, 0);
}

TEST_CASE(
    "Collective amounts: all to all - parts for and from everybody, own part in place") {
  const Member comm(1, 3);
  const std::array<MPI_Count, 3> sends = {1, 2, 3};
  const std::array<MPI_Count, 3> receives = {4, 5, 6};
  const std::array<MPI_Datatype, 3> types = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
  check(barrier(comm), spool::kMpiBarrier, kNone, 0, 0);
  check(allreduce(comm, &kBuffer, 2, MPI_DOUBLE), spool::kMpiAllreduce, kNone, 48, 48);
  check(allreduce(comm, MPI_IN_PLACE, 2, MPI_DOUBLE), spool::kMpiAllreduce, kNone, 32, 32);
  check(allreduce(Member(0, 2), &kBuffer, 1, MPI_DOUBLE), spool::kMpiAllreduce, kNone, 16,
        16);
  check(allgather(comm, &kBuffer, 1, MPI_INT, 1, MPI_INT), spool::kMpiAllgather, kNone, 12,
        12);
  check(allgather(comm, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 1, MPI_INT),
        spool::kMpiAllgather, kNone, 8, 8);
  check(allgatherv(comm, &kBuffer, 5, MPI_INT, receives.data(), MPI_INT),
        spool::kMpiAllgatherv, kNone, 60, 60);
  check(allgatherv(comm, MPI_IN_PLACE, 0, MPI_INT, receives.data(), MPI_INT),
        spool::kMpiAllgatherv, kNone, 40, 40);
  check(alltoall(comm, &kBuffer, 2, MPI_INT, 2, MPI_INT), spool::kMpiAlltoall, kNone, 24,
        24);
  check(alltoall(comm, MPI_IN_PLACE, 0, MPI_INT, 2, MPI_INT), spool::kMpiAlltoall, kNone,
        16, 16);
  check(alltoallv(comm, &kBuffer, sends.data(), MPI_INT, receives.data(), MPI_CHAR),
        spool::kMpiAlltoallv, kNone, 24, 15);
  check(
      alltoallw(comm, &kBuffer, sends.data(), types.data(), receives.data(), types.data()),
      spool::kMpiAlltoallw, kNone, 1 + 8 + 24, 4 + 20 + 48);
  check(alltoallw(comm, MPI_IN_PLACE, sends.data(), types.data(), receives.data(),
                  types.data()),
        spool::kMpiAlltoallw, kNone, 4 + 48, 4 + 48);
  check(reduce_scatter(comm, &kBuffer, sends.data(), MPI_INT), spool::kMpiReduceScatter,
        kNone, 24, 24);
  check(reduce_scatter(comm, MPI_IN_PLACE, sends.data(), MPI_INT), spool::kMpiReduceScatter,
        kNone, 16, 16);
  check(reduce_scatter_block(comm, &kBuffer, 2, MPI_INT), spool::kMpiReduceScatterBlock,
        kNone, 24, 24);
  check(reduce_scatter_block(comm, MPI_IN_PLACE, 2, MPI_INT), spool::kMpiReduceScatterBlock,
        kNone, 16, 16);
}

TEST_CASE("Collective amounts: prefix reductions - to the ranks after, from those before") {
  check(scan(Member(0, 3), &kBuffer, 1, MPI_INT), spool::kMpiScan, kNone, 12, 4);
  check(scan(Member(1, 3), &kBuffer, 1, MPI_INT), spool::kMpiScan, kNone, 8, 8);
  check(scan(Member(2, 3), &kBuffer, 1, MPI_INT), spool::kMpiScan, kNone, 4, 12);
  check(scan(Member(1, 3), MPI_IN_PLACE, 1, MPI_INT), spool::kMpiScan, kNone, 4, 4);
  check(exscan(Member(0, 3), 1, MPI_INT), spool::kMpiExscan, kNone, 8, 0);
  check(exscan(Member(2, 3), 1, MPI_INT), spool::kMpiExscan, kNone, 0, 8);
}

TEST_CASE("Collective amounts: intercommunicators - the others are the remote group") {
  const InterMember root(1, 2, 5);
  check(bcast(root, 2, MPI_INT, MPI_ROOT), spool::kMpiBcast, kRootSelf, 40, 0);
  check(bcast(root, 2, MPI_INT, MPI_PROC_NULL), spool::kMpiBcast, kRootThisGroup, 0, 0);
  check(bcast(root, 2, MPI_INT, 3), spool::kMpiBcast, 3, 0, 8);
  check(gather(root, &kBuffer, 1, MPI_INT, 1, MPI_INT, MPI_ROOT), spool::kMpiGather,
        kRootSelf, 0, 20);
  check(allgather(root, &kBuffer, 1, MPI_INT, 1, MPI_INT), spool::kMpiAllgather, kNone, 20,
        20);
  check(allreduce(root, &kBuffer, 1, MPI_INT), spool::kMpiAllreduce, kNone, 20, 20);
  check(reduce(root, &kBuffer, 1, MPI_INT, MPI_ROOT), spool::kMpiReduce, kRootSelf, 0, 20);
  check(reduce(root, &kBuffer, 1, MPI_INT, MPI_PROC_NULL), spool::kMpiReduce,
        kRootThisGroup, 0, 0);
  check(reduce(root, &kBuffer, 1, MPI_INT, 3), spool::kMpiReduce, 3, 4, 0);
  const std::array<int, 2> counts = {1, 2};
  check(reduce_scatter(root, &kBuffer, counts.data(), MPI_INT), spool::kMpiReduceScatter,
        kNone, 12, 40);
}

TEST_CASE("Collective amounts: neighbours - as many as come in and go out") {
  Member comm(0, 9);
  comm.in_degree = 2;
  comm.out_degree = 3;
  const std::array<int, 3> counts = {1, 2, 3};
  check(neighbor_allgather(comm, 1, MPI_INT, 1, MPI_INT), spool::kMpiAllgather, kNone, 12,
        8);
  check(neighbor_allgatherv(comm, 2, MPI_INT, counts.data(), MPI_INT),
        spool::kMpiAllgatherv, kNone, 24, 12);
  check(neighbor_alltoall(comm, 1, MPI_INT, 1, MPI_INT), spool::kMpiAlltoall, kNone, 12, 8);
  check(neighbor_alltoallv(comm, counts.data(), MPI_INT, counts.data(), MPI_INT),
        spool::kMpiAlltoallv, kNone, 24, 12);
}

}  // namespace refrain::mpi::collective_amounts_test
