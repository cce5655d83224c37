// What an analyst would conclude from a trace: where the time goes, how often things are
// called, how long iterations take, how well the work is spread.
//
// Place in the flow: ARCHITECTURE.md, step 10, behind the stream of events (step 9). Works
// on archives of any tool; of a reduced archive of Refrain it says what the whole run was
// like.
//
// Method (what is not written is estimated from what is): time is booked on the loops that
// were open on the process' primary location, each thread's alike. Of the iterations of a
// loop that are in the archive those are *typical* that took no less than the shortest held
// one and no more than the longest. In every place of the nest a loop's held iterations, of
// which the number n and the total duration d are known by their marks, are taken to be n
// times what the typical ones called and sent, and d times the share of their time that
// each region had; inner loops first, so that a typical iteration of an outer one is whole
// before it is multiplied. A stretch that has no marks (marks=summary) is taken for
// iterations of the loop that came last before it. See docs/compare.md.
//
// Units: nanoseconds; counts of a reduced archive need not be whole numbers.
// Thread-safety: one call a process at a time (libotf2's error callback is global).
// Errors: one line in the result. Cost: two passes over the archive (one, if it is not
// Refrain's; three with `hold_after`); memory: a byte or so for each written iteration,
// some kilobytes for each place of a loop in the nest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace refrain::analysis {

// What a counter says of calls or iterations.
struct CounterProfile {
  double sum = 0;    // of those that it is known of
  double calls = 0;  // so many
  double mean() const noexcept { return calls > 0 ? sum / calls : 0; }
};

struct RegionProfile {
  std::string name;
  std::string file;
  std::uint32_t line = 0;
  double calls = 0;
  double inclusive_ns = 0;  // of all threads; recursion counts once
  double exclusive_ns = 0;
  // From begin to end, by TraceProfile::counters; recursion counts once.
  std::vector<CounterProfile> counters;
  double mean_ns() const noexcept { return calls > 0 ? inclusive_ns / calls : 0; }
};

// A loop that Refrain found, over all processes.
struct LoopProfile {
  std::string name;       // without its number: where it is
  double iterations = 0;  // complete ones
  double held = 0;        // of these, not in the archive
  double total_ns = 0;
  double sends = 0;  // messages an iteration
  double bytes_sent = 0;
  std::vector<CounterProfile> counters;  // of the location that has the marks
  double mean_ns() const noexcept { return iterations > 0 ? total_ns / iterations : 0; }
};

struct MessageProfile {
  double sends = 0;
  double bytes_sent = 0;
  double receives = 0;
  double bytes_received = 0;
  double collectives = 0;
};

// As the POP project defines them: of the time that all threads (processes) had, the part
// that was useful is parallel_efficiency = load_balance x communication_efficiency.
struct Efficiencies {
  double parallel = 0;
  double load_balance = 0;
  double communication = 0;
};

struct TraceProfile {
  double duration_ns = 0;  // of the trace
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  double thread_ns = 0;                // duration times threads
  double written_ns = 0;               // of this, in the archive
  double estimated_ns = 0;             // held, and estimated
  double unexplained_ns = 0;           // held, without any iteration to tell by
  std::vector<RegionProfile> regions;  // most exclusive time first
  std::vector<LoopProfile> loops;      // most time first
  MessageProfile messages;
  std::vector<std::string> counters;   // names
  std::vector<double> counter_totals;  // of all locations
  // Useful: outside of MPI and of what synchronises or manages threads.
  Efficiencies threads_efficiency;
  // By processes: a primary location outside of MPI is useful. Only of jobs.
  bool uses_mpi = false;
  Efficiencies mpi_efficiency;
};

struct ProfileResult {
  std::string error;  // one line; empty: all is well
  TraceProfile profile;
};

// Events read, and how many there seem to be, in all passes.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct ProfileOptions {
  // Not 0: iterations of each visit of a loop after the first so many, but for slow ones,
  // are read as if they had been held (hold_plan.h, holding_sink.h). An error if there are
  // no marks of iterations.
  std::uint64_t hold_after = 0;
  Progress progress{};
};

// `path`: the archive's folder, or its anchor file.
ProfileResult read_trace_profile(const std::string& path,
                                 const ProfileOptions& options = {});

}  // namespace refrain::analysis
