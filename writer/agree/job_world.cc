#include "writer/agree/job_world.h"

#include <algorithm>
#include <map>

namespace refrain::writer {

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
