// One recording of one process: brings together the threads' recorders, the symbol stream, the journal
// and what the gate decides.
//
//     event source ─► ThreadRecorder ◄─ RecorderPool            ┌─► DecisionBoard ─► recorders
//          └─ symbol ─► SymbolStream ─ cuts, marks ─► GateJournal ─► Journal
//          └─ fact ───► FactFile
//
// Place in the flow: ARCHITECTURE.md, stages 2 and 4. Made by the first event
// source that starts (tracer/ompt), ended by tracer/life/lifecycle.cc.
//
// Thread-safety: attach(), detach(), put_fact(), take_over() from any thread; what says "primary thread" only from
// that: the first that opens an outermost parallel region (primary_thread.h). recording() from anywhere. Nothing here
// is for signal handlers but recording().
// Ownership: recorders belong to the session and stay until it ends; a thread that ends
// gives its recorder back, and a later thread goes on with it.
// Cost: on_symbol() that of the detector and the gate; no lock, no allocation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "filters/settings.h"
#include "tracer/recorder/boards.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/code_places.h"
#include "tracer/runtime/epochs.h"
#include "tracer/runtime/gate_journal.h"
#include "tracer/runtime/iteration_steps.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/loop_table.h"
#include "tracer/runtime/primary_thread.h"
#include "tracer/runtime/recorder_pool.h"
#include "tracer/runtime/recording_folder.h"
#include "tracer/runtime/recording_start.h"
#include "tracer/runtime/symbol_stream.h"

namespace refrain::runtime {

class Session final : private recorder::RingWatch {
 public:
  // Makes the archive's directory and the journal. `of_job`: the process is one of several and will learn which, see
  // settle(); until then the directory is a provisional one.
  static base::Result<std::unique_ptr<Session>> create(const filters::Settings& settings,
                                                       const char* runtime_name,
                                                       bool of_job);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const filters::Settings& settings() const noexcept { return settings_; }
  bool auto_symbols() const noexcept { return auto_symbols_; }
  bool function_symbols() const noexcept { return function_symbols_; }

  // --- Begin, place and end ---

  // All is ready: the program's part of the recording starts here. The time before
  // is not charged to the program. Once, before the first thread is attached.
  void begin() noexcept;

  // This is process `rank` of `size`; its spool moves to `archive`. Empty, or an error.
  // Once, by the primary thread or before there is one.
  base::Result<> settle(const std::string& archive, std::uint32_t rank, std::uint32_t size);
  // Its place: rank and size of the job, the archive.
  ProcessFolder& folder() noexcept { return folder_; }
  const ProcessFolder& folder() const noexcept { return folder_; }
  std::string program() const { return program_; }

  // Is something recorded, and if not, why? Then sources do nothing any more.
  RecordingState& state() noexcept { return state_; }
  const RecordingState& state() const noexcept { return state_; }

  // Ends the recording: nothing is recorded from here on, every thread's part is brought
  // to the same cut, the files are closed. Idempotent.
  void finish() noexcept;
  // Instead, where this thread is in the middle of a change: the process ends by itself.
  void note_exit() noexcept { journal_.file().note_exit(); }
  // This process has reported at its end why there is no archive.
  void note_end_reported() noexcept { journal_.file().note_end_reported(); }

  // Around a fork, so that no other thread is in the middle of a change then: the first before it,
  // the second after it, in parent and child.
  void before_fork() noexcept { mutex_.lock(); }
  void after_fork() noexcept { mutex_.unlock(); }
  // This thread is in the middle of a change, and a handler of a signal has interrupted it.
  bool is_changing_here() const noexcept { return mutex_.is_mine(); }
  // In a forked child: gives up the parent's files.
  void abandon() noexcept;

  // --- Threads ---

  // A recorder for the calling thread; null if there is no memory or disk for one (reported
  // on stderr once; the thread is counted, its events are not).
  recorder::ThreadRecorder* attach(spool::LocationRole role,
                                   std::uint64_t function = 0) noexcept;
  void detach(recorder::ThreadRecorder* recorder) noexcept;

