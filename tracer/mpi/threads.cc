#include "tracer/mpi/threads.h"

#include <sched.h>

namespace refrain::mpi {

bool g_threads_multiple = false;
std::atomic_flag g_tables_busy = ATOMIC_FLAG_INIT;

// The holder may be waiting for our core.
void TablesLock::pause() noexcept { sched_yield(); }

}  // namespace refrain::mpi
