// How the tracer lives in somebody else's process: one argument a section.
//
// 1. Start. An event source starts the session when its runtime starts, on the thread
//    that started it. Nothing is made before: a process that loads us and never starts a
//    runtime (a shell, a launcher) leaves no files, but for the one whose stacks are to be
//    sampled in any case (kSampledProcess). If anything fails, one line
//    goes to stderr and the program runs untraced.
//
// 2. The orderly end: our library's destructor ends the session. A runtime that ends before, in its own
//    destructor, because it is unloaded or by omp_pause_resource_all(), does not: OpenMP may begin again,
//    and other sources go on. Where we were loaded before the runtime
//    (linked, LD_PRELOAD) our destructor comes before its: it asks the runtime to end now
//    (ompt_finalize_tool), so that the last events of its threads are reported. The runtime
//    does then what it would have done a moment later, and starts anew, untraced, should a
//    later destructor use it. It is not asked while another thread of the program's own may
//    be using it: what is a moment without us lasts as long as the archive is written, and
//    the thread would run in a runtime that is torn down. If it does not report that it has ended
//    (exit() inside a parallel region, omp_pause_resource, such a thread), our destructor ends
//    the session itself.
//
// 3. Threads that still run at the end. `recording` is cleared; a thread marks itself
//    busy before it looks at it, so after a barrier in all threads (membarrier) either it
//    sees the end, or we see it busy and wait until it has left. Only then are the files
//    closed. Its later events are counted as lost ("late_thread"); without its mark, or after the end, it touches nothing
//    else of its recorder, which another thread may be closing.
//
// 4. Sudden ends: _exit, abort, a signal, a kill. Nothing of ours runs, and nothing has
//    to: all that was recorded is in the mapped files already; `refrain recover` makes
//    the archive from them. We install no signal handlers. `refrain run` has become the program
//    and cannot report that: a parent of ours in between would be seen by the program (its parent's
//    number, its process group, its wait status). A process that is no relative of the program waits for
//    its end and reports it (tools/command/run_command.cc); a launcher or shell that lives on at
//    its end (run_report.cc); else the next `refrain run` there, and `refrain info`.
//    A handler of SIGSEGV or SIGABRT of the program may come while this thread holds a lock of ours (malloc finds the
//    heap damaged), and end the process or fork: the lock is not taken again. The end is then as after a kill.
//
// 5. fork. The child shares the mapped files with its parent, so it must not write: the
//    child's handler gives them up and turns recording off. The tracer's locks are taken before
//    the fork and released after it, in both: so no other thread, which the child does not
//    have, is in the middle of changing what they protect. Handlers of others that run in
//    between may come to us, on the thread that has the locks (LLVM's runtime starts anew in the
//    child, and reports its thread): nothing is recorded then, and no lock taken. With the child's first parallel
//    region, should there be one, recording begins anew, with an archive of the child's own;
//    the parent's session is never looked at again, locked or not. The child of a
//    process of an MPI job is not part of the job and stays untraced. exec starts afresh, with a
//    session of its own. Children made without handlers (vfork, clone) run only until they
//    exec, and call no OpenMP before.
//
// 6. MPI. Recording ends in MPI_Finalize, the last moment at which processes can communicate; what
//    the program does after it is not traced, and process 0 reports that (parallel
//    regions are counted). It may be called in a destructor that comes after ours (of a C++ singleton in a
//    library): where MPI has not ended, our end waits until all destructors have returned, and
//    nothing that we need then may be destroyed by ours. A process that MPI_Comm_spawn made stays out:
//    it would be a job of its own in the middle of another. One that only uses sessions is
//    not known as a job: its MPI calls are not traced, which it reports at its end.
//
// 7. dlclose. The library asks the loader never to unload it (-z nodelete): the runtime
//    holds pointers to our callbacks until the process ends.
#include "tracer/life/lifecycle.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "filters/settings.h"
#include "tracer/life/archive_at_end.h"
#include "tracer/life/run_report.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/live_filter.h"
#include "tracer/runtime/modules.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/python_places.h"
#include "tracer/runtime/recording_folder.h"
#include "tracer/runtime/session.h"
#include "tracer/runtime/this_thread.h"

