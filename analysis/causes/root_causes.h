// What a run lost its time to: a ledger of every second of every thread, and one finding for each root cause.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of the summaries alone, which are exact for the whole run, whatever was written.
// Thread-safety: pure. Units: nanoseconds of all threads where nothing else is said; `gain_ns` and `of_ns` are of the run's
// own (wall) time.
// Method: processes are compared iteration by iteration (rows of iterations), outside of loops by stretches of time, on clocks that
// go on while they work (rank_clocks.h). What a process has to do is its time outside of MPI;
// what others wait in MPI until the one with most has done that is charged, at each moment, to those that still work, in equal
// parts; the rest of MPI's time is communication. Where it is calls on a file that they do more, these are no finding of their own. Workers that have nothing to do while their primary
// thread is in MPI belong to what that waits for. What more threads of such a process wait for each other, or for its serial
// parts, than those of others do, has the same cause and is charged to it, too. Of the rest, waits in collective calls for ranks
// that are in their messages are those messages' doing. What threads wait at the end of a region because others had a lock is the
// lock's. What threads were ready to run without a core is taken from what nobody in particular causes, in MPI as far as ranks had none that others waited for. What is waited in
// MPI_Finalize is for who comes last. So no second has two causes.
// A gain is what the run would be shorter by on these clocks, with the causing ranks or threads at the mean of the others, all else as it was
// (that of one cause alone: gains do not add up).
// Source: load balance as by POP, by iteration as Furlinger and Moore do; of who is late as Boehme et al., TOPC 3(2), 2016.
// Cost: O(rows of all threads); memory: kMaxParts x 112 bytes at most, iterations are put together for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/time_shape.h"
#include "analysis/profile/run_profile.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

enum class Account : std::uint8_t {
  kUseful,
  kUnevenRanks,    // in MPI, until the process with most work comes
  kCommunication,  // in MPI otherwise
  kUnevenThreads,  // at the end of parallel regions and loops, until the last thread comes
  kSerial,         // threads without work outside of parallel regions
  kSynchronization,  // explicit barriers, critical sections, locks
  kManagement,       // start and end of parallel regions, and of threads
  kFileIo,           // MPI's, and slow calls on files
  kStart,            // start and end of MPI, and threads without work meanwhile
  kDevices,
  kCores,  // waiting for a free core
  kUnknown,
};
inline constexpr std::size_t kAccounts = 12;
using Ledger = std::array<double, kAccounts>;

// As in JSON: "uneven_ranks"; and in words: "waiting for ranks with more work".
const char* account_name(Account account) noexcept;
const char* account_title(Account account) noexcept;

// "main ring.c:9-12" of "loop 1 @ main ring.c:9-12": by its place a loop is the same in several runs.
std::string loop_place(const std::string& name);

struct RootCause {
  static constexpr std::uint32_t kNone = RunProfile::kNone;
  struct Evidence {
    std::string where;  // a call that waits
    double ns = 0;
  };
  struct Place {
    std::string where;
    double share = 0;  // of what these ranks do more
  };

  Account account = Account::kUnevenRanks;
  double lost_ns = 0;
  double most_lost_ns =
      0;             // of ranks with more work: others cannot have waited longer for it
  double share = 0;  // of the time of all threads, without kStart
  bool with_idle =
      false;           // lost_ns has that of workers, which have nothing to do meanwhile
  double gain_ns = 0;  // of_ns would be less by so much
  // If what these ranks do more were shared among all instead of gone; of a thread, if all had as much work. 0: not known, or nothing.
  double shared_gain_ns = 0;
  double of_ns = 0;   // the loop's time, or the run's without kStart
  std::string where;  // in the program; empty: not known
  std::vector<Place>
      places;  // where that has less than most of it: it and others, most first; else empty
  // Likewise: in the profile of these summaries (merge_summaries()).
  std::uint32_t path = kNone;
  std::vector<std::uint32_t>
      ranks;                     // that cause it, in their order; empty: none in particular
  std::uint32_t thread = kNone;  // that causes it, on these ranks
  std::string loop;              // in which; empty: outside of loops, or in several
  // Outside of loops, where that is one part of the run: from the start of recording. until_ns is 0: it is not.
  double from_ns = 0;
  double until_ns = 0;
  double outside_ns = 0;         // what these ranks do more than others outside of it
  std::uint64_t iterations = 0;  // of the loop
  std::uint64_t unknown_iterations =
      0;  // the part of them of which `outside_ns` has the time: the loop was not known yet
  TimeShape when;  // what these ranks or threads do more than others, ns of an iteration
  double others_ns = 0;            // what the others do, of an iteration of the loop
  std::vector<Evidence> evidence;  // where ranks wait for it, too; most time first

