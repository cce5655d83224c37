#include "tracer/mpi/threads.h"

#include <sched.h>

#include "base/hot_data.h"

namespace refrain::mpi {

constinit REFRAIN_HOT_DATA bool g_threads_multiple = false;
std::atomic_flag g_tables_busy = ATOMIC_FLAG_INIT;

// The holder may be waiting for our core.
void TablesLock::pause() noexcept { sched_yield(); }

}  // namespace refrain::mpi
