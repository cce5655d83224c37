// The search for root causes: the ledger as it is while causes are found, and what each kind of cause needs.
//
// Place in the flow: private to analysis/causes; root_causes.h says what is found, and how. Each find takes from the ledger's accounts
// what it explains, so their order matters: ranks, threads, MPI, cores. Thread-safety: none. Units: ns.
// Ownership: holds the summaries that it is made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/mpi_calls.h"
#include "analysis/causes/rank_clocks.h"
#include "analysis/causes/root_causes.h"
#include "analysis/causes/run_parts.h"
#include "analysis/profile/iteration_profile.h"
#include "analysis/profile/run_profile.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

// Where in the program processes spend their time: between two events, in a parallel region, in a function or region of its own.
//
// Place in the flow: private to analysis/causes; of the event flow graphs and the call trees of primary threads.
// Thread-safety: const after it was made. Units: ns. Memory: a number for each place and process.

class Places {
 public:
  // `loops`: the outermost ones.
  Places(const std::vector<summary::RunSummary>& summaries, const RunProfile& profile,
         const std::vector<IterationProfile::Loop>& loops);

  // Where these processes spend most more than those that are no causers, of `excess` ns each; empty: at no place a good part of it.
  // In `loop`: not between two events that followed each other less often than `times` in one of them, for what a loop has more in
  // that many iterations is not there; and not at places that, by their lines, are not in it.
  std::string of_more(const std::vector<std::size_t>& group,
                      const std::vector<bool>& is_causer, double excess,
                      const std::string& loop, double times) const;
  // Of that, what lies at `where`, which of_more() has said, and between which other events a good part of the rest does; most first.
  // Empty: it has most of it.
  std::vector<RootCause::Place> parts_of_more(const std::string& where,
                                              const std::vector<std::size_t>& group,
                                              const std::vector<bool>& is_causer,
                                              double excess, const std::string& loop,
                                              double times) const;
  // Where each of these was once, for most of `excess` ns and no longer than `most`; empty: at no place, or at several.
  std::string of_once(const std::vector<std::size_t>& group, double excess,
                      double most) const;
  // Between which two events most time of all processes passes, at least so much; empty: nowhere. In `loop` and as often as above.
  std::string between(double minimum, const std::string& loop, double times) const;
  // Returns true if a line, "src/app.c:9", is not in `loop` but in another one of its function.
  bool is_in_another(const std::string& site, const std::string& loop) const;

 private:
  // Of "loop 2 @ main app.c:12-14".
  struct Lines {
    std::string function;  // "main app.c"; empty: not known
    std::uint32_t first = 0;
    std::uint32_t last = 0;

    explicit Lines(const std::string& loop);
    bool has(const std::string& site) const;
  };
  struct Place {
    std::vector<double> times;  // by process
    std::vector<double> count;
    std::vector<double> longest;
    std::string from;  // the event with which it begins; empty: it is between no two
  };
  using ByProcess = std::map<std::string, Place>;

  void add(std::size_t process, const summary::FlowGraph& flow, double tick_ns);
  void add_functions(const RunProfile& profile);
  // Of the texts of between_, what may be in the loop on one of these processes: neither event has its line in another loop, and both
  // come round to events with lines in this one.
  std::set<std::string> in_loop(const std::vector<std::size_t>& group,
                                const std::string& loop, double times) const;
  using May = std::function<bool(const std::string& name, const Place& place)>;
  May between_in(const std::set<std::string>& inside, const std::vector<std::size_t>& group,
                 const std::string& loop, double times) const;
  double more_at(const Place& place, const std::vector<std::size_t>& group,
                 const std::vector<bool>& is_causer) const;
  // Likewise of all. What others have more after an event, which is followed by other ones there, is taken from what these have.
  std::map<std::string, double> more_at(const ByProcess& places,
                                        const std::vector<std::size_t>& group,
                                        const std::vector<bool>& is_causer) const;
  void more_in(const ByProcess& places, const std::vector<std::size_t>& group,
               const std::vector<bool>& is_causer, double weight, const May& may,
               double& most, std::string& best) const;
  // `longest`: of one time there; 0: not known.
  void add_to(ByProcess& places, const std::string& place, std::size_t process, double ns,
              std::uint64_t count, double longest) const;

