// Replays what processes do on a network without transfer times: computation takes what it took, a call of MPI no longer than
// it must wait for others.
//
// Place in the flow: ARCHITECTURE.md, stage 6: a sink of reader/archive_stream.h; ideal_run() makes a result of it.
// Each process is its first thread, which alone may communicate. Its events become steps of a queue, which is worked off as far as what a step waits
// for is known: a message's send (matched by reader/message_matcher.h), a part of an operation (IdealOperations). What the
// archive never says is given up at the end, or when a queue has kMaxSteps: then the step waits for nobody.
// Model: a receive ends when its send begins, at the earliest; a send waits for nobody, also MPI_Ssend; files of MPI take
// the time they took, all else in MPI none. Clocks of all processes are set to 0 at the end of MPI_Init.
// Thread-safety: none. Units: ticks of the archive's clock.
// Memory: steps of processes that wait, messages in flight, and a few numbers for each process, loop and class of duration: does
// not grow with the archive.
// Cost: O(1) a step, no allocation once the tables have grown.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "reader/archive_stream.h"
#include "reader/communicators.h"
#include "reader/message_matcher.h"
#include "reader/trace.h"

namespace refrain::analysis {

// Operations of communicators on an ideal network: who waits for whom, at no cost.
//
// Place in the flow: private to analysis/ideal. Thread-safety: none. Units: ticks of the ideal clock.
// A communicator's operations are numbered on each of its processes, as MPI requires them to be called in the same order; those
// that do not block apart, in the order in which they begin. All wait for all, but: for the root (one to all), only the root (all to
// one), for lower ranks (scan), for neighbours on a grid. What hands communicators back waits for nobody.
// Memory: operations that have not been left by all; of communicators of which a process is missing kMax at most.

class IdealOperations {
 public:
  using Ticks = std::int64_t;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kMax = 1 << 14;

  // A process' part in an operation.
  struct Part {
    std::uint32_t operation = kNone;  // kNone: it waits for nobody
    std::uint32_t rank = 0;
  };

  explicit IdealOperations(const reader::TraceDefinitions& definitions);

  // The next one of this process on this communicator (TraceDefinitions::comms), or window. In the order of the events.
  Part next(ProcessId process, std::uint32_t comm, bool window, bool blocks,
            std::uint32_t operation, std::uint32_t root, bool neighbours);
  // The process has come to it. Who waits there should ask again.
  std::vector<std::uint32_t>& arrive(Part part, Ticks time);
  // When it may go on; none: somebody is missing. `waiter` is in the list of the next arrive() then.
  std::optional<Ticks> leave(Part part, std::uint32_t waiter);
  // It goes on. The part is no longer valid.
  void left(Part part);

 private:
  enum class Kind : std::uint8_t { kAll, kFromRoot, kToRoot, kLower, kNeighbours };

  struct Operation {
    Kind kind = Kind::kAll;
    std::uint32_t comm = 0;  // index in comms_
    std::uint32_t root = kNone;
    std::uint32_t begun = 0;  // parts that were handed out
    std::uint32_t arrived = 0;
    std::uint32_t left = 0;
    Ticks latest = 0;
    std::vector<Ticks> times;  // by rank; of kFromRoot the root's alone; kNotYet
    std::vector<std::uint32_t> waiters;
  };
  struct Begun {
    std::uint32_t number = kNone;  // in operations_; kNone: nobody has come to it
  };
  using Comm = reader::CommOperations<Begun>;
  static constexpr Ticks kNotYet = -1;

  std::uint32_t comm_of(std::uint32_t index) const;  // of TraceDefinitions::comms
  static Kind kind_of(std::uint32_t operation);
  void drop(Comm& comm);
  std::optional<Ticks> latest_of(const Operation& operation, std::uint32_t rank) const;

  const reader::TraceDefinitions& definitions_;
  std::vector<Comm>
      comms_;  // communicators, windows, communicators of those that do not block
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> woken_;
};

// What each process would have saved on an ideal network: one on which a message arrives when it is sent, of an archive's events.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one call a process at a time (libotf2). Units: ns.
// Of what is not written, what would have been saved is estimated: an iteration, also of an inner loop, stands for those of its
// loop that lasted about as long (within a factor of √2, else the nearest), in the mean of all processes; these are counted
// exactly, by their marks. Loops without a whole iteration count as all else of the outermost one.
// Errors: of the archive. Where the replay cannot tell, `unknown` says why.
// Cost: reads all events; memory as IdealNetwork.

struct IdealRun {
  // Outside of MPI_Init and MPI_Finalize. `saved_ns` is what ends earlier: negative where the process began behind others.
  struct Saved {
    double time_ns = 0;
    double saved_ns = 0;
  };
  struct Loop : Saved {
    static constexpr std::size_t kFirst = 8;
    std::uint64_t iterations = 0;
    std::vector<Saved> first;  // of these, the first kFirst one by one
  };
  struct Process {
    std::uint32_t rank = 0;  // of MPI
    Saved whole;
    std::vector<Loop> loops;  // as `loops`
  };

