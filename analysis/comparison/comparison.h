// The profile of a trace by place in its nest of loops, and two of them side by side.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after the stream of events; `refrain compare` prints it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/profile/efficiencies.h"
#include "base/result.h"

namespace refrain::analysis {

// The profile of a trace: where the time goes, how often things are called, how long
// iterations take, how well the work is spread.
//
// Works on archives of any tool; for a reduced archive of Refrain it estimates the whole run.
//
// Where an archive has summaries (summary/run_summary.h), the calls, times and messages of a process'
// whole run are theirs, and so are what follows from them. `Estimated` says what is left.
//
// Method of estimates: time of all threads is attributed to the loops that were open on the process'
// primary location. Written iterations of a loop are *typical* if they took no less than the
// shortest skipped one and no more than the longest. In every place of the nest the number n
// and the total duration d of a loop's skipped iterations are known by their marks: they are
// assumed to have n times the calls and messages of a typical one, and d times the share of
// time of each region in typical ones; inner loops first, so that a typical iteration of an
// outer loop is complete before it is multiplied. An interval without marks (marks=summary)
// counts as iterations of the latest loop before it. See docs/reference/compare.md.
//
// Units: nanoseconds; counts of a reduced archive need not be whole numbers.
// Thread-safety: one call a process at a time (libotf2's error callback is global).
// Fails also for a summary that is damaged, or of another archive. Cost: two passes over the archive (one, if it is not
// Refrain's; three with `suspend_after`); memory: a byte or so for each written iteration,
// some kilobytes for each place of a loop in the nest.

// Sums of a counter over calls or iterations.
struct CounterProfile {
  double sum = 0;    // of those with a value
  double calls = 0;  // number of these
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

// A loop that Refrain detected, over all processes.
struct LoopProfile {
  std::string name;                  // without its number: where it is
  double iterations = 0;             // complete ones
  std::vector<double> by_process{};  // of these; `refrain compare` shows the most
  double written = 0;                // of these, in the archive
  double skipped = 0;                // and not
  double total_ns = 0;
  bool estimated = false;  // iterations and their time
  double sends = 0;        // messages an iteration
  double bytes_sent = 0;
  bool messages_estimated = false;  // both
  // False: what was skipped is not like the iterations that were written, and the summary does not say how many.
  bool messages_known = true;
  std::vector<CounterProfile> counters;  // of the location that has the marks
  bool counters_estimated = false;
  double mean_ns() const noexcept { return iterations > 0 ? total_ns / iterations : 0; }
  double most_of_process() const noexcept;
};

struct MessageProfile {
  double sends = 0;
  double bytes_sent = 0;
  double receives = 0;
  double bytes_received = 0;
  double collectives = 0;
};

// Which figures are estimates, at least of one process. All others were counted.
struct Estimated {
  bool regions = false;  // their calls and times
  bool efficiencies = false;
  bool messages = false;  // number, and bytes sent
  bool bytes_received = false;
  bool collectives = false;
  bool counters = false;  // of regions
  bool counter_totals = false;
};

struct TraceProfile {
  double duration_ns = 0;  // of the trace
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  std::string openmp;  // reader::openmp_runtime()
  double thread_ns =
      0;  // of all threads, as in run_profile.h; not known: duration times threads
  double written_ns = 0;        // of this, in the archive
  double summarized_ns = 0;     // skipped, and known by the summary
  double estimated_ns = 0;      // skipped, and estimated
  double unexplained_ns = 0;    // skipped, without any iteration to estimate from
  std::uint64_t summaries = 0;  // processes that have one
  bool summary_only = false;    // there are no events: nothing is known but totals
  Estimated estimated;
  // Regions that found no place in a summary, and their time: those below lack them.
  double other_calls = 0;
  double other_ns = 0;
  std::vector<RegionProfile> regions;  // most exclusive time first
  std::vector<LoopProfile> loops;      // most time first
  MessageProfile messages;
  std::vector<std::string> counters;   // names
  std::vector<double> counter_totals;  // of all locations
  // Those of `refrain profile`: of the summaries, else of the events; where iterations were skipped without a summary, of what is
  // estimated of them. That which cannot be estimated is unknown.
  RunEfficiencies efficiencies;
};

// Events read, and how many to expect, in all passes.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct ProfileOptions {
  // Not 0: iterations after this many of each visit of a loop, but for slow ones, are read as
  // if skipped (skipping_sink.h, skipping_sink.h). An error if there are no marks of iterations.
  std::uint64_t suspend_after = 0;
  bool use_summary = true;  // else all that was skipped is estimated
  Progress progress{};
};

// `path`: the archive's directory, or its anchor file.
base::Result<TraceProfile> read_trace_profile(const std::string& path,
                                              const ProfileOptions& options = {});

enum class Unit : std::uint8_t { kNumber, kNanoseconds, kBytes, kShare, kEfficiency };

// One figure of both. Its difference is relative to the first trace's figure; that of efficiencies is b - a.
struct Row {
  std::string subject;  // a region, a loop, "messages", "threads", "MPI"
  std::string figure;   // "share of time", "calls", ...
  Unit unit = Unit::kNumber;
  double a = 0;
  double b = 0;
  bool a_estimated = false;  // not counted
  bool b_estimated = false;
  bool a_known = true;  // else `a` says nothing
  bool b_known = true;
  // Infinite where only b has any; 0 where one is not known.
  double difference() const noexcept;
};

struct Section {
  std::string title;
  std::vector<Row> rows;
};

struct Comparison {
  std::vector<Section> sections;
  // Relevant regions that only one of the two has.
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;
  double greatest_difference() const noexcept;  // of all rows, without sign
};

// `least_share`: regions and loops that have less of the time in both are left out.
Comparison compare(const TraceProfile& a, const TraceProfile& b, double least_share);

}  // namespace refrain::analysis
