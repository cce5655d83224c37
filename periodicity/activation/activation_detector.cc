#include "periodicity/activation/activation_detector.h"

#include <algorithm>
#include <bit>

#include "periodicity/phase_detector.h"

namespace refrain::periodicity {
namespace {

// Of loops around each other with one header (recursion) so many are told apart.
constexpr std::uint16_t kMaxRecurrences = 3;

std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ value >> 31) * 0x9E3779B97F4A7C15u;
  return value ^ value >> 29;
}

}  // namespace

ActivationDetector::ActivationDetector(CodeFacts& facts)
    : facts_(facts),
      paths_(kMaxPaths),
      nodes_(kMaxNodes),
      node_of_loop_(kMaxNodes),
      pairs_(kMaxPairs) {
  for (std::uint32_t i = 0; i != kRoots; ++i) nodes_[i].number = kNoLoop;
}

ActivationLoop ActivationDetector::loop(std::uint32_t number) const noexcept {
  const Node& node = nodes_[node_of_loop_[number]];
  std::uint16_t around = node.parent;
  while (around != kNone && nodes_[around].number == kNoLoop)
    around = nodes_[around].parent;
  return {.header = node.header,
          .call = node.call,
          .parent = around == kNone ? kNoLoop : nodes_[around].number,
          .iterations = node.iterations,
          .visits = node.visits};
}

std::vector<std::uint64_t> ActivationDetector::headers(std::uint32_t number) const {
  std::vector<std::uint64_t> headers;
  for (std::uint16_t node = node_of_loop_[number]; node >= kRoots;
       node = nodes_[node].parent)
    headers.push_back(nodes_[node].header);
  std::reverse(headers.begin(), headers.end());
  return headers;
}

std::size_t ActivationDetector::calls(std::uint32_t number, Place* calls,
                                      std::size_t most) const noexcept {
  const std::uint16_t wanted = node_of_loop_[number];
  std::size_t count = 0;
  for (std::uint32_t i = 1; i <= last_path_ && count != most; ++i) {
    const Path& path = paths_[i];
    const auto* const end = path.nodes.data() + path.open;
    const auto* const found = std::find(path.nodes.data(), end, wanted);
    if (found == end) continue;
    auto inner = static_cast<std::size_t>(found - path.nodes.data()) + 1;
    for (const PathFrame& frame : facts_.frames(i)) {
      const std::size_t loops = facts_.loops(frame.place).size();
      if (loops < inner) {
        inner -= loops;
        continue;
      }
      if (std::find(calls, calls + count, frame.place) == calls + count)
        calls[count++] = frame.place;
      break;
    }
  }
  return count;
}

void ActivationDetector::push(Symbol symbol, std::uint16_t, LoopSink& sink) noexcept {
  const auto path = static_cast<std::uint32_t>(symbol & (kMaxPaths - 1));
  if ((symbol & (kForeign | kPhaseSymbol)) != 0) [[unlikely]] {
    // (The start or end of a phase has no path.)
    if ((symbol & kForeign) != 0)
      for (unsigned at = 0; at != open_count_; ++at) report_novel(at + 1, sink);
  } else if (path != kNoPath) {
    Path& taken = paths_[path];
    const auto& next = paths_[path_].next;
    const auto step = std::find_if(next.begin(), next.end(),
                                   [path](const Step& each) { return each.to == path; });
    if (step == next.end()) [[unlikely]] {
      take_other(path, sink);
    } else {
      if (!paths_[path].carries) {
        if (!step->quiet) take(*step, sink);
      } else if (const auto words = facts_.carried(path); !step->quiet || differs(words)) {
        take_carried(*step, words, sink);
      }
      path_ = path;
      if (taken.once != 0) take_second(taken, sink);
    }
  }
  ++position_;
}

// What did not come after the latest one before.
void ActivationDetector::take_other(std::uint32_t path, LoopSink& sink) noexcept {
  const std::uint32_t nodes_before = node_count_;
  const bool is_new = !paths_[path].known;
  if (is_new) learn(path);
  Path& taken = paths_[path];
  const bool placed = on_stack(taken, sink);
  if (placed) {
    const Step step = find_step(path);
    const bool carries = taken.carries;
    take_carried(step, carries ? facts_.carried(path) : std::span<const CarriedWord>(),
                 sink);
    path_ = path;
  }
  if (!is_new) {
    if (placed && taken.once != 0) take_second(taken, sink);
    return;
  }
  // What is new in which loop: of new loops the one around them.
  unsigned at = open_count_;
  while (at != 0 && open_[at - 1].node >= nodes_before) --at;
  report_novel(at, sink);
  if (!placed) return;
  const Open* const own = &open_[stacks_[innermost_].first];
  taken.once = (std::uint32_t{1} << taken.open) - 1;
  for (at = 0; at != taken.open; ++at)
    taken.begin[at] = static_cast<std::uint32_t>(own[at].begin);
}

