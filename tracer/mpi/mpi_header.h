// <mpi.h> of the MPI library that the wrappers are built for, the C part of it, and what its ABI says that the
// standard does not: numbers of handles, sizes of predefined types, the inside of a status.
//
// Place in the flow: ARCHITECTURE.md, stage 2. The only file that knows which MPI it is: MPICH's ABI (libmpich.so.12) or
// Open MPI's (libmpi.so.40). What the ABI of MPI-4 (libmpi_abi.so) asks for, see procedures.tsv.
// Its declarations get default visibility, so that the program finds our definitions.
#pragma once

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0  // programs that were built long ago call them
#pragma GCC visibility push(default)
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop

#include <cstdint>
#include <type_traits>

#include "tracer/mpi/communicators.h"

#pragma weak PMPI_Type_size_x

#if defined(OPEN_MPI)
// Predefined objects are variables of the library. Weak: a process that loads us need not have it.
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_group_null
#pragma weak ompi_mpi_group_empty
#pragma weak ompi_request_null
#pragma weak ompi_message_no_proc
#pragma weak ompi_mpi_errhandler_null
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_char
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_uint64_t
#pragma weak ompi_mpi_op_min
#pragma weak ompi_mpi_op_no_op
#endif

namespace refrain::mpi {

template <typename Object>
Handle handle_of(Object object) noexcept {
  if constexpr (std::is_pointer_v<Object>)
    return reinterpret_cast<Handle>(object);
  else
    return static_cast<std::uint32_t>(object);
}

#if defined(OPEN_MPI)

// For people, and how srun starts its processes.
inline constexpr const char* kMpiTitle = "Open MPI";
inline constexpr const char* kSrunCommand = "srun --mpi=pmix";
inline constexpr bool kEndsWithoutPmix = true;  // where srun starts it

// Bytes of one element, where the handle says them; else negative.
inline std::int64_t bytes_in_handle(MPI_Datatype) noexcept { return -1; }

// Bytes of the message that a status is of, and whether the operation was cancelled, as MPI_Get_count and
// MPI_Test_cancelled read them (mpi.h).
inline std::uint64_t status_bytes(const MPI_Status& status) noexcept {
  return status._ucount;
}
inline bool status_cancelled(const MPI_Status& status) noexcept {
  return status._cancelled != 0;
}

#else

inline constexpr const char* kMpiTitle = "MPICH";
inline constexpr const char* kSrunCommand = "srun --mpi=pmi2";
inline constexpr bool kEndsWithoutPmix = false;

inline std::int64_t bytes_in_handle(MPI_Datatype type) noexcept {
  const auto bits = static_cast<std::uint32_t>(type);
  constexpr std::uint32_t kBasic = 0x4c000000;
  return (bits & 0xff000000) == kBasic ? std::int64_t{bits >> 8 & 0xff} : -1;
}

// In two words of the status.
inline std::uint64_t status_bytes(const MPI_Status& status) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(status.count_hi_and_cancelled)} >>
             1 << 32 |
         static_cast<std::uint32_t>(status.count_lo);
}
inline bool status_cancelled(const MPI_Status& status) noexcept {
  return (status.count_hi_and_cancelled & 1) != 0;
}

#endif

// What the wrappers ask MPI about its objects: local, and only about objects that a successful call
// of the program has just used.

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