  // Counters that threads have: one text for the journal (spool::kTextMetrics), and what is
  // called with a thread's recorder when it begins (and ends) to record, on that thread. Once,
  // before the first thread is attached.
  using MetricHook = void (*)(recorder::ThreadRecorder&, bool begins);
  void set_metrics(std::string_view text, unsigned count, MetricHook hook);

  // Which thread feeds the detector.
  PrimaryThread& primary() noexcept { return primary_; }
  // The primary thread has ended: the calling thread, which has `own` and no region open, goes on in its place.
  // What it records with from now on; null: not so.
  recorder::ThreadRecorder* take_over(recorder::ThreadRecorder* own) noexcept;

  // `in_team` returns true while the primary thread is in a team, whose epochs it numbers. Set by who knows, at its start.
  static void set_in_team(bool (*in_team)()) noexcept;

  // Any thread: a record or text that concerns the process (communicators, clock offsets, names). At once in the
  // journal or next to it, see FactFile.
  void put_fact(const recorder::ThreadRecorder* by, spool::RecordWords record) noexcept;
  void put_fact(const recorder::ThreadRecorder* by, spool::TextKey key,
                std::string_view text) noexcept;
  // Any thread: the program has given a name to `thread`. Nothing happens if that one is not recorded.
  void name_thread(const recorder::ThreadRecorder* by, pthread_t thread,
                   std::string_view name) noexcept;

  // --- Epochs ---

  // The primary thread's epoch, for threads outside its team.
  std::uint64_t epoch() const noexcept { return epochs_.now(); }
  // Primary thread: a barrier ended, a new epoch begins at `ticks`; records it.
  void advance_epoch(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    stream_.epoch_begins();
    recorder.sync(epochs_.advance(), ticks);
  }
  // The same where an outermost region begins. For the result see sync_with_begin().
  std::uint8_t begin_epoch(recorder::ThreadRecorder& recorder,
                           std::uint64_t ticks) noexcept {
    stream_.epoch_begins();
    return recorder.sync_with_begin(epochs_.begin_region(), ticks);
  }
  // A cut may lie here, if no other thread of a team can be elsewhere: `outside` of all teams.
  void begin_epoch_outside(recorder::ThreadRecorder& recorder, std::uint64_t ticks,
                           bool outside) noexcept;
  // Other threads: they have come to `epoch`; records it and applies what was decided.
  void reach_epoch(recorder::ThreadRecorder& recorder, std::uint64_t epoch,
                   std::uint64_t ticks) noexcept {
    recorder.sync(epoch, ticks);
    follow(recorder);
    recorder.pass_epoch(ticks, false);
    recorder.follow(iterations_, ticks);
  }
  // Not in a team: they are to know of the time window, should the primary thread be silent.
  void look_at_window(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    if (ticks >= next_window_.load(std::memory_order_relaxed)) [[unlikely]]
      pass_window(recorder, ticks);
  }
  // The same, where they begin their part of an outermost region; follow_iterations() comes later: the primary thread may not
  // have decided yet what it decides there.
  std::uint8_t join_epoch(recorder::ThreadRecorder& recorder, std::uint64_t epoch,
                          std::uint64_t ticks) noexcept {
    const std::uint8_t cut = recorder.sync_with_begin(epoch, ticks);
    follow(recorder);
    recorder.pass_epoch(ticks, true);
    return cut;
  }
  void follow_iterations(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    recorder.follow(iterations_, ticks);
  }

  Epochs& epochs() noexcept { return epochs_; }
  // Of nested regions, and those of other root threads.
  JoinTable& joins() noexcept { return joins_; }

  // --- Symbols: primary thread ---

