#include "tracer/recorder/thread_recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "spool/format.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

// --- The stack of a location's open regions: which end belongs to which begin.
//
// Place in the flow: ARCHITECTURE.md, stage 3; private to ThreadRecorder. Pure functions.

// Index of the region that `end_record` ends in a stack of `depth`, or `depth`.
inline std::uint32_t match(const spool::Record* stack, std::uint32_t depth,
                           std::uint8_t end_kind) {
  for (std::uint32_t i = depth; i-- > 0;)
    if ((stack[i].kind & ~spool::kSnapshot) == spool::begin_of(end_kind)) return i;
  return depth;
}

using spool::Record;
using spool::RecordWords;

namespace {

spool::LossCause cause_of(SpoolResult result) {
  switch (result) {
    case SpoolResult::kDiskLimit:
      return spool::kLossDiskLimit;
    case SpoolResult::kMemory:
      return spool::kLossMemory;
    default:
      return spool::kLossDiskFull;
  }
}

}  // namespace

// Adds the time of its scope; scopes inside are part of that.
class ThreadRecorder::OwnTime {
 public:
  explicit OwnTime(std::uint64_t& sum) noexcept : sum_(sum), before_(sum) {}
  ~OwnTime() { sum_ = before_ + (Clock::now() - begin_); }
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;

 private:
  std::uint64_t& sum_;
  const std::uint64_t before_;
  const std::uint64_t begin_ = Clock::now();
};

SpoolResult ThreadRecorder::open(int folder, const char* path, const spool::Header& header,
                                 const Options& options, Budget& budget) noexcept {
  const SpoolResult result = file_.create(folder, path, header,
                                          {.ring = options.ring_bytes,
                                           .tree = options.tree_bytes,
                                           .chunk = options.chunk_bytes,
                                           .flow = options.flow_bytes,
                                           .rows = options.rows_bytes,
                                           .summary = options.summary_bytes},
                                          budget);
  if (result != SpoolResult::kOk) return result;
  if (header.file_kind == spool::kLocationFile) {
    file_.open_rows(rows_, options.most_rows, options.counters);
    if (!file_.open_tree(tree_, rows_.times())) rows_.close();
    file_.open_flow(flow_, options.flow_components);
  }
  events_seen_ = &file_.header()->events_seen;
  writes_ = options.writes;
  use_log(0);
  return result;
}

void ThreadRecorder::thread_begins(bool anew) noexcept {
  thread_ = static_cast<pid_t>(syscall(SYS_gettid));
  posix_thread_ = pthread_self();
  events_before_ = events_seen();
  // The main thread counts from before the program, too: of the command and the launcher that became it.
  const bool counts_more = anew || thread_ == getpid();
  used_before_ = counts_more ? thread_use_of(thread_) : base::ThreadUse{};
  row_use_seen_ = used_before_;
  row_use_reader_ = {};
  row_use_every_ = Clock::ticks_of_seconds(base::kRowUseApart_s);
  tracing_time_.thread_begins();
}

void ThreadRecorder::thread_ends() noexcept {
  if (thread_ == 0) return;
  const pid_t thread = std::exchange(thread_, 0);
  const base::ThreadUse now = thread_use_of(thread);
  add_row_use(now);
  base::ThreadUse use = used_between(used_before_, now);
  const std::uint64_t ticks =
      tracing_time_.take(thread == static_cast<pid_t>(syscall(SYS_gettid)));
  use.tracing_ns = static_cast<std::uint64_t>(static_cast<double>(ticks) * 1e9 /
                                              Clock::ticks_per_second());
  // Timed events may have been interrupted as well.
  if (use.core_ns != 0) use.tracing_ns = std::min(use.tracing_ns, use.core_ns);
  file_.add_use(use);
}

void ThreadRecorder::look_at_use_slow(std::uint64_t ticks) noexcept {
  row_use_ticks_ = ticks;
  if (!rows_.is_open() || thread_ == 0) return;
  const bool is_caller = pthread_equal(posix_thread_, pthread_self()) != 0;
  if (is_caller) row_cycles_per_ns_ = cycles_per_ns();
  add_row_use(row_use_reader_.read(thread_, is_caller, ticks));
}

