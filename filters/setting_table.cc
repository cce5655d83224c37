#include <algorithm>

#include "filters/settings.h"

namespace refrain::filters {
namespace {

using enum SettingType;

// Not for the formatter, which breaks texts into pieces.
// clang-format off
constexpr SettingInfo kTable[] = {
    {.name = "enabled", .type = kBool, .field = &Settings::enabled,
     .range = "yes or no",
     .one_line = "trace the program",
     .long_text =
         "If no, the library is loaded and does nothing."},
    {.name = "limit", .type = kCount, .field = &Settings::limit,
     .unit = "iterations", .range = "0 or more",
     .one_line = "iterations to write of each loop",
     .long_text =
         "The first N iterations of a loop are written. "
         "Later ones are only marked and timed, until the program does something new. "
         "0 writes everything.",
     .maximum = 1e15},
    {.name = "archive", .type = kText, .field = &Settings::archive,
     .range = "path",
     .one_line = "directory of the archive (default: refrain-<program>-<date>)",
     .long_text =
         "Empty: refrain-<program>-<date> in the directory where the program starts. "
         "An existing directory is not replaced: the next free of NAME.2, NAME.3, ... "
         "is taken."},
    {.name = "spool_dir", .type = kText, .field = &Settings::spool_dir,
     .range = "path",
     .one_line = "node-local directory for raw trace data",
     .long_text =
         "Empty: in the directory of the archive. "
         "For jobs whose archive is on a shared file system: /tmp, $TMPDIR. "
         "Each process makes a directory refrain-spool-... in it and removes it when the archive is "
         "complete. After a kill the archive's directory says where they are (docs/guide/killed-jobs.md)."},
    {.name = "overwrite", .type = kBool, .field = &Settings::overwrite,
     .range = "yes or no",
     .one_line = "replace an existing archive",
     .long_text =
         "Also those that further programs of the same command took: NAME.2, NAME.3, ... "
         "Only a directory with an archive or a spool of Refrain is ever removed."},
    {.name = "quiet", .type = kBool, .field = &Settings::quiet,
     .range = "yes or no",
     .one_line = "print no summary on stderr at the end",
     .long_text =
         "Warnings about lost data are still printed."},
    {.name = "budget", .type = kBytes, .field = &Settings::budget_bytes,
     .unit = "bytes", .range = "0 (none) or 64K and more",
     .one_line = "size of the archive; chooses the limit",
     .long_text =
         "Used instead of limit. "
         "Of each loop, as many iterations are written as fit into an archive of this "
         "size: at least one, and the same number on all processes. "
         "Slow iterations and those in which a pattern broke are written in any case. "
         "The number is found at the end of the run. "
         "Until then the spool is about eight times as large, or more if there are "
         "many different loops.",
     .minimum = 64 << 10, .maximum = 1e15, .or_zero = true},
    {.name = "symbols", .type = kChoice, .field = &Settings::symbols,
     .range = "auto, parallel or functions",
     .one_line = "events that the loop detector gets",
     .long_text =
         "parallel: outermost parallel regions, as in the trace-scaling agent paper. "
         "auto: also the regions of refrain.h, and the worksharing constructs and "
         "explicit barriers that the primary thread meets, for programs that keep one "
         "parallel region open, and outside of parallel regions critical sections and "
         "locks. "
         "functions: also functions compiled with -finstrument-functions, for programs "
         "that have nothing else.",
     .choices = "auto|parallel|functions"},
    {.name = "mpi_frames", .type = kCount, .field = &Settings::mpi_frames,
     .unit = "frames", .range = "0 to 16",
     .one_line = "stack frames used to tell MPI call sites apart",
     .long_text =
         "For the loop detector, an MPI call is its place, procedure and communicator, "
         "and this many frames of the stack above its place. "
         "Frames help if a program calls MPI through its own functions. "
         "Each costs some instructions a call.",
     .maximum = 16,
     .expert = true},
    {.name = "local_calls", .type = kBool, .field = &Settings::local_calls,
     .range = "yes or no",
     .one_line = "record MPI calls that are local to a process",
     .long_text =
         "MPI_Wtime, MPI_Comm_rank, MPI_Get_count, datatype constructors, ... "
         "If no, they are counted exactly, with their time, and are in neither events nor event flow graph."},
    {.name = "clock_every", .type = kCount, .field = &Settings::clock_every,
     .unit = "collectives", .range = "0 (never) or more",
     .one_line = "how often clocks of MPI processes are compared during the run",
     .long_text =
         "After every N blocking collectives over MPI_COMM_WORLD, all processes measure "
         "their clocks against that of process 0, as they do when MPI starts and ends. "
         "This helps if clocks do not drift evenly. "
         "It takes as long as some hundred messages.",
     .maximum = 1e15,
     .expert = true},
    {.name = "detector", .type = kChoice, .field = &Settings::detector,
     .range = "activation, nested, exact or matrix",
     .one_line = "how loops are detected",
     .long_text =
         "activation: loops of the code, by the call stack of each event and the control flow of "
         "the functions on it, whatever is in their iterations. "
         "nested: the whole loop nest, by what repeats, with bodies of any length. "
         "matrix: one loop at a time, by the paper's circular distance matrix; the cost "
         "grows with max_period. "
         "exact: the answers of matrix in constant time.",
     .choices = "activation|nested|exact|matrix"},
    {.name = "nested", .type = kChoice, .field = &Settings::nested,
     .range = "first, each or once",
     .one_line = "how the limit counts iterations of inner loops",
     .long_text =
         "first: the iterations of a loop's body in the whole run; also the first "
         "iteration of limit further visits that lie in a written iteration of the "
         "outer loop, so that in a nest of two each written iteration can be read on its own. "
         "each: the first iterations of every visit in a written iteration of the outer "
         "loop (in a nest of k loops N^k). "
         "once: only the iterations of a loop's body in the whole run; written iterations "
         "of outer loops then lack their inner ones.",
     .choices = "first|each|once"},
    {.name = "window", .type = kCount, .field = &Settings::window_events,
     .unit = "events", .range = "1 to 1000000",
     .one_line = "events that must have repeated",
     .long_text =
         "N of the paper's equation 1: "
         "the last N symbols must equal those one period before. "
         "A loop is detected after N events and one period. "
         "For the detectors matrix and exact.",
     .minimum = 1, .maximum = 1e6,
     .expert = true},
    {.name = "max_period", .type = kCount, .field = &Settings::max_period_events,
     .unit = "events", .range = "1 to window",
     .one_line = "longest period that is detected",
     .long_text =
         "M of the paper's equation 1: "
         "a loop with more events in its body is not detected. "
         "For the detectors matrix and exact.",
     .minimum = 1, .maximum = 1e6,
     .expert = true},
    {.name = "marks", .type = kChoice, .field = &Settings::marks,
     .range = "all or summary",
     .one_line = "marks of skipped iterations",
     .long_text =
         "all: start and end of every iteration. "
         "summary: of each gap, the number of iterations and their total, minimum and "
         "maximum duration.",
     .choices = "all|summary"},
    {.name = "ranks", .type = kChoice, .field = &Settings::ranks,
     .range = "all, representatives or representatives=K",
     .one_line = "ranks of an MPI job that get events",
     .long_text =
         "representatives: of ranks with equal event flow graphs only the first K (1) have "
         "their events in the archive. "
         "The summary has all ranks. "
         "What makes graphs differ is chosen by graph. "
         "The choice is made at the end of the run, so spools are as large as otherwise.",
     .choices = "all|representatives", .counted = true},
    {.name = "slow_factor", .type = kNumber, .field = &Settings::slow_factor,
     .range = "0 (off) or more",
     .one_line = "slow-iteration threshold, in median absolute deviations",
     .long_text =
         "An iteration that would be skipped is written if its duration differs from the "
         "median of its loop by more than this many median absolute deviations (after 20 "
         "iterations).",
     .maximum = 1e9},
    {.name = "slow_share", .type = kNumber, .field = &Settings::slow_share,
     .range = "0 to 1",
     .one_line = "maximum share of events for slow iterations",
     .long_text =
         "As a share of all events. "
         "Iterations that differ most, in time, come first. "
         "In short runs the first that took twice or half as long as usual are written "
         "beyond the share, up to 20 times the share in all. "
         "0: none.",
     .maximum = 1,
     .expert = true},
    {.name = "min_gap", .type = kSeconds, .field = &Settings::min_gap_s,
     .unit = "s", .range = "0 or more",
     .one_line = "minimum length of a gap",
     .long_text =
         "Shorter intervals are written instead of skipped.",
     .maximum = 1e9},
    {.name = "from", .type = kSeconds, .field = &Settings::from_s,
     .unit = "s", .range = "0 or more",
     .one_line = "start writing this long after the start of the run",
     .maximum = 1e9},
    {.name = "until", .type = kSeconds, .field = &Settings::until_s,
     .unit = "s", .range = "0 (never) or more",
     .one_line = "stop writing this long after the start of the run",
     .long_text =
         "Iterations are still marked.",
     .maximum = 1e9},
    {.name = "filter", .type = kText, .field = &Settings::filter_file,
     .range = "path",
     .one_line = "filter file: regions to exclude",
     .long_text =
         "In the syntax of Score-P's filter files. "
         "They are in neither the archive's events nor the summary. "
         "Applied when the archive is written, and to functions and the summary before."},
    {.name = "functions", .type = kBool, .field = &Settings::functions,
     .range = "yes or no",
     .one_line = "record functions of code compiled with -finstrument-functions"},
    {.name = "function_calls", .type = kCount, .field = &Settings::function_calls,
     .unit = "calls", .range = "0 (never) or more",
     .one_line = "calls after which a short function is switched off",
     .long_text =
         "After this many calls, a function is no longer recorded if a call took less "
         "than function_mean on average. "
         "The summary at the end names the functions that were switched off.",
     .maximum = 1e15,
     .expert = true},
    {.name = "function_mean", .type = kSeconds, .field = &Settings::function_mean_s,
     .unit = "s", .range = "0 or more",
     .one_line = "threshold below which a function is short",
     .maximum = 1e9,
     .expert = true},
    {.name = "counters", .type = kText, .field = &Settings::counters,
     .range = "names, separated by commas",
     .one_line = "counters to record",
     .long_text =
         "Events of PAPI: "
         "presets (PAPI_TOT_INS), native ones, software-defined ones (sde:::). "
         "And what the system counts for each thread: "
         "page_faults (minor_faults, major_faults), "
         "context_switches (voluntary_switches, involuntary_switches), "
         "migrations, user_time, system_time."},
    {.name = "counters_at", .type = kChoice, .field = &Settings::counters_at,
     .range = "boundaries or all",
     .one_line = "where counters are read",
     .long_text =
         "boundaries: where iterations, phases and parallel regions start and end. "
         "all: at every recorded enter and leave.",
     .choices = "boundaries|all"},
    {.name = "ring", .type = kBytes, .field = &Settings::ring_bytes,
     .unit = "bytes", .range = "24K to 1G",
     .one_line = "maximum memory of a location while writing is suspended",
     .long_text =
         "The ring keeps the latest iterations until they are written or skipped. "
         "Only as much of it is used as they need. "
         "Of an iteration that does not fit, the latest part is kept.",
     .minimum = 24 << 10, .maximum = 1 << 30,
     .expert = true},
    {.name = "summary_memory", .type = kBytes, .field = &Settings::summary_bytes,
     .unit = "bytes", .range = "0 to 1G",
     .one_line = "memory of a location for the summary of the whole run",
     .long_text =
         "Counts and times of all regions by call path, written or not. "
         "What does not fit is summed up under its parent. "
         "0 (refrain run --no-summary): no summary.",
     .maximum = 1 << 30,
     .expert = true},
    {.name = "graph", .type = kList, .field = &Settings::graph,
     .range = "of call, site, callers, partner and size, separated by commas; or none",
     .one_line = "components that define a node of the event flow graph",
     .long_text =
         "The order of MPI calls, counted for the whole run in at most a "
         "quarter of summary_memory. "
         "Calls of one procedure are one node if these components are equal: "
         "site: where the call is; callers: the mpi_frames callers above it; "
         "partner: the other rank, relative to the own one; size: bytes. "
         "call: the procedure alone. none: no graph.",
     .choices = "call|site|callers|partner|size|none"},
    {.name = "summary_only", .type = kBool, .field = &Settings::summary_only,
     .range = "yes or no",
     .one_line = "record totals (the summary) and no events",
     .long_text =
         "For production runs: what is recorded does not grow with the run. "
         "The archive has the summary, profile.cubex, the loops with their iterations, and "
         "no events. "
         "Settings that say which events to write have no effect."},
    {.name = "summary_iterations", .type = kCount, .field = &Settings::summary_iterations,
     .range = "0 to 1000000",
     .one_line = "maximum number of iteration rows in the summary of a thread",
     .long_text =
         "What each iteration of an outermost loop took, by class of time. Rows take up to three fifths "
         "of the summary's memory. Where there are more iterations, two, four, ... are one "
         "row. 0: no rows.",
     .maximum = 1000000,
     .expert = true},
    {.name = "loops", .type = kCount, .field = &Settings::loops_hz,
     .unit = "Hz", .range = "0 (off) to 10000",
     .one_line = "sample call stacks, to find the loops of the source that take the time",
     .long_text =
         "Samples each thread's stack at this rate (CPU time), from the start of the "
         "recording to its end, also in skipped iterations. refrain loops ARCHIVE prints the "
         "loops of the program with their shares of time. Memory: 2 MiB a process. "
         "docs/reference/loops.md has what it costs.",
     .implicit_value = "100", .maximum = 10000},
    {.name = "files", .type = kSeconds, .field = &Settings::files_s,
     .unit = "s", .range = "0 (off) or more",
     .one_line = "record the program's file I/O (POSIX, C streams); calls from this time on are events",
     .long_text =
         "Counts opens, reads, writes and syncs of each file, with bytes and times, for the whole run: "
         "refrain info, line Files. Calls that take at least this long are regions, too. "
         "With refrain run only, which preloads librefrain_files.so for it. "
         "Memory: 0.6 MiB a process.",
     .implicit_value = "100us", .maximum = 1e9},
    {.name = "memory", .type = kBytes, .field = &Settings::memory_from_bytes,
     .unit = "bytes", .range = "0 (off) or more",
     .one_line = "count the program's allocations; blocks of this size and more by call path",
     .long_text =
         "Counts the calls of malloc and its kin (so also C++'s new and Fortran's allocate), what is in use, its high-water mark, and what is not "
         "freed: refrain info, line Allocations. "
         "With refrain run only, which preloads librefrain_memory.so for it. "
         "Memory: 1.7 MiB a process, and some 50 bytes for each block of this size and more.",
     .implicit_value = "4K", .maximum = 1e15},
    {.name = "threads", .type = kBool, .field = &Settings::threads, .range = "yes or no",
     .one_line = "record the program's own threads (POSIX, C++), and where they wait for each other",
     .long_text =
         "Each thread that the program begins is a location, named by its function; waiting for locks, conditions, "
         "barriers, semaphores and the end of threads is a region. Locks that are free are not recorded. "
         "refrain run preloads librefrain_threads.so for it."},
    {.name = "python", .type = kBool, .field = &Settings::python, .range = "yes or no",
     .one_line = "record the functions of the program's own Python code",
     .long_text =
         "Functions of files that are not of Python's own library or of installed packages are regions, of the thread that runs "
         "the script. CPython 3.9 and later. functions, function_calls, function_mean and filter apply to them."},
    {.name = "chunk", .type = kBytes, .field = &Settings::chunk_bytes,
     .unit = "bytes", .range = "4K to 1G",
     .one_line = "growth step of a spool file",
     .minimum = 4096, .maximum = 1 << 30,
     .expert = true},
    {.name = "memory_limit", .type = kBytes, .field = &Settings::memory_limit_bytes,
     .unit = "bytes", .range = "1M or more",
     .one_line = "maximum memory of the threads' rings and summaries in the process",
     .long_text =
         "When half of it is used, further threads get smaller rings. "
         "A thread that would exceed it is not recorded; its events are counted as lost.",
     .minimum = 1 << 20, .maximum = 1e15,
     .expert = true},
    {.name = "disk_limit", .type = kBytes, .field = &Settings::disk_limit_bytes,
     .unit = "bytes", .range = "0 (none) or 1M and more",
     .one_line = "maximum size of the spool of a process",
     .long_text =
         "What happens then: see limit_policy.",
     .minimum = 1 << 20, .maximum = 1e18, .or_zero = true},
    {.name = "limit_policy", .type = kChoice, .field = &Settings::limit_policy,
     .range = "suspend or stop",
     .one_line = "what happens when disk_limit is reached",
     .long_text =
         "suspend (old name: hold): events are no longer written, "
         "iterations are still marked. "
         "stop: nothing is recorded any more.",
     .choices = "suspend|stop", .old_choice = {"hold", "suspend"},
     .expert = true},
    {.name = "keep_spool", .type = kBool, .field = &Settings::keep_spool,
     .range = "yes or no",
     .one_line = "keep the raw trace data after the archive is written",
     .expert = true},
    {.name = "group_readable", .type = kBool, .field = &Settings::group_readable,
     .range = "yes or no",
     .one_line = "let the user's group read the archive",
     .long_text =
         "What is recorded belongs to the user: nobody else can open the archive's directory and the spool. "
         "With this the group may read them, too, and write nothing. "
         "An existing empty directory keeps its mode."},
    {.name = "format", .type = kChoice, .field = &Settings::format,
     .range = "otf2, paraver, or both, separated by a comma",
     .one_line = "what is written at the end",
     .long_text =
         "otf2: the archive. "
         "paraver: also .prv, .pcf and .row, made from the archive and next to it; alone, "
             "they replace it.",
     .choices = "otf2|paraver|otf2,paraver|paraver,otf2"},
    {.name = "report", .type = kBool, .field = &Settings::report,
     .range = "yes or no",
     .one_line = "write an HTML report, report.html in the archive",
     .long_text =
         "As refrain report does, when the archive is written. "
         "The program's end waits for it, a minute at most. "
         "Not without the archive (format=paraver)."},
    {.name = "clock", .type = kChoice, .field = &Settings::clock,
     .range = "auto, counter, monotonic or logical",
     .one_line = "clock of the time stamps",
     .long_text =
         "auto: the processor's counter where the kernel uses it itself, else "
         "CLOCK_MONOTONIC_RAW. counter: x86-64's time stamp counter, aarch64's virtual counter "
         "(tsc is another name for it). logical: as auto, and in archives of MPI jobs the clocks "
         "of ranks are corrected so that no message arrives before it was sent.",
     .choices = "auto|counter|monotonic|logical", .old_choice = {"tsc", "counter"}},
    {.name = "writer_threads", .type = kCount, .field = &Settings::writer_threads,
     .unit = "threads", .range = "0 (as many as cores) to 1024",
     .one_line = "threads that write the archive at the end",
     .maximum = 1024,
     .expert = true},
    {.name = "libomp", .type = kText, .field = &Settings::libomp,
     .range = "path, or none",
     .one_line = "LLVM OpenMP runtime to use in place of libgomp, or none",
     .long_text =
         "Used by refrain run. "
         "Empty: the one that the system finds. "
         "Programs made by gcc may run faster or slower with it. "
         "none: they keep libgomp, so that MPI, regions of refrain.h and samples have its times; "
         "regions of OpenMP are not recorded."},
};
// clang-format on

// Which member a type of setting needs.
constexpr bool field_fits(const SettingInfo& info) {
  switch (info.type) {
    case kBool:
      return std::holds_alternative<bool Settings::*>(info.field);
    case kCount:
    case kBytes:
      return std::holds_alternative<std::uint64_t Settings::*>(info.field);
    case kSeconds:
    case kNumber:
      return std::holds_alternative<double Settings::*>(info.field);
    case kChoice:
    case kList:
    case kText:
      return std::holds_alternative<std::string Settings::*>(info.field);
  }
  return false;
}
static_assert(std::ranges::all_of(kTable, field_fits));

}  // namespace

std::span<const SettingInfo> setting_table() { return kTable; }

}  // namespace refrain::filters
