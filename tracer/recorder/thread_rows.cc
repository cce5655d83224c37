#include "tracer/recorder/thread_rows.h"

#include <algorithm>
#include <cstring>

namespace refrain::recorder {

using spool::IterationRow;
using spool::IterationRowsHeader;
using spool::RowState;

namespace {

constexpr bool is_multiple(std::uint64_t number, unsigned level) noexcept {
  return (number & ((std::uint64_t{1} << level) - 1)) == 0;
}

std::uint64_t loop_of(const IterationStep& step) noexcept {
  return step.loop <= spool::kMaxRowLoop ? step.loop : spool::kMixedRow;
}

}  // namespace

bool IterationRows::open(void* area, std::uint64_t bytes, std::uint64_t most,
                         unsigned counters, std::uint64_t begin,
                         SummaryMemory& memory) noexcept {
  close();
  counters_ = std::min(counters, spool::kMaxRowCounters);
  if (bytes < spool::row_offset(spool::kMinRows, counters_)) return false;
  const std::uint64_t fit =
      (bytes - spool::kIterationRowsHeaderBytes) / spool::row_bytes(counters_);
  const std::uint64_t capacity = std::min({most, fit, spool::kMaxRows});
  if (capacity < spool::kMinRows) return false;
  memory_ = &memory;
  ready_ = rows_ = followed_ = 0;
  level_ = border_level_ = meeting_level_ = 0;
  meetings_ = 0;
  next_pass_ = 0;
  passes_ = {};
  auto* const begin_of_area = static_cast<std::byte*>(area);
  if (!memory.use(begin_of_area, begin_of_area + spool::kIterationRowsHeaderBytes,
                  MemoryFor::kAnything))
    return false;
  header_ = static_cast<IterationRowsHeader*>(area);
  most_ = capacity;
  if (!make_rows(spool::kMinRows)) {
    close();
    return false;
  }
  header_->capacity = static_cast<std::uint32_t>(capacity);
  header_->counters = counters_;
  header_->begin = begin;
  header_->times[spool::kOutsideClass] = std::uint64_t{0} - begin;
  Sums nothing{};
  nothing.ticks = begin;
  add(spool::kRowVisit, spool::row_place(spool::kNoLoopRow, 0), 0, nothing);
  return true;
}

void IterationRows::set_counters(const std::uint64_t* values, unsigned count) noexcept {
  if (is_open())
    std::memcpy(header_->counter_values, values,
                std::min(count, counters_) * sizeof *values);
}

IterationRow* IterationRows::row(std::uint64_t index) const noexcept {
  return reinterpret_cast<IterationRow*>(reinterpret_cast<std::byte*>(header_) +
                                         spool::row_offset(index, counters_));
}

IterationRows::Sums IterationRows::sums_at(std::uint64_t ticks,
                                           const Now& now) const noexcept {
  Sums sums;
  sums.ticks = std::max(std::min(ticks, now.ticks), now.since);
  std::copy_n(header_->times, spool::kRowClasses, sums.times.begin());
  sums.times[now.cls % spool::kRowClasses] += sums.ticks;
  if (ticks < now.since && now.before_since < now.since) [[unlikely]] {
    sums.ticks = std::max(ticks, now.before_since);
    sums.times[now.before_cls % spool::kRowClasses] -= now.since - sums.ticks;
  }
  const std::uint64_t* const counters =
      now.counters != nullptr ? now.counters : header_->counter_values;
  std::copy_n(counters, counters_, sums.counters.begin());
  return sums;
}

bool IterationRows::step(IterationStep& step, const Now& now) noexcept {
  if (!is_open() || belongs_to_latest(step)) return false;
  const Sums sums = sums_at(step.ticks, now);
  step.ticks = sums.ticks;
  const bool begun = take(step, sums);
  followed_ += begun;  // what the others follow is its own
  return begun;
}

void IterationRows::pass(std::uint64_t epoch, const Now& now, bool outside) noexcept {
  if (!is_open()) return;
  Pass& pass = passes_[next_pass_++ % kPasses];
  pass.epoch = epoch;
  pass.ticks = now.ticks;
  pass.since = outside ? now.since : std::max(now.since, now.ticks);
  pass.cls = now.cls % spool::kRowClasses;
  std::copy_n(header_->times, spool::kRowClasses, pass.times.begin());
  if (counters_ != 0)
    std::copy_n(now.counters != nullptr ? now.counters : header_->counter_values, counters_,
                pass.counters.begin());
}

IterationRows::Sums IterationRows::sums_of(const Pass& pass,
                                           std::uint64_t ticks) const noexcept {
  Sums sums;
  sums.ticks = std::max(std::min(ticks, pass.ticks), pass.since);
  sums.times = pass.times;
  sums.times[pass.cls] += sums.ticks;
  std::copy_n(pass.counters.begin(), counters_, sums.counters.begin());
  return sums;
}

// Where the thread passed this epoch, or the first after it that it remembers.
const IterationRows::Pass* IterationRows::passed(std::uint64_t epoch) const noexcept {
  const Pass* found = nullptr;
  for (const Pass& pass : passes_)
    if (pass.epoch >= epoch && (found == nullptr || pass.epoch < found->epoch))
      found = &pass;
  return found;
}

__attribute__((noinline)) void IterationRows::follow_slow(const IterationBoard& board,
                                                          std::uint64_t epoch,
                                                          const Now& now) noexcept {
  const std::uint64_t count = board.count();
  if (count - followed_ >= IterationBoard::kKept)
    followed_ = count - IterationBoard::kKept + 2;
  for (; followed_ != count; ++followed_) {
    IterationStep step;
    if (!board.read(followed_, step)) continue;
    if (step.epoch > epoch) return;
    if (!is_open()) continue;
    if (step.kind == IterationStep::Kind::kCameRound) {
      came_round(step, nullptr);
      continue;
    }
    const Pass* const pass = passed(step.epoch);
    take(step, pass != nullptr ? sums_of(*pass, step.ticks) : sums_at(step.ticks, now));
    set_total(step.total + (step.kind == IterationStep::Kind::kIteration ? 1 : 0));
  }
}

// Most iterations, where several share a row: nothing would change.
bool IterationRows::belongs_to_latest(const IterationStep& step) const noexcept {
  if (step.kind == IterationStep::Kind::kMeeting)
    return !is_multiple(step.number, meeting_level_);
  return step.kind == IterationStep::Kind::kIteration && !step.first &&
         !is_multiple(step.number, level_) &&
         spool::loop_of_row(row(rows_ - 1)->place) == loop_of(step);
}

// Returns true if a row has begun, or is another one now.
bool IterationRows::take(const IterationStep& step, const Sums& sums) noexcept {
  const bool iteration = step.kind == IterationStep::Kind::kIteration;
  std::uint64_t kind = step.border << 2 | spool::kRowVisit;
  std::uint64_t place = spool::row_place(spool::kNoLoopRow, 0);
  if (iteration) {
    if (!step.first) kind = spool::kRowIteration;
    place = spool::row_place(loop_of(step), step.number);
  } else if (step.kind == IterationStep::Kind::kBetween) {
    kind = spool::kRowBetween;
  } else if (step.kind == IterationStep::Kind::kMeeting) {
    kind = spool::kRowMeeting;
    place = spool::row_place(spool::kNoLoopRow, step.number);
  } else {
    // The latest row may be what follows the loop already: it began where the iteration began
    // that broke, or where the last phase ended.
    IterationRow& last = *row(rows_ - 1);
    const bool broken =
        last.total == step.total && spool::loop_of_row(last.place) == loop_of(step);
    if (broken || (last.kind & spool::kRowKindMask) == spool::kRowBetween) {
      last.place = place;
      last.kind = kind;
      return true;
    }
  }
  if (is_kept(kind, place) && !has_room()) merge();
  if (is_kept(kind, place) && has_room()) return add(kind, place, step.total, sums), true;
  fold(*row(rows_ - 1), kind, place);
  return false;
}

// A row that is not kept belongs to the one before.
void IterationRows::fold(IterationRow& into, std::uint64_t kind,
                         std::uint64_t place) noexcept {
  into.place = spool::merged_place(into.place, place);
  if (spool::around_of_row(into.kind) != spool::around_of_row(kind))
    into.kind &= spool::kRowKindMask;
}

bool IterationRows::moment(std::uint64_t ticks, const Now& now,
                           Moment& out) const noexcept {
  if (!is_open()) return false;
  out = {sums_at(ticks, now), header_->use, header_->total.load(std::memory_order_relaxed)};
  return true;
}

void IterationRows::came_round(const IterationStep& step, const Moment* begin) noexcept {
  if (!is_open()) return;
  if (begin != nullptr && !has_room()) merge();
  const std::uint64_t since = begin != nullptr ? begin->sums.ticks : step.ticks;
  std::uint64_t first = rows_;
  while (first != 1 && row(first - 1)->begin >= since) --first;
  for (std::uint64_t i = first; i != rows_; ++i)
    row(i)->kind = (row(i)->kind & spool::kRowKindMask) | spool::row_around(loop_of(step));
  if (begin != nullptr && has_room()) insert(first, step, *begin);
}

// Rows from there on move by one. Who reads meanwhile, or after a kill, finds one of them twice, without any time.
void IterationRows::insert(std::uint64_t at, const IterationStep& step,
                           const Moment& begin) noexcept {
  const std::uint64_t bytes = spool::row_bytes(counters_);
  for (std::uint64_t i = rows_; i != at; --i) {
    std::memcpy(static_cast<void*>(row(i)), row(i - 1), bytes);
    if (i == rows_)
      header_->state.store(RowState{rows_ + 1, 0, 0}.word(), std::memory_order_release);
  }
  IterationRow& to = *row(at);
  to.begin = begin.sums.ticks;
  std::copy_n(begin.sums.times.begin() + 1, spool::kRowClasses - 1, to.times);
  to.use = begin.use;
  std::copy_n(begin.sums.counters.begin(), counters_,
              reinterpret_cast<std::uint64_t*>(&to + 1));
  to.place = spool::row_place(spool::kNoLoopRow, 0);
  to.total = begin.total;
  to.kind = step.border << 2 | spool::kRowVisit | spool::kBeginsAround |
            spool::row_around(loop_of(step));
  ++rows_;
  header_->state.store(RowState{rows_, 0, 0}.word(), std::memory_order_release);
}

bool IterationRows::is_kept(std::uint64_t kind, std::uint64_t place) const noexcept {
  switch (kind & 3) {
    case spool::kRowIteration:
      return is_multiple(place >> 16, level_);
    case spool::kRowVisit:
      return is_multiple((kind & spool::kRowKindMask) >> 2, border_level_);
    case spool::kRowMeeting:
      return is_multiple(place >> 16, meeting_level_);
    default:
      return level_ == 0;
  }
}

void IterationRows::add(std::uint64_t kind, std::uint64_t place, std::uint64_t total,
                        const Sums& sums) noexcept {
  IterationRow* const to = row(rows_);
  const IterationRow* const last = rows_ == 0 ? nullptr : row(rows_ - 1);
  // Learned too late: nothing goes backwards.
  if (last != nullptr && sums.ticks < last->begin) {
    std::memcpy(static_cast<void*>(to), last, spool::row_bytes(counters_));
  } else {
    to->begin = sums.ticks;
    std::copy_n(sums.times.begin() + 1, spool::kRowClasses - 1, to->times);
    to->use = header_->use;
    std::copy_n(sums.counters.begin(), counters_, reinterpret_cast<std::uint64_t*>(to + 1));
  }
  to->place = place;
  to->total = total;
  to->kind = kind;
  ++rows_;
  // Release: complete before it counts, for who reads it meanwhile or after a kill.
  header_->state.store(RowState{rows_, 0, 0}.word(), std::memory_order_release);
  if (kind == spool::kRowMeeting && ++meetings_ > kMostMeetings) {
    ++meeting_level_;
    keep_kept();
  }
}

// For one more row; where there is no memory for it there never will be.
bool IterationRows::has_room() noexcept {
  if (rows_ < ready_) return true;
  if (rows_ < most_ &&
      (make_rows(memory_->at_once() / spool::row_bytes(counters_)) || make_rows(1)))
    return true;
  most_ = ready_;
  return false;
}

// Pages of so many more.
bool IterationRows::make_rows(std::uint64_t rows) noexcept {
  const std::uint64_t ready = std::min(ready_ + rows, most_);
  if (!memory_->use(row(ready_), row(ready), MemoryFor::kAnything)) return false;
  ready_ = ready;
  return true;
}

std::uint64_t IterationRows::kept_rows() const noexcept {
  std::uint64_t kept = 1;
  for (std::uint64_t i = 1; i < rows_; ++i) {
    const IterationRow& from = *row(i);
    kept += is_kept(from.kind, from.place);
  }
  return kept;
}

// Half as many iterations have a row of their own. If that is not enough, half as many begins and
// ends of visits as well, until a quarter of the rows is free.
void IterationRows::merge() noexcept {
  if (level_ < kMaxLevel) ++level_;
  while (kept_rows() > rows_ - rows_ / 4 && border_level_ < kMaxLevel) {
    ++border_level_;
    if (meeting_level_ < kMaxLevel) ++meeting_level_;
    if (level_ < kMaxLevel) ++level_;
  }
  keep_kept();
  header_->merges.store(header_->merges + 1, std::memory_order_relaxed);
}

void IterationRows::keep_kept() noexcept {
  std::uint64_t merged = 0;
  meetings_ = 0;
  for (std::uint64_t next = 0; next != rows_;) {
    // All of a row is written where it is not in use any more, but for place and kind of the first.
    const IterationRow& from = *row(next);
    IterationRow folded{};  // its place and kind alone
    folded.place = from.place;
    folded.kind = from.kind;
    const std::uint64_t first = next++;
    for (; next != rows_ && !is_kept(row(next)->kind, row(next)->place); ++next)
      fold(folded, row(next)->kind, row(next)->place);
    IterationRow* const to = row(merged++);
    if (first + 1 != merged)
      std::memcpy(static_cast<void*>(to), &from, spool::row_bytes(counters_));
    to->place = folded.place;
    to->kind = folded.kind;
    meetings_ += (to->kind & 3) == spool::kRowMeeting;
    header_->state.store(RowState{rows_, merged, next}.word(), std::memory_order_release);
  }
  rows_ = merged;
  header_->state.store(RowState{rows_, 0, 0}.word(), std::memory_order_release);
}

}  // namespace refrain::recorder
