// Set when a table of messages, requests or communicators could not grow: no memory.
//
// Numbers of messages, and identities of communicators, follow from those before: from there on they are
// not what other processes have, and that is reported to the journal before it is closed (kTextTaken).
// Thread-safety: any thread.
#pragma once

#include <atomic>

namespace refrain::mpi {

inline std::atomic<bool> g_tables_failed{false};

}  // namespace refrain::mpi
