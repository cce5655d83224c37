#include "periodicity/nested/loop_search.h"

namespace refrain::periodicity {

// A known loop begins at `start`. If not far before it there is a visit of the same one, or of
// one that begins alike, then what is between is an iteration that took another
// course: a different order of two events, a part left out, an inner loop too short to
// be known.
void LoopSearch::look_for_variant(std::uint32_t body, std::uint64_t start) noexcept {
  const std::uint64_t first = first_event(body);
  const std::uint32_t size = bodies_[body].size;
  const std::uint64_t reach = std::min(size + size + 8, max_variant_);
  const std::uint64_t earliest =
      std::max(history_.begin() + 1, start - std::min(start, reach));
  if (start < history_.begin() + 3 || history_[start].position == variant_end_) return;
  variant_end_ = history_[start].position;
  for (std::uint64_t from = start; from >= earliest; --from) {
    const Token& before = history_[from - 1];
    if (before.body == kNoBody || first_event(before.body) != first) continue;
    if (start - from >= 2 && history_[from].id == bodies_.items(body)->id) {
      bodies_.see_variant(history_, from, start);
    }
    return;
  }
}

std::uint64_t LoopSearch::first_event(std::uint32_t body) const noexcept {
  const Item* item = bodies_.items(body);
  while (item->child != kNoBody) item = bodies_.items(item->child);
  return item->id;
}

LoopSearch::Match LoopSearch::of_run(std::uint32_t lag) noexcept {
  const std::uint64_t from = history_.begin_of_run(lag);
  const std::uint32_t more = lag - items_before(from, lag);
  const auto found = bodies_.find_or_add(history_, from + more, lag);
  if (found.body == kNoBody) return found;
  if (!kept_.all() && found.start + lag < history_.end())
    bodies_.set_events(
        found.body, history_[found.start + lag].position - history_[found.start].position);
  std::uint64_t start = found.start;
  if (start >= from + lag) start -= lag;
  return {found.body, start};
}

// How many more items of the run with this lag are before `from`, where inner loops that
// were not yet known show as rows of events: the run really begins there.
std::uint32_t LoopSearch::items_before(std::uint64_t from,
                                       std::uint32_t lag) const noexcept {
  std::uint64_t index = from;
  for (std::uint32_t count = 0; count != lag; ++count) {
    const Token& expected = history_[from + lag - 1 - count];
    const std::uint64_t before = index;
    if (index > history_.begin() && history_[index - 1].id == expected.id) {
      --index;
    } else if (expected.body != kNoBody) {
      index = rows_before(expected.body, index);
    }
    if (index == before) return count;
  }
  return lag;
}

std::uint64_t LoopSearch::iteration_before(std::uint32_t body,
                                           std::uint64_t start) const noexcept {
  std::uint64_t index = start;
  for (std::uint32_t left = bodies_[body].size; left-- != 0;) {
    const Item& item = bodies_.items(body)[left];
    if (index > history_.begin() && history_[index - 1].id == item.id) {
      --index;
      continue;
    }
    const std::uint64_t before = index;
    if (item.child != kNoBody) index = rows_before(item.child, index);
    if (index == before) return start;
  }
  return index;
}

// Where the iterations of `body` begin that end before `index`.
std::uint64_t LoopSearch::rows_before(std::uint32_t body,
                                      std::uint64_t index) const noexcept {
  const std::uint32_t size = bodies_[body].size;
  const Item* const items = bodies_.items(body);
  for (;;) {
    if (index - history_.begin() < size) return index;
    for (std::uint32_t item = 0; item != size; ++item) {
      if (history_[index - size + item].id != items[item].id) return index;
    }
    index -= size;
  }
}

void LoopSearch::note_left(const OpenLoop& loop, std::uint64_t end,
                           std::uint64_t position) noexcept {
  no_trial_before_ = std::max(no_trial_before_, position);
  if (loop.iterations != 0) {
    tried_ = {.at = end, .running = loop.begun ? loop.body : kNoBody};
  } else {
    if (tried_.at != end) tried_ = {.at = end};
    tried_.body = loop.body;
  }
}

void LoopSearch::restart() noexcept {
  history_.clear();
  variant_end_ = kNowhere;
  no_trial_before_ = 0;
  tried_ = {};
}

}  // namespace refrain::periodicity
