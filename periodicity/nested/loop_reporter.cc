#include "periodicity/nested/loop_reporter.h"

#include <algorithm>
#include <array>

namespace refrain::periodicity {

LoopEvent LoopReporter::event_of(LoopEventKind kind, std::size_t level,
                                 std::uint64_t position,
                                 std::uint64_t iteration) const noexcept {
  const OpenLoop& loop = open_[level];
  const Body& body = bodies_[loop.body];
  return {.kind = kind,
          .level = static_cast<std::uint16_t>(level),
          .loop = body.loop,
          .visit = loop.visit,
          .body_events = body.events,
          .position = reported_position(position),
          .iteration = iteration,
          .parent = level == 0 ? kNoLoop : bodies_[open_[level - 1].body].loop,
          .at_end = at_end_};
}

// What is too long ago is reported as early as possible: within reach, and not inside of an inner
// visit.
std::uint64_t LoopReporter::reported_position(std::uint64_t position) const noexcept {
  if (events_.position - position <= reach_) return position;
  return std::max({events_.position - reach_, visits_.end(), report_from_});
}

void LoopReporter::report(LoopEvent event, LoopSink& sink) noexcept {
  event.at_end = at_end_;
  if (event.kind == LoopEventKind::kLeft) {
    event.exit_count = earlier_break_.times;
    event.left_so_at = earlier_break_.position;
    earlier_break_ = {};
  }
  sink.on_loop_event(event);
}

void LoopReporter::report_found(std::size_t level, std::uint64_t position,
                                std::uint64_t iteration, LoopSink& sink) noexcept {
  OpenLoop& loop = open_[level];
  loop.reported = true;
  loop.visit = bodies_.count_visit(loop.body);
  sink.on_loop_event(event_of(LoopEventKind::kFound, level, position, iteration));
}

void LoopReporter::report_open(LoopSink& sink) noexcept {
  for (std::size_t level = 0; level != open_.depth(); ++level) {
    const OpenLoop& loop = open_[level];
    if (loop.reported) continue;
    if (!loop.begun || too_early(loop.first)) return;
    report_found(level, loop.first, 0, sink);
    report_iteration(level, loop.first, 0, sink);
  }
}

void LoopReporter::report_parts(std::uint32_t body, std::uint64_t begin,
                                LoopSink& sink) noexcept {
  if (too_early(begin)) return;
  std::array<std::uint32_t, BodyStore::kPartLevels> around;
  std::array<std::uint32_t, BodyStore::kPartLevels> visits;
  around[0] = bodies_[body].loop;
  const PartMark* mark = bodies_.marks(body);
  const Item* const items = bodies_.items(body);
  std::uint64_t position = begin;
  std::uint32_t item = 0;
  for (const PartMark* const end = mark + bodies_[body].marks; mark != end; ++mark) {
    const Body& part = bodies_[mark->body];
    for (; item < mark->item; ++item) {
      ++position;
      if (kept_.all() || item + 1 == bodies_[body].size) continue;
      position = kept_.next(position, events_.position, items[item + 1].id);
    }
    if (mark->kind == LoopEventKind::kFound) {
      visits[mark->level] = bodies_.count_visit(mark->body);
      if (mark->level + 1u < around.size()) around[mark->level + 1u] = part.loop;
    }
    sink.on_loop_event({.kind = mark->kind,
                        .level = static_cast<std::uint16_t>(open_.depth() + mark->level),
                        .loop = part.loop,
                        .visit = visits[mark->level],
                        .body_events = part.events,
                        .position = std::min(position, events_.position),
                        .iteration = mark->iteration,
                        .parent = around[mark->level],
                        .at_end = at_end_});
  }
}

void LoopReporter::report_break(const Token& breaking, std::uint64_t end,
                                LoopSink& sink) noexcept {
  const OpenLoop& loop = open_.innermost();
  std::uint64_t left = end;
  if (open_.depth() == 1) {
    left = breaking.position;
    if (loop.begun) {
      sink.on_loop_event(
          event_of(LoopEventKind::kMismatch, 0, breaking.position, loop.iterations));
    }
    note_break(bodies_[loop.body].loop, loop.item, breaking.id, left);
  }
  report(event_of(LoopEventKind::kLeft, open_.depth() - 1, left, loop.iterations), sink);
  note_left(loop, end);
}

void LoopReporter::report_end(std::uint64_t end, LoopSink& sink) noexcept {
  const OpenLoop& loop = open_.innermost();
  report(
      event_of(LoopEventKind::kLeft, open_.depth() - 1, events_.position, loop.iterations),
      sink);
  note_left(loop, end);
}

void LoopReporter::note_left(const OpenLoop& loop, std::uint64_t end) noexcept {
  if (open_.depth() == 1) {
    visits_.note(loop.first, loop.iterations == 0 ? loop.first : end);
  } else if (loop.iterations != 0) {
    visits_.note_inner(end);
  }
}

void LoopReporter::report_only_after_visits(const TokenHistory& history,
                                            std::uint64_t earlier, std::uint64_t start,
                                            std::uint32_t size,
                                            std::uint64_t read) noexcept {
  if (read < visits_.end()) {  // is being read again
    report_from_ = std::max(report_from_, visits_.end());
    return;
  }
  std::uint64_t begin = start + (history.end() - start) / size * size;
  if (begin == history.end()) begin -= size;
  for (;; begin = begin == start ? earlier : begin - size) {
    const std::uint64_t position = history[begin].position;
    if (position < report_from_) return;
    if (visits_.inside(position)) {
      report_from_ = position + 1;
      return;
    }
    if (begin == earlier) return;
  }
}

}  // namespace refrain::periodicity
