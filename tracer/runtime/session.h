// One recording of one process: owns the recorders, the agent, the gate and the journal,
// and carries decisions from the gate to the recorders.
//
// Place in the flow: ARCHITECTURE.md, steps 2, 4, 5 and 6. Made by the first event
// source that starts (tracer/ompt), ended by tracer/runtime/lifecycle.cc.
//
// Thread-safety: attach() and detach() from any thread; on_symbol() and on_symbol_end()
// only from the primary thread: the first that opens an outermost parallel region.
// recording() from anywhere. Nothing here is for signal handlers but recording().
// Ownership: recorders belong to the session and stay until it ends; a thread that ends
// gives its recorder back, and a later thread goes on with it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filters/iteration_gate.h"
#include "filters/rolling_limit.h"
#include "filters/settings.h"
#include "periodicity/phase_detector.h"
#include "periodicity/symbol_numbers.h"
#include "periodicity/zeroed_array.h"
#include "tracer/recorder/decision_board.h"
#include "tracer/recorder/handler_safe_mutex.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/spool_file.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/call_chains.h"
#include "tracer/runtime/join_slot.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/modules.h"
#include "tracer/runtime/recording_folder.h"

namespace refrain::runtime {

inline constexpr unsigned kPlaceDetailShift = 48;
inline constexpr unsigned kPlaceKindShift = 58;

// A symbol of the agent's stream, in one word: what the event was and where in the code.
// Symbols that more goes into (MPI: communicator, callers) are hashes; their place is this.
// `detail` has 10 bits: a construct's kind, or the number of an MPI procedure.
inline periodicity::Symbol make_symbol(spool::Kind kind, std::uint16_t detail,
                                       std::uint64_t address) noexcept {
  return (address & spool::kAddressMask) | std::uint64_t{kind} << kPlaceKindShift |
         std::uint64_t{detail} << kPlaceDetailShift;
}

class Session final : public filters::GateSink {
 public:
  // Makes the archive's folder and the journal. Null and one line in `error` if tracing
  // cannot start. `of_job`: the process is one of several and will learn which, see
  // settle(); until then the folder is a provisional one.
  static std::unique_ptr<Session> create(const filters::Settings& settings,
                                         const char* runtime_name, bool of_job,
                                         std::string& error);
  ~Session();

  const filters::Settings& settings() const noexcept { return settings_; }
  const std::string& archive() const noexcept { return archive_; }

  // All is ready: the program's part of the recording begins here. What it took to come so far
  // is no time of the program's. Once, before the first thread is attached.
  void begin() noexcept;

  // This is process `rank` of `size`; its spool moves to `archive`. Empty, or an error.
  // Once, by the primary thread or before there is one.
  std::string settle(const std::string& archive, std::uint32_t rank, std::uint32_t size);
  bool settled() const noexcept { return provisional_.archive.empty(); }
  std::uint32_t job_rank() const noexcept { return job_rank_; }
  std::uint32_t job_size() const noexcept { return job_size_; }
  std::string program() const { return program_; }

  // A recorder for the calling thread; null if there is no memory or disk for one (reported
  // on stderr once, its events are counted as lost).
  recorder::ThreadRecorder* attach(spool::LocationRole role) noexcept;
  void detach(recorder::ThreadRecorder* recorder) noexcept;

  // Why nothing is recorded when recording() is false.
  spool::LossCause stop_cause() const noexcept {
    return stop_cause_.load(std::memory_order_relaxed);
  }

  bool auto_symbols() const noexcept { return auto_symbols_; }
  bool function_symbols() const noexcept { return function_symbols_; }

  // Counters that threads have: one text for the journal (spool::kTextMetrics), and what is
  // called with a thread's recorder when it begins (and ends) to record, on that thread. Once,
  // before the first thread is attached.
  using MetricHook = void (*)(recorder::ThreadRecorder&, bool begins);
  void set_metrics(std::string_view text, unsigned count, MetricHook hook);

  // True until the session ends; sources do nothing any more when it is false.
  bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  // Makes `recorder` the primary one if there is none yet; whether it is the primary.
  bool claim_primary(recorder::ThreadRecorder* recorder) noexcept {
    recorder::ThreadRecorder* now = primary_.load(std::memory_order_relaxed);
    return now == recorder || (now == nullptr && claim_primary_slow(recorder));
  }
  bool is_primary(const recorder::ThreadRecorder* recorder) const noexcept {
    return primary_.load(std::memory_order_relaxed) == recorder;
  }

  // The primary thread's epoch, for threads outside its team.
  std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }

