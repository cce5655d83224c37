#include "writer/agree/job_spools.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "spool/journal.h"

namespace refrain::writer {
namespace {

std::uint32_t next_number(const spool::SpoolFolder& spools) {
  std::uint32_t number = 0;
  for (const spool::ProcessSpool& process : spools.processes)
    number = std::max(number, process.process + 1);
  return number;
}

void add_place(spool::SpoolFolder& spools, std::uint32_t rank, std::uint32_t number) {
  spools.complaints.push_back("nothing is recorded of MPI rank " + std::to_string(rank));
  spool::ProcessSpool& missing = spools.processes.emplace_back();
  missing.process = number;
  missing.missing_rank = rank;
  missing.locations.emplace_back();
}

struct Member {
  spool::ProcessSpool* spool;
  spool::MpiJournal journal;
};

WorldClaim claim_of(const Member& member) {
  const spool::MpiJournal& journal = member.journal;
  const spool::JournalComm* const world = journal.world();
  if (world == nullptr) return {journal.rank, journal.size, 0};
  if (!journal.known) return {world->rank, 0, world->size};
  return {agreed_rank(journal.rank, world->rank, member.spool->process), journal.size,
          world->size};
}

// Several processes in one archive's directory are a job, and each directory has its rank's number. One that was killed as it moved
// there may have no place in its journal yet: it is no further rank next to that one. `size`: of the job, as far as
// it is known.
bool has_rank_of_folder(const spool::SpoolFolder& spools, std::uint32_t number,
                        const std::set<std::uint32_t>& ranks, std::uint32_t size) {
  if (ranks.contains(number)) return false;
  return size != 0 ? number < size
                   : spools.processes.size() > 1 && number < kMaxRanksUnconfirmed;
}

std::string place_in(std::uint32_t rank, std::uint32_t size) {
  return "MPI rank " + std::to_string(rank) + " of " + std::to_string(size);
}

// What the processes agree on about MPI_COMM_WORLD; adds an empty entry for each missing
// rank.
void settle_world(spool::SpoolFolder& spools) {
  std::vector<Member> members, without;
  std::vector<WorldClaim> claims;
  std::set<std::uint32_t> ranks;
  for (spool::ProcessSpool& process : spools.processes) {
    Member member{&process,
                  spool::parse_journal(process.journal.log(), process.facts.log()).mpi};
    if (!member.journal.known && member.journal.world() == nullptr) {
      without.push_back(std::move(member));
      continue;
    }
    claims.push_back(claim_of(member));
    ranks.insert(claims.back().rank);
    members.push_back(std::move(member));
  }
  const std::size_t with_claim = members.size();
  const std::uint32_t known_size = agreed_size(claims);
  for (Member& member : without) {
    const std::uint32_t number = member.spool->process;
    if (!has_rank_of_folder(spools, number, ranks, known_size)) continue;
    claims.push_back({number, 0, 0});
    ranks.insert(number);
    members.push_back(std::move(member));
  }
  if (members.empty()) return;
  const std::uint32_t size = std::max(agreed_size(claims), 1U);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t rank = claims[i].rank;
    const spool::MpiJournal& journal = members[i].journal;
    members[i].spool->world = {rank, size};
    if (i >= with_claim)
      spools.complaints.push_back(place_in(rank, size) +
                                  (members[i].spool->journal.usable()
                                       ? " was killed as it joined the job"
                                       : " has no journal that can be read") +
                                  ": its rank is that of its directory");
    else if (rank >= size)
      spools.complaints.push_back("the journal of process " +
                                  std::to_string(members[i].spool->process) +
                                  " names MPI rank " + std::to_string(rank) +
                                  ", but the job has " + std::to_string(size));
    else if (!journal.known)
      spools.complaints.push_back("the journal of " + place_in(rank, size) +
                                  " has lost its place in the job");
    else if (journal.rank != rank || journal.size != size)
      spools.complaints.push_back("the journal of " + place_in(rank, size) + " names " +
                                  place_in(journal.rank, journal.size));
  }
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
  if (!rank) settle_world(spools);
  return spools;
}

void add_missing_rank(spool::SpoolFolder& spools, std::uint32_t rank) {
  add_place(spools, rank, next_number(spools));
}

std::uint32_t agreed_rank(std::uint32_t rank, std::uint32_t comm_rank,
                          std::uint32_t folder) {
  return comm_rank == folder ? folder : rank;
}

std::uint32_t agreed_size(std::span<const WorldClaim> claims) {
  std::map<std::uint32_t, std::size_t> votes;
  std::uint32_t there = 0;
  for (const WorldClaim& claim : claims) {
    if (claim.rank < kMaxRanksUnconfirmed) there = std::max(there, claim.rank + 1);
    for (const std::uint32_t size : {claim.size, claim.comm_size})
      if (size > claim.rank && size <= kMaxRanks) ++votes[size];
  }
  const auto most =
      std::max_element(votes.begin(), votes.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.end() || (most->second == 1 && most->first > kMaxRanksUnconfirmed))
    return there;
  return most->first;
}

}  // namespace refrain::writer