  // The next symbol of the stream. `place` says where in the code it comes
  // from and what it is, as make_symbol() does.
  // `inside`: of so many regions that its own records have opened.
  void on_symbol(recorder::ThreadRecorder& recorder, periodicity::Symbol symbol,
                 std::uint64_t ticks, std::uint32_t inside = 0) noexcept {
    on_symbol(recorder, symbol, symbol, ticks, filters::Communication::kNone, inside);
  }
  // The symbol's number for on_known_symbol(); 0 if it has none.
  __attribute__((hot)) periodicity::Symbol on_symbol(
      recorder::ThreadRecorder& recorder, periodicity::Symbol symbol,
      periodicity::Symbol place, std::uint64_t ticks,
      filters::Communication communication = filters::Communication::kNone,
      std::uint32_t inside = 0) noexcept;
  // The same for one whose number is known: the stream's number() or path_number().
  bool on_number(recorder::ThreadRecorder& recorder, periodicity::Symbol number,
                 periodicity::Symbol place, std::uint64_t ticks,
                 filters::Communication communication, std::uint32_t inside = 0) noexcept;
  SymbolStream& stream() noexcept { return stream_; }
  // The same for a symbol that was there before, from the same place.
  __attribute__((always_inline)) void on_known_symbol(
      recorder::ThreadRecorder& recorder, periodicity::Symbol number,
      periodicity::Symbol place, std::uint64_t ticks,
      filters::Communication communication) noexcept {
    if (stream_.in_phase() || stream_.history().metric_count() != 0 || waiting_.bits() != 0)
        [[unlikely]]
      return on_known_symbol_slow(recorder, number, place, ticks, communication);
    push_to_gate(recorder, number, place, ticks, communication);
  }
  // The path of the next one, if that is worth to be prepared for; else 0.
  std::uint32_t on_symbol_end(std::uint64_t ticks, std::uint32_t depth) noexcept {
    stream_.end_symbol(ticks, static_cast<std::uint16_t>(depth));
    return stream_.expect_next();
  }

  // A phase that the program names begins or ends: an iteration, which goes
  // before the loops that are detected (periodicity/phase_detector.h). Until the outermost ends
  // no other symbol counts. `outside` of all teams a new epoch begins.
  void phase_begin(recorder::ThreadRecorder& recorder, std::uint32_t name,
                   std::uint32_t region, std::uint64_t ticks, bool outside) noexcept;
  void phase_end(recorder::ThreadRecorder& recorder, std::uint32_t name,
                 std::uint32_t region, std::uint64_t ticks, bool outside) noexcept;
  // Returns true if symbols do not count because of that.
  bool in_phase() const noexcept { return stream_.in_phase(); }

  // Nothing is to be written from here on, and again. Inside of a team: from its last barrier on.
  void pause(recorder::ThreadRecorder& recorder, std::uint64_t ticks,
             bool outside) noexcept;
  void resume(recorder::ThreadRecorder& recorder, std::uint64_t ticks,
              bool outside) noexcept;

  // Of anchors: all processes of the job have met.
  GateJournal& gate_journal() noexcept { return gate_journal_; }
  // Likewise, in a call of the primary thread that ends then.
  __attribute__((hot)) void meet(std::uint64_t ticks) noexcept;