  std::string what;  // a title
  std::string text;  // a sentence or two
  // Where the waits at a call come from, one more; set by who reads the events (waits/origin.h). Empty: not known.
  std::string origin;
  // Ranks wait in a call for others, of which none has more work: for messages, or all for each other; or most for work that
  // varies, in the first one of `evidence`.
  enum class Waits : std::uint8_t { kNone, kForMessages, kForAll, kForWork };
  Waits waits = Waits::kNone;
  // That call; empty: none.
  std::string call() const {
    return waits == Waits::kForWork ? evidence.front().where
           : waits == Waits::kNone  ? std::string()
                                    : where;
  }
  std::string gain;  // a sentence; empty: not known
  std::string hint;  // what to do
};

// Where threads were when their processes were killed: how long, nobody knows.
struct LastSeen {
  std::string where;                 // the innermost region; empty: in none
  std::vector<std::uint32_t> ranks;  // whose primary threads, in their order
  double since_ns = 0;  // when the first of them came there, from the start of recording
};

struct Conclusions {
  Ledger ledger{};               // adds up to time_ns
  double time_ns = 0;            // of all threads
  double run_ns = 0;             // of the process that ran longest
  std::vector<double> start_ns;  // by process: kStart of its primary thread
  double core_wait_ns =
      0;  // that threads were ready to run without a core; as far as the kernel counts
  std::vector<LastSeen> last_seen;  // most ranks first; empty: no process was killed
  std::string killed;  // two sentences on that, without the last stop; empty: likewise
  // Likewise on processes that ended by exit() while an event was recorded, or where others were killed; empty: there are none.
  std::string exited;
  std::string cores;       // a sentence on that, and why; empty: it is little
  std::string cores_hint;  // what to do about it
  std::string kernel;      // a sentence on time in the kernel; empty: it is little
  std::string memory;      // one on processes whose memory grows with the iterations
  double tracing_ns = 0;   // that Refrain took, estimated; part of all accounts
  std::string tracing;     // a sentence on that; empty: it is little
  std::string unknown;     // a sentence on time that is not known; empty: it is little
  std::string
      openmp;  // which runtime took the place of another; set by who reads the archive
  std::vector<RootCause> causes;  // most time first; each at least kMinShare
};
inline constexpr double kMinShare = 0.01;

// Returns true if a cause is of this account.
bool has_cause(const Conclusions& conclusions, Account account) noexcept;

// A sentence on where ranks wait because of it; empty: nowhere else.
std::string evidence_text(const RootCause& cause);

// A part of what the cause `from` lost is that of the cause `into`: in the ledger, and in the sentences of both. They are places in
// conclusions.causes.
void charge_to(Conclusions& conclusions, std::size_t into, std::size_t from, double part);
// Those that are large enough, most time first. After charge_to().
void sort_causes(Conclusions& conclusions);

struct WithoutWaits;

// What replays of the events say of causes that name a call in which ranks wait (RootCause::call()): `causes` are their places in
// conclusions.causes, `replays` what is without the waits of each (analysis/ideal, asked for in this order). Waits that are gone with
// those of another call are that one's. Returns false, and changes nothing, unless there is one replay for each.
bool set_replayed_gains(Conclusions& conclusions, const std::vector<std::size_t>& causes,
                        const std::vector<WithoutWaits>& replays);

// Of all processes of a run, with their rows of iterations; without rows the run is one iteration.
Conclusions conclude(const std::vector<summary::RunSummary>& summaries);

}  // namespace refrain::analysis
