// What the wrappers ask MPI about its objects: local, and only about objects that a successful call
// of the program has just used.
//
// Place in the flow: ARCHITECTURE.md, stage 2.
#pragma once

#include <cstdint>

#include "tracer/mpi/mpi_header.h"

namespace refrain::mpi {

// Bytes of one element.
inline std::uint64_t type_bytes(MPI_Datatype type) noexcept {
  if (const std::int64_t bytes = bytes_in_handle(type); bytes >= 0) [[likely]]
    return static_cast<std::uint64_t>(bytes);
  if (type == MPI_DATATYPE_NULL) return 0;
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

inline std::uint64_t data_bytes(MPI_Count count, MPI_Datatype type) noexcept {
  return count > 0 ? static_cast<std::uint64_t>(count) * type_bytes(type) : 0;
}

}  // namespace refrain::mpi