void ThreadRecorder::add_row_use(base::ThreadUse now) noexcept {
  const std::uint64_t more_ns = now.core_ns - std::min(now.core_ns, row_use_seen_.core_ns);
  now.core_cycles =
      row_use_seen_.core_cycles +
      static_cast<std::uint64_t>(static_cast<double>(more_ns) * row_cycles_per_ns_);
  for (std::size_t i = 0; i < row_use_.size(); ++i) {
    const auto value = base::kRowUse[i].value;
    // Less: that is not known now, for the thread has ended or is another one.
    if (now.*value <= row_use_seen_.*value) continue;
    row_use_[i] += now.*value - row_use_seen_.*value;
    row_use_seen_.*value = now.*value;
  }
  rows_.set_use(row_use_);
}

void ThreadRecorder::abandon() noexcept {
  thread_ = 0;
  events_seen_ = &dropped_;
  tree_.close();
  flow_.close();
  rows_.close();
  file_.abandon();
}

constinit const FrameMark ThreadRecorder::s_nobody;

// The event of `user` may be missing or incomplete; what was committed is there.
bool ThreadRecorder::take_over(const FrameMark* user, const FrameMark& here) noexcept {
  if (user == &s_nobody) {
    count_loss(late_cause_);
    return false;
  }
  count_loss(spool::kLossReentrant);
  if (!FrameMark::is_gone(user, this, &here)) return false;
  drop_unfinished();
  return true;
}

void ThreadRecorder::free_if_left(const FrameMark& here) noexcept {
  const FrameMark* const user = user_.load(std::memory_order_relaxed);
  if (user == nullptr || user == &s_nobody || !take_over(user, here)) return;
  leave();
}

void ThreadRecorder::drop_unfinished() noexcept {
  if (file_.header() == nullptr) return;
  if (!suspended_) {
    cursor_ = block_ + ((commit_value_ >> 1) - file_.flushed());
    return;
  }
  cursor_ = block_ + (commit_value_ >> 8) % ring_capacity();
  if (cursor_ == block_ && end_ == block_ + ring_capacity()) cursor_ = end_;
}

void ThreadRecorder::count_loss(spool::LossCause cause, std::uint64_t events) noexcept {
  if (file_.header() == nullptr) return;
  file_.header()->lost[cause].fetch_add(events, std::memory_order_relaxed);
}

// From here on records go to the log, at `records`; the stage has those since the last flush.
void ThreadRecorder::use_log(std::uint64_t records) noexcept {
  block_ = file_.stage();
  cursor_ = block_ + (records - file_.flushed());
  end_ = block_ + file_.stage_ready();
  commit_ = &file_.header()->log_commit;
  commit_step_ = 2;
  commit_value_ = records << 1;
  if (!writes_) drop_records();
}

// From here on records go round and round in a few lines of the cache, and none counts.
void ThreadRecorder::drop_records() noexcept {
  constexpr std::uint64_t kDropped = 64;
  end_ = block_ + kDropped;
  commit_step_ = 0;
}

void ThreadRecorder::use_ring(std::uint64_t records) noexcept {
  block_ = file_.ring();
  cursor_ = block_ + records % ring_capacity();
  end_ = block_ + ring_capacity();
  commit_ = &file_.header()->ring_commit;
  commit_step_ = 1 << 8;
  commit_value_ = ring_word(records);
}

bool ThreadRecorder::next_block() noexcept {
  if (!writes_) {
    file_.header()->last_ticks.store(cursor_[-1].ticks, std::memory_order_relaxed);
    cursor_ = block_;
    return true;
  }
  const OwnTime own_time(own_ticks_);
  if (suspended_) return wrap_ring();
  if (blocked_) return false;
  const SlowPath slow_path;
  const std::uint64_t records = commit_value_ >> 1;
  if (file_.stage_ready() != spool::kStageRecords ? !use_stage()
                                                  : !flush_stage(spool::kStageRecords))
    return false;
  use_log(records);
  return true;
}

bool ThreadRecorder::flush_stage(std::uint64_t count) noexcept {
  file_.header()->last_ticks.store(Clock::now(), std::memory_order_relaxed);
  return take_result(file_.flush(count));
}

bool ThreadRecorder::use_stage() noexcept { return take_result(file_.use_stage()); }

bool ThreadRecorder::take_result(SpoolResult result) noexcept {
  blocked_ = result != SpoolResult::kOk;
  if (blocked_) block_cause_ = cause_of(result);
  return !blocked_;
}

