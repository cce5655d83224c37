// Replays what processes do on a network without transfer times: computation takes what it took, a call of MPI no longer than
// it must wait for others.
//
// Place in the flow: ARCHITECTURE.md, stage 6: a sink of reader/archive_stream.h; ideal_run.h makes a result of it.
// Each process is its first thread, which alone may communicate. Its events become steps of a queue, which is worked off as far as what a step waits
// for is known: a message's send (matched by reader/message_matcher.h), a part of an operation (ideal_operations.h). What the
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
#include <string>
#include <utility>
#include <vector>

#include "analysis/ideal/ideal_operations.h"
#include "analysis/ideal/ideal_run.h"
#include "reader/message_matcher.h"
#include "reader/trace.h"

namespace refrain::analysis {

class IdealNetwork final : public reader::TraceSink {
 public:
  static constexpr std::size_t kMaxSteps = std::size_t{1} << 17;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  using Ticks = std::int64_t;

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  // After finish().
  IdealRun take() { return std::move(out_); }

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
    kBegin,    // number: what does not block
    kFinish,   // likewise
    kIteration,
    kIterationEnd,  // number: loop; rank: kWhole ...
  };
  enum Written : std::uint32_t { kWhole, kPart, kNot };
  struct Item {
    Step step = Step::kCompute;
    std::uint32_t number = 0, rank = 0;
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

  void enter(Thread& thread, std::uint32_t region, Ticks now);
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
  bool receive(Thread& thread, std::uint32_t number);
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
  std::vector<ByClass>
      written_;              // by loop and class of duration: iterations of all processes
  double unknown_time_ = 0;  // of iterations of which none like them was written
  IdealRun out_;
};

}  // namespace refrain::analysis
