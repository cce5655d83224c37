#include "tracer/recorder/thread_recorder.h"

#include <algorithm>
#include <cstring>

namespace refrain::recorder {

using spool::Record;

namespace {

constexpr std::uint64_t kNotFound = ~std::uint64_t{0};
constexpr std::uint64_t kBlock = 128;  // records read at a time; on the program's stack

// Kinds are laid out in pairs, an end directly after its begin; see spool::Kind.
constexpr std::uint8_t begin_of(std::uint8_t end_kind) { return end_kind - 1; }

bool is_begin(std::uint8_t kind) {
  switch (kind) {
    case spool::kParallelBegin:
    case spool::kImplicitTaskBegin:
    case spool::kWorkBegin:
    case spool::kSyncRegionBegin:
    case spool::kWaitBegin:
    case spool::kMaskedBegin:
    case spool::kReductionBegin: return true;
    default: return false;
  }
}
bool is_end(std::uint8_t kind) { return is_begin(begin_of(kind)); }

// Index of the region that `end_record` ends in a stack of `depth`, or `depth`.
std::uint32_t match(const Record* stack, std::uint32_t depth, std::uint8_t end_kind) {
  for (std::uint32_t i = depth; i-- > 0;)
    if ((stack[i].kind & ~spool::kSnapshot) == begin_of(end_kind)) return i;
  return depth;
}

spool::LossCause cause_of(SpoolResult result) {
  switch (result) {
    case SpoolResult::kDiskLimit: return spool::kLossDiskLimit;
    case SpoolResult::kMemory: return spool::kLossMemory;
    default: return spool::kLossDiskFull;
  }
}

}  // namespace

SpoolResult ThreadRecorder::open(const char* path, const spool::Header& header,
                                 const Options& options, Budget& budget) noexcept {
  const SpoolResult result =
      file_.create(path, header, options.ring_bytes, options.chunk_bytes, budget);
  if (result == SpoolResult::kOk) use_log(0);
  return result;
}

void ThreadRecorder::count_loss(spool::LossCause cause, std::uint64_t events) noexcept {
  if (file_.header() == nullptr) return;
  file_.header()->lost[cause].fetch_add(events, std::memory_order_relaxed);
}

void ThreadRecorder::use_log(std::uint64_t records) noexcept {
  const SpoolResult result = file_.map_chunk(records);
  blocked_ = result != SpoolResult::kOk;
  if (blocked_) block_cause_ = cause_of(result);
  block_ = file_.chunk();
  cursor_ = blocked_ ? block_ : block_ + (records - file_.chunk_first());
  end_ = blocked_ ? block_ : block_ + file_.chunk_records();
  commit_ = &file_.header()->log_commit;
  commit_step_ = 2;
  commit_value_ = records << 1;
}

void ThreadRecorder::use_ring(std::uint64_t records) noexcept {
  block_ = file_.ring();
  cursor_ = block_ + records % file_.ring_records();
  end_ = block_ + file_.ring_records();
  commit_ = &file_.header()->ring_count;
  commit_step_ = 1;
  commit_value_ = records;
}

bool ThreadRecorder::next_block() noexcept {
  if (holding_) {
    cursor_ = block_;
    return true;
  }
  if (blocked_) return false;
  const std::uint64_t records = commit_value_ >> 1;
  file_.header()->last_ticks.store(Clock::now(), std::memory_order_relaxed);
  use_log(records);
  return !blocked_;
}

void ThreadRecorder::sync(std::uint64_t epoch, std::uint64_t ticks) noexcept {
  epoch_ = epoch;
  Record record{.ticks = ticks, .kind = spool::kSync, .sub = 0, .aux16 = 0, .aux32 = 0,
                .payload = depth_};
  record.set_a48(epoch);
  append(record);
  for (std::uint32_t i = 0; i < depth_; ++i) {
    Record open = stack_[i];
    open.kind |= spool::kSnapshot;
    append(open);
  }
}

void ThreadRecorder::pop(const Record& end_record) noexcept {
  const std::uint32_t at = match(stack_, depth_, end_record.kind);
  if (at == depth_) return;
  depth_ = at;
  if (!holding_ || at >= base_depth_) [[likely]]
    return;
  // It was open when holding began: its end goes to the log, so that its duration is
  // known whatever the ring forgets.
  base_depth_ = at;
  append_behind_hold(end_record);
}

// Writes records to the log behind what is committed; the caller commits.
bool ThreadRecorder::log_put(std::uint64_t index, const Record* from,
                             std::uint64_t count) noexcept {
  while (count > 0) {
    const SpoolResult result = file_.map_chunk(index);
    if (result != SpoolResult::kOk) {
      block_cause_ = cause_of(result);
      return false;
    }
    const std::uint64_t at = index - file_.chunk_first();
    const std::uint64_t n = std::min(count, file_.chunk_records() - at);
    std::memcpy(static_cast<void*>(file_.chunk() + at), from, n * sizeof(Record));
    from += n;
    index += n;
    count -= n;
  }
  return true;
}

void ThreadRecorder::follow_slow(const DecisionBoard& board) noexcept {
  const std::uint64_t count = board.count();
  if (count - followed_ > DecisionBoard::kKept / 2) {
    // Too far behind to know what was decided meanwhile: give back all that is kept.
    if (holding_) resume({0, 0, false});
    followed_ = count - 1;
  }
  while (followed_ < count) {
    Decision decision{};
    if (!board.read(followed_, decision)) return;
    if (decision.hold && decision.epoch > epoch_) return;  // not there yet
    if (decision.hold && !holding_) hold(decision);
    if (!decision.hold && holding_) resume(decision);
    ++followed_;
  }
}

// The first log record that a cut at `epoch` leaves behind: searched backwards, because
// it is near, in blocks.
std::uint64_t ThreadRecorder::find_cut(std::uint64_t epoch) noexcept {
  Record block[kBlock];
  std::uint64_t found = kNotFound;
  std::uint64_t upper = log_records();
  while (upper > stretch_begin_) {
    const std::uint64_t n = std::min(kBlock, upper - stretch_begin_);
    const std::uint64_t lower = upper - n;
    if (!file_.read(lower, n, block)) return found;
    for (std::uint64_t i = n; i-- > 0;) {
      if (block[i].kind != spool::kSync) continue;
      if (block[i].a48() < epoch) return found;
      found = lower + i;
    }
    upper = lower;
  }
  return found;
}

// Moves the log from `cut` on to the ring (its latest part, if it is more than fits) and
// notes the ends of regions that were open at the cut. Returns the records moved.
std::uint64_t ThreadRecorder::fill_ring(std::uint64_t cut) noexcept {
  const std::uint64_t capacity = file_.ring_records();
  const std::uint64_t total = log_records() - cut;
  Record block[kBlock];
  n_carried_ = 0;
  base_depth_ = total == 0 ? depth_ : 0;
  std::uint32_t depth = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t done = 0;
  while (done < total) {
    const std::uint64_t n = std::min(kBlock, total - done);
    if (!file_.read(cut + done, n, block)) break;
    for (std::uint64_t i = 0; i < n; ++i, ++done) {
      const Record& r = block[i];
      file_.ring()[done % capacity] = r;
      if (done == 0) snapshots = r.payload;  // the Sync at the cut
      const bool snapshot = done > 0 && done <= snapshots;
      if ((snapshot || is_begin(r.kind)) && depth < spool::kMaxDepth) {
        replayed_[depth++] = r;
        if (snapshot) base_depth_ = depth;
      } else if (is_end(r.kind)) {
        const std::uint32_t at = match(replayed_, depth, r.kind);
        if (at == depth) continue;
        depth = at;
        if (at < base_depth_) carried_[n_carried_++] = r, base_depth_ = at;
      }
    }
  }
  return done;
}

void ThreadRecorder::hold(const Decision& decision) noexcept {
  std::uint64_t cut = find_cut(decision.epoch);
  if (cut == kNotFound) cut = log_records();  // nothing of it got into the log
  const std::uint64_t moved = fill_ring(cut);
  holding_ = true;
  log_at_hold_ = cut;
  file_.header()->ring_count.store(moved, std::memory_order_release);
  // From here on the log ends at the cut and the ring counts: one store.
  file_.header()->log_commit.store(cut << 1 | 1, std::memory_order_release);
  Record record{.ticks = Clock::now(), .kind = spool::kHold, .sub = 0, .aux16 = 0,
                .aux32 = 0, .payload = decision.epoch};
  record.set_a48(decision.gap);
  append_behind_hold(record);
  for (std::uint32_t i = 0; i < n_carried_; ++i) append_behind_hold(carried_[i]);
  use_ring(moved);
}

void ThreadRecorder::append_behind_hold(const Record& record) noexcept {
  if (!log_put(log_at_hold_, &record, 1)) return count_loss(block_cause_);
  ++log_at_hold_;
  file_.header()->log_commit.store(log_at_hold_ << 1 | 1, std::memory_order_release);
}

void ThreadRecorder::resume(const Decision& decision) noexcept {
  const std::uint64_t capacity = file_.ring_records();
  const std::uint64_t count = commit_value_;
  const std::uint64_t oldest = count > capacity ? count - capacity : 0;
  const Record* ring = file_.ring();
  std::uint64_t from = oldest;
  bool complete = oldest == 0;
  for (; from < count; ++from) {
    const Record& r = ring[from % capacity];
    if (r.kind != spool::kSync) continue;
    if (r.a48() >= decision.epoch) break;
    complete = true;
  }
  Record record{.ticks = Clock::now(), .kind = spool::kResume, .sub = 0, .aux16 = 0,
                .aux32 = 0, .payload = decision.epoch};
  record.set_a48(decision.gap);
  if (!complete) {
    count_loss(spool::kLossRingOverflow);
    if (from < count) record.payload = ring[from % capacity].a48();
  }
  std::uint64_t log = log_at_hold_;
  bool ok = log_put(log, &record, 1);
  log += ok;
  while (ok && from < count) {
    const std::uint64_t at = from % capacity;
    const std::uint64_t n = std::min(count - from, capacity - at);
    ok = log_put(log, ring + at, n);
    if (!ok) count_loss(block_cause_, count - from);
    if (ok) log += n, from += n;
  }
  holding_ = false;
  stretch_begin_ = log_at_hold_;
  use_log(log);
  // The log counts again, with what was kept: one store.
  commit_->store(commit_value_, std::memory_order_release);
}

}  // namespace refrain::recorder