// Half of the ring is full, and the next records would overwrite the other half. The ring grows
// instead if what a break would ask for now, one to three iterations, does not fit into the half
// that stays.
bool ThreadRecorder::wrap_ring() noexcept {
  const std::uint64_t capacity = ring_capacity();
  const std::uint64_t half = capacity / 2;
  const std::uint64_t wanted = wanted_from();
  // (Where epochs ascend the first cut says it; half of a large ring is in no cache.)
  const auto decides = [&](const Record& r) {
    return spool::is_cut(r) && (!epoch_fell_ || r.a48() < wanted);
  };
  const bool in_the_middle = end_ != block_ + capacity;
  const Record* newest = in_the_middle ? block_ : block_ + half;
  const Record* const cut = std::find_if(newest, newest + half, decides);
  const bool half_is_enough = cut != newest + half && cut->a48() < wanted;
  if (RingWatch* const watch = board_ == nullptr ? nullptr : board_->watch()) {
    const std::uint64_t followed = followed_;
    watch->ring_goes_on(*this, !half_is_enough && capacity * 2 > file_.ring_records());
    // Written again, or that and skipped anew: then the ring is another one.
    if (followed_ != followed) return cursor_ != end_ || next_block();
  }
  if (half_is_enough || capacity * 2 > file_.ring_records() ||
      !file_.use_ring(capacity * 2)) {
    // No slow path, for this is frequent: drop_unfinished() repairs what a jump leaves, whichever of
    // these are done.
    cursor_ = in_the_middle ? block_ + half : block_;
    end_ = in_the_middle ? block_ + capacity : block_ + half;
    ring_forgot_ = true;
    if (!half_is_enough) forget(cursor_, half);
    return true;
  }
  const SlowPath slow_path;
  if (in_the_middle) {
    // If killed here, the ring has forgotten all, and says so: at no moment are its contents wrong.
    commit_->store(ring_word(0), std::memory_order_release);
    std::rotate(block_, block_ + half, block_ + capacity);
  }
  // The records lie in order, and the old ring is the first half of the new one.
  ++ring_class_;
  looked_at_ = 0;
  use_ring(capacity);
  commit_->store(commit_value_, std::memory_order_release);
  return true;
}

// The first epoch that a resume can ask for: the next one that this thread has not followed
// yet, or one that is still to come.
std::uint64_t ThreadRecorder::wanted_from() const noexcept {
  if (board_ == nullptr) return 0;
  const std::uint64_t kept = board_->keep_from();
  Decision next{};
  if (board_->count() == followed_ || !board_->read(followed_, next) || next.suspend)
    return kept;
  return std::min(kept, next.epoch);
}

// These are wanted, and will be overwritten next.
void ThreadRecorder::forget(const Record* records, std::uint64_t count) noexcept {
  const std::uint64_t wanted = wanted_from();
  for (std::uint64_t i = 0; i < count; ++i) forgotten_.add(records[i], wanted);
  const std::uint64_t next = commit_value_ >> 8;  // the record that overwrites the first
  looked_at_ = next - ring_capacity() + count;
}

void ThreadRecorder::append_snapshots() noexcept {
  for (std::uint32_t i = 0; i < depth_; ++i) {
    RecordWords open = RecordWords::load(stack_[i]);
    open.meta |= std::uint64_t{spool::kSnapshot} << RecordWords::kKindShift;
    append(open);
  }
}

void ThreadRecorder::pop(RecordWords end_record) noexcept {
  const std::uint32_t at = match(stack_, depth_, end_record.kind());
  if (at == depth_) return;
  depth_ = at;
  if (at >= base_depth_) return;
  // It was open when the gap began: its end goes to the log, so that its duration is
  // known whatever the ring forgets.
  base_depth_ = at;
  append_after_suspend(end_record);
}

void ThreadRecorder::set_metrics(MetricReader* reader, std::uint64_t kinds,
                                 std::uint64_t absolute) noexcept {
  if (metrics_ != nullptr) std::memcpy(metric_bases_, metric_values_, sizeof metric_bases_);
  metrics_ = reader;
  metrics_absolute_ = absolute;
  metric_kinds_ = reader == nullptr ? 0 : kinds;
  metric_ticks_ = 0;
}

const std::uint64_t* ThreadRecorder::read_metrics(std::uint64_t ticks) noexcept {
  if (metrics_ == nullptr) return nullptr;
  metrics_->read(metric_values_);
  for (unsigned i = 0; i < metrics_->count(); ++i)
    if ((metrics_absolute_ >> i & 1) == 0) metric_values_[i] += metric_bases_[i];
  metric_ticks_ = ticks;
  rows_.set_counters(metric_values_, metrics_->count());
  return metric_values_;
}

