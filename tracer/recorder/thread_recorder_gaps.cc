// Suspend and resume: what is moved between the log and the ring.
#include <algorithm>

#include "tracer/recorder/open_regions.h"
#include "tracer/recorder/thread_recorder.h"

namespace refrain::recorder {

using spool::Record;
using spool::RecordWords;

namespace {

constexpr std::uint64_t kNotFound = ~std::uint64_t{0};
constexpr std::uint64_t kBlock = 128;  // records read at a time; on the program's stack
constexpr std::uint64_t kLook = 32;    // likewise, where a cut is looked for

bool is_begin(std::uint8_t kind) {
  switch (kind) {
    case spool::kParallelBegin:
    case spool::kImplicitTaskBegin:
    case spool::kWorkBegin:
    case spool::kSyncRegionBegin:
    case spool::kWaitBegin:
    case spool::kMaskedBegin:
    case spool::kReductionBegin:
    case spool::kTargetBegin:
    case spool::kTargetDataBegin:
    case spool::kTargetSubmitBegin:
    case spool::kUserEnter:
    case spool::kFunctionEnter:
    case spool::kMpiEnter:
      return true;
    default:
      return false;
  }
}
bool is_end(std::uint8_t kind) { return is_begin(begin_of(kind)); }

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
      if ((snapshot || is_begin(r.kind)) && depth < spool::kMaxDepth) {
        replayed_[depth++] = r;
        if (snapshot) base_depth_ = depth;
      } else if (is_end(r.kind)) {
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

// Events of `epoch` and later that the ring forgot, or that lie in it before record `from`, the first
// one that goes back to the log.
std::uint64_t ThreadRecorder::events_missing(std::uint64_t epoch,
                                             std::uint64_t from) const noexcept {
  const std::uint64_t capacity = ring_capacity();
  const std::uint64_t count = commit_value_ >> 8;
  const std::uint64_t oldest = count > capacity ? count - capacity : 0;
  const std::uint64_t first_kept =
      from < count ? file_.ring()[from % capacity].a48() : kNotFound;
  std::uint64_t missing = forgotten_.between(epoch, first_kept);
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
    complete = missing == 0 && forgotten_.knows(decision.epoch);
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
