// What the processes of a job agree on of MPI_COMM_WORLD, where some of their journals are
// damaged.
//
// Place in the flow: ARCHITECTURE.md, step 7, first; job_spools.h. Each process tells the size
// and its rank twice, when it joins the job and as a member of the communicator, and lies in a
// folder with its rank's number: what a flipped bit makes of one of them is voted down.
// Thread-safety: any number of threads. Pure. Cost: O(n log n) in the processes.
#pragma once

#include <cstdint>
#include <span>

namespace refrain::writer {

// More ranks than that are damage, whoever says so.
inline constexpr std::uint32_t kMostRanks = 1U << 20;
// And more than that if only one journal says so, once: an archive has some files of each rank.
inline constexpr std::uint32_t kMostRanksUnconfirmed = 1U << 8;

// Of one process. 0: not told, for sizes.
struct WorldClaim {
  std::uint32_t rank = 0;  // agreed_rank()
  std::uint32_t size = 0;
  std::uint32_t comm_size = 0;  // of MPI_COMM_WORLD
};

// What two of them tell; without any two `rank`, which the process told when it joined.
std::uint32_t agreed_rank(std::uint32_t rank, std::uint32_t comm_rank,
                          std::uint32_t folder);

// The size that most tell, the least of several; without any that can be, the ranks up to the
// last that is there (of the first kMostRanksUnconfirmed). A size that leaves its own process out,
// or more than kMostRanks, cannot be. 0: no process is there.
std::uint32_t agreed_size(std::span<const WorldClaim> claims);

}  // namespace refrain::writer
