// One hash of several words, one after the other: of members of a communicator, of callers.
//
// Place in the flow: inside tracer/mpi. Pure. Processes of a job give equal hashes to equal words.
#pragma once

#include <cstdint>

namespace refrain::mpi {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

}  // namespace refrain::mpi
