#include "tracer/recorder/thread_recorder.h"

#include <algorithm>
#include <cstring>

#include "tracer/recorder/open_regions.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

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

void ThreadRecorder::abandon() noexcept {
  events_seen_ = &dropped_;
  tree_.close();
  flow_.close();
  rows_.close();
  file_.abandon();
}

// The event of `user` may be missing or incomplete; what was committed is there.
bool ThreadRecorder::take_over(const FrameMark* user, const FrameMark& here) noexcept {
  count_loss(spool::kLossReentrant);
  if (!FrameMark::is_gone(user, this, &here)) return false;
  drop_unfinished();
  return true;
}

void ThreadRecorder::free_if_left(const FrameMark& here) noexcept {
  const FrameMark* const user = user_.load(std::memory_order_relaxed);
  if (user == nullptr || !take_over(user, here)) return;
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
  const auto begins_before_wanted = [&](const Record& r) {
    return spool::is_cut(r) && r.a48() < wanted;
  };
  const bool in_the_middle = end_ != block_ + capacity;
  const Record* newest = in_the_middle ? block_ : block_ + half;
  const bool half_is_enough = std::any_of(newest, newest + half, begins_before_wanted);
  if (RingWatch* const watch = board_ == nullptr ? nullptr : board_->watch()) {
    watch->ring_goes_on(*this, !half_is_enough && capacity * 2 > file_.ring_records());
    if (!suspended_) return cursor_ != end_ || next_block();
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

void ThreadRecorder::pop(const RecordWords& end_record) noexcept {
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
  while (depth_ != 0) {
    const RecordWords open = RecordWords::load(stack_[depth_ - 1]);
    if (open.kind() != spool::kUserEnter && open.kind() != spool::kFunctionEnter) return;
    end(spool::record_words(open.kind() + 1, ticks, open.payload), ticks);
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

}  // namespace refrain::recorder
