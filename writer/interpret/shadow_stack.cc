#include "writer/interpret/shadow_stack.h"

#include <algorithm>

namespace refrain::writer {

void ShadowStack::push(Frame frame) {
  frame.emitted = !in_gap_;
  frames_.push_back(frame);
  if (frame.emitted) timeline_.open(frame, frame.begin_ticks);
}

void ShadowStack::close_to(std::size_t size, std::uint64_t ticks) {
  while (frames_.size() > size) {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.stream != nullptr) frame.stream->close_to(frame.stream->size() - 1, ticks);
    if (!frame.emitted) continue;
    if (in_gap_) {
      edges_.push_back({false, ticks, 0, 0, frame});
      ++at_edges_;
    } else {
      timeline_.close(frame, ticks);
    }
  }
}

void ShadowStack::begin_gap(std::uint64_t ticks) {
  timeline_.on_off(ticks, false);
  in_gap_ = true;
}

void ShadowStack::end_gap(std::uint64_t ticks) {
  in_gap_ = false;
  for (const Edge& edge : edges_) {
    if (edge.is_lock) {
      timeline_.at(edge.ticks).release_lock(edge.ticks, edge.lock, edge.order);
    } else {
      timeline_.close(edge.frame, edge.ticks);
    }
  }
  edges_.clear();
  // A frame that is not in the archive began after the last edge: those below it cannot
  // have ended before.
  for (Frame& frame : frames_) {
    if (frame.emitted) continue;
    frame.emitted = true;
    ++at_edges_;
    timeline_.open(frame, frame.begin_ticks);
  }
  timeline_.on_off(ticks, true);
}

void ShadowStack::release_lock(std::uint64_t ticks, std::uint32_t lock,
                               std::uint32_t order) {
  if (in_gap_) {
    edges_.push_back({true, ticks, lock, order, {}});
  } else {
    timeline_.at(ticks).release_lock(ticks, lock, order);
  }
}

Timeline::Timeline(EventSink& sink, const regions::ProcessRegions& regions,
                   const spool::Journal* journal, std::span<const std::uint64_t> ends,
                   const GapPlan& gaps)
    : sink_(sink), regions_(regions), journal_(journal), gaps_(gaps) {
  if (journal != nullptr) iterations_.emplace(*journal, ends);
}

void Timeline::open(const Frame& frame, std::uint64_t ticks) {
  advance(ticks);
  settle();
  lift(ticks);
  stack_.push_back({false, 0, frame.region});
  switch (frame.kind) {
    case FrameKind::kFork:
      sink_.fork(ticks, frame.number);
      return;
    case FrameKind::kTeam:
      if (frame.comm != OTF2_UNDEFINED_COMM) sink_.team_begin(ticks, frame.comm);
      break;
    case FrameKind::kTask:
      if (frame.comm != OTF2_UNDEFINED_COMM)
        sink_.task_switch(ticks, frame.comm, frame.creator, frame.number);
      break;
    case FrameKind::kRegion:
      break;
  }
  if (frame.thread.act == ThreadAct::kRun)
    sink_.thread_begin(ticks, frame.region, frame.thread);
  sink_.enter(ticks, frame.region, frame.place);
  if (frame.thread.act == ThreadAct::kCreate)
    sink_.thread_create(ticks, frame.region, frame.thread);
  if (frame.file.is_call()) sink_.begin_file_call(ticks, frame.region, frame.file);
  if (frame.inner_region != regions::kNoRegion) sink_.enter(ticks, frame.inner_region);
}

void Timeline::close(const Frame& frame, std::uint64_t ticks) {
  advance(ticks);
  while (!stack_.empty() && stack_.back().iteration) pop_iteration(ticks);
  if (!stack_.empty()) stack_.pop_back();
  lift(ticks);
  if (frame.kind == FrameKind::kFork) {
    sink_.join(ticks);
  } else {
    if (frame.inner_region != regions::kNoRegion) sink_.leave(ticks, frame.inner_region);
    if (frame.file.is_call()) sink_.end_file_call(ticks, frame.region, frame.file);
    if (frame.thread.act == ThreadAct::kWait)
      sink_.thread_wait(ticks, frame.region, frame.thread);
    sink_.leave(ticks, frame.region);
    if (frame.thread.act == ThreadAct::kRun)
      sink_.thread_end(ticks, frame.region, frame.thread);
    if (frame.kind == FrameKind::kTeam && frame.comm != OTF2_UNDEFINED_COMM)
      sink_.team_end(ticks, frame.comm);
    if (frame.kind == FrameKind::kTask && frame.complete &&
        frame.comm != OTF2_UNDEFINED_COMM)
      sink_.task_complete(ticks, frame.comm, frame.creator, frame.number);
  }
  advance(ticks);  // events that waited for this frame
}

