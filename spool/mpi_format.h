// Values in the spool's MPI records; see record_kinds.h.
//
// *Channel*: source, destination, communicator and tag; what MPI promises to deliver in
// order. Both ends number the messages of each channel from 0, also while writing is
// suspended: a message is the same at both ends if channel and number are. A receive is
// numbered when it is posted or, if it was posted for any source or any tag, when its
// message is known; where that is not the order of posting, and where one was cancelled that
// was not the channel's last, the journal's kTextNumbers correct the numbers.
//
// *Cuts*: a kMpiEnter of the primary thread outside of any parallel region begins an epoch
// (kMpiCut, the bit that begins of teams use for the same).
#pragma once

#include <cstdint>

#include "spool/format.h"

namespace refrain::spool {

inline constexpr std::uint8_t kMpiCut = kTeamCut;
inline constexpr std::uint32_t kMpiNoRoot = 0xffffffff;
inline constexpr std::uint64_t kMpiWorldwide = 1;  // all processes take part: an anchor
inline constexpr unsigned kMpiProcedureShift = 48;

enum MpiMode : std::uint8_t {
  kMpiStandard = 0,
  kMpiBuffered = 1,
  kMpiSynchronous = 2,
  kMpiReady = 3,
};

// What a receive leaves open, as bits.
enum MpiAny : std::uint8_t { kMpiAnySource = 1, kMpiAnyTag = 2 };

// In the order of OTF2_CollectiveOp.
enum MpiCollective : std::uint8_t {
  kMpiBarrier = 0,
  kMpiBcast = 1,
  kMpiGather = 2,
  kMpiGatherv = 3,
  kMpiScatter = 4,
  kMpiScatterv = 5,
  kMpiAllgather = 6,
  kMpiAllgatherv = 7,
  kMpiAlltoall = 8,
  kMpiAlltoallv = 9,
  kMpiAlltoallw = 10,
  kMpiAllreduce = 11,
  kMpiReduce = 12,
  kMpiReduceScatter = 13,
  kMpiScan = 14,
  kMpiExscan = 15,
  kMpiReduceScatterBlock = 16,
  kMpiCreateHandle = 17,
  kMpiDestroyHandle = 18,
};

enum MpiCommKind : std::uint8_t {
  kMpiCommWorld = 0,
  kMpiCommSelf = 1,
  kMpiCommIntra = 2,
  kMpiCommInter = 3,
  kMpiCommWindow = 4,  // a window of one-sided communication, which has a number as
                       // they do; its parent is its communicator
  kMpiCommGroup = 5,   // a group of processes that one-sided communication names: no
                       // communicator, but it has a number as they do. Each process that
                       // names it records its members
};

enum MpiRma : std::uint8_t {
  kMpiRmaPut = 0,
  kMpiRmaGet = 1,
  kMpiRmaAtomic = 2,
  kMpiRmaComplete = 3,
  kMpiRmaGroupSync = 4,  // MPI_Win_start, MPI_Win_post; MPI_Win_complete, MPI_Win_wait
  kMpiRmaRequestLock = 5,
  kMpiRmaReleaseLock = 6,
  kMpiRmaFetchAccumulate = 7,  // bytes both ways
  kMpiRmaFetch = 8,            // MPI_NO_OP: bytes to the origin only
  kMpiRmaCompareAndSwap = 9,   // bytes both ways
};

// Payload of kMpiRmaGroupSync, as bits.
enum MpiRmaSync : std::uint8_t { kMpiRmaSyncProcess = 1, kMpiRmaSyncMemory = 2 };

}  // namespace refrain::spool
