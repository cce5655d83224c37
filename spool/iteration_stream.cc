#include "spool/iteration_stream.h"

#include <algorithm>

namespace refrain::spool {

std::optional<std::uint64_t> iteration_metric(const Journal& journal,
                                              const IterationEvent& event,
                                              std::size_t number) {
  const std::size_t count = journal.user.metrics.size();
  if (event.record == IterationEvent::kNoRecord || event.record < count || number >= count)
    return std::nullopt;
  const Record& record = journal.log[event.record - count + number];
  if (record.kind != kIterationMetric || record.sub != number) return std::nullopt;
  return record.payload;
}

IterationStream::IterationStream(const Journal& journal,
                                 std::span<const std::uint64_t> ends)
    : journal_(&journal), ends_(ends) {
  select();
}

void IterationStream::pop() {
  if (at_end_) return;
  if (!advance(open_[selected_]))
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(selected_));
  select();
}

// Index of the visit's next record that begins an iteration or leaves the loop.
std::size_t IterationStream::find_next(std::size_t from, const LoopVisit& visit) const {
  std::size_t index = from;
  while (index < visit.end_record) {
    const Record& record = journal_->log[index];
    const bool ends = record.kind == kLoopLeft || record.kind == kMarksEnd ||
                      record.kind == kIterationEnd;
    if ((record.kind == kIteration || ends) && record.aux32 == visit.loop) return index;
    index += 1 + text_records(record);
  }
  return visit.end_record;
}

// Returns true if the loop turned out to end where this iteration would have begun: its first event
// fitted the loop, but belongs to what came next.
bool IterationStream::left_at_once(const IterationEvent& event, std::size_t next,
                                   const LoopVisit& visit) const {
  if (next >= visit.end_record) return false;
  const Record& record = journal_->log[next];
  return record.kind == kLoopLeft && record.payload <= event.number &&
         record.ticks <= event.ticks;
}

bool IterationStream::advance(Cursor& cursor) const {
  const LoopVisit& visit = journal_->visits[cursor.visit];
  if (cursor.ends != 0) {
    cursor.event = {.left = true,
                    .ticks = cursor.ends,
                    .visit = cursor.visit,
                    .number = cursor.event.number};
    cursor.ends = 0;
    return true;
  }
  if (cursor.next >= visit.end_record) return false;
  const Record& record = journal_->log[cursor.next];
  IterationEvent& event = cursor.event;
  // The detector dates events afterwards; within a visit time must not decrease.
  const std::uint64_t ticks = std::max(event.ticks, record.ticks);
  event = IterationEvent{};
  event.left = record.kind != kIteration;
  event.goes_on = record.kind == kIterationEnd;
  event.ticks = ticks;
  event.visit = cursor.visit;
  event.number = record.payload;
  event.record = cursor.next;
  if (ticks >= visit.cut_ticks) {  // what follows belongs to another loop
    event.left = true;
    event.ticks = visit.cut_ticks;
    cursor.next = visit.end_record;
    return true;
  }
  cursor.next = find_next(cursor.next + 1, visit);
  if (!event.left && left_at_once(event, cursor.next, visit)) {
    event.left = true;
    cursor.next = visit.end_record;
    return true;
  }
  if (!event.left) {
    event.complete = event.number < visit.complete;
    bool end_is_reported = false;
    if (cursor.next < visit.end_record) {
      const Record& next = journal_->log[cursor.next];
      event.end_ticks = std::min(std::max(ticks, next.ticks), visit.cut_ticks);
      end_is_reported = next.payload <= event.number + 1;
      event.complete |= next.kind == kIterationEnd;
    }
    const auto end =
        end_is_reported ? ends_.end() : std::upper_bound(ends_.begin(), ends_.end(), ticks);
    if (end != ends_.end() && *end < event.end_ticks) {
      event.end_ticks = cursor.ends = *end;
      event.complete = true;
    }
  }
  return true;
}

bool IterationStream::before(const IterationEvent& a, const IterationEvent& b) const {
  if (a.ticks != b.ticks) return a.ticks < b.ticks;
  if (a.left != b.left) return a.left;
  const auto level_a = journal_->visits[a.visit].level;
  const auto level_b = journal_->visits[b.visit].level;
  if (level_a != level_b) return a.left ? level_a > level_b : level_a < level_b;
  return a.visit < b.visit;
}

void IterationStream::select() {
  const auto first = [this](const Cursor& a, const Cursor& b) {
    return before(a.event, b.event);
  };
  auto least = std::min_element(open_.begin(), open_.end(), first);
  // Visits are sorted by their first iteration: open all that may come next.
  while (
      next_visit_ < journal_->visits.size() &&
      (open_.empty() || journal_->visits[next_visit_].first_ticks <= least->event.ticks)) {
    const LoopVisit& visit = journal_->visits[next_visit_];
    Cursor cursor{next_visit_, find_next(visit.first_record, visit), 0, {}};
    if (advance(cursor)) open_.push_back(cursor);
    ++next_visit_;
    least = std::min_element(open_.begin(), open_.end(), first);
  }
  at_end_ = open_.empty();
  if (at_end_) return;
  selected_ = static_cast<std::size_t>(least - open_.begin());
  current_ = least->event;
}

}  // namespace refrain::spool
