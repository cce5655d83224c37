// Keeps the tables of the wrappers whole where several threads call MPI at a time.
//
// MPI says at its start whether they may (MPI_THREAD_MULTIPLE); if not, calls follow each other and
// nothing is locked.
#pragma once

#include <atomic>

namespace refrain::mpi {

extern bool g_threads_multiple;  // set once, by MPI_Init_thread, before other threads call
extern std::atomic_flag g_tables_busy;

// Held for some tens of nanoseconds, never while MPI is called.
class TablesLock {
 public:
  TablesLock() noexcept {
    if (!g_threads_multiple) [[likely]]
      return;
    // Acquire: pairs with the release below.
    while (g_tables_busy.test_and_set(std::memory_order_acquire)) pause();
  }
  ~TablesLock() {
    if (g_threads_multiple) [[unlikely]]
      g_tables_busy.clear(std::memory_order_release);
  }
  TablesLock(const TablesLock&) = delete;
  TablesLock& operator=(const TablesLock&) = delete;

 private:
  static void pause() noexcept;
};

}  // namespace refrain::mpi