 private:
  class Deputy;
  Session(const filters::Settings& settings, bool of_job);
  void ring_goes_on(recorder::ThreadRecorder& recorder, bool forgets) noexcept override;
  void break_pattern_for(recorder::ThreadRecorder& recorder) noexcept;
  void pass_window(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept;
  base::Result<> open_journal();
  void start_samples() noexcept;
  void start_files() noexcept;
  void start_memory() noexcept;
  void start_stream();
  recorder::ThreadRecorder* attach_locked(spool::LocationRole role, std::uint64_t function);
  void report_not_attached(spool::LossCause cause) noexcept;
  // Where a fact of `by` goes; null: nowhere. Under the lock.
  Journal* place_of_fact(const recorder::ThreadRecorder* by) noexcept;
  void finish_gate(recorder::ThreadRecorder* primary) noexcept;
  void note_loop_limits() noexcept;

  void follow(recorder::ThreadRecorder& recorder) noexcept {
    recorder.follow(board_);
    if (recorder.out_of_space()) [[unlikely]]
      state_.set_space_out();
  }
  void on_known_symbol_slow(recorder::ThreadRecorder& recorder, periodicity::Symbol number,
                            periodicity::Symbol place, std::uint64_t ticks,
                            filters::Communication communication) noexcept;
  void pass_over(recorder::ThreadRecorder& recorder, periodicity::Symbol place,
                 std::uint64_t ticks, filters::Communication communication) noexcept;
  __attribute__((hot)) void push_symbol(recorder::ThreadRecorder& recorder,
                                        periodicity::Symbol number,
                                        periodicity::Symbol place, std::uint64_t ticks,
                                        filters::Communication communication,
                                        std::uint32_t inside = 0) noexcept;
  __attribute__((always_inline)) void push_to_gate(recorder::ThreadRecorder& recorder,
                                                   periodicity::Symbol number,
                                                   periodicity::Symbol place,
                                                   std::uint64_t ticks,
                                                   filters::Communication communication,
                                                   std::uint32_t inside = 0) noexcept {
    if (!stream_.push({.symbol = number,
                       .ticks = ticks,
                       .epoch = recorder.epoch(),
                       .depth = static_cast<std::uint16_t>(recorder.depth() - inside),
                       .at_epoch = stream_.at_epoch(),
                       .communication = communication,
                       .own_ticks = recorder.own_ticks() + journal_.file().own_ticks()},
                      place)) [[unlikely]]
      give_up_gate(recorder, ticks);
    after_symbol(recorder, ticks);
  }
  void after_symbol(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    recorder.follow(board_);
    if (recorder.out_of_space() || state_.space_out() || recorder::memory_ran_out())
        [[unlikely]]
      something_ran_out(recorder, ticks);
  }
  // Inline: a frame less in call chains, which have so many at most.
  __attribute__((always_inline)) void do_waiting_work(recorder::ThreadRecorder& recorder,
                                                      periodicity::Symbol place) noexcept {
    const unsigned waiting = waiting_.bits();
    if ((waiting & WaitingWork::kCallChains) != 0)
      recorder.add_own_ticks(code_.put_call_chain(place));
  }
  // False: the gate cannot be used. Otherwise stream_.leave() must follow.
  bool enter_gate(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
    if (stream_.enter()) return true;
    give_up_gate(recorder, ticks);
    return false;
  }
  void give_up_gate(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept;

  void something_ran_out(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept;
  void memory_ran_out() noexcept;
  void space_ran_out(recorder::ThreadRecorder& recorder, std::uint64_t ticks) noexcept;

  const filters::Settings settings_;
  std::string program_;
  RecordingStart start_;
  recorder::HandlerSafeMutex
      mutex_;  // of recorders_, facts_, finished_, the spool of folder_
  RecorderPool recorders_;
  recorder::IterationBoard iterations_;

  // From the end of the one to the begin of the other is what events come to: side by side (base/hot_data.h). First what
  // every thread reads.
  recorder::DecisionBoard board_;
  alignas(64) RecordingState state_;
  const bool auto_symbols_;
  const bool function_symbols_;
  MetricHook metric_hook_ = nullptr;
  PrimaryThread primary_;
  std::atomic<std::uint64_t> next_window_{~std::uint64_t{0}};  // ticks; never too late

  alignas(64) Epochs epochs_;
  // The primary thread's.
  alignas(64) SymbolStream stream_;
  WaitingWork waiting_;
  bool space_out_reported_ = false;
  std::uint64_t breaks_ = 0;  // by deputies
  IterationSteps iteration_steps_;
  GateJournal gate_journal_;
  SummaryGate summary_gate_;  // in its place, if there is nothing but a summary
  Journal journal_;

  CodePlaces code_;
  LoopTable loops_;  // the primary thread's
  JoinTable joins_;
  FactFile facts_;
  ProcessFolder folder_;
  std::atomic<bool> attach_failed_{false};
  bool finished_ = false;
};

}  // namespace refrain::runtime
