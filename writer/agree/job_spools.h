// The spools that an archive is made from.
//
// Place in the flow: ARCHITECTURE.md, stage 5, first; see spool_folder.h.
// Thread-safety: none while opening. Errors: as complaints; without any usable spool the
// list is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "spool/spool_folder.h"

namespace refrain::writer {

// --- What the processes of a job agree on about MPI_COMM_WORLD, where some of their journals
// are damaged.
//
// Place in the flow: ARCHITECTURE.md, stage 5, first; job_spools.h. Each process records the
// size and its rank twice, when it joins the job and as a member of the communicator, and
// its directory has its rank's number: a value changed by a flipped bit is outvoted. A process
// that has recorded neither, because it was killed before, has the rank of its directory.
// Thread-safety: any number of threads. Pure. Cost: O(n log n) in the processes.

// More ranks than this are damage, however many say so.
inline constexpr std::uint32_t kMaxRanks = 1U << 20;
// More than this, too, if only one journal says so, once: an archive has some files of each
// rank.
inline constexpr std::uint32_t kMaxRanksUnconfirmed = 1U << 8;

// Of one process. 0: not known, for sizes.
struct WorldClaim {
  std::uint32_t rank = 0;  // agreed_rank()
  std::uint32_t size = 0;
  std::uint32_t comm_size = 0;  // of MPI_COMM_WORLD
};

// The value that two of the three agree on; otherwise `rank`, recorded when the process
// joined.
std::uint32_t agreed_rank(std::uint32_t rank, std::uint32_t comm_rank,
                          std::uint32_t folder);

// The size that most processes give, the smallest of several; without any possible one, the
// ranks up to the last existing one (of the first kMaxRanksUnconfirmed). A size that
// excludes its own process, or exceeds kMaxRanks, is impossible. 0: there is no process.
std::uint32_t agreed_size(std::span<const WorldClaim> claims);

// The spools of all processes, with the MPI_COMM_WORLD that they agree on (job_spools.h) and
// an empty entry for each missing rank, because readers take a process' number for its
// rank. Or the spool of one rank alone.
spool::SpoolFolder open_job_spools(const std::string& archive,
                                   std::optional<std::uint32_t> rank);

// Adds an empty entry for a rank that left no spool.
void add_missing_rank(spool::SpoolFolder& spools, std::uint32_t rank);

}  // namespace refrain::writer
