#include "tracer/runtime/session.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

#include "base/version.h"
#include "filters/detectors.h"
#include "tracer/recorder/attempt.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/recording_folder.h"

namespace refrain::runtime {

using recorder::Clock;
using recorder::ThreadRecorder;

namespace {

// Of a shortest gap: for less than that an iteration is not worth the end of one. What tracing
// itself takes now and then (the first touch of a page, a system call's wake) is not more.
constexpr double kNoiseOfGap = 0.01;
constexpr double kSumsToldEvery_s = 0.1;
// What a thread's part of an epoch takes in its ring, with room to spare.
constexpr std::uint64_t kBytesOfEpoch = 32 * spool::kRecordBytes;

std::string program_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string("program");
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Session::Session(const filters::Settings& settings)
    : settings_(settings),
      budget_(settings.memory_limit_bytes, settings.disk_limit_bytes),
      rolling_(settings.budget_bytes),
      auto_symbols_(settings.symbols != "parallel"),
      function_symbols_(settings.symbols == "functions"),
      pid_(static_cast<std::uint64_t>(getpid())) {}

Session::~Session() = default;

std::unique_ptr<Session> Session::create(const filters::Settings& settings,
                                         const char* runtime_name, bool of_job,
                                         std::string& error) {
  Clock::choose(settings.clock == "logical" ? "auto" : settings.clock);
  std::unique_ptr<Session> session(new Session(settings));
  const std::string program = session->program_ = program_path();
  const ArchiveFolder folder =
      of_job ? make_provisional_folder(settings.archive, program)
             : make_archive_folder(settings.archive, program, 0, settings.overwrite);
  if (!folder.error.empty()) {
    error = folder.error;
    return nullptr;
  }
  session->archive_ = folder.archive;
  session->spool_ = folder.spool;
  if (of_job) session->provisional_ = folder;
  session->take_start_time();
  spool::Header header{};
  session->fill_header(header, spool::kJournalFile);
  const recorder::SpoolResult result =
      session->journal_.file().open((folder.spool + "/journal.spool").c_str(), header,
                                    {0, settings.chunk_bytes}, session->budget_);
  if (result != recorder::SpoolResult::kOk) {
    error = "cannot write to '" + folder.spool + "'";
    remove_empty(folder);
    return nullptr;
  }
  recorder::keep_memory_reserve();
  session->write_preamble(runtime_name, program);
  session->detector_ =
      std::make_unique<periodicity::PhaseDetector>(filters::make_detector(settings, true));
  session->places_ = periodicity::ZeroedArray<periodicity::Symbol>(
      std::bit_ceil(session->detector_->reach_events() + 64));
  session->places_mask_ = session->places_.size() - 1;
  Clock::calibrate();
  const auto at = [&](double seconds) {
    return seconds > 0 ? session->start_ticks_ + Clock::ticks_of_seconds(seconds) : 0;
  };
  session->gate_ = std::make_unique<filters::IterationGate>(
      filters::GatePolicy{
          .limit = settings.budget_bytes != 0 ? filters::RollingLimit::kUnlimited
                                              : settings.limit,
          .nested = filters::nested_of(settings.nested),
          .min_gap_ticks = Clock::ticks_of_seconds(settings.min_gap_s),
          .start_ticks = session->start_ticks_,
          .from_ticks = at(settings.from_s),
          .until_ticks = at(settings.until_s),
          .marks_summary = settings.marks == "summary",
          .slow = {.factor = settings.slow_factor,
                   .share = settings.slow_share,
                   .noise_ticks =
                       Clock::ticks_of_seconds(settings.min_gap_s * kNoiseOfGap)},
          .sums_ticks = Clock::ticks_of_seconds(kSumsToldEvery_s),
          .slow_epochs = settings.ring_bytes / kBytesOfEpoch},
      *session->detector_, *session);
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  session->recording_.store(true);
  session->gate_->start({0, session->start_ticks_});
  return session;
}

void Session::take_start_time() noexcept {
  start_ticks_ = Clock::now();
  start_epoch_ns_ = Clock::realtime_ns();
  start_monotonic_ns_ = Clock::monotonic_ns();
}

void Session::begin() noexcept {
  take_start_time();
  spool::Header& header = journal_.file().header();
  header.ticks_per_second = Clock::ticks_per_second();
  header.start_ticks = start_ticks_;
  header.start_epoch_ns = start_epoch_ns_;
  header.start_monotonic_ns = start_monotonic_ns_;
}

void Session::write_preamble(const char* runtime_name, const std::string& program) {
  journal_.clock_pair();
  journal_.text(spool::kTextVersion, kVersion);
  journal_.text(spool::kTextProgram, program);
  journal_.text(spool::kTextCommand, command_line());
  journal_.text(spool::kTextRuntime, runtime_name == nullptr ? "" : runtime_name);
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof host - 1);
  journal_.text(spool::kTextHost, host);
  std::string values;
  for (const filters::SettingInfo& info : filters::setting_table())
    values += std::string(info.name) + "=" + filters::value_text(settings_, info) + "\n";
  journal_.text(spool::kTextSettings, values);
  for (const std::string& text : modules_.scan_new())
    journal_.text(spool::kTextModule, text);
}

void Session::fill_header(spool::Header& header, spool::FileKind kind) const noexcept {
  std::memcpy(header.magic, spool::kMagic, sizeof header.magic);
  header.version = spool::kVersion;
  header.byte_order = spool::kByteOrder;
  header.file_kind = kind;
  header.pid = pid_;
  header.clock_kind = Clock::is_tsc() ? spool::kClockTsc : spool::kClockMonotonicRaw;
  header.ticks_per_second = Clock::ticks_per_second();
  header.start_ticks = start_ticks_;
  header.start_epoch_ns = start_epoch_ns_;
  header.start_monotonic_ns = start_monotonic_ns_;
}

void Session::set_metrics(std::string_view text, unsigned count, MetricHook hook) {
  metrics_ = periodicity::ZeroedArray<std::uint64_t>(places_.size() * count);
  metric_count_ = count;
  metric_hook_ = hook;
  journal_.text(spool::kTextMetrics, text);
}

ThreadRecorder* Session::attach(spool::LocationRole role) noexcept {
  const recorder::SlowPath slow_path;
  ThreadRecorder* recorder = nullptr;
  if (!recorder::attempted([&] { recorder = attach_locked(role); }))
    tell_not_attached(spool::kLossMemory);
  if (recorder != nullptr && metric_hook_ != nullptr) metric_hook_(*recorder, true);
  return recorder;
}

void Session::tell_not_attached(spool::LossCause cause) noexcept {
  journal_.file().count_loss(cause);
  if (!attach_failed_.exchange(true))
    warn(
        "a thread is not recorded: no memory or disk space for its spool "
        "(see REFRAIN_MEMORY_LIMIT, REFRAIN_DISK_LIMIT, REFRAIN_RING)");
}

ThreadRecorder* Session::attach_locked(spool::LocationRole role) {
  const std::lock_guard lock(mutex_);
  if (finished_) return nullptr;
  if (!free_.empty()) {
    ThreadRecorder* reused = free_.back();
    free_.pop_back();
    return reused;
  }
  auto fresh = std::make_unique<ThreadRecorder>();
  // detach() and the end shall need no memory.
  if (recorders_.size() == recorders_.capacity())
    recorders_.reserve(2 * recorders_.size() + 16);
  free_.reserve(recorders_.capacity());
  spool::Header header{};
  fill_header(header, spool::kLocationFile);
  header.location = static_cast<std::uint32_t>(recorders_.size());
  header.role = role;
  const std::string path =
      spool_ + "/location-" + std::to_string(recorders_.size()) + ".spool";
  const recorder::SpoolResult result = fresh->open(
      path.c_str(), header,
      {budget_.ring_bytes(settings_.ring_bytes), settings_.chunk_bytes}, budget_);
  if (result != recorder::SpoolResult::kOk) {
    tell_not_attached(result == recorder::SpoolResult::kMemory      ? spool::kLossMemory
                      : result == recorder::SpoolResult::kDiskLimit ? spool::kLossDiskLimit
                                                                    : spool::kLossDiskFull);
    return nullptr;
  }
  fresh->follow_from_now(board_);
  recorders_.push_back(std::move(fresh));
  return recorders_.back().get();
}

void Session::detach(ThreadRecorder* recorder) noexcept {
  if (metric_hook_ != nullptr) metric_hook_(*recorder, false);
  const std::lock_guard lock(mutex_);
  // The primary's stays: the journal's times are read beside it.
  if (!is_primary(recorder)) free_.push_back(recorder);
}

bool Session::claim_primary_slow(ThreadRecorder* recorder) noexcept {
  ThreadRecorder* none = nullptr;
  if (!primary_.compare_exchange_strong(none, recorder)) return none == recorder;
  recorder->header().role = spool::kRolePrimary;
  return true;
}

periodicity::Symbol Session::on_symbol(ThreadRecorder& recorder, periodicity::Symbol symbol,
                                       periodicity::Symbol place, std::uint64_t ticks,
                                       filters::Company company) noexcept {
  if (phases_open_ != 0) [[unlikely]] {
    pass_over(recorder, place, ticks, company);
    return 0;
  }
  periodicity::Symbol number = numbers_.number(symbol);
  if (company == filters::Company::kMessage) number |= periodicity::kMessageSymbol;
  push_symbol(recorder, number, place, ticks, company);
  return number;
}

void Session::on_known_symbol_slow(ThreadRecorder& recorder, periodicity::Symbol number,
                                   periodicity::Symbol place, std::uint64_t ticks,
                                   filters::Company company) noexcept {
  if (phases_open_ != 0)
    pass_over(recorder, place, ticks, company);
  else
    push_symbol(recorder, number, place, ticks, company);
}

// In a phase that the program names nothing else counts.
void Session::pass_over(ThreadRecorder& recorder, periodicity::Symbol place,
                        std::uint64_t ticks, filters::Company company) noexcept {
  at_epoch_ = false;
  phase_company_ = std::max(phase_company_, company);
  note_place(place);
  after_symbol(recorder, ticks);
}

void Session::push_symbol(ThreadRecorder& recorder, periodicity::Symbol number,
                          periodicity::Symbol place, std::uint64_t ticks,
                          filters::Company company) noexcept {
  note_place(place);
  if (waiting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    do_what_waits(recorder, place);
  if (metric_count_ != 0) [[unlikely]] {
    metrics_end_ = symbols_ + 1;
    if (const std::uint64_t* values = recorder.read_metrics(ticks))
      std::copy_n(values, metric_count_,
                  &metrics_[(symbols_ & places_mask_) * metric_count_]);
  }
  push_to_gate(recorder, number, place, ticks, company);
}

// What is written from here on is everything; open loops end here.
void Session::give_up_agent(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  agent_lost_ = true;
  journal_.file().drop_unfinished();
  warn(
      "a signal handler has jumped out of the loop detector, which cannot go on: "
      "every event is written from here on");
  while (open_levels_ != 0) {
    const OpenMark& mark = open_marks_[--open_levels_];
    journal_.put(spool::kLoopLeft, ticks, mark.key, mark.number);
  }
  if (gap_open_) {
    journal_.put(spool::kGapResume, ticks, latest_gap_, recorder.epoch(), spool::kGapBreak);
    board_.publish({latest_gap_, recorder.epoch(), false});
  }
  recorder.follow(board_);
}

void Session::something_ran_out(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  if (recorder.out_of_space()) space_out_.store(true);
  if (space_out_.load(std::memory_order_relaxed) && !space_out_told_)
    space_ran_out(recorder, ticks);
  if (recorder::memory_ran_out() && recording_.load(std::memory_order_relaxed))
    memory_ran_out();
}

// Code that was loaded after the start: its mapping must be known before the process can
// die. Few addresses are ever new, so the cache answers.
void Session::note_place(periodicity::Symbol place) noexcept {
  const std::uint64_t kind = place >> kPlaceKindShift;
  if (kind == spool::kUserEnter || kind == spool::kUserPhase) return;  // a number
  const std::uint64_t address = place & spool::kAddressMask;
  std::uint64_t& slot = addresses_[(address >> 2) % addresses_.size()];
  if (slot == address) [[likely]]
    return;
  slot = address;
  if (modules_.covers(address)) return;
  const recorder::SlowPath slow_path;
  put_new_modules();
}

void Session::memory_ran_out() noexcept {
  warn("no memory left: recording stops");
  stop_cause_.store(spool::kLossMemory);
  recording_.store(false);
}

void Session::space_ran_out(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  const recorder::SlowPath slow_path;
  space_out_told_ = true;
  journal_.put(spool::kLimitReached, ticks, 0, recorder.epoch());
  warn(settings_.limit_policy == "stop" || agent_lost_
           ? "no disk space left for the spool: recording stops"
           : "no disk space left for the spool: iterations are only marked from here on");
  if (settings_.limit_policy == "stop" || !begin_agent(recorder, ticks)) {
    stop_cause_.store(spool::kLossDiskLimit);
    recording_.store(false);
  } else {
    gate_->limit_reached({recorder.epoch(), ticks});
    end_agent();
  }
  recorder.follow(board_);
}

std::uint64_t Session::begin_instance(std::uint64_t epoch) noexcept {
  const std::uint64_t instance = next_instance_.fetch_add(1, std::memory_order_relaxed);
  instances_[instance % kSlots].begin(instance, epoch);
  return instance;
}

std::uint64_t Session::instance_epoch(std::uint64_t instance) const noexcept {
  return instances_[instance % kSlots].epoch(instance, epoch());
}

std::string Session::settle(const std::string& archive, std::uint32_t rank,
                            std::uint32_t size) {
  const std::lock_guard lock(mutex_);
  if (settled() || finished_) return {};
  const ArchiveFolder folder = move_spool(provisional_, archive, rank);
  if (!folder.error.empty()) return folder.error;
  provisional_ = {};
  archive_ = folder.archive;
  spool_ = folder.spool;
  job_rank_ = rank;
  job_size_ = size;
  journal_.put(spool::kMpiWorld, Clock::now(), rank, size);
  return {};
}

void Session::finish() noexcept {
  const recorder::LongPath long_path;
  recording_.store(false);
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  missed_regions_.store(0, std::memory_order_relaxed);
  // Whoever has not seen `recording_` change is inside a callback and says so: the
  // barrier in all threads orders their mark before our look (lifecycle.cc, section 3).
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) usleep(1000);
  // Threads that are inside a callback leave it within moments; one that was interrupted
  // there for good (by a signal handler that ends the program) is not waited for long.
  const std::uint64_t patience = Clock::now() + Clock::ticks_of_seconds(0.2);
  for (auto& recorder : recorders_)
    while (recorder->busy() && Clock::now() < patience) usleep(100);
  // What the primary was in the midst of cannot be brought to its end, and the journal is its
  // own: as if it had been killed.
  ThreadRecorder* const primary = primary_.load();
  const bool whole = primary == nullptr || !primary->busy();
  if (whole && !in_agent_)
    gate_->finish(Clock::now());
  else if (whole && !agent_lost_)  // left by a jump, and no symbol came since
    give_up_agent(*primary, Clock::now());
  for (auto& recorder : recorders_) {
    if (recorder->busy()) continue;
    recorder->follow(board_);
    recorder->close();
  }
  if (!whole) return;
  put_new_modules();
  put_facts_locked();
  journal_.clock_pair();
  journal_.file().close();
}

void Session::discard() noexcept {
  if (!settled()) remove_spool(provisional_);
}

void Session::abandon() noexcept {
  recording_.store(false);
  finished_ = true;
  for (auto& recorder : recorders_) recorder->abandon();
  journal_.file().abandon();
}

}  // namespace refrain::runtime