void ThreadRecorder::put_metrics(std::uint64_t ticks) noexcept {
  if (metrics_ == nullptr) return;
  if (metric_ticks_ != ticks) read_metrics(ticks);
  for (unsigned i = 0; i < metrics_->count(); ++i)
    append(spool::record_words(spool::kMetric, ticks, metric_values_[i],
                               static_cast<std::uint8_t>(i)));
}

// The values recorded for `end`, the newest record, are just before it.
bool ThreadRecorder::renew_metrics(const Record& end, std::uint64_t ticks) noexcept {
  if (metrics_ == nullptr) return true;
  const std::uint64_t count = metrics_->count();
  if (static_cast<std::uint64_t>(cursor_ - block_) < count + 1) return false;
  Record* const values = cursor_ - 1 - count;
  const auto is_of_end = [&](const Record& value) {
    return value.kind == spool::kMetric && value.ticks == end.ticks;
  };
  if (!std::all_of(values, values + count, is_of_end)) return false;
  read_metrics(ticks);
  for (std::uint64_t i = 0; i < count; ++i) {
    values[i].ticks = ticks;
    values[i].payload = metric_values_[i];
  }
  return true;
}

void ThreadRecorder::end_user_regions(std::uint64_t ticks) noexcept {
  for (bool first = true; depth_ != 0; first = false) {
    const RecordWords open = RecordWords::load(stack_[depth_ - 1]);
    const std::uint8_t kind = open.kind();
    if (kind != spool::kUserEnter && kind != spool::kFunctionEnter &&
        kind != spool::kThreadCallBegin && kind != spool::kHolderBegin)
      return;
    if (!first) count_event();
    const auto sub = static_cast<std::uint8_t>(
        kind == spool::kThreadCallBegin ? stack_[depth_ - 1].sub & spool::kThreadCalls : 0);
    end(spool::record_words(kind + 1, ticks, open.payload, sub), ticks);
  }
}

// Writes records to the log from log_next_ on; the caller commits.
bool ThreadRecorder::log_put(const Record* from, std::uint64_t count) noexcept {
  while (count > 0) {
    if (file_.stage_ready() != spool::kStageRecords && !use_stage()) return false;
    std::uint64_t at = log_next_ - file_.flushed();
    if (at == spool::kStageRecords) {
      if (!flush_stage(at)) return false;
      at = 0;
    }
    const std::uint64_t n = std::min(count, spool::kStageRecords - at);
    std::memcpy(static_cast<void*>(file_.stage() + at), from, n * sizeof(Record));
    from += n;
    log_next_ += n;
    count -= n;
  }
  return true;
}

void ThreadRecorder::follow_slow(const DecisionBoard& board) noexcept {
  const SlowPath slow_path;
  const OwnTime own_time(own_ticks_);
  on_own_stack([&] { follow_all(board); });
}

void ThreadRecorder::follow_all(const DecisionBoard& board) noexcept {
  const std::uint64_t count = board.count();
  if (count - followed_ > DecisionBoard::kKept / 2) {
    // Too late to know what was decided meanwhile: write all that is kept.
    if (suspended_) resume({0, 0, false});
    followed_ = count - 1;
  }
  while (followed_ < count) {
    Decision decision{};
    if (!board.read(followed_, decision)) return;
    if (decision.suspend && decision.epoch > epoch_) return;  // not there yet
    if (decision.suspend && !suspended_) suspend(decision);
    if (!decision.suspend && suspended_) resume(decision);
    ++followed_;
  }
}

namespace {

constexpr std::uint64_t kNotFound = ~std::uint64_t{0};
constexpr std::uint64_t kBlock = 128;  // records read at a time; on the program's stack
constexpr std::uint64_t kLook = 32;    // likewise, where a cut is looked for

}  // namespace

// A log record from which on all cuts are of `epoch` or later: as early a one as a few looks find,
// where epochs only grow.
std::uint64_t ThreadRecorder::surely_after(std::uint64_t epoch) noexcept {
  Record block[kLook];
  std::uint64_t after = log_records();
  if (epoch_fell_) return after;
  bool too_far = false;
  for (std::uint64_t step = kBlock; step >= kBlock;) {
    bool is_after = false;
    if (after - interval_begin_ >= step && file_.read(after - step, kLook, block)) {
      const Record* const cut = std::find_if(block, block + kLook, spool::is_cut);
      is_after = cut != block + kLook && cut->a48() >= epoch;
      if (is_after) after = after - step + static_cast<std::uint64_t>(cut - block);
    }
    too_far |= !is_after;
    step = too_far ? step / 2 : step * 2;
  }
  return after;
}