// Iterations that end here come before the switch, those that begin here after it, so that
// each iteration is entirely on one side.
void Timeline::on_off(std::uint64_t ticks, bool on) {
  if (ticks > 0) advance(ticks - 1);
  if (iterations_) {
    const spool::IterationEvent* event = iterations_->peek();
    for (; event != nullptr && event->ticks <= ticks && event->left && apply(*event);
         event = iterations_->peek())
      iterations_->pop();
    if (event != nullptr && event->ticks <= ticks && !event->left) end_visit(*event);
  }
  settle();
  lower();
  off_ = !on;
  off_at_ = stack_.size();
  sink_.on_off(ticks, on);
}

// In a gap: writes what comes next as if it were outside.
void Timeline::lift(std::uint64_t ticks) {
  if (!off_) return;
  if (lifted_ && ticks > lifted_ticks_) lower();
  if (!lifted_) sink_.edge(ticks, true);
  lifted_ = true;
  lifted_ticks_ = ticks;
}

void Timeline::lower() {
  if (!lifted_) return;
  lifted_ = false;
  off_at_ = stack_.size() - (pending_ ? 1 : 0);
  sink_.edge(0, false);
}

void Timeline::write_pending() {
  if (!pending_->metrics.empty())
    sink_.queue_metric(pending_->ticks, std::move(pending_->metrics));
  sink_.enter_iteration(pending_->ticks, pending_->region, pending_->number,
                        static_cast<std::uint8_t>(pending_->kept), pending_->complete);
  marks_ += 2;
  pending_.reset();
}

// The pending iteration is not over when the next event comes.
void Timeline::settle() {
  if (!pending_) return;
  lift(pending_->ticks);
  write_pending();
}

void Timeline::finish(std::uint64_t ticks) {
  advance(spool::kNoEnd);
  while (!stack_.empty()) {
    if (stack_.back().iteration) {
      pop_iteration(ticks);
    } else {
      stack_.pop_back();
    }
  }
}

void Timeline::advance(std::uint64_t ticks) {
  if (!iterations_) return;
  const spool::IterationEvent* event = iterations_->peek();
  for (; event != nullptr && event->ticks <= ticks; event = iterations_->peek()) {
    if (!apply(*event)) return;
    iterations_->pop();
  }
}

// Returns false if a region inside the iteration that ends here is still open.
bool Timeline::apply(const spool::IterationEvent& event) {
  if (!end_visit(event)) return false;
  if (!event.left) begin_iteration(event);
  return true;
}

bool Timeline::end_visit(const spool::IterationEvent& event) {
  std::size_t depth = stack_.size();
  while (depth > 0) {
    const Entry& entry = stack_[depth - 1];
    if (entry.iteration && entry.visit == event.visit) break;
    --depth;
  }
  if (depth > 0) {
    for (std::size_t i = depth; i < stack_.size(); ++i)
      if (!stack_[i].iteration) return false;
    if (pending_) {  // the last one, and over: all of it lies in the gap
      lower();
      write_pending();
    }
    std::vector<std::uint64_t> metrics = metrics_of(event);
    if (!metrics.empty()) sink_.queue_metric(event.ticks, std::move(metrics));
    while (stack_.size() >= depth) pop_iteration(event.ticks);
  }
  return true;
}

void Timeline::begin_iteration(const spool::IterationEvent& event) {
  const spool::LoopVisit& visit = journal_->visits[event.visit];
  // An inner loop whose end was not recorded is over when an outer one goes on.
  while (!stack_.empty() && stack_.back().iteration &&
         journal_->visits[stack_.back().visit].level >= visit.level)
    pop_iteration(event.ticks);
  const auto around = std::find_if(stack_.rbegin(), stack_.rend(),
                                   [](const Entry& entry) { return entry.iteration; });
  const bool skipped = around != stack_.rend() && around->kept == Kept::kSkipped;
  if (visit.level >= latest_.size()) latest_.resize(visit.level + std::size_t{1});
  LatestVisit& latest = latest_[visit.level];
  if (latest.visit != event.visit) latest = {event.visit, !skipped};
  if (!latest.marked) return;
  const Kept kept = gaps_.kept(event.ticks, event.end_ticks);
  const std::uint32_t region = regions_.of_loop(visit.loop);
  settle();
  stack_.push_back({true, event.visit, region, kept});
  pending_ = {event.ticks, region, event.number, kept, event.complete, metrics_of(event)};
  if (!off_) write_pending();
}

// The values of counters, written before the mark; none if some are unknown.
std::vector<std::uint64_t> Timeline::metrics_of(const spool::IterationEvent& event) const {
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < journal_->user.metrics.size(); ++i) {
    const auto value = spool::iteration_metric(*journal_, event, i);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

void Timeline::pop_iteration(std::uint64_t ticks) {
  if (pending_) {
    lower();
    write_pending();
  }
  if (lifted_ || stack_.size() <= off_at_) lift(ticks);
  sink_.leave(ticks, stack_.back().region);
  ++marks_;
  stack_.pop_back();
}

}  // namespace refrain::writer
