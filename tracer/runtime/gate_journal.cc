#include "tracer/runtime/gate_journal.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "tracer/recorder/clock.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/own_arrays.h"

namespace refrain::runtime {

using recorder::Clock;

namespace {

spool::GapReason reason_of(filters::CutReason reason) {
  switch (reason) {
    case filters::CutReason::kIterations:
      return spool::kGapIterations;
    case filters::CutReason::kWindow:
      return spool::kGapWindow;
    case filters::CutReason::kLimit:
      return spool::kGapLimit;
    case filters::CutReason::kBreak:
      return spool::kGapBreak;
    case filters::CutReason::kTooShort:
      return spool::kGapTooShort;
    case filters::CutReason::kSlow:
      return spool::kGapSlow;
    case filters::CutReason::kPause:
      return spool::kGapPause;
    case filters::CutReason::kEnd:
      return spool::kGapEnd;
  }
  return spool::kGapBreak;
}

std::uint64_t loop_key(const filters::LoopMark& mark) {
  return std::uint64_t{mark.level} << 32 | mark.loop;
}

}  // namespace

void GateJournal::give_up(std::uint64_t epoch, std::uint64_t ticks) noexcept {
  while (open_levels_ != 0) {
    const OpenMark& mark = open_marks_[--open_levels_];
    journal_.put(spool::kLoopLeft, ticks, mark.key, mark.number);
  }
  if (!gap_open_) return;
  journal_.put(spool::kGapResume, ticks, latest_gap_, epoch, spool::kGapBreak);
  board_.publish({latest_gap_, epoch, false});
}

void GateJournal::suspend(std::uint64_t gap, filters::CutPoint from,
                          filters::CutReason reason) noexcept {
  latest_gap_ = gap;
  gap_open_ = true;
  journal_.put(spool::kGapSuspend, from.ticks, gap, from.epoch, reason_of(reason));
  board_.publish({gap, from.epoch, true});
}

void GateJournal::resume(std::uint64_t gap, filters::CutPoint from,
                         filters::CutReason reason) noexcept {
  journal_.put(spool::kGapResume, from.ticks, gap, from.epoch, reason_of(reason));
  board_.publish({gap, from.epoch, false});
  gap_open_ = false;
}

// Its events are in the logs already; only the writer of the archive leaves them out.
void GateJournal::gap(std::uint64_t gap, filters::CutPoint from,
                      filters::CutPoint to) noexcept {
  journal_.put(spool::kGapSuspend, from.ticks, gap, from.epoch, spool::kGapIterations);
  journal_.put(spool::kGapResume, to.ticks, gap, to.epoch, spool::kGapIterations);
}

void GateJournal::suspend_earlier(std::uint64_t gap, filters::CutPoint from) noexcept {
  journal_.put(spool::kGapSuspend, from.ticks, gap, from.epoch, spool::kGapIterations);
}

void GateJournal::loop_found(const filters::LoopMark& mark) noexcept {
  if (mark.level == 0) journal_.clock_pair();
  journal_.put(spool::kLoopFound, mark.ticks, loop_key(mark),
               std::uint64_t{mark.visit} << 32 | mark.body_events);
}

void GateJournal::loop_body(const filters::LoopMark& mark) noexcept {
  for (std::uint32_t i = 0; i < std::min(mark.body_events, kMaxReported); ++i) {
    const periodicity::Symbol place = stream_.history().place(mark.position + i);
    journal_.put(spool::kLoopBody, mark.ticks, std::uint64_t{i} << 32 | mark.loop,
                 address_of_place(place) | detail_of_place(place) << 48,
                 static_cast<std::uint8_t>(kind_of_place(place)));
  }
  if (stream_.activations() == nullptr)
    code_.arm(mark.loop, mark.body_events);
  else
    put_code(mark.loop);
}

// Where a loop that was found by its code is.
void GateJournal::put_code(std::uint32_t loop) noexcept {
  if (loop >= stream_.activations()->loops()) return;  // a phase
  const std::uint64_t header = stream_.activations()->loop(loop).header;
  char text[32 * 17 + 16];
  char* at = text;
  const auto number = [&](std::uint64_t value) {
    at = std::to_chars(at, text + sizeof text - 1, value, 16).ptr;
    *at++ = ' ';
  };
  number(loop);
  if (ProgramFacts::is_python(header)) {
    // Now: later there may be no such function any more.
    const recorder::SlowPath slow_path;
    const sampler::PythonFrames::Source source = stream_.facts().python_source(header);
    number(source.offset);
    number(source.first_line);
    number(source.last_line);
    recorder::attempted([&] {
      journal_.text(spool::kTextLoopSource, std::string(text, at)
                                                .append(source.function)
                                                .append(1, spool::kTextSeparator)
                                                .append(source.file));
    });
    return;
  }
  std::array<periodicity::Place, 30> calls;
  const std::size_t count = stream_.activations()->calls(loop, calls.data(), calls.size());
  code_.note(make_symbol(spool::kMpiEnter, 0, header));
  number(header);
  for (std::size_t i = 0; i != count; ++i) number(calls[i]);
  if (const std::uint64_t python = stream_.facts().python_around({calls.data(), count});
      python != 0) {
    code_.note(make_symbol(spool::kMpiEnter, 0, python));
    number(python);
  }
  journal_.text(spool::kTextLoopCode, {text, static_cast<std::size_t>(at - text - 1)});
}

// The counters of the primary thread when the mark's event happened.
void GateJournal::put_metrics(const filters::LoopMark& mark) noexcept {
  const SymbolHistory& history = stream_.history();
  const std::uint64_t* const values = history.metrics(mark.position);
  if (values == nullptr) return;
  for (unsigned i = 0; i < history.metric_count(); ++i)
    journal_.put(spool::kIterationMetric, mark.ticks, loop_key(mark), values[i],
                 static_cast<std::uint8_t>(i));
}

// If the process is killed, this is what is known of it. The samples become fewer, so that a run of any length has some hundreds.
void GateJournal::look_at_memory(std::uint64_t ticks) noexcept {
  constexpr double kSeconds = 0.01;
  constexpr std::uint64_t kShare = 128;
  if (memory_first_ == 0) memory_first_ = ticks;
  if (memory_ticks_ != 0 &&
      ticks - memory_ticks_ < std::max(recorder::Clock::ticks_of_seconds(kSeconds),
                                       (ticks - memory_first_) / kShare))
    return;
  memory_ticks_ = ticks;
  // Without faults it can only have become less, which is looked for now and then.
  constexpr unsigned kNowAndThen = 8;
  const std::uint64_t faults = recorder::process_faults();
  if (faults != memory_faults_ || ++memory_as_before_ == kNowAndThen) {
    memory_faults_ = faults;
    memory_as_before_ = 0;
    memory_bytes_ = journal_.file().note_memory().anonymous_bytes;
  }
  const std::uint64_t bytes = memory_bytes_;
  // Own arrays have grown only where all has. A look at them takes longer than one at that.
  constexpr std::uint64_t kGrown = 256 << 10;
  if (std::max(bytes, memory_looked_) - std::min(bytes, memory_looked_) >= kGrown) {
    memory_looked_ = bytes;
    memory_own_ = resident_in_own_arrays();
  }
  if (bytes != 0)
    journal_.put(spool::kMemory, ticks, 0, bytes - std::min(bytes, memory_own_));
}

void GateJournal::iteration(const filters::LoopMark& mark) noexcept {
  if (mark.level < open_marks_.size()) {
    open_marks_[mark.level] = {loop_key(mark), mark.number};
    open_levels_ = mark.level + std::size_t{1};
  }
  const spool::RecordWords iteration =
      spool::record_words(spool::kIteration, mark.ticks, mark.number, 0, loop_key(mark));
  const bool anchor = anchors_ != anchors_reported_;
  anchors_reported_ = anchors_;
  const spool::RecordWords anchors =
      spool::record_words(spool::kAnchor, mark.ticks, anchors_);
  if (stream_.history().metric_count() != 0) [[unlikely]] {
    if (anchor) journal_.file().append(anchors);
    put_metrics(mark);
    journal_.file().append(iteration);
  } else {
    anchor ? journal_.file().append(anchors, iteration) : journal_.file().append(iteration);
  }
  if (rolling_.due(budget_.logged_bytes(), processes_)) [[unlikely]]
    stream_.gate().lower_limit(rolling_.lower(stream_.gate().most_iterations()));
}

void GateJournal::iteration_end(const filters::LoopMark& mark) noexcept {
  if (stream_.history().metric_count() != 0) [[unlikely]]
    put_metrics(mark);
  journal_.put(spool::kIterationEnd, mark.ticks, loop_key(mark), mark.number);
}

void GateJournal::mismatch(const filters::LoopMark& mark) noexcept {
  journal_.put(spool::kLoopMismatch, mark.ticks, loop_key(mark), mark.number);
}

void GateJournal::loop_left(const filters::LoopMark& mark) noexcept {
  if (stream_.history().metric_count() != 0) [[unlikely]]
    put_metrics(mark);
  journal_.put(spool::kLoopLeft, mark.ticks, loop_key(mark), mark.number);
  open_levels_ = std::min<std::size_t>(open_levels_, mark.level);
  if (mark.level == 0) journal_.clock_pair();
}

void GateJournal::marks_end(const filters::LoopMark& mark) noexcept {
  journal_.put(spool::kMarksEnd, mark.ticks, loop_key(mark), mark.number);
}

void GateJournal::skipped_summary(const filters::SkippedIterations& skipped) noexcept {
  const std::uint64_t now = Clock::now();
  const auto put = [&](spool::SkippedValue which, std::uint64_t value) {
    journal_.put(spool::kSkippedValue, now, skipped.loop, value, which);
  };
  // Distinguishes parts of one sum from sums of the same loop inside another one.
  const auto around = static_cast<std::uint16_t>(skipped.parent + 1);
  journal_.put(spool::kSkippedSummary, now, std::uint64_t{around} << 32 | skipped.loop,
               skipped.count);
  put(spool::kSkippedTotal, skipped.total_ticks);
  put(spool::kSkippedLeast, skipped.least_ticks);
  put(spool::kSkippedGreatest, skipped.greatest_ticks);
  if (skipped.visits != 0) put(spool::kSkippedVisits, skipped.visits);
  if (skipped.parent != periodicity::kNoLoop) put(spool::kSkippedParent, skipped.parent);
}

void GateJournal::slow_iteration(const filters::SlowIteration& slow) noexcept {
  const auto put = [&](spool::SlowValue which, std::uint64_t value) {
    journal_.put(spool::kSlowValue, slow.begin_ticks, slow.loop, value, which);
  };
  journal_.put(spool::kSlowIteration, slow.begin_ticks,
               std::uint64_t{slow.level} << 32 | slow.loop, slow.number);
  put(spool::kSlowDuration, slow.duration_ticks);
  put(spool::kSlowMedian, slow.median_ticks);
  put(spool::kSlowMad, slow.mad_ticks);
}

}  // namespace refrain::runtime
