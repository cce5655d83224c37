#include "tracer/life/run_report.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "filters/settings.h"
#include "spool/left_spools.h"
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

void report() {
  const char* text = std::getenv("REFRAIN_RUN");
  Run run;
  if (text == nullptr || !read_run(text, run) || !speaks_for_job() || !wanted() ||
      wanted_settings().quiet)
    return;
  const spool::FoundArchives found =
      spool::find_archives(wanted_settings().archive, run.folder, run.since);
  if (!found.left.empty()) {
    const std::string& left = found.left.front();
    const std::string_view why = "' has no archive because its processes were killed: ";
    return warn({"the recording in '", left, why, "'refrain recover ", left,
                 "' makes the archive"});
  }
  if (found.any) return;
  if (had_children(run))
    return warn(
        "no archive: no process of the command used OpenMP, MPI (MPICH, Open MPI) or regions of "
        "refrain.h, or those that did are statically linked");
  warn(
      "no archive: the program used no OpenMP and no MPI, and has no regions of its own "
      "(refrain.h)");
}

}  // namespace

void report_run() noexcept {
  const recorder::LongPath long_path;
  try {
    report();
  } catch (const std::exception&) {
  }
}

}  // namespace refrain::runtime
