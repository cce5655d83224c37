#include "tracer/runtime/session.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>

#include "base/hot_data.h"
#include "tracer/files/file_calls.h"
#include "tracer/memory/memory_calls.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/file_regions.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/own_arrays.h"
#include "tracer/runtime/this_thread.h"
#include "tracer/sampler/sampler.h"

namespace refrain::runtime {

using recorder::Clock;
using recorder::ThreadRecorder;

Session::Session(const filters::Settings& settings, bool of_job)
    : settings_(settings),
      recorders_(settings, of_job),
      auto_symbols_(settings.symbols != "parallel"),
      function_symbols_(settings.symbols == "functions"),
      iteration_steps_(primary_, iterations_),
      gate_journal_(journal_, board_, stream_, code_, loops_, recorders_.budget(),
                    settings.budget_bytes),
      summary_gate_(gate_journal_),
      code_(journal_, waiting_) {
  gate_journal_.set_iterations(iteration_steps_);
  board_.set_watch(this);
}

Session::~Session() = default;

base::Result<std::unique_ptr<Session>> Session::create(const filters::Settings& settings,
                                                       const char* runtime_name,
                                                       bool of_job) {
  Clock::choose(settings.clock == "logical" ? "auto" : settings.clock);
  const recorder::NoLowDescriptors no_low_descriptors;
  watch_own_arrays();
  std::unique_ptr<Session> session(new Session(settings, of_job));
  session->program_ = program_path();
  if (const auto made = session->folder_.make(settings, session->program_, of_job); !made)
    return made.failure();
  try {
    session->start_.take();
    if (const auto opened = session->open_journal(); !opened) return opened.failure();
    recorder::keep_memory_reserve();
    put_preamble(session->journal_, settings, runtime_name, session->program_);
    session->code_.put_modules();
    session->start_stream();
  } catch (...) {
    session->folder_.remove();
    throw;
  }
  return session;
}

base::Result<> Session::open_journal() {
  spool::Header header{};
  start_.fill(header, spool::kJournalFile);
  const int folder = folder_.descriptor();
  const std::string name = "journal.spool";
  const std::string path = folder < 0 ? folder_.spool() + "/" + name : name;
  const recorder::SpoolResult result =
      journal_.file().open(folder < 0 ? AT_FDCWD : folder, path.c_str(), header,
                           {.ring_bytes = 0,
                            .tree_bytes = spool::kLoopTableBytes,
                            .chunk_bytes = settings_.chunk_bytes},
                           recorders_.budget());
  if (result == recorder::SpoolResult::kOk) {
    loops_.open(journal_.file().area());
    return {};
  }
  folder_.remove();
  return base::Failure{"cannot write to '" + folder_.spool() + "'"};
}

void Session::start_stream() {
  stream_.prepare(settings_);
  Clock::calibrate();
  filters::GateSink& all = gate_journal_;
  filters::GateSink& none = summary_gate_;
  stream_.start(settings_, start_.ticks(), settings_.summary_only ? none : all);
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  state_.start();
  stream_.gate().start({0, start_.ticks()});
  next_window_.store(stream_.gate().next_window_ticks());
}

void Session::begin() noexcept {
  if (settings_.loops_hz != 0) start_samples();
  if (settings_.files_s > 0) start_files();
  if (settings_.memory_from_bytes != 0) start_memory();
  start_.take();
  start_.fill_times(journal_.file().header());
}

void Session::start_samples() noexcept {
  std::string error = "no memory left";
  recorder::attempted([&] {
    error = sampler::start_sampling(folder_.spool() + "/samples", settings_.loops_hz);
  });
  if (!error.empty()) warn({"stacks are not sampled: ", error});
}

void Session::start_files() noexcept {
  std::string error = "no memory left";
  recorder::attempted([&] {
    error = files::start(folder_.spool() + "/files", settings_.files_s, record_file_call);
  });
  if (!error.empty()) warn({"calls on files are not counted: ", error});
}

void Session::start_memory() noexcept {
  std::string error = "no memory left";
  recorder::attempted([&] { error = memory::start(folder_.spool() + "/memory"); });
  if (!error.empty()) warn({"allocations are not counted: ", error});
}

base::Result<> Session::settle(const std::string& archive, std::uint32_t rank,
                               std::uint32_t size) {
  const std::lock_guard lock(mutex_);
  if (folder_.settled() || finished_) return {};
  // First, so that no spool is in the archive's directory without its place, whenever the process is killed.
  journal_.put(spool::kMpiWorld, Clock::now(), rank, size);
  auto settled = folder_.settle(archive, rank, size);
  if (!settled) return settled;
  gate_journal_.set_processes(size);
  return {};
}

void Session::set_metrics(std::string_view text, unsigned count, MetricHook hook) {
  stream_.history().keep_metrics(count);
  metric_hook_ = hook;
  recorders_.set_counters(count);
  journal_.text(spool::kTextMetrics, text);
}

ThreadRecorder* Session::attach(spool::LocationRole role, std::uint64_t function) noexcept {
  const recorder::SlowPath slow_path;
  ThreadRecorder* recorder = nullptr;
  // Not the hook: libraries of counters may need any stack.
  const bool attempted = recorder::on_own_stack([&] {
    return recorder::attempted([&] { recorder = attach_locked(role, function); });
  });
  if (!attempted) report_not_attached(spool::kLossMemory);
  if (recorder != nullptr && metric_hook_ != nullptr) metric_hook_(*recorder, true);
  return recorder;
}

ThreadRecorder* Session::attach_locked(spool::LocationRole role, std::uint64_t function) {
  if (is_changing_here()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (finished_) return nullptr;
  const RecorderPool::Taken taken = recorders_.take(folder_.spool(), start_, role, board_,
                                                    folder_.descriptor(), function);
  if (taken.recorder == nullptr) report_not_attached(taken.cause);
  // For `refrain recover`, which may miss one of them.
  std::atomic_ref(journal_.file().header().location)
      .store(static_cast<std::uint32_t>(recorders_.count()), std::memory_order_relaxed);
  return taken.recorder;
}

void Session::report_not_attached(spool::LossCause cause) noexcept {
  journal_.file().count_unrecorded_thread();
  t_thread.unrecorded = true;
  if (attach_failed_.exchange(true)) return;
  warn({"a thread is not recorded: ",
        cause == spool::kLossMemory
            ? "no memory for its spool (see REFRAIN_MEMORY_LIMIT, REFRAIN_RING)"
        : cause == spool::kLossDiskLimit ? "no room for its spool below REFRAIN_DISK_LIMIT"
                                         : "no disk space for its spool"});
}

void Session::detach(ThreadRecorder* recorder) noexcept {
  if (metric_hook_ != nullptr) metric_hook_(*recorder, false);
  if (is_changing_here()) return;
  const std::lock_guard lock(mutex_);
  // The primary's waits for who takes its place.
  if (!primary_.is(recorder)) return recorders_.give_back(recorder);
  recorder->thread_ends();
  primary_.leave();
}

ThreadRecorder* Session::take_over(ThreadRecorder* own) noexcept {
  if (is_changing_here()) return nullptr;
  const recorder::SlowPath slow_path;
  ThreadRecorder* taken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    taken = primary_.recorder();
    if (finished_ || !primary_.vacant() || taken == nullptr || taken->depth() != 0)
      return nullptr;
    primary_.take();
    if (own->has_events_of_thread()) {
      stream_.take_turn();
      note_loop_limits();
    }
  }
  if (metric_hook_ != nullptr) {
    metric_hook_(*own, false);
    metric_hook_(*taken, true);
  }
  const std::lock_guard lock(mutex_);
  recorders_.give_back(own);
  taken->thread_begins(true);
  return taken;
}

// --- In the place of a primary thread that is silent or has ended -----------------------

namespace {

constinit REFRAIN_HOT_DATA std::atomic<bool (*)()> g_in_team{nullptr};

bool primary_in_team() noexcept {
  const auto in_team = g_in_team.load();
  return in_team != nullptr && in_team();
}

}  // namespace

// In a team others would learn of it where they have passed what follows already.
void Session::meet(std::uint64_t ticks) noexcept {
  gate_journal_.pass_anchor();
  if (!primary_in_team()) iteration_steps_.meeting(gate_journal_.anchors(), ticks);
}

void Session::set_in_team(bool (*in_team)()) noexcept { g_in_team.store(in_team); }

// While one lives nobody else uses the stream, the journal and the epochs: under the session's lock. False: the primary
// thread is using them, or is in a team.
class Session::Deputy {
 public:
  // `by`: may be the primary thread itself.
  Deputy(PrimaryThread& primary, const ThreadRecorder& by) noexcept : primary_(primary) {
    if (primary_in_team()) return;
    itself_ = is_ = primary.is(&by);
    if (is_) return;
    was_ = primary_.set_aside();
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    is_ = was_ == nullptr || primary_.vacant() || !was_->busy();
    if (!is_) primary_.bring_back(was_);
  }
  ~Deputy() {
    if (is_ && !itself_) primary_.bring_back(was_);
  }
  Deputy(const Deputy&) = delete;
  Deputy& operator=(const Deputy&) = delete;
  explicit operator bool() const noexcept { return is_; }

