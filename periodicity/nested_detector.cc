#include "periodicity/nested_detector.h"

#include <algorithm>

namespace refrain::periodicity {

NestedDetector::NestedDetector(const NestedSettings& settings)
    : history_({.capacity = settings.history_tokens,
                .max_lag = settings.max_body_tokens,
                .enough_bits = settings.found_bits}),
      bodies_({.bodies = settings.max_bodies,
               .items = settings.max_items,
               .enough_bits = settings.recognised_bits}),
      frames_(kMaxFrames),
      inner_(kMaxFrames * (settings.max_body_tokens + std::size_t{1})),
      pending_(2 * kMaxFrames * (settings.max_body_tokens + std::size_t{1})),
      reach_(std::max(settings.reach_events, kLeastReach)),
      max_variant_(settings.variants ? settings.max_body_tokens : 0),
      seek_irregular_(settings.irregular),
      seek_messages_(settings.messages),
      dirty_(settings.messages ? std::max(settings.max_bodies, 16u) : 0),
      as_events_(settings.messages ? settings.history_tokens : 0),
      history_mask_(settings.history_tokens - 1) {
  expected_ = &events_;
}

void NestedDetector::push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept {
  if (events_.take(symbol, depth)) [[likely]]
    return;
  events_.recent.note(events_.position, symbol, depth);
  if (events_.next == events_.end && again_ != nullptr && again_->id == symbol) [[likely]]
    return push_again(sink);
  push_slow(symbol, depth, sink);
}

// The first event of another iteration of an innermost loop that holds no other.
void NestedDetector::push_again(LoopSink& sink) noexcept {
  Frame& frame = frames_[depth_ - 1];
  if (bodies_[frame.body].marks != 0) [[unlikely]]
    tell_parts(frame.body, frame.iteration_begin, sink);
  frame.item = 0;
  frame.iteration_begin = events_.position;
  straight_begin_ = again_;
  events_.next = again_ + 1;
  again_event_.position = events_.position++;
  again_event_.iteration = ++frame.iterations;
  sink.on_loop_event(again_event_);
}

void NestedDetector::push_slow(Symbol symbol, std::uint16_t depth,
                               LoopSink& sink) noexcept {
  if (leave_out_ && pending_.empty() && !irregular_.is_open()) [[unlikely]] {
    leave_straight();
    leave_out_messages(sink);
  }
  if (left_out_ && (symbol & kMessageSymbol) != 0) {
    ++events_.position;
    return;
  }
  leave_straight();
  const bool regular = !irregular_.any() && !search_.looking();
  if (!regular && push_irregular(sink)) return;
  const Token token{.id = symbol, .position = events_.position, .depth = depth};
  ++events_.position;
  if (pending_.empty()) {
    if (depth_ == 0) {
      step_history(token, sink);
      if (depth_ == 0) return;  // the way of noise
    } else {
      step(token, sink);
    }
  } else {
    pending_.push_back(token);
  }
  if (!pending_.empty()) {
    const bool crowded = pending_.free() <= inner_.size();
    work(crowded ? ~std::uint32_t{0} : kStepsPerPush, sink);
  }
  if (pending_.empty() && depth_ != 0) enter_straight();
}

void NestedDetector::work(std::uint32_t steps, LoopSink& sink) noexcept {
  while (steps-- != 0 && !pending_.empty()) step(pending_.pop_front(), sink);
}

void NestedDetector::leave_straight() noexcept {
  if (straight_begin_ == nullptr) return;
  frames_[depth_ - 1].item += static_cast<std::uint32_t>(events_.next - straight_begin_);
  events_.next = events_.end = straight_begin_ = again_ = nullptr;
}

void NestedDetector::enter_straight() noexcept {
  if (frames_[depth_ - 1].begun) set_straight(frames_[depth_ - 1]);
}

void NestedDetector::set_straight(const Frame& frame) noexcept {
  const Item* const items = bodies_.items(frame.body);
  const std::uint32_t size = bodies_[frame.body].size;
  std::uint32_t end = frame.item == size ? size : items[frame.item].straight_end;
  if (!frame.told && tell_after(frame) > frame.item) end = std::min(end, tell_after(frame));
  straight_begin_ = events_.next = items + frame.item;
  events_.end = items + end;
  again_ = nullptr;
  if (end != size || !frame.told || items->straight_end != size) return;
  again_ = items;
  again_event_ = event_of(LoopEventKind::kIteration, depth_ - 1, events_.position, 0);
}

void NestedDetector::step(const Token& token, LoopSink& sink) noexcept {
  if (depth_ == 0) return step_history(token, sink);
  Frame& frame = frames_[depth_ - 1];
  if (frame.item == bodies_[frame.body].size &&
      !complete_iteration(frame, token.position, sink)) {
    return close(token, sink);
  }
  const Item& item = bodies_.items(frame.body)[frame.item];
  if (item.id == token.id) {
    if (!frame.begun) begin_iterations(token.position, sink);
    advance(frame, token.body == kNoBody ? nullptr : &token);
    if (!frame.told && frame.item >= tell_after(frame)) tell_frames(sink);
    return;
  }
  // An inner loop may go round no time at all, if enough is left to know the loop by.
  if (item.child != kNoBody && depth_ < kMaxFrames &&
      (bodies_[frame.body].size > kFewItems || token.body != kNoBody ||
       first_event(item.child) == token.id)) {
    open_inner(item.child);
    pending_.push_front(token);
    return;
  }
  close(token, sink);
}

void NestedDetector::step_history(const Token& token, LoopSink& sink) noexcept {
  history_.append(token);
  if (token.position + 1 == events_.position) {
    if (seek_irregular_) search_.unexplained(events_.position);
    if (++unexplained_ >= next_look_ && seek_messages_) look_at_messages();
  }
  tried_.only = token.position < no_trial_before_;
  const auto known = bodies_.recognise(history_, tried_);
  if (known.body != kNoBody) {
    look_for_variant(known.body, known.start);
    return open(known.body, known.start, sink);
  }
  const std::uint32_t lag = history_.find_run();
  if (lag != 0) open_run(lag, sink);
}

// A known loop begins at `start`. If not far before it lies a visit of the same one, or of
// one that begins alike, then what lies between is an iteration that took another
// course: a different order of two events, a part left out, an inner loop too short to
// be known.
void NestedDetector::look_for_variant(std::uint32_t body, std::uint64_t start) noexcept {
  const std::uint64_t first = first_event(body);
  const std::uint32_t size = bodies_[body].size;
  const std::uint64_t reach = std::min(size + size + 8, max_variant_);
  const std::uint64_t least =
      std::max(history_.begin() + 1, start - std::min(start, reach));
  if (start < history_.begin() + 3 || history_[start].position == variant_end_) return;
  variant_end_ = history_[start].position;
  for (std::uint64_t from = start; from >= least; --from) {
    const Token& before = history_[from - 1];
    if (before.body == kNoBody || first_event(before.body) != first) continue;
    if (start - from >= 2 && history_[from].id == bodies_.items(body)->id) {
      bodies_.see_variant(history_, from, start);
    }
    return;
  }
}

std::uint64_t NestedDetector::first_event(std::uint32_t body) const noexcept {
  const Item* item = bodies_.items(body);
  while (item->child != kNoBody) item = bodies_.items(item->child);
  return item->id;
}

void NestedDetector::open_run(std::uint32_t lag, LoopSink& sink) noexcept {
  const std::uint64_t from = history_.begin_of_run(lag);
  const std::uint32_t more = lag - items_before(from, lag);
  const auto found = bodies_.find_or_add(history_, from + more, lag);
  if (found.body == kNoBody) return forget_all();
  if (left_out_ && found.start + lag < history_.end())
    bodies_.set_events(
        found.body, history_[found.start + lag].position - history_[found.start].position);
  std::uint64_t start = found.start;
  if (start >= from + lag) start -= lag;
  open(found.body, start, sink);
}

// How many more items of the run with this lag lie before `from`, where inner loops that
// were not yet known show as rows of events: the run really begins there.
std::uint32_t NestedDetector::items_before(std::uint64_t from,
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

// Turns the tokens of the history from `start` on into an open loop.
void NestedDetector::open(std::uint32_t body, std::uint64_t start,
                          LoopSink& sink) noexcept {
  const std::uint32_t size = bodies_[body].size;
  const std::uint64_t end = history_.end();
  std::uint64_t whole = (end - start) / size;
  const std::uint64_t earlier = whole != 0 ? iteration_before(body, start) : start;
  // The parts of an iteration are told when it is over.
  const std::uint64_t marks = bodies_[body].marks;
  if (marks != 0 && whole != 0 && start + whole * size == end) --whole;
  const std::uint64_t partial = start + whole * size;
  const bool with_parts = marks != 0 && marks * whole <= BodyStore::kMostMarks;
  Frame& frame = frames_[depth_++];
  frame = Frame{.body = body, .inner_base = inner_count_};
  frame.first = history_[earlier].position;
  frame.iterations = whole + (earlier != start ? 1 : 0);
  if (left_out_) tell_behind_told(earlier, start, size);
  std::uint64_t begin = earlier;
  for (std::uint64_t iteration = 0; frame.iterations != 0 && begin < end; ++iteration) {
    const std::uint64_t from = begin;
    const std::uint64_t position = history_[from].position;
    begin = begin < start ? start : begin + size;
    if (too_early(position)) continue;
    if (!frame.told) tell_found(0, position, iteration, sink);
    tell(LoopEventKind::kIteration, 0, position, iteration, sink);
    if (with_parts && from >= start && begin <= partial && from != partial)
      tell_parts(body, position, sink);
  }
  frame.item = 0;
  frame.begun = partial != end;
  if (frame.begun) frame.iteration_begin = history_[partial].position;
  for (std::uint64_t index = partial; index != end; ++index) {
    advance(frame, history_[index].body == kNoBody ? nullptr : &history_[index]);
  }
  history_.truncate(earlier);
  if (!frame.told && frame.item >= tell_after(frame)) tell_frames(sink);
}

// Where the iteration before the one at `start` begins, if there is one whose inner loops
// were not yet known when it was read, so that their events lie there in a row; `start`
// if not.
std::uint64_t NestedDetector::iteration_before(std::uint32_t body,
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
std::uint64_t NestedDetector::rows_before(std::uint32_t body,
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

void NestedDetector::open_inner(std::uint32_t body) noexcept {
  frames_[depth_++] = Frame{.body = body, .inner_base = inner_count_};
}

void NestedDetector::advance(Frame& frame, const Token* inner) noexcept {
  ++frame.item;
  if (inner != nullptr) inner_[inner_count_++] = *inner;
}

// An event has matched at `position`: it begins the iteration of every loop that had none.
void NestedDetector::begin_iterations(std::uint64_t position, LoopSink& sink) noexcept {
  for (std::size_t level = 0; level != depth_; ++level) {
    Frame& frame = frames_[level];
    if (frame.begun) continue;
    frame.begun = true;
    frame.iteration_begin = position;
    if (frame.iterations == 0) {
      frame.first = position;
    } else if (!frame.told && !too_early(position) &&
               (level == 0 || frames_[level - 1].told)) {
      tell_found(level, position, frame.iterations, sink);
    }
    if (frame.told) {
      tell(LoopEventKind::kIteration, level, position, frame.iterations, sink);
    }
  }
}

// False if the iteration had no event at all, all its inner loops being empty.
bool NestedDetector::complete_iteration(Frame& frame, std::uint64_t end,
                                        LoopSink& sink) noexcept {
  if (!frame.begun || end == frame.iteration_begin) return false;
  if (!frame.told && frame.iterations == 0) tell_frames(sink);
  if (frame.told && bodies_[frame.body].marks != 0) {
    tell_parts(frame.body, frame.iteration_begin, sink);
  }
  ++frame.iterations;
  frame.item = 0;
  frame.begun = false;
  inner_count_ = frame.inner_base;
  return true;
}

}  // namespace refrain::periodicity