  std::string unknown;             // why there is nothing below; else empty
  std::vector<std::string> loops;  // outermost ones that Refrain detected, by name
  std::vector<Process> processes;  // that have events
  double estimated = 0;            // share of the time of all processes that is not written
  // Likewise in outermost loops of which more iterations are written in part, because of gaps in them, than as a whole.
  double in_parts = 0;
  std::uint64_t given_up = 0;  // waits for what is not in the archive: they count as none
};

base::Result<IdealRun> ideal_run(const std::string& archive,
                                 const reader::Progress& progress = {});

// What if nobody waited in a call: the run on an ideal network with and without these waits, of an archive's events.
//
// Place in the flow, thread-safety, errors: as ideal_run(). What is sent, and what others wait for, is as it was. Waits for
// non-blocking collective operations stay. Where most iterations have gaps inside, as inner loops are reduced, it is not known: what
// makes up for a wait may be in a gap. Source: as in Boehme et al., TOPC 3(2), 2016, section 5, waits come back elsewhere
// unless their cause is gone. Units: ns of the run.
// Cost: one pass over all events, a replay for each call and one more; not of archives of more than kMostReplayed events.

inline constexpr std::uint64_t kMostReplayed = 20'000'000;

struct WithoutWaits {
  double gain_ns = 0;  // of the whole run, at least 0
  std::string
      moved_to;  // another call in which ranks wait longer then, most of all; empty: in none
  // Shares of the waits in the call, as far as they are written: so many are in the other call then; so much less is waited in all
  // calls (1: they are gone; more: others, too; 0: all of them come back).
  double moved = 0;
  double saved = 0;
  std::vector<double> gone;  // by call asked for: of its waits, so many are gone then
};
struct WhatIf {
  std::string unknown;              // why there is nothing below; else empty
  std::vector<WithoutWaits> calls;  // as asked for
};

// `calls`: by name and place, "MPI_Barrier @ring.c:9", or by name alone where archives do not say places.
base::Result<WhatIf> without_waits(const std::string& archive,
                                   const std::vector<std::string>& calls);

class IdealNetwork final : public reader::TraceSink {
 public:
  static constexpr std::size_t kMaxSteps = std::size_t{1} << 17;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  using Ticks = std::int64_t;

  IdealNetwork() = default;
  // Nobody waits in this call.
  explicit IdealNetwork(std::string without) : without_(std::move(without)) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  // After finish().
  IdealRun take() { return std::move(out_); }
  // By call, as its name and place: what all processes wait in it in the replay, ticks. Before take().
  std::map<std::string, double> waits() const;