  // Primary thread: a new epoch begins at `ticks`, for a barrier ended; records it.
  void advance_epoch(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    recorder.sync(next_epoch(0), ticks);
  }
  // The same, for an outermost region begins. For the result see sync_with_begin().
  std::uint8_t begin_epoch(recorder::ThreadRecorder& recorder,
                           std::uint64_t ticks) noexcept {
    return recorder.sync_with_begin(next_epoch(skip_epochs_.take()), ticks);
  }
  // Other threads: they have come to `epoch`; records it and applies what was decided.
  void reach_epoch(recorder::ThreadRecorder& recorder, std::uint64_t epoch,
                   std::uint64_t ticks) noexcept {
    recorder.sync(epoch, ticks);
    follow(recorder);
  }
  // The same, where they begin their part of an outermost region.
  std::uint8_t join_epoch(recorder::ThreadRecorder& recorder, std::uint64_t epoch,
                          std::uint64_t ticks) noexcept {
    const std::uint8_t cut = recorder.sync_with_begin(epoch, ticks);
    follow(recorder);
    return cut;
  }
  // A cancelled team may count its barriers differently: epochs jump, so that no two
  // points share a number.
  void team_cancelled() noexcept { skip_epochs_.set(); }

  // Primary thread: the next symbol of the stream. `place` says where in the code it comes
  // from and what it is, as make_symbol() does.
  void on_symbol(recorder::ThreadRecorder& recorder, periodicity::Symbol symbol,
                 std::uint64_t ticks) noexcept {
    on_symbol(recorder, symbol, symbol, ticks);
  }
  // The symbol's number for on_known_symbol(); 0 if it has none.
  periodicity::Symbol on_symbol(
      recorder::ThreadRecorder& recorder, periodicity::Symbol symbol,
      periodicity::Symbol place, std::uint64_t ticks,
      filters::Company company = filters::Company::kNone) noexcept;
  // The same for a symbol that was there before, from the same place.
  __attribute__((always_inline)) void on_known_symbol(recorder::ThreadRecorder& recorder,
                                                      periodicity::Symbol number,
                                                      periodicity::Symbol place,
                                                      std::uint64_t ticks,
                                                      filters::Company company) noexcept {
    if (phases_open_ != 0 || metric_count_ != 0 ||
        waiting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return on_known_symbol_slow(recorder, number, place, ticks, company);
    push_to_gate(recorder, number, place, ticks, company);
  }
  void on_symbol_end(std::uint64_t ticks, std::uint32_t depth) noexcept {
    gate_->on_symbol_end(ticks, static_cast<std::uint16_t>(depth));
  }

  // Primary thread: a phase that the program names begins or ends: an iteration, which goes
  // before the loops that are found (periodicity/phase_detector.h). Until the outermost ends
  // no other symbol counts. `outside` of all teams a new epoch begins.
  void phase_begin(recorder::ThreadRecorder& recorder, std::uint32_t name,
                   std::uint32_t region, std::uint64_t ticks, bool outside) noexcept;
  void phase_end(recorder::ThreadRecorder& recorder, std::uint32_t name,
                 std::uint32_t region, std::uint64_t ticks, bool outside) noexcept;
  // Whether symbols do not count because of that.
  bool in_phase() const noexcept { return phases_open_ != 0; }

  // Primary thread: nothing is to be written from here on, and again. Inside of a team: from
  // its last barrier on.
  void pause(recorder::ThreadRecorder& recorder, std::uint64_t ticks,
             bool outside) noexcept;
  void resume(recorder::ThreadRecorder& recorder, std::uint64_t ticks,
              bool outside) noexcept;

  // Primary thread: all processes of the job have met; marks of iterations tell how often.
  void pass_anchor() noexcept { ++anchors_; }

  // Any thread: a record or text of the journal that concerns the process (communicators,
  // clock offsets, names). Those of other threads wait for the primary one.
  void put_fact(const recorder::ThreadRecorder* by, spool::RecordWords record) noexcept;
  void put_fact(const recorder::ThreadRecorder* by, spool::TextKey key,
                std::string_view text) noexcept;

  // Nested regions, and those of other root threads, begin on one thread and end late on
  // others: their epoch and the time of their join.
  std::uint64_t begin_instance(std::uint64_t epoch) noexcept;
  std::uint64_t instance_epoch(std::uint64_t instance) const noexcept;
  void join_instance(std::uint64_t instance, std::uint64_t ticks) noexcept {
    instances_[instance % kSlots].join(instance, ticks);
  }
  // The join's time, if it is known and before `now`; else `now`.
  std::uint64_t joined_instance(std::uint64_t instance, std::uint64_t now) const noexcept {
    return instances_[instance % kSlots].joined(instance, now);
  }

  // A parallel region begins, and nothing is recorded any more.
  void miss_region() noexcept {
    if (!recording()) missed_regions_.fetch_add(1, std::memory_order_relaxed);
  }
  // How many since the session ended.
  std::uint64_t missed_regions() const noexcept {
    return missed_regions_.load(std::memory_order_relaxed);
  }

  // Ends the recording: nothing is recorded from here on, every thread's part is brought
  // to the same cut, the files are closed. Idempotent.
  void finish() noexcept;

  // Removes what was recorded, if the process has not settled: nobody will read it.
  void discard() noexcept;

  // Around a fork, so that no other thread is in the midst of a change then: the first before it,
  // the second after it, in parent and child.
  void before_fork() noexcept { mutex_.lock(); }
  void after_fork() noexcept { mutex_.unlock(); }
  // In a forked child: lets go of the parent's files.
  void abandon() noexcept;

 private:
  std::uint64_t next_epoch(std::uint64_t skip) noexcept {
    const std::uint64_t next = epoch() + 1 + skip;
    epoch_.store(next, std::memory_order_relaxed);
    at_epoch_ = true;
    return next;
  }
  void follow(recorder::ThreadRecorder& recorder) noexcept {
    recorder.follow(board_);
    if (recorder.out_of_space()) [[unlikely]]
      space_out_.store(true);
  }

  static constexpr std::size_t kSlots = 4096;  // as long as a join is remembered
  struct EpochSkip {
    std::atomic<bool> wanted{false};
    void set() noexcept { wanted.store(true, std::memory_order_relaxed); }
    std::uint64_t take() noexcept {
      if (!wanted.load(std::memory_order_relaxed)) [[likely]]
        return 0;
      wanted.store(false, std::memory_order_relaxed);
      return 1 << 16;
    }
  };

  explicit Session(const filters::Settings& settings);
  void fill_header(spool::Header& header, spool::FileKind kind) const noexcept;
  void take_start_time() noexcept;
  void write_preamble(const char* runtime_name, const std::string& program);
  recorder::ThreadRecorder* attach_locked(spool::LocationRole role);
  void tell_not_attached(spool::LossCause cause) noexcept;
  bool claim_primary_slow(recorder::ThreadRecorder* recorder) noexcept;
  void push_symbol(recorder::ThreadRecorder& recorder, periodicity::Symbol number,
                   periodicity::Symbol place, std::uint64_t ticks,
                   filters::Company company) noexcept;
  // False: there is none any more. Every use of the gate lies between the two.
  bool begin_agent(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    if (in_agent_) [[unlikely]] {
      if (!agent_lost_) give_up_agent(recorder, ticks);
      return false;
    }
    in_agent_ = true;
    return true;
  }
  void end_agent() noexcept { in_agent_ = false; }
  void give_up_agent(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept;
  void on_known_symbol_slow(recorder::ThreadRecorder& recorder, periodicity::Symbol number,
                            periodicity::Symbol place, std::uint64_t ticks,
                            filters::Company company) noexcept;
  __attribute__((always_inline)) void push_to_gate(recorder::ThreadRecorder& recorder,
                                                   periodicity::Symbol number,
                                                   periodicity::Symbol place,
                                                   std::uint64_t ticks,
                                                   filters::Company company) noexcept {
    if (!begin_agent(recorder, ticks)) [[unlikely]]
      return after_symbol(recorder, ticks);
    places_[symbols_++ & places_mask_] = place;
    gate_->on_symbol({.symbol = number,
                      .ticks = ticks,
                      .epoch = recorder.epoch(),
                      .depth = static_cast<std::uint16_t>(recorder.depth()),
                      .at_epoch = at_epoch_,
                      .company = company,
                      .own_ticks = recorder.own_ticks() + journal_.file().own_ticks()});
    end_agent();
    at_epoch_ = false;
    after_symbol(recorder, ticks);
  }
  void pass_over(recorder::ThreadRecorder& recorder, periodicity::Symbol place,
                 std::uint64_t ticks, filters::Company company) noexcept;
  void after_symbol(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    recorder.follow(board_);
    if (recorder.out_of_space() || space_out_.load(std::memory_order_relaxed) ||
        recorder::memory_ran_out()) [[unlikely]]
      something_ran_out(recorder, ticks);
  }
  void something_ran_out(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept;
  void put_metrics(const filters::LoopMark& mark, std::uint64_t position) noexcept;
  void here(recorder::ThreadRecorder& recorder, std::uint64_t ticks, bool outside) noexcept;
  void note_place(periodicity::Symbol place) noexcept;
  void do_what_waits(recorder::ThreadRecorder& recorder,
                     periodicity::Symbol place) noexcept;
  void put_waiting_facts() noexcept;
  void put_call_chain(recorder::ThreadRecorder& recorder,
                      periodicity::Symbol place) noexcept;
  template <typename Add>
  void put_fact_locked(const recorder::ThreadRecorder* by, const Add& add) noexcept;
  void put_facts_locked() noexcept;
  void put_new_modules() noexcept;
  void memory_ran_out() noexcept;
  void space_ran_out(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept;

  void hold(std::uint64_t gap, filters::CutPoint from,
            filters::CutReason reason) noexcept override;
  void resume(std::uint64_t gap, filters::CutPoint from,
              filters::CutReason reason) noexcept override;
  void hold_earlier(std::uint64_t gap, filters::CutPoint from) noexcept override;
  void gap(std::uint64_t gap, filters::CutPoint from,
           filters::CutPoint to) noexcept override;
  void keep_from(filters::CutPoint cut) noexcept override {
    board_.set_keep_from(cut.epoch);
  }
  void loop_body(const filters::LoopMark& mark) noexcept override;
  void loop_found(const filters::LoopMark& mark) noexcept override;
  void iteration(const filters::LoopMark& mark) noexcept override;
  void iteration_end(const filters::LoopMark& mark) noexcept override;
  void mismatch(const filters::LoopMark& mark) noexcept override;
  void loop_left(const filters::LoopMark& mark) noexcept override;
  void marks_end(const filters::LoopMark& mark) noexcept override;
  void held_summary(const filters::HeldIterations& held) noexcept override;
  void slow_iteration(const filters::SlowIteration& slow) noexcept override;

  filters::Settings settings_;
  std::string program_;
  std::string archive_;
  std::string spool_;  // changes once, in settle(): under mutex_
  ArchiveFolder provisional_;
  std::uint32_t job_rank_ = 0;
  std::uint32_t job_size_ = 1;
  recorder::Budget budget_;
  filters::RollingLimit rolling_;
  recorder::DecisionBoard board_;
  // Read by every thread at every event: nothing that changes often may lie beside it.
  alignas(64) std::atomic<bool> recording_{false};
  bool auto_symbols_ = true;
  bool function_symbols_ = false;
  unsigned metric_count_ = 0;
  MetricHook metric_hook_ = nullptr;
  std::atomic<spool::LossCause> stop_cause_{spool::kLossLateThread};
  std::atomic<bool> space_out_{false};
  std::atomic<std::uint64_t> missed_regions_{0};
  std::atomic<recorder::ThreadRecorder*> primary_{nullptr};

  alignas(64) std::atomic<std::uint64_t> epoch_{1};
  EpochSkip skip_epochs_;
  std::atomic<std::uint64_t> next_instance_{1};
  std::array<JoinSlot, kSlots> instances_;

  // The primary thread's.
  alignas(64) bool at_epoch_ = true;
  bool space_out_told_ = false;
  // Set while the agent works. Where it still is at the next symbol, a signal's handler has
  // jumped out of the agent, whose state may be half of one and the other: it is not used again.
  bool in_agent_ = false;
  bool agent_lost_ = false;
  std::uint64_t latest_gap_ = 0;  // that the gate has begun
  bool gap_open_ = false;
  // Loops that are open by the journal, by level: its words of their latest iteration.
  struct OpenMark {
    std::uint64_t key;
    std::uint64_t number;
  };
  std::array<OpenMark, 16> open_marks_{};
  std::size_t open_levels_ = 0;
  std::unique_ptr<periodicity::PhaseDetector> detector_;
  std::size_t phases_open_ = 0;
  filters::Company phase_company_ = filters::Company::kNone;  // of what the phase did
  std::unique_ptr<filters::IterationGate> gate_;
  // Of the latest symbols, by position: places, and values, metric_count_ each.
  periodicity::ZeroedArray<periodicity::Symbol> places_;
  std::uint64_t places_mask_ = 0;
  std::uint64_t symbols_ = 0;  // the gate has had: the position of the next one
  periodicity::ZeroedArray<std::uint64_t> metrics_;
  std::uint64_t metrics_end_ = 0;       // position behind the latest of them
  periodicity::SymbolNumbers numbers_;  // what the detector is given of symbols
  std::uint64_t anchors_ = 0;
  std::uint64_t anchors_told_ = 0;
  std::array<std::uint64_t, 256> addresses_{};
  Modules modules_;
  CallChains chains_;
  Journal journal_;

  struct Fact {
    spool::RecordWords record;
    spool::TextKey key;
    std::string text;  // if the record's kind is kText
  };
  // What the next symbol is to do beside the usual: bits.
  static constexpr unsigned kFactsWait = 1;
  static constexpr unsigned kChainsWanted = 2;
  std::atomic<unsigned> waiting_{0};

  recorder::HandlerSafeMutex mutex_;  // of what follows
  std::vector<Fact> facts_;
  std::vector<std::unique_ptr<recorder::ThreadRecorder>> recorders_;
  std::vector<recorder::ThreadRecorder*> free_;
  std::atomic<bool> attach_failed_{false};
  bool finished_ = false;
  std::uint64_t start_ticks_ = 0;
  std::uint64_t start_epoch_ns_ = 0;
  std::uint64_t start_monotonic_ns_ = 0;
  std::uint64_t pid_ = 0;
};

}  // namespace refrain::runtime