extern "C" {
// Of the C++ runtime (Itanium ABI): without a library, `function` is called when the last destructor has returned.
int __cxa_atexit(void (*function)(void*), void* argument, void* library);  // NOLINT
// Where the linker puts what REFRAIN_AT_LOAD() names.
extern const volatile refrain::runtime::AtLoad __start_refrain_at_load[]  // NOLINT
    __attribute__((weak, visibility("hidden")));
extern const volatile refrain::runtime::AtLoad __stop_refrain_at_load[]  // NOLINT
    __attribute__((weak, visibility("hidden")));
}

namespace refrain::runtime {
namespace {

// Never destroyed: MPI may end, and the archive be written, after this library's destructors.
filters::Settings& settings() {
  alignas(filters::Settings) static std::byte room[sizeof(filters::Settings)];
  static filters::Settings& instance = *new (room) filters::Settings;
  return instance;
}

// The session is never destroyed: threads may look at it until the very end.
recorder::HandlerSafeMutex g_start;
std::atomic<unsigned> g_sources{0};  // that feed it, or did
std::atomic<unsigned> g_live{0};     // that still do
std::atomic<bool> g_finished{false};
std::atomic<bool> g_ended{false};
std::atomic<bool> g_job{false};
std::atomic<bool> g_out{false};
std::atomic<bool> g_refused{false};  // there is no recording, which was reported
std::atomic<bool> g_orphan{false};   // a forked child that has no session of its own
// Nothing here may need a constructor: a session may start before those of this library
// (at_load(), below).
std::array<char, 64> g_runtime_name{};
std::atomic<void (*)()> g_end_runtime{nullptr};
std::atomic<void (*)(Session&)> g_start_hook{nullptr};

// Locks of parts that a forked child may go on to use. In the order in which they were named.
constexpr std::size_t kMaxForkLocks = 16;
std::array<std::atomic<recorder::HandlerSafeMutex*>, kMaxForkLocks> g_fork_locks{};
std::atomic<std::size_t> g_fork_lock_count{0};

// One that this thread has already (a handler of SIGSEGV forks, which came while it was held) stays as it is.
bool lock_for_fork(recorder::HandlerSafeMutex& mutex) noexcept {
  if (mutex.is_mine()) return false;
  mutex.lock();
  return true;
}

struct LockedForFork {
  bool start = false;
  bool session = false;
  std::array<bool, kMaxForkLocks> others{};
};
LockedForFork g_locked_for_fork;  // under g_start

void before_fork() {
  LockedForFork locked;
  locked.start = lock_for_fork(g_start);
  if (g_session != nullptr && !g_session->is_changing_here()) {
    g_session->before_fork();
    locked.session = true;
  }
  for (std::size_t i = 0; i != kMaxForkLocks; ++i)
    if (recorder::HandlerSafeMutex* const mutex = g_fork_locks[i].load())
      locked.others[i] = lock_for_fork(*mutex);
  g_locked_for_fork = locked;
  // In the child, handlers of others run before ours: LLVM's runtime reports an initial task in
  // its own, and that would be written over the parent's next record.
  t_thread.put_aside = std::exchange(t_thread.recorder, nullptr);
  t_thread.forks = true;
}

void after_fork() {
  t_thread.forks = false;
  t_thread.recorder = std::exchange(t_thread.put_aside, nullptr);
  const LockedForFork locked = g_locked_for_fork;
  for (std::size_t i = kMaxForkLocks; i-- > 0;)
    if (locked.others[i]) g_fork_locks[i].load()->unlock();
  if (locked.session) g_session->after_fork();
  if (locked.start) g_start.unlock();
}

void in_forked_child() {
  const recorder::LongPath long_path;
  after_fork();
  recorder::forget_descriptors();
  if (g_session == nullptr) return;
  g_session->abandon();
  t_thread = ThisThread{};
  g_orphan.store(!g_job.load());
  g_sources.store(0);
  g_finished.store(true);
  g_ended.store(true);
}

void keep_runtime_name(std::string_view name) noexcept {
  name = name.substr(0, g_runtime_name.size() - 1);
  g_runtime_name = {};
  std::copy(name.begin(), name.end(), g_runtime_name.begin());
}

// A child has its parent's.
void begin_filter(const std::string& path) {
  [[maybe_unused]] static const bool once =
      (lock_at_fork(live_filter_mutex()), lock_at_fork(python_places_mutex()),
       lock_at_fork(modules_mutex()), true);
  begin_live_filter(path);
}

// A recording that cannot start leaves nothing that looks like one that was killed.
void begin_sources(Session& session, const filters::Settings& wanted) {
  try {
    begin_filter(wanted.filter_file);
    if (const auto hook = g_start_hook.load()) hook(session);
  } catch (...) {
    session.folder().remove();
    throw;
  }
}

// Null, and a line on stderr, if it cannot be. Of a forked child: not the parent's archive again,
// and no counters, whose libraries do not go on there.
std::unique_ptr<Session> make_session(const char* runtime_name, bool of_child) noexcept {
  const char* who =
      of_child ? "; the forked process runs untraced" : "; the program runs untraced";
  try {
    filters::Settings wanted = settings();
    if (of_child) wanted.overwrite = false;
    // Not the hook below: libraries of counters may need any stack.
    base::Result<std::unique_ptr<Session>> session = base::Failure{};
    std::exception_ptr problem;
    recorder::on_own_stack([&] {
      try {
        session = Session::create(wanted, runtime_name, !of_child && g_job.load());
      } catch (...) {
        problem = std::current_exception();
      }
    });
    if (problem) std::rethrow_exception(problem);
    if (session) {
      if (!of_child) begin_sources(**session, wanted);
      (*session)->begin();
    }
    if (!of_child) keep_runtime_name(runtime_name);
    if (session) return std::move(*session);
    warn({session.error(), who});
  } catch (const std::exception& problem) {
    warn({"tracing cannot start (", problem.what(), ")", who});
  }
  return nullptr;
}

void write_and_report(Session& session, exchange::Exchange& exchange) noexcept {
  bool written = false;
  try {
    written = write_archive_at_end(session, exchange);
  } catch (const std::exception& problem) {
    warn({"the archive could not be written (", problem.what(), "); 'refrain recover ",
          session.folder().archive(), "' may"});
  }
  if (!written && stderr_is_ours()) session.note_end_reported();
}

// A handler of a signal has interrupted this thread where it holds a lock of ours: what that protects is half done.
bool is_changing_here() noexcept {
  bool mine = g_start.is_mine() || (g_session != nullptr && g_session->is_changing_here());
  for (auto& lock : g_fork_locks) {
    const recorder::HandlerSafeMutex* const mutex = lock.load();
    mine |= mutex != nullptr && mutex->is_mine();
  }
  return mine;
}

bool is_mpi_source() noexcept {
  return (g_sources.load() & static_cast<unsigned>(Source::kMpi)) != 0;
}

// Recording has ended with MPI, the program has not. Process 0 reports it for all.
void report_too_late(std::string_view what) noexcept {
  if (is_mpi_source() && g_session->folder().rank() == 0)
    warn({"nothing is traced after MPI_Finalize: ", what});
}

// A process of a job that never learned its rank: a job of one process.
bool settle_alone() noexcept {
  const std::string archive = make_job_archive();
  return !archive.empty() && join_job(archive, 0, 1);
}

}  // namespace

void stay_out() noexcept { g_out.store(true); }

void run_at_load() noexcept {
  static const bool once = [] {
    for (const volatile AtLoad* part = __start_refrain_at_load;
         part != __stop_refrain_at_load; ++part)
      (*part)();
    return true;
  }();
  (void)once;
}

namespace {

enum class Wanted { kNo, kYes, kCannot };

Wanted read_wanted() noexcept {
  const recorder::OwnCode own_code;
  static const Wanted wanted = [] {
    run_at_load();
    if (g_out.load()) return Wanted::kNo;
    try {
      for (const std::string& line : filters::read_settings(
               settings(), [](const char* name) -> const char* { return getenv(name); }))
        warn({line, "; the default is used"});
      return settings().enabled ? Wanted::kYes : Wanted::kNo;
    } catch (const std::exception& problem) {
      warn({"tracing cannot start (", problem.what(), "); the program runs untraced"});
      return Wanted::kCannot;
    }
  }();
  return wanted;
}

}  // namespace

bool tracing_enabled() noexcept { return read_wanted() == Wanted::kYes; }

bool takes_part() noexcept { return read_wanted() != Wanted::kNo; }

const filters::Settings& wanted_settings() noexcept { return settings(); }

void lock_at_fork(recorder::HandlerSafeMutex& mutex) noexcept {
  const std::size_t index = g_fork_lock_count.fetch_add(1);
  if (index < kMaxForkLocks) g_fork_locks[index].store(&mutex);
}

Session* start_session(Source source, const char* runtime_name) noexcept {
  const recorder::SlowPath slow_path;
  // Where a handler of fork has started a runtime, the lock is this thread's.
  std::unique_lock lock(g_start, std::defer_lock);
  if (!t_thread.forks) lock.lock();
  const auto bit = static_cast<unsigned>(source);
  if (g_finished.load() && g_session != nullptr) report_too_late("OpenMP starts then");
  if ((g_live.load() & bit) != 0 || g_finished.load()) return nullptr;
  if (g_session == nullptr) {
    std::unique_ptr<Session> session =
        make_session(runtime_name == nullptr ? "" : runtime_name, false);
    if (session == nullptr) {
      g_refused.store(true);
      return nullptr;
    }
    lock_at_fork(recorder::descriptor_lock());
    pthread_atfork(before_fork, after_fork, in_forked_child);
    g_session = session.release();
  } else if (runtime_name != nullptr) {
    g_session->put_fact(nullptr, spool::kTextRuntime, runtime_name);
  }
  g_sources.fetch_or(bit);
  g_live.fetch_or(bit);
  return g_session;
}

bool start_in_child(Source source) noexcept {
  if (!g_orphan.exchange(false)) return false;
  const recorder::SlowPath slow_path;
  std::unique_ptr<Session> session = make_session(g_runtime_name.data(), true);
  if (session == nullptr) return false;
  g_session = session.release();
  g_sources.store(static_cast<unsigned>(source));
  g_live.store(static_cast<unsigned>(source));
  g_finished.store(false);
  g_ended.store(false);
  return true;
}

void set_start_hook(void (*hook)(Session&)) noexcept { g_start_hook.store(hook); }

void source_ended(Source source) noexcept {
  g_live.fetch_and(~static_cast<unsigned>(source));
}

void expect_job() noexcept { g_job.store(true); }

std::string make_job_archive() noexcept {
  if (g_session == nullptr) return {};
  try {
    const filters::Settings& wanted = g_session->settings();
    const auto make =
        wanted.spool_dir.empty() ? make_archive_folder : make_bare_archive_folder;
    const recorder::NoLowDescriptors no_low_descriptors;
    const auto folder = make(g_session->folder().wanted(), wanted.overwrite);
    if (folder) return folder->archive;
    warn({folder.error(), "; the job runs untraced"});
  } catch (const std::exception& problem) {
    warn({"tracing cannot start (", problem.what(), "); the job runs untraced"});
  }
  return {};
}

bool join_job(const std::string& archive, std::uint32_t rank, std::uint32_t size) noexcept {
  if (g_session == nullptr) return false;
  std::array<char, 64> who{};
  std::snprintf(who.data(), who.size(), "; process %u is not traced", rank);
  try {
    const auto settled =
        archive.empty() ? base::Failure{"-"} : g_session->settle(archive, rank, size);
    if (settled) return true;
    if (!archive.empty()) warn({settled.error(), who.data()});
  } catch (const std::exception& problem) {
    warn({problem.what(), who.data()});
  }
  finish_recording();
  g_session->folder().discard();
  g_ended.store(true);
  return false;
}

void finish_recording() noexcept {
  if (const recorder::FrameMark here; t_thread.recorder != nullptr)
    t_thread.recorder->free_if_left(here);
  if (g_session != nullptr && !g_finished.exchange(true)) g_session->finish();
}

bool has_job_archive() noexcept { return g_session != nullptr && !g_ended.load(); }

void write_job_archive(exchange::Exchange& exchange) noexcept {
  if (exchange.rank() == 0) {
    g_ended.store(true);
    return write_and_report(*g_session, exchange);
  }
  try {
    take_part_in_archive(exchange);
  } catch (const std::exception&) {
    // Process 0 reports it.
  }
}

void set_runtime_end(void (*end_runtime)()) noexcept { g_end_runtime.store(end_runtime); }

namespace {
void end(Session* session) noexcept {
  if (is_changing_here()) {
    session->note_exit();
    if (stderr_is_ours()) session->note_end_reported();
    return warn({"the process ends while it is being traced; 'refrain recover ",
                 session->folder().archive(), "' makes the archive"});
  }
  if (!session->folder().settled()) {
    g_ended.store(false);
    if (!settle_alone()) return;
    g_ended.store(true);
  }
  finish_recording();
  if (session->folder().size() == 1) {
    exchange::Alone alone;
    return write_and_report(*session, alone);
  }
  // The others may still run: only MPI_Finalize brings them together.
  warn({"MPI_Finalize was not called; 'refrain recover ", session->folder().archive(),
        "' makes the archive when all processes have ended"});
}
}  // namespace

void end_session() noexcept {
  const recorder::LongPath long_path;
  Session* const session = g_session;
  // A process of a job that has finished its part leaves the archive to process 0.
  if (session == nullptr || g_finished.load() || g_ended.exchange(true)) return;
  recorder::on_large_stack([session] { end(session); });
}

namespace {
__attribute__((constructor(1000))) void at_load() { run_at_load(); }

// A destructor of a library of the program may still end MPI.
bool mpi_goes_on() noexcept {
  return is_mpi_source() && g_session->folder().settled() && !g_finished.load();
}

// After all destructors.
void at_last(void*) {
  if (!g_ended.load()) end_session();
}

void end_process() {
  if (g_session == nullptr) {
    if (!g_refused.load() && !report_untraced(g_job.load())) report_run(false);
    return;
  }
  if (const std::uint64_t regions = g_session->state().missed_regions(); regions != 0) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%" PRIu64 " parallel regions", regions);
    report_too_late(text.data());
  }
  if (g_ended.load()) return;
  if (const auto end_runtime = g_end_runtime.exchange(nullptr)) end_runtime();
  if (!mpi_goes_on() || __cxa_atexit(at_last, nullptr, nullptr) != 0) end_session();
}

__attribute__((destructor)) void at_unload() {
  const bool recorded = g_session != nullptr;
  end_process();
  if (recorded) report_untraced(g_job.load());
  if (recorded) report_run(true);
  report_orderly_end();
}
}  // namespace

}  // namespace refrain::runtime