// A path that some loops have had in one iteration only.
void ActivationDetector::take_second(Path& path, LoopSink& sink) noexcept {
  const unsigned first = stacks_[innermost_].first;
  unsigned inner = 0;
  for (std::uint32_t once = path.once; once != 0; once &= once - 1) {
    const auto at = static_cast<unsigned>(std::countr_zero(once));
    if (path.begin[at] == static_cast<std::uint32_t>(open_[first + at].begin)) continue;
    path.once &= ~(std::uint32_t{1} << at);
    inner = first + at + 1;
  }
  if (inner != 0) report_novel(inner, sink);
}

// Makes its stack the innermost one. False: it cannot be.
bool ActivationDetector::on_stack(const Path& path, LoopSink& sink) noexcept {
  if (path.stack == CodeFacts::kOtherStack) return false;
  unsigned at = innermost_;
  while (stacks_[at].number != path.stack && at != 0) --at;
  if (stacks_[at].number == path.stack) {
    if (at == innermost_) return stacks_[at].first + path.open <= kMaxOpen;
    leave_to(stacks_[at + 1].first, false, sink);
    innermost_ = at;
    path_ = stacks_[at].path;
    return true;
  }
  if (open_count_ + path.open > kMaxOpen) return false;
  stacks_[innermost_].path = path_;
  stacks_[++innermost_] = {.number = path.stack, .first = open_count_};
  path_ = kNoPath;
  return true;
}

ActivationDetector::Step ActivationDetector::find_step(std::uint32_t path) noexcept {
  const std::uint64_t key = std::uint64_t{path_} << 32 | path;
  std::size_t at = mixed(key) % kMaxPairs;
  while (pairs_[at].paths != 0 && pairs_[at].paths != key) at = (at + 1) % kMaxPairs;
  Step step{};
  if (pairs_[at].paths == key) {
    step = {.to = path,
            .kept = pairs_[at].kept,
            .iterates = pairs_[at].iterates,
            .quiet = false};
  } else {
    step = compare(path);
    if (pair_count_ < kMaxPairs / 4 * 3) {  // else it is compared each time
      ++pair_count_;
      pairs_[at] = {.paths = key, .kept = step.kept, .iterates = step.iterates};
    }
  }
  if (path_ == kNoPath) return step;  // of this stack
  Path& from = paths_[path_];
  step.quiet = !step.iterates && step.kept == from.open && step.kept == paths_[path].open;
  from.next[from.newest++ % from.next.size()] = step;
  return step;
}

// The row of loops around a path. They depend on nothing else, so that what two paths have in common is a row of the same numbers.
void ActivationDetector::learn(std::uint32_t number) noexcept {
  Path& path = paths_[number];
  path.known = true;
  last_path_ = std::max(last_path_, number);
  path.stack = static_cast<std::uint8_t>(facts_.stack(number));
  if (path.stack == CodeFacts::kOtherStack) return;
  path.carries = facts_.carries(number);
  std::uint16_t node = path.stack;
  for (const PathFrame& frame : facts_.frames(number)) {
    for (const std::uint64_t header : facts_.loops(frame.place)) {
      if (path.open != kMaxOpen) node = child(node, header, frame.place);
      if (path.open == kMaxOpen || node == kNone) {
        paths_cut_ += path.open == kMaxOpen || node_count_ == kMaxNodes;
        return;
      }
      path.nodes[path.open++] = node;
    }
  }
}

