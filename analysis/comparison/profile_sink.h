// Adds up the events of a trace by place: second pass of comparison.h.
//
// Place in the flow: private to comparison.h. Thread-safety: none. Cost: O(1) an event; a mark
// of an iteration costs, for each thread of its process, the depth of its stack.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/comparison/comparison.h"
#include "analysis/comparison/nest_books.h"
#include "analysis/profile/event_summary.h"
#include "analysis/profile/run_profile.h"
#include "analysis/run_totals.h"
#include "base/result.h"
#include "reader/trace.h"

namespace refrain::analysis {

// Values of the counters of a trace (OTF2's metrics): how much each has counted on a
// location, and between the start and the end of a region.
//
// Thread-safety: none. Counters are metrics that accumulate, whatever their values refer to (since the start, since
// the record before, up to the next), not levels such as a temperature. There is one counter per name, in all
// classes. A record of values belongs to the next event of its location, at the same time. Cost: O(values) a record.

class CounterTable {
 public:
  struct Member {
    std::uint32_t counter = reader::kNone;  // number; kNone: no counter
    bool since_begin = false;               // else since or up to the neighbouring record
  };

  explicit CounterTable(const reader::TraceDefinitions& definitions);

  const std::vector<std::string>& names() const noexcept { return names_; }
  // Of the class or instance that a record names; nullptr if it is not defined.
  const std::vector<Member>* members(std::uint32_t ref) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::uint32_t, std::vector<Member>> classes_;
};

// Of one location.
class CounterReadings {
 public:
  void read(const CounterTable& table, const reader::TraceEvent& event);
  // Counted between the first record and the latest; by counter.
  const std::vector<double>& totals() const noexcept { return totals_; }
  // And before the first one, since the start.
  const std::vector<double>& before() const noexcept { return before_; }
  // Between the two latest records.
  const std::vector<double>& latest() const noexcept { return latest_; }
  bool any() const noexcept { return !totals_.empty(); }

  // The next event of the location: whether the latest record belongs to it.
  bool take(std::uint64_t ns) noexcept {
    const bool belongs = fresh_ && ns == ns_;
    fresh_ = false;
    return belongs;
  }

 private:
  std::vector<double> totals_;
  std::vector<double> before_;
  std::vector<bool> known_;  // there was a record
  std::vector<double> latest_;
  std::vector<std::uint64_t> bits_;  // the latest values
  std::uint64_t ns_ = 0;
  bool fresh_ = false;
};

// Iterations of loops as an archive's properties have them: also those inside skipped
// iterations, which have no marks.
//
// Pure. Errors: what is no such property counts as
// absent.
struct LoopTotals {
  double iterations = 0;                         // complete ones
  std::map<std::uint32_t, double> by_process{};  // of these
  double total_ns = 0;
};

// By the name of the loop's region, over all processes.
std::map<std::string, LoopTotals> loop_totals(const reader::TraceDefinitions& definitions);

class ProfileSink final : public reader::TraceSink {
 public:
  // `summaries`: of the archive `path`; what they know is not estimated.
  explicit ProfileSink(TraceMarks samples, std::vector<summary::RunSummary> summaries = {},
                       std::string path = {})
      : path_(std::move(path)),
        samples_(std::move(samples)),
        summaries_(std::move(summaries)) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  TraceProfile take() { return std::move(profile_); }