  const std::vector<summary::RunSummary>& summaries_;
  std::size_t processes_;
  std::vector<Lines> loops_;
  ByProcess between_, regions_, functions_;
};

inline constexpr double kNamed = 0.6;  // of a loss, that ranks must cause to be named

class CauseSearch {
 public:
  explicit CauseSearch(const std::vector<summary::RunSummary>& summaries);
  Conclusions find();

 private:
  double& ledger(Account account) { return out_.ledger[static_cast<std::size_t>(account)]; }
  double share(double ns) const { return counted_ > 0 ? ns / counted_ : 0; }
  // How often events must follow each other, at the least, to be where a loop has something in these iterations.
  static double times_of(const std::string& loop, std::uint64_t iterations,
                         const TimeShape& when);
  std::uint32_t rank_of(std::size_t process) const;
  // --- core_causes.cc: threads that were ready to run but had no core

  // A note, if threads had no cores, and why; and how much of it can be what nobody in particular causes.
  void cores();
  // Of a thread: as much of it as of its time is not start and end of MPI. What is more than all that is no computation was
  // computation. Returns what counts of it.
  double add_core_wait(LocationId thread, double waited, double time);
  // Of what nobody in particular causes.
  double without_core(Account account, double ns);
  // Likewise, of no more than `most` of it.
  double without_core(Account account, double ns, double most);
  // What ranks can wait in MPI for ranks that had no core.
  void cores_at_work();
  // Of these waits by frame, the part that would not be if all had a core at work. `of`: by moment the number of the frame.
  std::vector<double> parts_for_cores(const std::vector<double>& lost,
                                      const std::vector<std::size_t>& of) const;
  void few_cores();
  // When threads had no core, by rows of iterations.
  void cores_when();
  // Notes on time in the kernel, on memory that grows, and on what tracing took.
  void kernel();
  void memory();
  void tracing();
  void unknown();
  // Returns true if these had no core for most of what they are longer, `excess` ns each, or that is little beside what they had none.
  bool had_no_core(const std::vector<std::size_t>& causers, double excess) const;
  // Likewise this thread of the processes, `excess` ns in each.
  bool thread_had_no_core(std::uint32_t thread, double excess) const;
  // What a gain in the frame is of: the loop's time, of the process that takes longest; outside of loops the run's.
  double of_frame(const Frame& frame) const;
  // Of the process that takes longest.
  double time_of(const Frame& frame) const;
  static double busy(const Part& part) { return part.work + part.start; }
  static double at_work(const Part& part) { return part.work; }
  static double in_mpi(const Part& part) { return part.mpi; }
  static double busy_with_cores(const Part& part) {
    return busy(part) - part.core_wait_at_work;
  }
  static double at_work_with_cores(const Part& part) {
    return part.work - part.core_wait_at_work;
  }
  // Of the primary threads.
  ByMoment by_moment(double (*of)(const Part&)) const;
  // What the run would be shorter by if each worked as long as that.
  double gain_of(const ByMoment& work) const;
  // Of what the one with most has more than the median, how much is start and end of MPI.
  double share_of_start(const Frame& frame, std::size_t cell) const;
  // --- last_seen.cc: where a killed run was

  void last_seen();
  // Of primary threads of processes that did not end in an orderly way, `exited` or killed; those with most ranks first.
  std::vector<LastSeen> places_of_ends(bool exited) const;
  std::string places_text(const std::vector<LastSeen>& places) const;
  // MPI_Finalize was not called in them, and yet they ended by themselves.
  std::vector<std::uint32_t> ranks_without_finalize() const;
  // --- rank_causes.cc: ranks that have more work

