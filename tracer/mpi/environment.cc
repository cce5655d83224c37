#include "tracer/mpi/environment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "tracer/mpi/call.h"
#include "tracer/mpi/communicator_calls.h"
#include "tracer/mpi/mpi_header.h"
#include "tracer/mpi/threads.h"
#include "tracer/recorder/keep_errno.h"
#include "tracer/runtime/lifecycle.h"

#pragma weak PMPI_Init
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Bcast
#pragma weak PMPI_Barrier
#pragma weak PMPI_Query_thread
#pragma weak PMPI_Get_library_version

namespace refrain::mpi {

using runtime::g_session;
using runtime::t_thread;

namespace {

bool g_world = false;  // this process is one of a job, and its files are in the archive

// Rank 0 has made the folder; an empty name says that it could not.
std::string agree_on_archive(int rank) {
  std::array<char, 4096> name{};
  if (rank == 0) {
    const std::string made = runtime::make_job_archive();
    if (made.size() < name.size()) std::copy(made.begin(), made.end(), name.begin());
  }
  if (PMPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD) !=
      MPI_SUCCESS)
    return {};
  return name.data();
}

void tell_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (PMPI_Get_library_version(text.data(), &length) == MPI_SUCCESS)
    g_session->put_fact(t_thread.recorder, spool::kTextMpi,
                        std::string_view(text.data(), static_cast<std::size_t>(length)));
  std::string names;
  for (const ProcedureInfo& procedure : kProcedureTable)
    names += std::to_string(procedure.number) + " " + procedure.name + "\n";
  g_session->put_fact(t_thread.recorder, spool::kTextProcedures, names);
}

}  // namespace

bool start_tracing() noexcept {
  if (PMPI_Init == nullptr || !runtime::wanted()) return false;
  const recorder::KeepErrno keep_errno;
  if (runtime::start_session(runtime::Source::kMpi, nullptr) == nullptr) return false;
  g_tracing.store(true);
  return true;
}

void Init::after(int result) noexcept {
  if (!g_tracing.load() || g_world) return;
  const recorder::KeepErrno keep_errno;
  try {
    int rank = 0;
    int size = 1;
    if (result != MPI_SUCCESS || PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        PMPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS) {
      g_tracing.store(false);
      return;
    }
    const std::string archive = agree_on_archive(rank);
    g_world = runtime::join_job(archive, static_cast<std::uint32_t>(rank),
                                static_cast<std::uint32_t>(size));
    g_tracing.store(g_world);
    if (!g_world) return;
    tell_library();
    enter_world(MPI_COMM_WORLD);
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    g_threads_multiple = level == MPI_THREAD_MULTIPLE;
  } catch (const std::exception&) {
    g_tracing.store(false);
  }
}

Finalize::Finalize(Call&) noexcept {
  if (!g_world) return;
  const recorder::KeepErrno keep_errno;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  g_tracing.store(false);
  g_world = false;
  runtime::finish_recording();
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) runtime::write_job_archive();
}

namespace {
__attribute__((constructor)) void at_load() {
  if (PMPI_Init == nullptr) return;
  runtime::expect_job();
  redirect_fortran_library();
}
}  // namespace

}  // namespace refrain::mpi