 private:
  static constexpr std::uint32_t kNone = reader::kNone;
  // How the time in a region counts for its thread.
  struct RegionKind {
    TimeClass cls = TimeClass::kUseful;
    bool mpi = false;
    bool parallel = false;
  };
  struct Frame {
    std::uint32_t region;
    Place* place;  // where its call was counted; nullptr: nowhere
    bool counted;  // the thread's counters at its start are known
    bool first;    // the region is not open further out
    std::uint64_t
        settled_ns;  // of the thread's written time: up to then its inclusive time is
                     // in the sums
  };
  struct Thread {
    std::uint32_t process = 0;
    std::uint32_t number = kNone;  // of the threads of its process; kNone: no thread
    bool first = false;            // does the process' serial work, has the marks
    bool written = true;           // not skipped
    std::uint64_t ns = 0;          // accounted for until then
    std::uint64_t written_ns = 0;  // of that, while it was written
    std::vector<Frame> stack;
    std::vector<std::uint32_t> open;  // by region: how often on the stack
    std::vector<std::size_t> forks;   // sizes of the stack where teams were opened
    bool only_in_teams = true;        // its outermost regions were all parallel ones
    CounterReadings counters;
    std::vector<double> entered;  // by frame and counter: the value at its start
    bool gap = false;             // there was a gap since the latest record of them
    // Skipped iterations of the process before that record, by loop; valid at `version`.
    std::vector<double> skipped;
    std::uint64_t version = 0;
    // The place of its time, if not that of the first thread: it passes the edges of gaps
    // a little earlier or later.
    Place* place = nullptr;
  };
  struct OpenIteration {
    RegionId loop;
    bool skipped;
    bool complete;
    std::uint64_t begin_ns;
    std::vector<double> counted;  // by then; empty: not known
    std::uint64_t position = 0;   // in its visit
  };
  struct Process {
    std::unique_ptr<NestBooks> books;
    std::vector<std::uint32_t> locations;  // its threads
    std::uint32_t first = 0;               // number of the first one
    bool begun = false;                    // of other tools' archives: there was an event
    std::uint64_t last_ns = 0;             // and when the last one was
    std::vector<Place*> places;            // open ones, the root first
    std::vector<OpenIteration> open;       // marks, outermost first
    VisitCounter visits;
    std::uint32_t skipped = 0;  // of these
    double alone_ns = 0;        // of the outermost of them, written nevertheless
    Place* ended = nullptr;     // the written iteration that ended last
    std::uint64_t ended_ns = 0;
    std::size_t next_written = 0;  // in samples_
    std::vector<double> written;   // by loop: complete iterations in the archive
    std::vector<double> marked;    // by loop: complete iterations that have a mark
    // By loop: skipped iterations that lie in no other; changes with `version`.
    std::vector<double> skipped_by_loop;
    std::uint64_t version = 0;
  };

  // One of the OpenMP runtime's own threads.
  bool is_helper(const Process& process, std::size_t thread) const;
  std::size_t program_threads(const Process& process) const;
  Place& place_of(const Thread& thread) const;
  void switch_writing(Thread& thread, bool on);
  void book(Thread& thread, std::uint64_t ns);
  void lasts(Process& process, std::uint64_t ns);
  void book_all(std::uint32_t process, std::uint64_t ns);
  void settle(Frame& frame, const Thread& thread, Sums& sums);
  void settle_all(Thread& thread);
  void begin_iteration(const reader::TraceEvent& event);
  void keep_behind(std::uint32_t process, std::uint64_t ns);
  void end_iteration(const reader::TraceEvent& event);
  void enter(Thread& thread, const reader::TraceEvent& event);
  void leave(Thread& thread, const reader::TraceEvent& event);
  void pop(Thread& thread, bool counted);
  void reported_together(const Thread& thread, const reader::TraceEvent& event) const;
  void read_counters(Thread& thread, const reader::TraceEvent& event);
  void book_counted(Place& place, std::uint32_t region, const Thread& thread,
                    const double* before, bool again) const;
  void communication(const reader::TraceEvent& event);
  void find_threads(std::uint32_t process);
  void sum_up(std::uint64_t end_ns);
  void use_message_totals(std::uint32_t process, NestBooks::Messages& messages) const;
  void add_messages_of_loops();
  void add_efficiencies();
  void add_thread_times(std::uint32_t process, const Sums& sums);
  void note_time(std::uint32_t process);
  void use_totals(std::uint32_t process, Sums& sums);
  void add_regions(const Sums& sums);
  void add_loops(const Sums& sums);
  void use_loop_totals(std::map<std::string, LoopProfile>& loops,
                       const std::map<std::string, double>& marked) const;
  void add_counters(const Sums& sums, std::uint32_t region,
                    std::vector<CounterProfile>& counters) const;
  std::vector<double> counter_totals();
  double written(std::uint32_t region) const;  // over all processes, as in Process
  double marked(std::uint32_t region) const;

  std::string path_;
  TraceMarks samples_;
  std::vector<summary::RunSummary> summaries_;
  std::vector<std::optional<ProcessTotals>> totals_;  // by process
  std::unique_ptr<EventSummarySink> events_;          // where no summary is complete
  bool gaps_ = false;
  std::vector<ThreadTimes> estimated_threads_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> marks_;
  std::optional<CounterTable> counters_;
  std::size_t counter_count_ = 0;
  bool of_refrain_ = false;
  std::vector<RegionKind> kinds_;
  std::vector<LoopId> loop_numbers_;  // by region
  std::vector<RegionId> loops_;       // of the loops
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
  double written_ns_ = 0;
  TraceProfile profile_;
};

}  // namespace refrain::analysis