namespace refrain::sampler {

// Starts the session of a program that nothing else starts: one that `refrain run --loops`, `--files` or `--memory` has become,
// whether it is parallel or not, but for a shell and for what starts another program (timeout, env): that one is recorded, if it is
// the same process or a child. The main thread is recorded then, from before main on.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Children that it starts are left to their own event
// sources: a launcher or a shell makes many that nobody asked for.

namespace {

// The variable with the number of the process that is to be sampled in any case (tools/command/run_command.cc).
constexpr const char* kSampledProcess = "REFRAIN_SAMPLED_PROCESS";

// The path of its program, which needs `room`; empty: not known.
std::string_view program_of(pid_t process, std::array<char, PATH_MAX>& room) noexcept {
  std::array<char, 32> link;
  std::snprintf(link.data(), link.size(), "/proc/%d/exe", process);
  const ssize_t length = readlink(link.data(), room.data(), room.size());
  return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length))};
}

template <std::size_t kNames>
bool is_one_of(std::string_view path,
               const std::array<std::string_view, kNames>& names) noexcept {
  return std::ranges::find(names, path.substr(path.rfind('/') + 1)) != names.end();
}

// A shell does what its script says: the archive's name is for the programs that it starts.
bool is_shell(pid_t process) noexcept {
  constexpr std::array<std::string_view, 6> kShells{"bash", "busybox", "dash",
                                                    "ksh",  "sh",      "zsh"};
  std::array<char, PATH_MAX> room;
  return is_one_of(program_of(process, room), kShells);
}

