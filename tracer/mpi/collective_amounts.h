// How much data a process sends and receives in a collective: as Score-P counts it.
//
// Place in the flow: ARCHITECTURE.md, stage 2. One function a shape of parameters, for the
// blocking, the non-blocking and the persistent procedure alike.
//
// The call counts as if each process sent its part to each that needs it, itself included.
// *Sent*: this process' contribution, once for each process that gets it or a part of it.
// *Received*: the contributions that it gets, also those that come to it as one result. So of
// 8 bytes in a communicator of two, MPI_Allreduce is 16 and 16, MPI_Bcast 16 and 8 on the root,
// 0 and 8 elsewhere; prefix reductions go to the ranks after. With MPI_IN_PLACE a process does
// not send to itself. Non-blocking calls count when they begin. In an intercommunicator the
// others are those of the remote group.
// Thread-safety: any thread. Errors: to be asked only after a call was successful.
#pragma once

#include "tracer/mpi/communicators.h"
#include "tracer/mpi/mpi_header.h"

namespace refrain::mpi {

// Roots in intercommunicators, as in OTF2: this process, and another one of its group.
inline constexpr int kRootSelf = -2;
inline constexpr int kRootThisGroup = -3;

struct Amounts {
  spool::MpiCollective operation = spool::kMpiBarrier;
  int root = static_cast<int>(spool::kMpiNoRoot);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

// What this process is in a collective with a root.
struct Part {
  bool root = false;
  bool taker = false;  // has to do with the root's data: not the root's group otherwise
  int rank = static_cast<int>(spool::kMpiNoRoot);
};
inline Part part_of(const Communicator& comm, int root) noexcept {
  if (root == MPI_ROOT) return {true, false, kRootSelf};
  if (root == MPI_PROC_NULL) return {false, false, kRootThisGroup};
  if (comm.kind == spool::kMpiCommInter) return {false, true, root};
  return {root == comm.rank, true, root};
}

template <typename Count>
std::uint64_t sum_bytes(const Count* counts, int n, MPI_Datatype type) noexcept {
  MPI_Count sum = 0;
  for (int i = 0; i < n; ++i) sum += counts[i];
  return data_bytes(sum, type);
}
template <typename Count>
std::uint64_t sum_bytes(const Count* counts, int n, const MPI_Datatype* types) noexcept {
  std::uint64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += data_bytes(counts[i], types[i]);
  return sum;
}

// How many send to a process in a collective of all, or get what it sends.
inline unsigned partners(const Communicator& comm, const void* send) noexcept {
  const bool in_place =
      send == MPI_IN_PLACE && comm.kind != spool::kMpiCommInter && comm.peers() > 0;
  return static_cast<unsigned>(comm.peers()) - (in_place ? 1U : 0U);
}

inline Amounts barrier(const Communicator&) noexcept { return {}; }

inline Amounts bcast(const Communicator& comm, MPI_Count count, MPI_Datatype type,
                     int root) noexcept {
  const Part part = part_of(comm, root);
  const std::uint64_t bytes = part.root || part.taker ? data_bytes(count, type) : 0;
  return {spool::kMpiBcast, part.rank,
          part.root ? bytes * static_cast<unsigned>(comm.peers()) : 0,
          part.taker ? bytes : 0};
}

inline Amounts gather(const Communicator& comm, const void* send, MPI_Count send_count,
                      MPI_Datatype send_type, MPI_Count recv_count, MPI_Datatype recv_type,
                      int root) noexcept {
  const Part part = part_of(comm, root);
  const bool gives = part.taker && send != MPI_IN_PLACE;
  const int from = comm.peers() - (part.taker && !gives ? 1 : 0);
  return {spool::kMpiGather, part.rank, gives ? data_bytes(send_count, send_type) : 0,
          part.root ? data_bytes(recv_count, recv_type) * static_cast<unsigned>(from) : 0};
}
template <typename Count>
Amounts gatherv(const Communicator& comm, const void* send, MPI_Count send_count,
                MPI_Datatype send_type, const Count* recv_counts, MPI_Datatype recv_type,
                int root) noexcept {
  const Part part = part_of(comm, root);
  const bool gives = part.taker && send != MPI_IN_PLACE;
  std::uint64_t received = 0;
  if (part.root) {
    received = sum_bytes(recv_counts, comm.peers(), recv_type);
    if (part.taker && !gives) received -= data_bytes(recv_counts[comm.rank], recv_type);
  }
  return {spool::kMpiGatherv, part.rank, gives ? data_bytes(send_count, send_type) : 0,
          received};
}

inline Amounts scatter(const Communicator& comm, MPI_Count send_count,
                       MPI_Datatype send_type, const void* recv, MPI_Count recv_count,
                       MPI_Datatype recv_type, int root) noexcept {
  const Part part = part_of(comm, root);
  const bool takes = part.taker && recv != MPI_IN_PLACE;
  const int to = comm.peers() - (part.taker && !takes ? 1 : 0);
  return {spool::kMpiScatter, part.rank,
          part.root ? data_bytes(send_count, send_type) * static_cast<unsigned>(to) : 0,
          takes ? data_bytes(recv_count, recv_type) : 0};
}
template <typename Count>
Amounts scatterv(const Communicator& comm, const Count* send_counts, MPI_Datatype send_type,
                 const void* recv, MPI_Count recv_count, MPI_Datatype recv_type,
                 int root) noexcept {
  const Part part = part_of(comm, root);
  const bool takes = part.taker && recv != MPI_IN_PLACE;
  std::uint64_t sent = 0;
  if (part.root) {
    sent = sum_bytes(send_counts, comm.peers(), send_type);
    if (part.taker && !takes) sent -= data_bytes(send_counts[comm.rank], send_type);
  }
  return {spool::kMpiScatterv, part.rank, sent,
          takes ? data_bytes(recv_count, recv_type) : 0};
}

inline Amounts allgather(const Communicator& comm, const void* send, MPI_Count send_count,
                         MPI_Datatype send_type, MPI_Count recv_count,
                         MPI_Datatype recv_type) noexcept {
  const std::uint64_t part = data_bytes(recv_count, recv_type);
  const std::uint64_t own = send == MPI_IN_PLACE ? part : data_bytes(send_count, send_type);
  const unsigned n = partners(comm, send);
  Amounts result{.operation = spool::kMpiAllgather};
  result.sent = own * n;
  result.received = part * n;
  return result;
}
template <typename Count>
Amounts allgatherv(const Communicator& comm, const void* send, MPI_Count send_count,
                   MPI_Datatype send_type, const Count* recv_counts,
                   MPI_Datatype recv_type) noexcept {
  const bool in_place = send == MPI_IN_PLACE;
  const std::uint64_t own = in_place ? data_bytes(recv_counts[comm.rank], recv_type)
                                     : data_bytes(send_count, send_type);
  Amounts result{.operation = spool::kMpiAllgatherv};
  result.sent = own * partners(comm, send);
  result.received = sum_bytes(recv_counts, comm.peers(), recv_type) - (in_place ? own : 0);
  return result;
}

inline Amounts alltoall(const Communicator& comm, const void* send, MPI_Count send_count,
                        MPI_Datatype send_type, MPI_Count recv_count,
                        MPI_Datatype recv_type) noexcept {
  const auto n = static_cast<unsigned>(comm.peers());
  Amounts result{.operation = spool::kMpiAlltoall};
  const std::uint64_t part = data_bytes(recv_count, recv_type);
  if (send == MPI_IN_PLACE) {
    result.sent = result.received = part * (n - 1);
  } else {
    result.sent = data_bytes(send_count, send_type) * n;
    result.received = part * n;
  }
  return result;
}
// Types are one for all (alltoallv) or one each (alltoallw).
template <typename Count, typename Types>
Amounts alltoall_of(spool::MpiCollective operation, const Communicator& comm,
                    const void* send, const Count* send_counts, Types send_types,
                    const Count* recv_counts, Types recv_types) noexcept {
  const int n = comm.peers();
  Amounts result{.operation = operation};
  result.received = sum_bytes(recv_counts, n, recv_types);
  if (send == MPI_IN_PLACE) {
    if constexpr (std::is_same_v<Types, MPI_Datatype>)
      result.received -= data_bytes(recv_counts[comm.rank], recv_types);
    else
      result.received -= data_bytes(recv_counts[comm.rank], recv_types[comm.rank]);
    result.sent = result.received;
  } else {
    result.sent = sum_bytes(send_counts, n, send_types);
  }
  return result;
}
template <typename Count>
Amounts alltoallv(const Communicator& comm, const void* send, const Count* send_counts,
                  MPI_Datatype send_type, const Count* recv_counts,
                  MPI_Datatype recv_type) noexcept {
  return alltoall_of(spool::kMpiAlltoallv, comm, send, send_counts, send_type, recv_counts,
                     recv_type);
}
template <typename Count>
Amounts alltoallw(const Communicator& comm, const void* send, const Count* send_counts,
                  const MPI_Datatype* send_types, const Count* recv_counts,
                  const MPI_Datatype* recv_types) noexcept {
  return alltoall_of(spool::kMpiAlltoallw, comm, send, send_counts, send_types, recv_counts,
                     recv_types);
}

inline Amounts allreduce(const Communicator& comm, const void* send, MPI_Count count,
                         MPI_Datatype type) noexcept {
  Amounts result{.operation = spool::kMpiAllreduce};
  result.sent = result.received = data_bytes(count, type) * partners(comm, send);
  return result;
}
// From all ranks before, to all ranks after, and from and to itself.
inline Amounts scan(const Communicator& comm, const void* send, MPI_Count count,
                    MPI_Datatype type) noexcept {
  const std::uint64_t bytes = data_bytes(count, type);
  const int itself = send == MPI_IN_PLACE ? 0 : 1;
  Amounts result{.operation = spool::kMpiScan};
  result.sent = bytes * static_cast<unsigned>(comm.size - comm.rank - 1 + itself);
  result.received = bytes * static_cast<unsigned>(comm.rank + itself);
  return result;
}
// Its own contribution is no part of a process' result.
inline Amounts exscan(const Communicator& comm, MPI_Count count,
                      MPI_Datatype type) noexcept {
  Amounts result = scan(comm, MPI_IN_PLACE, count, type);
  result.operation = spool::kMpiExscan;
  return result;
}
inline Amounts reduce(const Communicator& comm, const void* send, MPI_Count count,
                      MPI_Datatype type, int root) noexcept {
  const Part part = part_of(comm, root);
  const std::uint64_t bytes = part.root || part.taker ? data_bytes(count, type) : 0;
  // MPI_IN_PLACE means something on the root only: elsewhere it may be any address.
  const bool in_place = part.root && part.taker && send == MPI_IN_PLACE;
  const unsigned from = static_cast<unsigned>(comm.peers()) - (in_place ? 1U : 0U);
  return {spool::kMpiReduce, part.rank, part.taker && !in_place ? bytes : 0,
          part.root ? bytes * from : 0};
}
// Each process of its own group gets a part of what this one gives; its own part comes from
// all of the other group.
template <typename Count>
Amounts reduce_scatter(const Communicator& comm, const void* send, const Count* recv_counts,
                       MPI_Datatype type) noexcept {
  const bool in_place = send == MPI_IN_PLACE && comm.kind != spool::kMpiCommInter;
  const std::uint64_t own = data_bytes(recv_counts[comm.rank], type);
  Amounts result{.operation = spool::kMpiReduceScatter};
  result.sent = sum_bytes(recv_counts, comm.size, type) - (in_place ? own : 0);
  result.received = own * partners(comm, send);
  return result;
}
inline Amounts reduce_scatter_block(const Communicator& comm, const void* send,
                                    MPI_Count recv_count, MPI_Datatype type) noexcept {
  const unsigned others = send == MPI_IN_PLACE ? 1U : 0U;
  Amounts result{.operation = spool::kMpiReduceScatterBlock};
  result.sent = result.received =
      data_bytes(recv_count, type) * (static_cast<unsigned>(comm.size) - others);
  return result;
}

// Neighbourhood collectives: OTF2 has no operations of their own, they are recorded as what
// they are among neighbours.
inline Amounts neighbor_allgather(const Communicator& comm, MPI_Count send_count,
                                  MPI_Datatype send_type, MPI_Count recv_count,
                                  MPI_Datatype recv_type) noexcept {
  Amounts result{.operation = spool::kMpiAllgather};
  result.sent = data_bytes(send_count, send_type) * static_cast<unsigned>(comm.out_degree);
  result.received =
      data_bytes(recv_count, recv_type) * static_cast<unsigned>(comm.in_degree);
  return result;
}
template <typename Count>
Amounts neighbor_allgatherv(const Communicator& comm, MPI_Count send_count,
                            MPI_Datatype send_type, const Count* recv_counts,
                            MPI_Datatype recv_type) noexcept {
  Amounts result{.operation = spool::kMpiAllgatherv};
  result.sent = data_bytes(send_count, send_type) * static_cast<unsigned>(comm.out_degree);
  result.received = sum_bytes(recv_counts, comm.in_degree, recv_type);
  return result;
}
inline Amounts neighbor_alltoall(const Communicator& comm, MPI_Count send_count,
                                 MPI_Datatype send_type, MPI_Count recv_count,
                                 MPI_Datatype recv_type) noexcept {
  Amounts result{.operation = spool::kMpiAlltoall};
  result.sent = data_bytes(send_count, send_type) * static_cast<unsigned>(comm.out_degree);
  result.received =
      data_bytes(recv_count, recv_type) * static_cast<unsigned>(comm.in_degree);
  return result;
}
template <typename Count>
Amounts neighbor_alltoallv(const Communicator& comm, const Count* send_counts,
                           MPI_Datatype send_type, const Count* recv_counts,
                           MPI_Datatype recv_type) noexcept {
  Amounts result{.operation = spool::kMpiAlltoallv};
  result.sent = sum_bytes(send_counts, comm.out_degree, send_type);
  result.received = sum_bytes(recv_counts, comm.in_degree, recv_type);
  return result;
}
template <typename Count>
Amounts neighbor_alltoallw(const Communicator& comm, const Count* send_counts,
                           const MPI_Datatype* send_types, const Count* recv_counts,
                           const MPI_Datatype* recv_types) noexcept {
  Amounts result{.operation = spool::kMpiAlltoallw};
  result.sent = sum_bytes(send_counts, comm.out_degree, send_types);
  result.received = sum_bytes(recv_counts, comm.in_degree, recv_types);
  return result;
}

}  // namespace refrain::mpi