std::uint16_t ActivationDetector::child(std::uint16_t parent, std::uint64_t header,
                                        Place call) noexcept {
  for (std::uint32_t i = kRoots; i != node_count_; ++i)
    if (nodes_[i].parent == parent && nodes_[i].header == header)
      return static_cast<std::uint16_t>(i);
  if (node_count_ == kMaxNodes) return kNone;
  std::uint16_t recurrences = 0;
  for (std::uint16_t around = parent; around != kNone; around = nodes_[around].parent)
    recurrences += nodes_[around].header == header;
  if (recurrences >= kMaxRecurrences) return kNone;
  Node& node = nodes_[node_count_];
  node.header = header;
  node.call = call;
  node.number = kNoLoop;
  node.parent = parent;
  return static_cast<std::uint16_t>(node_count_++);
}

// From the latest path to this one.
ActivationDetector::Step ActivationDetector::compare(std::uint32_t path) noexcept {
  Step step{.to = path, .kept = 0, .iterates = false, .quiet = false};
  if (path_ == kNoPath) return step;
  std::array<PathFrame, kMaxFrames> frames;  // spans are valid until the next call
  const std::span<const PathFrame> before = facts_.frames(path_);
  const std::size_t before_count = std::min(before.size(), frames.size());
  std::copy_n(before.begin(), before_count, frames.begin());
  const std::span<const PathFrame> now = facts_.frames(path);
  // Loops that are open, by frame: how many up to and with frame i.
  const auto loops_around = [&](std::size_t frame) {
    return facts_.loops(frames[frame].place).size();
  };
  std::size_t i = 0;
  std::size_t kept = 0;  // loops of the frames that have not changed
  const std::size_t both = std::min(before_count, now.size());
  const auto same_base = [](std::uint64_t a, std::uint64_t b) {
    return a == 0 || b == 0 || a == b;
  };
  while (i != both && frames[i].place == now[i].place &&
         same_base(frames[i].base, now[i].base))
    kept += loops_around(i++);
  const unsigned most = std::min(paths_[path_].open, paths_[path].open);
  // (Loops beyond the tables count for nothing.)
  const auto keep = [&](std::size_t loops, bool iterates) {
    step.kept = static_cast<std::uint8_t>(std::min<std::size_t>(loops, most));
    step.iterates = iterates && loops != 0 && loops <= most;
    return step;
  };
  if (i == before_count && i < now.size()) return keep(kept, false);  // entered
  if (i < both && same_base(frames[i].base, now[i].base)) {
    const Place from = frames[i].place;
    const Place to = now[i].place;
    if (facts_.function(from) == facts_.function(to) && facts_.function(from) != 0) {
      const auto around = facts_.loops(from);
      std::array<std::uint64_t, kMaxOpen> from_loops;
      const std::size_t from_count = std::min<std::size_t>(around.size(), kMaxOpen);
      std::copy_n(around.begin(), from_count, from_loops.begin());
      const auto to_loops = facts_.loops(to);
      std::size_t common = 0;
      while (common != std::min(from_count, to_loops.size()) &&
             from_loops[common] == to_loops[common])
        ++common;
      if (facts_.forward(from, to)) return keep(kept + common, false);
      if (common != 0) return keep(kept + common, true);
    } else if (facts_.jumps(i == 0 ? 0 : now[i - 1].place, from, to)) {
      return keep(kept, false);
    }
  }
  // Another activation, or the same stack again. What comes round in code that is not known is not an iteration of a loop further out.
  while (i != 0 && loops_around(i - 1) == 0 && facts_.loops_known(frames[i - 1].place)) --i;
  return keep(kept, i != 0 && loops_around(i - 1) != 0);
}

void ActivationDetector::take(const Step& step, LoopSink& sink) noexcept {
  const Path& path = paths_[step.to];
  const unsigned kept = stacks_[innermost_].first + step.kept;
  leave_to(kept, false, sink);
  if (step.iterates) iterate(kept - 1, sink);
  for (unsigned at = step.kept; at != path.open; ++at) begin(path.nodes[at], sink);
}

bool ActivationDetector::differs(std::span<const CarriedWord> words) const noexcept {
  const std::uint64_t* const before = &carried_[stacks_[innermost_].first];
  return std::any_of(words.begin(), words.end(), [before](const CarriedWord& word) {
    return before[word.number] != word.value();
  });
}