// The log record of the first cut of `epoch` or later: searched backwards in blocks, because it is
// near.
std::uint64_t ThreadRecorder::find_cut(std::uint64_t epoch) noexcept {
  Record block[kBlock];
  const std::uint64_t after = surely_after(epoch);
  std::uint64_t found = after == log_records() ? kNotFound : after;
  std::uint64_t upper = after;
  while (upper > interval_begin_) {
    const std::uint64_t n = std::min(kBlock, upper - interval_begin_);
    const std::uint64_t lower = upper - n;
    if (!file_.read(lower, n, block)) return found;
    for (std::uint64_t i = n; i-- > 0;) {
      if (!spool::is_cut(block[i])) continue;
      if (block[i].a48() < epoch) return found;
      found = lower + i;
    }
    upper = lower;
  }
  return found;
}

// The first record that the ring needs of a gap that begins at record `cut`. What lies before the last
// cut that a break can ask for is not needed, if no region's end has to be looked for in it, and if
// there is no later decision: keep_from() is that one's then.
std::uint64_t ThreadRecorder::first_needed(std::uint64_t cut) noexcept {
  const std::uint64_t end = log_records();
  if (board_ == nullptr || end - cut <= kBlock) return cut;
  const std::uint64_t kept = board_->keep_from();
  Record first;
  if (board_->count() != followed_ + 1 || !file_.read(cut, 1, &first) ||
      spool::open_at_cut(first) != 0)
    return cut;
  const std::uint64_t needed = find_cut(kept);
  if (needed == kNotFound || needed <= cut + kBlock) return cut;
  // One cut more: resume() knows by an earlier one in the ring that nothing is missing.
  Record block[kBlock];
  if (!file_.read(needed - kBlock, kBlock, block)) return cut;
  for (std::uint64_t i = kBlock; i-- > 0;)
    if (spool::is_cut(block[i])) return needed - kBlock + i;
  return cut;
}

// Copies the log from `cut` on to the ring (its latest part, if it is more than fits) and
// notes the ends of regions that were open at the cut. Returns the records copied; kNotFound if
// the log cannot be read (the program has closed its descriptor).
std::uint64_t ThreadRecorder::fill_ring(std::uint64_t cut) noexcept {
  const std::uint64_t needed = first_needed(cut);
  const bool forgets = needed != cut;
  cut = needed;
  const std::uint64_t total = log_records() - cut;
  lay_out_ring(total);
  const std::uint64_t capacity = ring_capacity();
  ring_forgot_ = forgets || total > capacity;
  forgotten_.clear();
  looked_at_ = 0;
  const std::uint64_t too_many = total > capacity ? total - capacity : 0;
  const std::uint64_t wanted = too_many == 0 ? 0 : wanted_from();
  Record block[kBlock];
  n_carried_ = 0;
  base_depth_ = total == 0 ? depth_ : 0;
  std::uint32_t depth = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t done = 0;
  while (done < total) {
    const std::uint64_t n = std::min(kBlock, total - done);
    if (!file_.read(cut + done, n, block)) return kNotFound;
    for (std::uint64_t i = 0; i < n; ++i, ++done) {
      const Record& r = block[i];
      file_.ring()[done % capacity] = r;
      if (done < too_many) forgotten_.add(r, wanted);
      if (done == 0) snapshots = spool::open_at_cut(r);
      const bool snapshot = done > 0 && done <= snapshots;
      if ((snapshot || spool::is_one_of(spool::kBegins, r.kind)) &&
          depth < spool::kMaxDepth) {
        replayed_[depth++] = r;
        if (snapshot) base_depth_ = depth;
      } else if (spool::is_one_of(spool::kEnds, r.kind)) {
        const std::uint32_t at = match(replayed_, depth, r.kind);
        if (at == depth) continue;
        depth = at;
        if (at >= base_depth_ || n_carried_ == spool::kMaxDepth) continue;
        carried_[n_carried_++] = r;
        base_depth_ = at;
      }
    }
  }
  return done;
}

// Chooses a size of the ring for so many records with room to spare, if there is one.
void ThreadRecorder::lay_out_ring(std::uint64_t records) noexcept {
  ring_class_ = 0;
  while (ring_capacity() < 2 * records && ring_capacity() * 2 <= file_.ring_records() &&
         file_.use_ring(ring_capacity() * 2))
    ++ring_class_;
}

