#include "periodicity/nested/nested_detector.h"

#include <algorithm>

namespace refrain::periodicity {
namespace {

constexpr std::uint32_t kStepsPerPush = 128;
constexpr std::uint64_t kMinReach = 64;
constexpr std::uint32_t kFewItems = 8;  // too few to recognise a loop
constexpr int kMaxCloses = 64;

}  // namespace

NestedDetector::NestedDetector(const NestedSettings& settings)
    : kept_(row_.events.recent),
      search_({.capacity = settings.history_tokens,
               .max_lag = settings.max_body_tokens,
               .enough_bits = settings.found_bits},
              {.bodies = settings.max_bodies,
               .items = settings.max_items,
               .enough_bits = settings.recognised_bits},
              settings.variants ? settings.max_body_tokens : 0, kept_),
      open_(search_.bodies(), settings.max_body_tokens),
      pending_(2 * open_.most_inner()),
      reporter_(row_.events, kept_, open_, search_.bodies(),
                std::max(settings.reach_events, kMinReach)),
      irregular_(row_.events, search_.bodies(), reporter_, settings.irregular),
      messages_(row_.events, search_.history(), search_.bodies(), settings.messages,
                settings.max_bodies, settings.history_tokens) {
  expected_ = &row_.events;
}

void NestedDetector::push(Symbol symbol, std::uint16_t depth, LoopSink& sink) noexcept {
  ExpectedEvents& events = row_.events;
  if (events.take(symbol, depth)) [[likely]]
    return;
  events.recent.note(events.position, symbol, depth);
  if (row_.repeats_with(symbol)) [[likely]]
    return push_again(sink);
  push_slow(symbol, depth, sink);
}

// The first event of another iteration of an innermost loop without inner ones.
void NestedDetector::push_again(LoopSink& sink) noexcept {
  OpenLoop& loop = open_.innermost();
  if (search_.bodies()[loop.body].marks != 0) [[unlikely]]
    reporter_.report_parts(loop.body, loop.iteration_begin, sink);
  loop.item = 0;
  loop.iteration_begin = row_.events.position;
  sink.on_loop_event(row_.begin_again(++loop.iterations));
}

void NestedDetector::push_slow(Symbol symbol, std::uint16_t depth,
                               LoopSink& sink) noexcept {
  if (messages_.due() && pending_.empty() && !irregular_.is_open()) [[unlikely]] {
    leave_row();
    leave_out_messages(sink);
  }
  std::uint64_t& position = row_.events.position;
  if (kept_.leaves_out(symbol)) {
    ++position;
    return;
  }
  leave_row();
  if (irregular_.active() && push_irregular(sink)) {
    ++position;
    return;
  }
  const Token token{.id = symbol, .position = position, .depth = depth};
  ++position;
  if (pending_.empty()) {
    if (open_.empty()) {
      step_history(token, sink);
      if (open_.empty()) return;  // as in noise
    } else {
      step(token, sink);
    }
  } else {
    pending_.push_back(token);
  }
  if (!pending_.empty()) {
    const bool crowded = pending_.free() <= open_.most_inner();
    work(crowded ? ~std::uint32_t{0} : kStepsPerPush, sink);
  }
  if (pending_.empty() && !open_.empty()) enter_row();
}

// Returns true if the event belongs to an irregular loop: then nothing else is to be done.
bool NestedDetector::push_irregular(LoopSink& sink) noexcept {
  if (irregular_.is_open()) return irregular_.follow(sink);
  if (!irregular_.look() || !pending_.empty()) return false;
  // A loop that goes on by itself is left alone.
  if (!open_.empty() && open_[0].reported && open_[0].iterations >= 3) return false;
  close_all(sink);
  irregular_.open(sink);
  return true;
}

void NestedDetector::leave_row() noexcept {
  if (row_.any()) open_.innermost().item += row_.leave();
}

void NestedDetector::enter_row() noexcept {
  const OpenLoop& loop = open_.innermost();
  if (!loop.begun) return;
  const Item* const items = search_.bodies().items(loop.body);
  const std::uint32_t size = search_.bodies()[loop.body].size;
  std::uint32_t end = loop.item == size ? size : items[loop.item].straight_end;
  if (!loop.reported && open_.report_after(loop) > loop.item)
    end = std::min(end, open_.report_after(loop));
  row_.set(items, loop.item, end);
  if (end != size || !loop.reported || items->straight_end != size) return;
  row_.repeat(items, reporter_.event_of(LoopEventKind::kIteration, open_.depth() - 1,
                                        row_.events.position, 0));
}

void NestedDetector::work(std::uint32_t steps, LoopSink& sink) noexcept {
  while (steps-- != 0 && !pending_.empty()) step(pending_.pop_front(), sink);
}

void NestedDetector::step(const Token& token, LoopSink& sink) noexcept {
  if (open_.empty()) return step_history(token, sink);
  const BodyStore& bodies = search_.bodies();
  OpenLoop& loop = open_.innermost();
  if (loop.item == bodies[loop.body].size &&
      !complete_iteration(loop, token.position, sink)) {
    return close(token, sink);
  }
  const Item& item = bodies.items(loop.body)[loop.item];
  if (item.id == token.id) {
    if (!loop.begun) begin_iterations(token.position, sink);
    open_.advance(loop, token.body == kNoBody ? nullptr : &token);
    if (!loop.reported && loop.item >= open_.report_after(loop))
      reporter_.report_open(sink);
    return;
  }
  // An inner loop may have no iteration, if enough is left to recognise the loop.
  if (item.child != kNoBody && !open_.full() &&
      (bodies[loop.body].size > kFewItems || token.body != kNoBody ||
       search_.first_event(item.child) == token.id)) {
    open_.open(item.child);
    pending_.push_front(token);
    return;
  }
  close(token, sink);
}

void NestedDetector::step_history(const Token& token, LoopSink& sink) noexcept {
  search_.history().append(token);
  if (token.position + 1 == row_.events.position) {
    irregular_.unexplained(row_.events.position);
    messages_.unexplained();
  }
  LoopSearch::Match match = search_.known(token.position);
  if (match.body == kNoBody) {
    const std::uint32_t lag = search_.history().find_run();
    if (lag == 0) return;
    match = search_.of_run(lag);
    if (match.body == kNoBody) return forget_all();
  }
  open(match.body, match.start, sink);
}

// An event has matched at `position`: it begins the iteration of every loop that had none.
void NestedDetector::begin_iterations(std::uint64_t position, LoopSink& sink) noexcept {
  for (std::size_t level = 0; level != open_.depth(); ++level) {
    OpenLoop& loop = open_[level];
    if (loop.begun) continue;
    loop.begun = true;
    loop.iteration_begin = position;
    if (loop.iterations == 0) {
      loop.first = position;
    } else if (!loop.reported && !reporter_.too_early(position) &&
               (level == 0 || open_[level - 1].reported)) {
      reporter_.report_found(level, position, loop.iterations, sink);
    }
    if (loop.reported) reporter_.report_iteration(level, position, loop.iterations, sink);
  }
}

// False if the iteration had no event: all its inner loops are empty.
bool NestedDetector::complete_iteration(OpenLoop& loop, std::uint64_t end,
                                        LoopSink& sink) noexcept {
  if (!loop.begun || end == loop.iteration_begin) return false;
  if (!loop.reported && loop.iterations == 0) reporter_.report_open(sink);
  if (loop.reported && search_.bodies()[loop.body].marks != 0) {
    reporter_.report_parts(loop.body, loop.iteration_begin, sink);
  }
  open_.end_iteration(loop);
  return true;
}

// Turns the tokens of the history from `start` on into an open loop.
void NestedDetector::open(std::uint32_t body, std::uint64_t start,
                          LoopSink& sink) noexcept {
  TokenHistory& history = search_.history();
  const std::uint32_t size = search_.bodies()[body].size;
  const std::uint64_t end = history.end();
  std::uint64_t whole = (end - start) / size;
  const std::uint64_t earlier = whole != 0 ? search_.iteration_before(body, start) : start;
  // The parts of an iteration are reported when it is over.
  const std::uint64_t marks = search_.bodies()[body].marks;
  if (marks != 0 && whole != 0 && start + whole * size == end) --whole;
  const std::uint64_t partial = start + whole * size;
  const bool with_parts = marks != 0 && marks * whole <= BodyStore::kMaxMarks;
  OpenLoop& loop = open_.open(body);
  loop.first = history[earlier].position;
  loop.iterations = whole + (earlier != start ? 1 : 0);
  if (!kept_.all())
    reporter_.report_only_after_visits(history, earlier, start, size, read_position());
  std::uint64_t begin = earlier;
  for (std::uint64_t iteration = 0; loop.iterations != 0 && begin < end; ++iteration) {
    const std::uint64_t from = begin;
    const std::uint64_t position = history[from].position;
    begin = begin < start ? start : begin + size;
    if (reporter_.too_early(position)) continue;
    if (!loop.reported) reporter_.report_found(0, position, iteration, sink);
    reporter_.report_iteration(0, position, iteration, sink);
    if (with_parts && from >= start && begin <= partial && from != partial)
      reporter_.report_parts(body, position, sink);
  }
  loop.begun = partial != end;
  if (loop.begun) loop.iteration_begin = history[partial].position;
  for (std::uint64_t index = partial; index != end; ++index) {
    open_.advance(loop, history[index].body == kNoBody ? nullptr : &history[index]);
  }
  history.truncate(earlier);
  if (!loop.reported && loop.item >= open_.report_after(loop)) reporter_.report_open(sink);
}

// The innermost loop does not go on with `breaking`.
void NestedDetector::close(const Token& breaking, LoopSink& sink) noexcept {
  const OpenLoop closed = open_.innermost();
  const std::uint64_t end = closed.begun ? closed.iteration_begin : breaking.position;
  pending_.push_front(breaking);
  open_.put_back(closed, breaking.position, kept_, pending_);
  open_.forget_inner(closed);
  if (closed.reported) reporter_.report_break(breaking, end, sink);
  open_.close_innermost();
  const Body& body = search_.bodies()[closed.body];
  Token visit{.id = loop_token_id(body.loop),
              .position = end,
              .events = 0,
              .body = closed.body,
              .depth = body.depth};
  if (closed.iterations != 0) {
    visit.position = closed.first;
    visit.events = end - closed.first;
  }
  if (!open_.empty()) {
    OpenLoop& around = open_.innermost();
    open_.advance(around, &visit);
    if (!around.reported && around.begun && around.item >= open_.report_after(around)) {
      reporter_.report_open(sink);
    }
    return;
  }
  search_.note_left(closed, end, breaking.position);
  if (closed.iterations != 0) step_history(visit, sink);
}

// All open loops end with the latest event.
void NestedDetector::close_all(LoopSink& sink) noexcept {
  const std::uint64_t position = row_.events.position;
  for (bool inner_whole = false; !open_.empty(); open_.close_innermost()) {
    OpenLoop& loop = open_.innermost();
    if (inner_whole) ++loop.item;
    if (loop.item == search_.bodies()[loop.body].size) {
      complete_iteration(loop, position, sink);
    }
    inner_whole = !loop.begun;
    if (!loop.reported) continue;
    reporter_.report_end(loop.begun ? loop.iteration_begin : position, sink);
  }
  open_.forget_inner();
  search_.history().clear();
}

// Messages are left out from here on, and what has been read is read again without them.
void NestedDetector::leave_out_messages(LoopSink& sink) noexcept {
  messages_.begin();
  irregular_.give_up();
  // Open loops are left; what there is of their iterations is read again.
  for (int tries = 0; !open_.empty() && tries != kMaxCloses; ++tries) {
    close({.id = MessageFilter::kNoEvent, .position = read_position(), .events = 0}, sink);
  }
  if (!open_.empty()) close_all(sink);
  kept_.leave_out_messages();
  messages_.outdate_bodies();
  messages_.read_again(pending_);
  search_.restart();
}

// There is no room for another body: begins anew. Loops not yet read again keep their ids, so
// that they still match each other.
void NestedDetector::forget_all() noexcept {
  search_.history().clear();
  search_.bodies().clear();
  for (std::uint64_t count = pending_.size(); count != 0; --count) {
    Token token = pending_.pop_front();
    token.body = kNoBody;
    pending_.push_back(token);
  }
}

void NestedDetector::finish(LoopSink& sink) noexcept {
  leave_row();
  work(~std::uint32_t{0}, sink);
  reporter_.end_stream();
  irregular_.finish(sink);
  close_all(sink);
}

}  // namespace refrain::periodicity