  // Who has more than the others, and how much of the waits that causes.
  void ranks();
  // `for_cores`: which part of it is for ranks that had no core.
  void ranks(Frame& frame, double lost, const std::vector<double>& cost, double for_cores);
  // What of their waits in collective calls is for ranks that are in their messages.
  void in_turn(const ByMoment& left);
  // Those that have more in the same iterations and at the same place: each group is a cause of its own.
  std::vector<std::vector<std::size_t>> alike(const Frame& frame,
                                              const std::vector<std::size_t>& causers,
                                              const std::vector<bool>& is_causer) const;
  // What they do more than those that are no causers, ns of an iteration; kPositive: where they do less, nothing.
  enum class More { kMean, kPositive };
  // Not the last iteration of a loop, if it ends with the call with which it begins.
  std::vector<bool> cells_with_work(const Frame& frame) const;
  std::vector<Amount> more_of(const Frame& frame, const std::vector<std::size_t>& group,
                              const std::vector<bool>& is_causer, More which,
                              double& all) const;
  // No few ranks cause most of it, because several have more work in different iterations: one from some iteration on, another in
  // every tenth. Causes by shape. Returns false, without any, if that is not most of it.
  bool in_own_iterations(Frame& frame, const std::vector<double>& cost, RootCause cause);
  // Of the others, who have more in iterations of their own.
  void in_further_iterations(Frame& frame, const std::vector<double>& cost,
                             const std::vector<bool>& is_causer, RootCause cause);
  // Of what this process has more than all others, where it does: `excess` ns in all.
  TimeShape shape_of_positive(const Frame& frame, std::size_t process,
                              double& excess) const;
  // Empty: no few cause most of it.
  std::vector<std::size_t> most_of(const std::vector<double>& cost) const;
  struct Means {
    double theirs = 0;
    double others = 0;
    double more() const { return theirs - others; }
  };
  template <typename Value>
  Means means(const Frame& frame, std::size_t cell, const std::vector<std::size_t>& causers,
              const std::vector<bool>& is_causer, const Value& value) const {
    Means out;
    double others = 0;
    for (std::size_t i = 0; i < processes_; ++i)
      if (!is_causer[i]) {
        out.others += value(frame.at(cell, i), i);
        ++others;
      }
    for (const std::size_t each : causers) out.theirs += value(frame.at(cell, each), each);
    out.others /= std::max(1.0, others);
    out.theirs /= static_cast<double>(causers.size());
    return out;
  }

  void named(Frame& frame, const std::vector<std::size_t>& causers,
             const std::vector<bool>& is_causer, More which, RootCause cause);
  // Of an iteration that has it; `work` by cell.
  double usual_of(const Frame& frame, const std::vector<double>& work,
                  const TimeShape& when, More which) const;
  // The thread of these processes that computes most in parallel regions; kNone: the primary one.
  std::uint32_t busiest(const std::vector<std::size_t>& causers) const;
  // Of a stretch of time outside of loops.
  void is_when(const Frame& frame, RootCause& cause) const;
  // The same ranks at the same place are one cause, in a loop and outside of it (before the loop was known, say): takes that from
  // the causes found so far.
  void join_outside(RootCause& cause);
  void tell_ranks(RootCause& cause, const std::vector<std::size_t>& causers) const;
  // The causers' cores are slower than the others', and that is most of what they are longer: says so. --- core_causes.cc
  void tell_frequency(RootCause& cause, const std::vector<std::size_t>& causers) const;
  // They had no core for so long that it may be a part of what they are longer, `excess` ns each: says so.
  void tell_no_core(RootCause& cause, const std::vector<std::size_t>& causers,
                    double excess) const;
  // `part` of it is not for want of cores.
  void varying(const Frame& frame, double part, RootCause cause);
  // Part of a sentence: which ranks have clearly less work than the others; empty: none.
  std::string who_has_less(const Frame& frame) const;
  // Calls in which processes wait that are not among these, of all their time in them.
  std::vector<std::pair<std::string, double>> waits_by_place(
      const std::vector<bool>& not_of) const;
  // No more than the account has; returns how much.
  double move(Account from, Account to, double ns);
  // The loop in which most of a part of the time lies; nullptr: in none.
  const Frame* main_frame(double Part::*part) const;
  // By iteration, mean over processes, for each thread that waits.
  std::vector<Amount> amounts_of(const Frame& frame, double Part::*part) const;
  double workers() const;
  double all_threads() const;
  // Returns which part of it is in the frame: what a gain there can be of.
  double in_frame(RootCause& cause, const Frame* frame, double Part::*part) const;
  // Likewise of a parallel region's threads; `most_of_all`: they lose most of such time.
  double in_region(RootCause& cause, Account account, const ParallelRegion& region,
                   double ns, double Part::*part, bool most_of_all) const;
  // What computation in the loop (empty: in the run) takes on all threads or cores, but for `not_needed` ns of it.
  double least_time(const std::string& loop, double not_needed) const;
  // A gain leaves that, at the least; one of shared work leaves all of it.
  void bound_gain(RootCause& cause, double not_needed = 0) const;
  // --- thread_causes.cc: what the threads of a process wait for