// Starts the program that its arguments name, and does nothing else: some become it, for some it is a child. One of these names
// elsewhere may be the user's own program.
bool is_wrapper(pid_t process) noexcept {
  constexpr std::array<std::string_view, 17> kWrappers{
      "chrt",   "env",     "gdb",     "ionice",  "ltrace",  "nice",
      "nohup",  "numactl", "perf",    "prlimit", "setarch", "setsid",
      "stdbuf", "strace",  "taskset", "time",    "timeout"};
  std::array<char, PATH_MAX> room;
  const std::string_view path = program_of(process, room);
  return (path.starts_with("/usr/") || path.starts_with("/bin/") ||
          path.starts_with("/opt/")) &&
         is_one_of(path, kWrappers);
}

// 0: not known.
pid_t parent_of(pid_t process) noexcept {
  if (process == getpid()) return getppid();
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", process);
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 512> text;
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  if (length <= 0) return 0;
  // "number (name) state parent ...", of which the name may have anything in it.
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  const std::size_t at = all.rfind(") ");
  pid_t parent = 0;
  if (at != std::string_view::npos && at + 4 < all.size())
    std::from_chars(all.data() + at + 4, all.data() + all.size(), parent);
  return parent;
}

// It, or the program that wrappers in it have started.
bool is_it_or_wrapped(pid_t process) noexcept {
  constexpr int kMostWrappers = 4;
  pid_t at = getpid();
  for (int i = 0; at > 1 && at != process; ++i) {
    at = parent_of(at);
    if (i == kMostWrappers || at <= 1 || !is_wrapper(at)) return false;
  }
  return at == process;
}

// Before anything is allocated: what the C++ library keeps for exceptions without memory comes first.
bool is_meant() noexcept {
  const char* const text = std::getenv(kSampledProcess);
  if (text == nullptr ||
      (std::getenv("REFRAIN_LOOPS") == nullptr && std::getenv("REFRAIN_FILES") == nullptr &&
       std::getenv("REFRAIN_MEMORY") == nullptr))
    return false;
  const std::string_view word = text;
  pid_t process = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), process);
  return read.ec == std::errc{} && is_it_or_wrapped(process) && !is_shell(getpid()) &&
         !is_wrapper(getpid());
}

// After what the other parts of the library do when they are loaded, for theirs have a priority.
__attribute__((constructor)) void at_load() {
  if (!is_meant() || !runtime::tracing_enabled()) return;
  const filters::Settings& settings = runtime::wanted_settings();
  if (!settings.record_serial_programs()) return;
  // No slow path around both: the clock is chosen in the first.
  if (runtime::start_session(runtime::Source::kSamples, nullptr) != nullptr)
    runtime::attach_thread(spool::kRoleRoot, false);
}

}  // namespace

}  // namespace refrain::sampler
