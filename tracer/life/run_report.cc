#include "tracer/life/run_report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "base/watch_socket.h"
#include "filters/settings.h"
#include "spool/spool_folder.h"
#include "tracer/life/lifecycle.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/notices.h"

namespace refrain::runtime {
namespace {

struct Run {
  std::int64_t pid = 0;
  std::int64_t since = 0;   // seconds of the epoch
  std::int64_t faults = 0;  // of children that `refrain run` itself had
  std::string folder;
};

// False: it is of another process, or damaged.
bool read_run(std::string_view text, Run& run) {
  for (std::int64_t* value : {&run.pid, &run.since, &run.faults}) {
    const auto [at, wrong] =
        std::from_chars(text.data(), text.data() + text.size(), *value);
    if (wrong != std::errc() || at == text.data() + text.size() || *at != ' ') return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  }
  run.folder = text;
  return run.pid == getpid();
}

// Of those that it has waited for.
bool had_children(const Run& run) {
  rusage usage{};
  return getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_minflt > run.faults;
}

// False: it is of another process.
bool is_of_run(Run& run) {
  const char* text = std::getenv("REFRAIN_RUN");
  return text != nullptr && read_run(text, run);
}

// Else the watch does, which has a stderr of its own: some programs (timeout) close theirs at their end.
bool can_speak() noexcept { return fcntl(STDERR_FILENO, F_GETFD) >= 0; }

bool already_said() { return std::getenv("REFRAIN_SAID") != nullptr; }

bool uses_mpi() noexcept {
  using Initialized = int (*)(int*);
  const auto initialized =
      reinterpret_cast<Initialized>(dlsym(RTLD_DEFAULT, "PMPI_Initialized"));
  dlerror();
  int flag = 0;
  return initialized != nullptr && initialized(&flag) == 0 && flag != 0;
}

// LLVM's runtime is loaded, and has not asked for us.
bool without_tools() {
  const char* const wanted = std::getenv("OMP_TOOL");
  const bool off =
      wanted != nullptr && *wanted != 0 && std::string_view(wanted) != "enabled";
  const bool loaded = off && dlsym(RTLD_DEFAULT, "__kmpc_fork_call") != nullptr;
  dlerror();
  return loaded;
}

void report(bool recorded) {
  Run run;
  if (!is_of_run(run) || !speaks_for_job() || !tracing_enabled() ||
      wanted_settings().quiet || !can_speak())
    return;
  const spool::FoundArchives found =
      spool::find_archives(wanted_settings().archive, run.folder, run.since);
  if (!found.left.empty()) return warn(spool::line_about_left(found.left));
  if (recorded || found.any || already_said()) return;
  const char* const watch = std::getenv("REFRAIN_WATCH");
  if (had_children(run) && watch != nullptr)  // one of them may have said why
    return base::tell_watch_socket(watch, base::WatchMessage::kNothing);
  if (had_children(run))
    return warn(
        {"no archive: no process of the command used OpenMP, MPI (MPICH, Open MPI) or regions of "
         "refrain.h, or those that did are statically linked",
         wanted_settings().record_serial_programs()
             ? "; a serial program of a script is recorded only where the shell "
               "becomes it (exec PROGRAM)"
             : ""});
  if (without_tools())
    return warn(
        {"no archive: OMP_TOOL is '", std::getenv("OMP_TOOL"),
         "' in the program's environment, so OpenMP was not traced, and the program was not "
         "seen to use MPI or regions of refrain.h; refrain run sets it to 'enabled'"});
  const bool threads = wanted_settings().threads;
  warn(
      {"no archive: the program was not seen to use OpenMP, MPI",
       threads ? ", regions of refrain.h or threads of its own"
               : " or regions of refrain.h",
       " (a runtime that is linked into it statically, or that it opens with RTLD_DEEPBIND, is "
       "not seen",
       threads ? ")" : "; --threads records its own threads, --loops samples it)"});
}

}  // namespace

bool report_untraced(bool mpi_is_traced) noexcept {
  if (!speaks_for_job() || !tracing_enabled() || wanted_settings().quiet || already_said())
    return false;
  bool said = false;
  if (const char* const runtime = untraced_runtime(); runtime != nullptr) {
    said = true;
    warn({"parallel regions of ", runtime,
          " were not traced because it has no tools interface: use LLVM's runtime in its "
          "place (refrain run, or LD_PRELOAD=librefrain.so:libomp.so.5), or build with "
          "clang"});
  }
  if (!mpi_is_traced && uses_mpi()) {
    said = true;
    warn(
        "MPI was not traced because the command was not recognized as an MPI program: use "
        "'mpirun -n N "
        "refrain run -- PROGRAM', or 'refrain run --mpi mpich' (openmpi), traces it; without "
        "refrain run, librefrain_mpich.so (librefrain_openmpi.so)");
  }
  if (const char* const watch = std::getenv("REFRAIN_WATCH"); said && watch != nullptr)
    base::tell_watch_socket(watch, base::WatchMessage::kSaid);
  return said;
}

void report_orderly_end() noexcept {
  Run run;
  const char* const watch = std::getenv("REFRAIN_WATCH");
  const recorder::LongPath long_path;
  try {
    if (watch != nullptr && is_of_run(run) && can_speak())
      base::tell_watch_socket(watch, base::WatchMessage::kEnded);
  } catch (const std::exception&) {
  }
}

void report_run(bool recorded) noexcept {
  const recorder::LongPath long_path;
  try {
    report(recorded);
  } catch (const std::exception&) {
  }
}

}  // namespace refrain::runtime