  void serial_parts();
  // In parallel regions: what threads wait at the end of single blocks, for whatever.
  void after_single();
  void after_single(const ParallelRegion& region, double ns, bool most_of_all);
  // What a region's threads do but loops and sections: blocks of which one thread has the work, and tasks.
  struct Blocks {
    std::uint32_t path = RunProfile::kNone;  // the construct with most time
    double path_ns = 0;                      // its block
    std::uint64_t path_visits = 0;
    double ns = 0;  // of all blocks, without tasks, MPI and I/O
    std::uint64_t tasks = 0;
    double tasks_ns = 0;        // computation in them
    double tasks_in_block = 0;  // the part of it of whose block a thread executes them
    double forks = 0;           // of the region
    double threads = 0;         // of a team
    double each_task() const { return tasks_ns / static_cast<double>(tasks); }
  };
  Blocks blocks_of(const ParallelRegion& region) const;
  // Tasks take less than what threads need and wait for each, `waited_ns` in all.
  static bool are_small(const Blocks& blocks, double waited_ns);
  // Of what is waited, `part` is this cause's.
  void small_tasks(RootCause& cause, const ParallelRegion& region, const Blocks& blocks,
                   double waited_ns, double part) const;
  void few_tasks(RootCause& cause, const ParallelRegion& region,
                 const Blocks& blocks) const;
  std::string region_name(const ParallelRegion& region) const;
  // Of primary threads, and not in MPI.
  double outside_of_regions() const;
  // The region has the loop in it: it lasts longer than any of the loop's cells. What its threads wait at its end is of no iteration.
  bool is_around(const ParallelRegion& region, const Frame& frame) const;
  // Threads have no work while regions are open.
  void fewer_threads(RootCause cause, const std::string& when);
  // Without what locks make.
  double imbalance(const ParallelRegion& region) const;
  bool is_lock(const RunProfile::Path& path) const;
  bool is_ordered(const RunProfile::Path& path) const;
  // Its threads wait for each other, and those that got in late are late at the region's end.
  bool is_one_at_a_time(const RunProfile::Path& path) const;
  // The parallel region around; nullptr: none.
  const ParallelRegion* around(std::uint32_t path) const;
  // Who gets a lock late is late at the end of the region, too, and others wait for that: as far as threads that have as much work
  // wait there, and not longer than was waited for locks.
  void locks();
  // By parallel region.
  void threads();
  void uneven_threads(const ParallelRegion& region, double ns, bool most_of_all);
  // The outermost path of a region.
  std::uint32_t path_of(std::uint32_t region) const;
  // Of the whole run; all of it is the most that could be gained.
  RootCause whole_cause(Account account, double ns, std::string where,
                        std::uint32_t path) const;
  // By path, the one that stands for it.
  std::vector<std::uint32_t> without_recursion() const;
  // Call paths of a class, with workers that have no work meanwhile.
  using Tell = std::function<void(RootCause&, std::uint32_t, const std::string&)>;
  // The path that another one's time is told with; kNone: as usual.
  using StandsFor = std::function<std::uint32_t(std::uint32_t)>;
  void paths_of(std::initializer_list<TimeClass> classes, Account account, const Tell& tell,
                const StandsFor& stands_for = {});
  // Of what its region's threads wait at the end for locks, the part that this one makes.
  double of_lock(std::uint32_t path) const;
  // What is inside, by location; of criticals and ordered parts the summary has it.
  const RunProfile::Path* inside(std::uint32_t path) const;
  // How long and by whom a lock is held, or how long an ordered part takes; empty: that is not known.
  std::string held_text(std::uint32_t path) const;
  // Of locks of POSIX threads: a region inside of the wait, and a sentence on all of them.
  bool is_holder(std::uint32_t path) const;
  std::string holders_text(std::uint32_t path) const;
  // Who waits for the end of threads has nothing else to do.
  bool is_join(std::uint32_t path) const;
  bool waits_for_tasks(std::uint32_t path) const;  // taskwait, taskgroup
  // Of these, in regions of small tasks: by region the first path, which stands for all, and their time.
  struct TaskWaits {
    std::uint32_t path = 0;
    double ns = 0;
  };
  std::map<const ParallelRegion*, TaskWaits> small_task_waits() const;
  // The master block for whose end threads wait in this barrier; kNone: for none.
  std::uint32_t master_before(std::uint32_t path) const;
  void synchronization();
  // Others wait for ranks because of it, which are named with it.
  bool is_named_with_ranks(std::uint32_t path) const;
  void files();
  void management();
  // --- mpi_causes.cc: what MPI takes otherwise

