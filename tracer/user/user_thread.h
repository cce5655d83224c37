// The user source's state of a thread, and how the tracer gets to threads and programs that have
// neither OpenMP nor MPI.
//
// Place in the flow: ARCHITECTURE.md, stage 2.
// Reentrancy: a thread's first event may come from a signal handler that interrupts the making
// of its recorder; it is not recorded then. Cost: ready() a load and a branch.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/this_thread.h"

namespace refrain::user {

struct UserThread {
  bool starting = false;  // is in make_ready()
  bool refused = false;   // there is no recorder for it
  bool asked = false;     // true if it is the main one
  bool main = false;
  std::uint32_t skipped = 0;  // begins that were not recorded: the stack was full
  std::uint32_t pushed = 0;   // of Kokkos, and open: what it ends without a name
};

// As runtime::t_thread.
extern constinit thread_local UserThread t_user __attribute__((tls_model("initial-exec")));

// Starts the session if nothing else has, and gives the thread its recorder; the main thread takes the place of a primary
// one that has ended.
bool make_ready() noexcept;
inline bool ready() noexcept {
  return (runtime::t_thread.recorder != nullptr &&
          !runtime::g_session->primary().vacant()) ||
         make_ready();
}

// The thread that the process began with.
bool is_main_thread() noexcept;

// Returns true if the thread does the same here in every run, so that it may be a symbol: outside of all
// teams, or as the first member of an outermost one.
bool in_order(const recorder::ThreadRecorder& recorder) noexcept;
// Returns true if it feeds the agent here, which it may come to do now.
bool feeds(recorder::ThreadRecorder& recorder) noexcept;

// A thread outside of all teams comes to the primary thread's epoch and does what was decided.
inline void keep_up(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  runtime::g_session->look_at_window(recorder, ticks);
  const std::uint64_t epoch = runtime::g_session->epoch();
  if (epoch == recorder.epoch() || runtime::g_session->primary().is(&recorder)) return;
  runtime::g_session->reach_epoch(recorder, epoch, ticks);
}

// Returns true if a region of the user's may begin: the stack has room. Counts `skipped`.
bool may_begin(recorder::ThreadRecorder& recorder) noexcept;

// Regions and parameters that the program reports, as records and symbols: what refrain.h's functions and Kokkos' do
// once a thread is ready.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Each takes the calling thread's recorder, entered (runtime::Scope).
// Numbers: of spool/format.h. Errors: what cannot be recorded is counted as lost. Thread-safety: any thread.

struct RegionId {
  std::uint32_t region = 0;  // name, file and line
  std::uint32_t name = 0;    // begins and ends are matched by it; 0: there is none
};

// `construct`: of Kokkos, "parallel_for". Cost: a hash of the texts; a new one allocates, and goes to the journal.
RegionId region_of(const recorder::ThreadRecorder& recorder, std::string_view name,
                   std::string_view file, std::uint32_t line,
                   std::string_view construct = {}) noexcept;
std::uint32_t parameter_of(const recorder::ThreadRecorder& recorder,
                           std::string_view name) noexcept;

void begin_region(recorder::ThreadRecorder& recorder, RegionId id) noexcept;
void end_region(recorder::ThreadRecorder& recorder, std::uint32_t name) noexcept;
// The name of the innermost open region that the thread may end here; 0: there is none.
std::uint32_t innermost_region(const recorder::ThreadRecorder& recorder) noexcept;

void put_parameter(recorder::ThreadRecorder& recorder, std::uint32_t parameter,
                   std::int64_t value) noexcept;
void put_parameter(recorder::ThreadRecorder& recorder, std::uint32_t parameter,
                   std::string_view value) noexcept;

}  // namespace refrain::user