 private:
  enum class Step : std::uint8_t {
    kCompute,  // until then
    kSkip,     // until then, in no time
    kStart,    // likewise, and the clock is 0
    kEnd,      // here the run ends
    kSend,     // number: message
    kReceive,  // number: message
    kArrive,   // number: operation, rank
    kWait,     // likewise
    kPass,     // likewise, without waiting
    kBegin,    // number: what does not block
    kFinish,   // likewise
    kIteration,
    kIterationEnd,  // number: loop; rank: kWhole ...
  };
  enum Written : std::uint32_t { kWhole, kPart, kNot };
  struct Item {
    Step step = Step::kCompute;
    std::uint32_t number = 0, rank = 0;
    std::uint32_t call = 0;  // in calls_
    Ticks time = 0;
  };
  // One end of a message: the sends have the time.
  struct End {
    Ticks sent = kNotYet;
    std::uint32_t other = kNone;   // of a receive: the send
    std::uint32_t waiter = kNone;  // process
    bool given_up = false;         // of a receive; or the receive of this send was
  };
  // What does not block. Its communicator is known when it completes.
  struct Started {
    Ticks begun = kNotYet;
    bool known = false;
    IdealOperations::Part part;
    std::uint32_t waiter = kNone;
  };
  struct Open {  // until all before it have completed
    std::uint32_t started = 0;
    bool neighbours = false, completed = false;
    std::uint32_t comm = 0, operation = 0, root = 0;
  };
  struct Sums {
    double time = 0, saved = 0;
    void add(double more, double more_saved) {
      time += more;
      saved += more_saved;
    }
  };
  using ByClass = std::map<int, Sums>;  // of duration
  struct Loop {
    ByClass whole;  // of any level
    // Of an outermost one: all iterations, with what was not written as computation; and that, by the innermost loop around it.
    Sums all;
    double whole_time = 0, part_time = 0;  // of its iterations that are written so
    std::uint64_t iterations = 0;
    std::vector<Sums> first;
    std::map<std::uint32_t, ByClass> off;
  };
  // An iteration that has begun, from the outermost loop inwards.
  struct Level {
    std::uint32_t loop = kNone;
    Written written = kWhole;
    Ticks begun = 0;
    Ticks off = 0;  // what of it was not written, and belongs to no inner one
  };
  struct Thread {
    ProcessId process{};
    LocationId location{kNone};  // its first thread
    bool seen = false, off = false, ended = false;
    std::uint32_t depth = 0;  // of calls of MPI
    std::uint32_t region = kNone;
    std::uint32_t call = 0;
    Ticks begun = 0;  // the outermost one
    Ticks last = 0;
    std::vector<Level> levels;
    Ticks off_until = 0;             // what was not written before is accounted for
    std::vector<Item> sends, waits;  // of the outermost call
    std::deque<Open> open;
    std::uint64_t first_open = 0;
    std::map<std::uint64_t, std::uint64_t> requests;
    // The replay.
    std::deque<Item> queue;
    Ticks at = 0, clock = 0, start = 0, start_clock = 0;
    std::vector<std::pair<Ticks, Ticks>> iterations;  // begins, by both clocks
    Ticks end = 0, end_clock = 0;                     // at MPI_Finalize
    std::vector<Loop> loops;
  };
  static constexpr Ticks kNotYet = -1;

  void enter(Thread& thread, const reader::TraceEvent& event, Ticks now);
  std::uint32_t call_of(const reader::TraceEvent& event);
  void without_waits(Thread& thread);
  void leave(Thread& thread, std::uint32_t region, Ticks now);
  void begin_call(Thread& thread, Ticks now);
  void end_call(Thread& thread, Ticks now);
  void in_mpi(Thread& thread, const reader::TraceEvent& event, Ticks now);
  void started(Thread& thread, const reader::TraceEvent& event);
  void completed(Thread& thread, const reader::TraceEvent& event);
  void switched(Thread& thread, bool off, Ticks now);
  void marked(Thread& thread, const reader::TraceEvent& event, Ticks now);
  std::uint32_t end_of_message();
  void matched(const reader::MatchedMessage& message);

  void push(Thread& thread, Item item);
  void wake(std::uint32_t process);
  void wake(const std::vector<std::uint32_t>& processes);
  void work();
  void run(Thread& thread);
  bool done(Thread& thread, const Item& item);
  bool receive(Thread& thread, const Item& item);
  void wait_until(Thread& thread, Ticks time, const Item& item);
  void forget(std::uint32_t receive);
  void not_written(Thread& thread, Ticks now);
  void iteration_ends(Thread& thread, const Item& item);
  void give_up(Thread& thread);
  void release(std::uint32_t end);
  static double saved_by(const ByClass& written, int cls);
  IdealRun::Process result_of(const Thread& thread, std::uint32_t rank);

  const reader::TraceDefinitions* definitions_ = nullptr;
  struct Kind {
    bool mpi = false, file = false, start = false, end = false, neighbours = false;
    std::uint32_t loop = kNone;
  };
  std::vector<Kind> kinds_;      // by region
  std::vector<Thread> threads_;  // by process
  std::vector<bool> counts_;     // by location
  std::unique_ptr<reader::MessageMatcher> matcher_;
  std::unique_ptr<IdealOperations> operations_;
  std::vector<End> ends_;
  std::vector<std::uint32_t> free_ends_;
  std::vector<Started> started_;
  std::vector<std::uint32_t> free_started_;
  std::vector<std::uint32_t> ready_;  // processes
  bool several_threads_ = false;
  bool damaged_ = false;
  std::vector<ByClass>
      written_;  // by loop and class of duration: iterations of all processes
  struct Call {
    std::string name;
    bool without = false;
    Ticks waited = 0;
  };
  std::string without_;  // a call's name; empty: none
  std::vector<Call> calls_ = std::vector<Call>(1);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
      call_numbers_;         // by region and place
  double unknown_time_ = 0;  // of iterations of which none like them was written
  IdealRun out_;
};

}  // namespace refrain::analysis
