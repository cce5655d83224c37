// What the wrappers ask MPI about its objects: local, and only about objects that a successful call
// of the program has just used.
//
// Place in the flow: ARCHITECTURE.md, step 2.
#pragma once

#include <cstdint>

#include "tracer/mpi/mpi_header.h"

#pragma weak PMPI_Type_size_x

namespace refrain::mpi {

// Bytes of one element. The size of a predefined type is in its handle (MPICH's ABI: mpi.h).
inline std::uint64_t type_bytes(MPI_Datatype type) noexcept {
  const auto bits = static_cast<std::uint32_t>(type);
  constexpr std::uint32_t kBasic = 0x4c000000;
  if ((bits & 0xff000000) == kBasic) [[likely]]
    return bits >> 8 & 0xff;
  if (type == MPI_DATATYPE_NULL) return 0;
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

inline std::uint64_t data_bytes(MPI_Count count, MPI_Datatype type) noexcept {
  return count > 0 ? static_cast<std::uint64_t>(count) * type_bytes(type) : 0;
}

// Bytes of the message that a status is of, and whether the operation was cancelled: MPICH
// keeps both in two words of the status (mpi.h; MPI_Get_count and MPI_Test_cancelled read
// them).
inline std::uint64_t status_bytes(const MPI_Status& status) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(status.count_hi_and_cancelled)} >>
             1 << 32 |
         static_cast<std::uint32_t>(status.count_lo);
}
inline bool status_cancelled(const MPI_Status& status) noexcept {
  return (status.count_hi_and_cancelled & 1) != 0;
}

}  // namespace refrain::mpi