  // What is left of MPI's time, by call.
  void communication();
  void one_call(const MpiCall& call);
  void join_varying();
  // At most: who does not wait in one call may not have to in another.
  void gains_of_meetings();
  // ", 20 in an iteration of main ring.c:9"; empty: it is not known, or one.
  std::string per_iteration(const MpiCall& call) const;
  std::string calls_text(const MpiCall& call, double number, double each) const;
  void fine_calls(RootCause& cause, const MpiCall& call, double each) const;
  void transfers(RootCause& cause, const MpiCall& call, double each) const;
  // All ranks come to it at different times, and are equal in the end.
  void meetings(RootCause& cause, const MpiCall& call, double each) const;
  void alone(RootCause& cause, const MpiCall& call, double each) const;
  // Of some ranks, whose messages come late or take long; the others wait for them.
  void messages(RootCause& cause, const MpiCall& call,
                const std::vector<std::size_t>& who) const;

  const std::vector<summary::RunSummary>& summaries_;
  const RunProfile profile_;
  const ProfileTotals totals_;
  const IterationProfile iterations_;
  RunParts parts_;
  std::vector<const ParallelRegion*> around_;  // by path
  const Places places_;
  const std::size_t processes_;
  const ByMoment work_, waits_;
  double work_end_ = 0;  // as meet() says of them
  bool mpi_ = false;
  double counted_ = 0;
  std::vector<double> explained_, in_mpi_;  // by process, of mpi_all
  std::vector<double> chained_, in_turn_;   // by process: WaitsOfProcess
  std::vector<double> core_waits_;          // by process, of its primary thread
  std::vector<double> thread_core_waits_;   // by location
  double cores_left_ = 0;                   // that nothing has explained yet
  bool knows_cores_ = false;                // rows say when threads had no core
  double waits_for_cores_ = 0;              // in MPI, that no cause has yet
  RootCause cores_when_;                    // its loop, iterations and when
  bool crowded_ = false;                    // more threads than cores that they may use
  double cores_are_few_ = 0;                // threads without one in all
  struct ByLocks {
    double imbalance_ns = 0;  // that they make
    double waited_ns = 0;     // for them
  };
  std::map<std::uint32_t, ByLocks> by_lock_;  // by parallel region
  // Likewise: what is waited at the end of single blocks for threads that come there late.
  std::map<std::uint32_t, double> late_at_single_;
  Conclusions out_;
};

}  // namespace refrain::analysis