// Whose value differs has come round, whatever the paths say.
void ActivationDetector::take_carried(Step step, std::span<const CarriedWord> words,
                                      LoopSink& sink) noexcept {
  constexpr unsigned kMax = CodeFacts::kMaxCarried;
  static_assert(kMaxOpen == kMax);
  std::uint64_t* const before = &carried_[stacks_[innermost_].first];
  for (const CarriedWord& word : words) {
    const std::uint64_t loop = word.number % kMax;
    if (loop >= step.kept) break;
    if (before[word.number] == kNotKnown || before[word.number] == word.value()) continue;
    step.kept = static_cast<std::uint8_t>(loop + 1);
    step.iterates = true;
    step.quiet = false;
    break;
  }
  if (!step.quiet) take(step, sink);
  const unsigned open = paths_[step.to].open;
  for (const CarriedWord& word : words)
    if (word.number % kMax < open) before[word.number] = word.value();
}

void ActivationDetector::begin(std::uint16_t node, LoopSink& sink) noexcept {
  ++nodes_[node].iterations;
  open_[open_count_] = {.node = node, .begin = position_};
  const unsigned at = open_count_++;
  carried_[at] = carried_[CodeFacts::kMaxCarried + at] = kNotKnown;
  if (nodes_[node].number != kNoLoop)
    report(at, sink);
  else
    sink.may_begin(static_cast<std::uint16_t>(at));
}

void ActivationDetector::iterate(unsigned at, LoopSink& sink) noexcept {
  Open& open = open_[at];
  Node& node = nodes_[open.node];
  open.length = position_ - open.begin;
  if (!open.reported) {
    if (node.number == kNoLoop) {
      node.number = loop_count_;
      node_of_loop_[loop_count_++] = open.node;
      report_novel(at, sink);
    }
    report(at, sink, static_cast<std::uint16_t>(at));
  }
  carried_[at] = carried_[CodeFacts::kMaxCarried + at] = kNotKnown;
  ++open.iteration;
  ++node.iterations;
  ++node.reported;
  open.begin = position_;
  sink.on_loop_event(event_of(LoopEventKind::kIteration, open, position_));
}

// It has a level from here on.
void ActivationDetector::report(unsigned at, LoopSink& sink, std::uint16_t noted) noexcept {
  Open& open = open_[at];
  Node& node = nodes_[open.node];
  open.reported = true;
  open.level = 0;
  open.parent = kNoLoop;
  for (unsigned i = 0; i != at; ++i) {
    open.may_be_inner = open.may_be_inner || !open_[i].reported;
    if (!open_[i].reported) continue;
    ++open.level;
    open.parent = nodes_[open_[i].node].number;
  }
  open.visit = node.visits++;
  ++node.reported;
  const std::uint64_t oldest = position_ < kReach ? 0 : position_ - kReach + 1;
  const std::uint64_t begin = std::max(open.begin, oldest);
  for (const LoopEventKind kind : {LoopEventKind::kFound, LoopEventKind::kIteration}) {
    LoopEvent event = event_of(kind, open, begin);
    event.noted = noted;
    sink.on_loop_event(event);
  }
}

void ActivationDetector::leave_to(unsigned kept, bool at_end, LoopSink& sink) noexcept {
  while (open_count_ != kept) {
    const Open& open = open_[--open_count_];
    if (!open.reported) continue;
    Node& node = nodes_[open.node];
    LoopEvent left = event_of(LoopEventKind::kLeft, open, position_);
    left.iteration = open.iteration + 1;
    left.at_end = at_end;
    left.exit_count = node.visits - 1;
    left.left_so_at = node.left_at;
    node.left_at = position_;
    sink.on_loop_event(left);
  }
}

// Of the first `count` open loops the innermost that has a level.
void ActivationDetector::report_novel(unsigned count, LoopSink& sink) noexcept {
  while (count != 0 && !open_[count - 1].reported) --count;
  if (count == 0) return;
  sink.on_loop_event(event_of(LoopEventKind::kNovel, open_[count - 1], position_));
}

LoopEvent ActivationDetector::event_of(LoopEventKind kind, const Open& open,
                                       std::uint64_t position) const noexcept {
  return {.kind = kind,
          .level = open.level,
          .loop = nodes_[open.node].number,
          .visit = open.visit,
          .body_events = static_cast<std::uint32_t>(
              std::min<std::uint64_t>(std::max<std::uint64_t>(open.length, 1), 0xffffffff)),
          .position = position,
          .iteration = open.iteration,
          .parent = open.parent,
          .may_be_inner = open.may_be_inner};
}

void ActivationDetector::finish(LoopSink& sink) noexcept { leave_to(0, true, sink); }

}  // namespace refrain::periodicity