 private:
  PrimaryThread& primary_;
  ThreadRecorder* was_ = nullptr;
  bool is_ = false;
  bool itself_ = false;
};

// The primary thread is silent if it has had no event since this thread's ring went on the last time.
void Session::ring_goes_on(ThreadRecorder& recorder, bool forgets) noexcept {
  const ThreadRecorder* const primary = primary_.recorder();
  if (primary == nullptr || primary_.is(&recorder)) return;
  recorder.follow(board_);
  if (!recorder.suspended()) return;
  const bool silent = recorder.same_as_last_time(primary->events_seen());
  if (forgets && (silent || primary_.vacant())) break_pattern_for(recorder);
}

// The iteration that is being skipped is none like those before. A symbol that never comes again says so, and everything is
// written from the iteration before it on, until the primary thread repeats something anew.
void Session::break_pattern_for(ThreadRecorder& recorder) noexcept {
  const recorder::SlowPath slow_path;
  std::unique_lock lock(mutex_, std::try_to_lock);
  // Another thread begins, or does the same: that takes a millisecond, in which this ring would forget.
  for (int i = 0;
       !lock.owns_lock() && i < 1000 && state_.recording() && !is_changing_here(); ++i) {
    constexpr timespec kMoment{0, 50'000};
    syscall(SYS_nanosleep, &kMoment, nullptr);  // that of the C library may be cancelled
    lock.try_lock();
  }
  if (!lock.owns_lock() || finished_ || stream_.in_phase()) return;
  recorder.follow(board_);
  if (!recorder.suspended()) return;  // another one has done it
  const Deputy deputy(primary_, recorder);
  if (!deputy) return;
  const std::uint64_t ticks = Clock::now();
  if (!primary_.vacant() && !stream_.gate().overdue(ticks)) return;
  const periodicity::Symbol symbol = make_symbol(spool::kThreadEnd, 0, ++breaks_);
  stream_.push({.symbol = stream_.foreign(symbol),
                .ticks = ticks,
                .epoch = epochs_.now(),
                .depth = 0,
                .at_epoch = false},
               symbol);
  recorder.follow(board_);
}

void Session::pass_window(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  if (primary_in_team()) return;  // it comes to it itself
  const recorder::SlowPath slow_path;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || finished_) return;
  const Deputy deputy(primary_, recorder);
  if (!deputy) return;
  filters::IterationGate& gate = stream_.gate();
  if (ticks >= gate.next_window_ticks() && stream_.enter()) {
    stream_.epoch_begins();
    recorder.sync(epochs_.begin_region(), ticks);
    gate.pass_window({recorder.epoch(), ticks});
    stream_.leave();
  }
  next_window_.store(gate.next_window_ticks());
  recorder.follow(board_);
}

// In their order: once one is next to the journal, all are.
Journal* Session::place_of_fact(const ThreadRecorder* by) noexcept {
  if (finished_) return nullptr;
  if (!facts_.is_open()) {
    if (primary_.is(by)) return &journal_;
    spool::Header header{};
    start_.fill(header, spool::kJournalFile);
    recorder::on_own_stack([&] {
      recorder::attempted([&] {
        facts_.open(folder_.spool(), header, settings_.chunk_bytes, recorders_.budget());
      });
    });
  }
  if (facts_.is_open()) return &facts_.journal();
  journal_.file().count_loss(spool::kLossMemory);
  return nullptr;
}

void Session::put_fact(const ThreadRecorder* by, spool::RecordWords record) noexcept {
  if (is_changing_here()) return;
  const std::lock_guard lock(mutex_);
  if (Journal* const to = place_of_fact(by)) to->file().append(record);
}

void Session::put_fact(const ThreadRecorder* by, spool::TextKey key,
                       std::string_view text) noexcept {
  if (is_changing_here()) return;
  const std::lock_guard lock(mutex_);
  if (Journal* const to = place_of_fact(by)) to->text(key, text);
}

void Session::name_thread(const ThreadRecorder* by, pthread_t thread,
                          std::string_view name) noexcept {
  if (is_changing_here()) return;
  const std::lock_guard lock(mutex_);
  ThreadRecorder* const named = finished_ ? nullptr : recorders_.of_thread(thread);
  if (named == nullptr) return;
  Journal* const to = place_of_fact(by);
  if (to == nullptr) return;
  std::array<char, 64> text;
  const int bytes =
      std::snprintf(text.data(), text.size(), "%u %.*s", named->header().location,
                    static_cast<int>(name.size()), name.data());
  to->text(spool::kTextThreadName,
           {text.data(), std::min(static_cast<std::size_t>(bytes), text.size() - 1)});
}

periodicity::Symbol Session::on_symbol(ThreadRecorder& recorder, periodicity::Symbol symbol,
                                       periodicity::Symbol place, std::uint64_t ticks,
                                       filters::Communication communication,
                                       std::uint32_t inside) noexcept {
  const std::uint64_t kind = symbol >> kPlaceKindShift;
  const std::uint64_t callee = kind == spool::kWorkBegin         ? ProgramFacts::kWork
                               : kind == spool::kSyncRegionBegin ? ProgramFacts::kBarrier
                                                                 : ProgramFacts::kRuntime;
  const periodicity::Symbol number =
      stream_.by_paths() ? stream_.path_number(REFRAIN_CALL_SITE, callee, communication)
                         : stream_.number(symbol, communication);
  return on_number(recorder, number, place, ticks, communication, inside) ? number : 0;
}

bool Session::on_number(ThreadRecorder& recorder, periodicity::Symbol number,
                        periodicity::Symbol place, std::uint64_t ticks,
                        filters::Communication communication,
                        std::uint32_t inside) noexcept {
  if (stream_.in_phase()) [[unlikely]] {
    pass_over(recorder, place, ticks, communication);
    return false;
  }
  push_symbol(recorder, number, place, ticks, communication, inside);
  return true;
}

void Session::on_known_symbol_slow(ThreadRecorder& recorder, periodicity::Symbol number,
                                   periodicity::Symbol place, std::uint64_t ticks,
                                   filters::Communication communication) noexcept {
  if (stream_.in_phase())
    pass_over(recorder, place, ticks, communication);
  else
    push_symbol(recorder, number, place, ticks, communication);
}

// In a phase that the program names nothing else counts.
void Session::pass_over(ThreadRecorder& recorder, periodicity::Symbol place,
                        std::uint64_t ticks,
                        filters::Communication communication) noexcept {
  stream_.pass_over(communication);
  code_.note(place);
  after_symbol(recorder, ticks);
}

void Session::push_symbol(ThreadRecorder& recorder, periodicity::Symbol number,
                          periodicity::Symbol place, std::uint64_t ticks,
                          filters::Communication communication,
                          std::uint32_t inside) noexcept {
  code_.note(place);
  if (waiting_.bits() != 0) [[unlikely]]
    do_waiting_work(recorder, place);
  if (stream_.history().metric_count() != 0) [[unlikely]]
    stream_.history().set_metrics(recorder.read_metrics(ticks));
  push_to_gate(recorder, number, place, ticks, communication, inside);
}

// Everything is written from here on; open loops end here.
void Session::give_up_gate(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  if (!stream_.give_up()) return;
  journal_.file().drop_unfinished();
  warn(
      "a signal handler jumped out of the loop detector, which cannot continue: all "
      "events are written from here on");
  gate_journal_.give_up(recorder.epoch(), ticks);
  recorder.follow(board_);
}

void Session::begin_epoch_outside(ThreadRecorder& recorder, std::uint64_t ticks,
                                  bool outside) noexcept {
  if (!outside) return;
  stream_.epoch_begins();
  recorder.sync(epochs_.begin_region(), ticks);
}

void Session::phase_begin(ThreadRecorder& recorder, std::uint32_t name,
                          std::uint32_t region, std::uint64_t ticks,
                          bool outside) noexcept {
  begin_epoch_outside(recorder, ticks, outside);
  push_symbol(recorder, periodicity::phase_begin(name),
              make_symbol(spool::kUserPhase, 0, region), ticks,
              filters::Communication::kNone);
  stream_.phase_begun();
}

void Session::phase_end(ThreadRecorder& recorder, std::uint32_t name, std::uint32_t region,
                        std::uint64_t ticks, bool outside) noexcept {
  begin_epoch_outside(recorder, ticks, outside);
  push_symbol(recorder, periodicity::phase_end(name),
              make_symbol(spool::kUserPhase, 1, region), ticks,
              stream_.phase_communication());
  stream_.phase_ended();
}

void Session::pause(ThreadRecorder& recorder, std::uint64_t ticks, bool outside) noexcept {
  begin_epoch_outside(recorder, ticks, outside);
  if (!enter_gate(recorder, ticks)) return;
  stream_.gate().pause({recorder.epoch(), ticks});
  stream_.leave();
  after_symbol(recorder, ticks);
}

void Session::resume(ThreadRecorder& recorder, std::uint64_t ticks, bool outside) noexcept {
  begin_epoch_outside(recorder, ticks, outside);
  if (!enter_gate(recorder, ticks)) return;
  stream_.gate().resume({recorder.epoch(), ticks});
  stream_.leave();
  after_symbol(recorder, ticks);
}

void Session::something_ran_out(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  if (recorder.out_of_space()) state_.set_space_out();
  if (state_.space_out() && !space_out_reported_) space_ran_out(recorder, ticks);
  if (recorder::memory_ran_out() && state_.recording()) memory_ran_out();
}

void Session::memory_ran_out() noexcept {
  warn("no memory left: recording stops");
  state_.stop(spool::kLossMemory);
}

void Session::space_ran_out(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  const recorder::SlowPath slow_path;
  space_out_reported_ = true;
  journal_.put(spool::kLimitReached, ticks, 0, recorder.epoch());
  warn(settings_.limit_policy == "stop" || stream_.given_up()
           ? "no disk space left for the spool: recording stops"
           : "no disk space left for the spool: only iteration marks are recorded from "
             "here on");
  if (settings_.limit_policy == "stop" || !enter_gate(recorder, ticks)) {
    state_.stop(spool::kLossDiskLimit);
  } else {
    stream_.gate().limit_reached({recorder.epoch(), ticks});
    stream_.leave();
  }
  recorder.follow(board_);
}

void Session::finish() noexcept {
  const recorder::LongPath long_path;
  state_.stop();
  sampler::stop_sampling();
  files::stop();
  memory::stop();
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  state_.forget_missed_regions();
  // Whoever has not seen that recording() changed is inside a callback and says so: the
  // barrier in all threads orders their mark before our look (lifecycle.cc, section 3).
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) usleep(1000);
  // What this thread is in the middle of, a handler of a signal has interrupted that ends the process: it does not go on.
  recorders_.wait_until_idle(t_thread.recorder);
  // A callback of the primary thread that is still in progress cannot be brought to its end, and the
  // journal belongs to that thread: as if it had been killed, but for that it was not.
  ThreadRecorder* const primary = primary_.recorder();
  const bool whole = primary == nullptr || primary->at_rest();
  if (whole) finish_gate(primary);
  recorders_.close(board_, iterations_);
  facts_.close();
  if (!whole) return note_exit();
  code_.put_new_modules();
  journal_.clock_pair();
  journal_.file().note_memory();
  journal_.file().close();
}

void Session::finish_gate(ThreadRecorder* primary) noexcept {
  if (!stream_.in_use())
    stream_.gate().finish(Clock::now());
  else if (primary != nullptr)  // left by a jump, perhaps with no symbol since
    give_up_gate(*primary, Clock::now());
  note_loop_limits();
}

void Session::note_loop_limits() noexcept {
  recorder::attempted([&] {
    if (const std::string limits = stream_.loop_limits(); !limits.empty())
      journal_.text(spool::kTextLoopLimits, limits);
  });
}

void Session::abandon() noexcept {
  state_.stop();
  sampler::abandon_sampling();
  files::abandon();
  memory::abandon();
  finished_ = true;
  recorders_.abandon();
  facts_.abandon();
  journal_.file().abandon();
  folder_.abandon();
}

}  // namespace refrain::runtime
