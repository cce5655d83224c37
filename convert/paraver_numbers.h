// The numbers of MPI calls, counters and states in Paraver's configurations.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after paraver_sink.h. Pure.
// Source: the event types that Extrae's merger writes; calls unknown to it have no number.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::convert {

inline constexpr std::uint32_t kParaverInit = 31;  // MPI_Init

// "MPI_Send": 1. 0: none.
std::uint32_t paraver_mpi_call(std::string_view procedure);

// Event type of a counter: PAPI's presets by their code, others by a hash of the name.
std::uint32_t paraver_counter(const std::string& name);

// The classes of calls are event types 50000001 and following.
enum class MpiClass : std::uint8_t {
  kPointToPoint = 1,
  kCollective,
  kOther,
  kOneSided,
  kIo
};
struct MpiCall {
  MpiClass cls = MpiClass::kOther;
  std::uint32_t state = 15;
};
MpiCall classify_mpi(std::string_view procedure, OTF2_RegionRole role);

}  // namespace refrain::convert
