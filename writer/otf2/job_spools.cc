#include "writer/otf2/job_spools.h"

#include <algorithm>
#include <set>

#include "writer/spool/journal.h"

namespace refrain::writer {
namespace {

constexpr std::uint32_t kMostRanks = 1U << 20;

std::uint32_t next_number(const spool::SpoolFolder& spools) {
  std::uint32_t number = 0;
  for (const spool::ProcessSpool& process : spools.processes)
    number = std::max(number, process.process + 1);
  return number;
}

void add_place(spool::SpoolFolder& spools, std::uint32_t rank, std::uint32_t number) {
  spools.complaints.push_back("nothing is known of MPI rank " + std::to_string(rank));
  spool::ProcessSpool& missing = spools.processes.emplace_back();
  missing.process = number;
  missing.missing_rank = rank;
  missing.locations.emplace_back();
}

void add_missing_ranks(spool::SpoolFolder& spools) {
  std::set<std::uint32_t> ranks;
  std::uint32_t size = 0;
  for (const spool::ProcessSpool& process : spools.processes) {
    const spool::MpiJournal mpi = spool::parse_journal(process.journal.log()).mpi;
    if (!mpi.known) continue;
    ranks.insert(mpi.rank);
    size = std::max(size, mpi.size);
  }
  if (ranks.empty() || size > kMostRanks) return;
  std::uint32_t number = next_number(spools);
  for (std::uint32_t rank = 0; rank < size; ++rank)
    if (!ranks.contains(rank)) add_place(spools, rank, number++);
}

}  // namespace

spool::SpoolFolder open_job_spools(const std::string& archive,
                                   std::optional<std::uint32_t> rank) {
  spool::SpoolFolder spools =
      rank ? spool::open_spool_of(archive, *rank) : spool::open_spool_folder(archive);
  // A process that died before its first event still gets its (empty) location.
  for (spool::ProcessSpool& process : spools.processes)
    if (process.locations.empty() && process.journal.usable())
      process.locations.emplace_back();
  std::erase_if(spools.processes,
                [](const auto& process) { return process.locations.empty(); });
  if (!rank) add_missing_ranks(spools);
  return spools;
}

void add_missing_rank(spool::SpoolFolder& spools, std::uint32_t rank) {
  add_place(spools, rank, next_number(spools));
}

}  // namespace refrain::writer
