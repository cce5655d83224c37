// Start and end of recording in a process. See lifecycle.cc for what is argued there.
//
// Thread-safety: start_session() and end_session() from any thread, once each; tracing_enabled()
// before anything else. Not for signal handlers.
#pragma once

#include <cstdint>
#include <string>

#include "exchange/exchange.h"

namespace refrain::filters {
struct Settings;
}
namespace refrain::recorder {
class HandlerSafeMutex;
}

namespace refrain::runtime {

class Session;

// Returns true if tracing is enabled in this process, by the settings, which it reads; warns about invalid ones.
bool tracing_enabled() noexcept;
// Returns true if it belongs to those of its job that are traced: also if it could not read its settings (no
// memory) and is not traced itself.
bool takes_part() noexcept;
// What they say, after tracing_enabled().
const filters::Settings& wanted_settings() noexcept;
// This process shall not be, whatever the settings say. When the library is loaded.
void stay_out() noexcept;

// Who feeds the session.
enum class Source : unsigned { kOpenMp = 1, kMpi = 2, kUser = 4, kSamples = 8 };

// Starts recording, or joins what another source has started; null if that cannot be (reported on
// stderr), or if `source` feeds it already. The session lives until the process ends.
Session* start_session(Source source, const char* runtime_name) noexcept;
// In the forked child of a process that was recorded, on its only thread, which has no recorder:
// starts a recording of its own, with `source`. False in any other process, if it has been
// called before, or if it cannot be (reported).
bool start_in_child(Source source) noexcept;
// Called with a session that has just been made, before a thread has a recorder. Set when the library
// is loaded.
void set_start_hook(void (*hook)(Session&)) noexcept;
// A lock that is taken before every fork and released after it, so that the child finds complete
// what it protects: one that is locked for moments only, and never while another of these or the
// session's is taken. Before the first session starts, or when the part that has it begins; at most
// 16. `mutex` must live for ever.
void lock_at_fork(recorder::HandlerSafeMutex& mutex) noexcept;

// No more events of this source, unless it starts again; those of others go on.
void source_ended(Source source) noexcept;

// --- Jobs of several processes, for the MPI source. In this order:

// The program has an MPI library: its number is not known before MPI_Init. When the library
// is loaded.
void expect_job() noexcept;
// Process 0: makes the archive's directory. Its path; empty if it cannot be (reported).
std::string make_job_archive() noexcept;
// All: this is process `rank` of `size`, its files belong into `archive`. False if it cannot be
// (reported); then the process is not traced.
bool join_job(const std::string& archive, std::uint32_t rank, std::uint32_t size) noexcept;
// All, before MPI ends: nothing is recorded from here on, the files are complete.
void finish_recording() noexcept;
// Process 0, when all have done so: whether there is an archive to be written.
bool has_job_archive() noexcept;
// All, if process 0 said so; also those that were not traced.
void write_job_archive(exchange::Exchange& exchange) noexcept;

// Ends the runtime that feeds the session, so that its last events come: called once, when the process
// ends and the runtime has not reported its own end. Set by the event source that starts the session.
void set_runtime_end(void (*end_runtime)()) noexcept;

// Ends recording and writes the archive, unless the process is one of several: then only
// write_job_archive() does that. Idempotent.
void end_session() noexcept;

}  // namespace refrain::runtime

// What parts of the library do before anything of it is used.
//
// Place in the flow: when the library is loaded; earlier, if a library of the program whose constructors come first (those of
// the program's own libraries do) starts OpenMP or calls MPI in one of them. So no part relies on a constructor.
// Thread-safety: once. They allocate nothing, and know no setting yet.

namespace refrain::runtime {

using AtLoad = void (*)();

// Calls them all, the first time.
void run_at_load() noexcept;

}  // namespace refrain::runtime

// `function` is one of them. At namespace scope.
#define REFRAIN_AT_LOAD(function)                                                \
  [[gnu::used,                                                                   \
    gnu::section("refrain_at_load")]] constinit const ::refrain::runtime::AtLoad \
      kAtLoad_##function = function