void ThreadRecorder::suspend(const Decision& decision) noexcept {
  std::uint64_t cut = find_cut(decision.epoch);
  if (cut == kNotFound) cut = log_records();  // nothing of it got into the log
  std::uint64_t moved = fill_ring(cut);
  if (moved == kNotFound) {
    cut = log_records();  // what cannot be moved stays in the log
    moved = fill_ring(cut);
  }
  suspended_ = true;
  log_at_suspend_ = cut;
  log_next_ = cut;
  file_.header()->ring_commit.store(ring_word(moved), std::memory_order_release);
  // From here on the log ends at the cut and the ring counts: one store.
  file_.header()->log_commit.store(cut << 1 | 1, std::memory_order_release);
  if (cut < file_.flushed()) {
    file_.rewind(cut);
    blocked_ = false;  // the space after the cut can be written again
  }
  append_after_suspend(
      spool::record_words(spool::kSuspend, Clock::now(), decision.epoch, 0, decision.gap));
  for (std::uint32_t i = 0; i < n_carried_; ++i)
    append_after_suspend(RecordWords::load(carried_[i]));
  use_ring(moved);
}

void ThreadRecorder::append_after_suspend(const RecordWords& words) noexcept {
  Record record;
  words.store(&record);
  if (!log_put(&record, 1)) return count_loss(block_cause_);
  log_at_suspend_ = log_next_;
  file_.header()->log_commit.store(log_at_suspend_ << 1 | 1, std::memory_order_release);
}

// The epoch of the ring's record `at`, a cut.
std::uint64_t ThreadRecorder::cut_at(std::uint64_t at) const noexcept {
  return at < commit_value_ >> 8 ? file_.ring()[at % ring_capacity()].a48() : kNotFound;
}

// Events of `epoch` and later that the ring forgot, or that lie in it before record `from`, the first
// one that goes back to the log.
std::uint64_t ThreadRecorder::events_missing(std::uint64_t epoch,
                                             std::uint64_t from) const noexcept {
  const std::uint64_t capacity = ring_capacity();
  const std::uint64_t count = commit_value_ >> 8;
  const std::uint64_t oldest = count > capacity ? count - capacity : 0;
  std::uint64_t missing = forgotten_.between(epoch, cut_at(from));
  for (std::uint64_t i = std::max(oldest, looked_at_); i < from; ++i)
    missing += ForgottenEvents::is_event(file_.ring()[i % capacity]) ? 1 : 0;
  return missing;
}

void ThreadRecorder::resume(const Decision& decision) noexcept {
  const std::uint64_t capacity = ring_capacity();
  const std::uint64_t count = commit_value_ >> 8;
  const std::uint64_t oldest = count > capacity ? count - capacity : 0;
  const Record* ring = file_.ring();
  std::uint64_t from = oldest;
  bool complete = !ring_forgot_;
  for (; from < count; ++from) {
    const Record& r = ring[from % capacity];
    if (!spool::is_cut(r)) continue;
    if (r.a48() >= decision.epoch) break;
    complete = true;
  }
  Record record{.ticks = Clock::now(),
                .kind = spool::kResume,
                .sub = 0,
                .aux16 = 0,
                .aux32 = 0,
                .payload = decision.epoch};
  record.set_a48(decision.gap);
  if (!complete) {
    const std::uint64_t missing = events_missing(decision.epoch, from);
    complete = missing == 0 && forgotten_.none_between(decision.epoch, cut_at(from));
    if (!complete)
      count_loss(spool::kLossRingOverflow, std::max<std::uint64_t>(1, missing));
  }
  if (!complete && from < count) record.payload = ring[from % capacity].a48();
  log_next_ = log_at_suspend_;
  bool ok = log_put(&record, 1);
  while (ok && from < count) {
    const std::uint64_t at = from % capacity;
    const std::uint64_t n = std::min(count - from, capacity - at);
    ok = log_put(ring + at, n);
    if (ok) from += n;
  }
  if (!ok) count_loss(block_cause_, count - from);
  suspended_ = false;
  base_depth_ = 0;
  interval_begin_ = log_at_suspend_;
  use_log(log_next_);
  // The log counts again, with what was kept: one store.
  commit_->store(commit_value_, std::memory_order_release);
}

}  // namespace refrain::recorder
