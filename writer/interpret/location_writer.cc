#include "writer/interpret/location_writer.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "writer/interpret/record_interpreter.h"

namespace refrain::writer {
namespace {

using spool::Record;

class LocationWriter {
 public:
  LocationWriter(const LocationInput& input, EventSink& sink)
      : input_(input),
        process_(*input.process),
        records_(*input.records),
        sink_(sink),
        timeline_(sink, *process_.regions, input.primary ? process_.journal : nullptr,
                  process_.iteration_ends, *process_.gaps),
        stack_(timeline_),
        streams_(input.streams, *process_.regions, *process_.gaps),
        interpreter_(input, stack_, streams_, outcome_) {}

  LocationOutcome write() {
    const bool program = input_.primary && process_.end_ticks != 0;
    if (program)
      sink_.program_begin(process_.start_ticks, process_.program, process_.arguments);
    if (process_.left_out) enter_gap(process_.start_ticks);
    for (std::size_t i = 0; i < records_.size(); ++i) i += take(i);
    finish();
    outcome_.events_written += stack_.at_edges();
    outcome_.archive_events = sink_.count();
    outcome_.mark_records = timeline_.marks();
    outcome_.last_ticks = sink_.last_ticks();
    outcome_.moved_ticks = sink_.moved_ticks();
    outcome_.filtered = sink_.filtered();
    return outcome_;
  }

 private:
  // Returns how many of the next records have been taken, too.
  std::size_t take(std::size_t index) {
    const Record& record = records_[index];
    const std::size_t snapshots = spool::is_cut(record) ? pass_cut(index) : 0;
    switch (record.kind) {
      case spool::kSync:
        return snapshots;
      case spool::kSuspend:
        suspend(record, index);
        return 0;
      case spool::kResume:
        return 0;  // a cut follows
      default:
        break;
    }
    if ((record.kind & spool::kSnapshot) != 0) return 0;
    if (carrying_) {
      if (record.kind != spool::kMetric) carried_.push_back(record);
    } else {
      event(record, index);
    }
    return 0;
  }

  const Gap* next_gap() const {
    return next_gap_ < process_.gaps->gaps.size() ? &process_.gaps->gaps[next_gap_]
                                                  : nullptr;
  }

  void event(Record record, std::size_t index) {
    if (record.kind == spool::kMetric) {
      if (record.sub == 0) metrics_.clear();
      return metrics_.push_back(record.payload);
    }
    record.ticks = interpreter_.true_ticks(record);
    const Gap* gap = next_gap();
    if (gap != nullptr && record.ticks >= gap->suspend_ticks) [[unlikely]]
      pass_gaps_by_time(record.ticks);
    count(record);
    if (!metrics_.empty()) [[unlikely]] {
      stack_.point(record.ticks, [&](EventSink& sink) {
        sink.queue_metric(record.ticks, std::move(metrics_));
      });
      metrics_.clear();
    }
    interpreter_.take(record, index);
    last_event_ = record.ticks;
  }

  void count(const Record& record) {
    if (stack_.in_gap() || !spool::is_one_of(spool::kEvents, record.kind)) return;
    const bool two =
        (record.kind == spool::kSyncRegionBegin || record.kind == spool::kSyncRegionEnd) &&
        (record.aux16 & spool::kWaitToo) != 0;
    outcome_.events_written += two ? 2 : 1;
    outcome_.by_kind[record.kind] += 1;
    if (two) outcome_.by_kind[record.kind - spool::kSyncRegionBegin + spool::kWaitBegin]++;
  }

  // For a location without epochs, and for gaps in which a location recorded nothing.
  void pass_gaps_by_time(std::uint64_t ticks) {
    for (const Gap* gap = next_gap(); gap != nullptr; gap = next_gap()) {
      const bool by_clock = !input_.scan->has_sync;
      if (!stack_.in_gap()) {
        if (by_clock ? ticks < gap->suspend_ticks : ticks < gap->resume_ticks) return;
        enter_gap(gap->suspend_ticks);
      }
      if (!by_clock && gap_by_epoch_) return;
      if (ticks < gap->resume_ticks) return;
      leave_gap(gap->resume_ticks);
    }
  }

  void enter_gap(std::uint64_t own_ticks) {
    // Ends inside the gap must come after OFF: a location may pass the cut a little before
    // the one that dated it.
    const std::uint64_t ticks = std::min(own_ticks, next_gap()->suspend_ticks);
    stack_.begin_gap(ticks);
    streams_.begin_gap(ticks);
  }

  void leave_gap(std::uint64_t own_ticks) {
    const std::uint64_t ticks = std::min(own_ticks, next_gap()->resume_ticks);
    stack_.end_gap(ticks);
    streams_.end_gap(ticks);
    gap_by_epoch_ = false;
    ++next_gap_;
  }

  void suspend(const Record& record, std::size_t index) {
    const Gap* gap = next_gap();
    while (gap != nullptr && !stack_.in_gap() && gap->resume_epoch <= record.payload) {
      enter_gap(gap->suspend_ticks);
      leave_gap(gap->resume_ticks);
      gap = next_gap();
    }
    if (gap != nullptr && !stack_.in_gap() && record.payload >= gap->suspend_epoch) {
      // The cut may lie a little before the event that dates it, and the first end carried
      // over between the two.
      const bool more = index + 1 < records_.size() &&
                        spool::is_one_of(spool::kOfProgram, records_[index + 1].kind);
      enter_gap(more ? records_[index + 1].ticks : gap->suspend_ticks);
      gap_by_epoch_ = true;
    }
    if (carrying_) replay_carried(0);
    carrying_ = true;
    last_before_hole_ = last_event_;
  }

  // At a cut: all threads of the team stand together.
  std::size_t pass_cut(std::size_t index) {
    const Record& record = records_[index];
    std::size_t snapshots = 0;
    while (snapshots < spool::open_at_cut(record) &&
           index + snapshots + 1 < records_.size() &&
           (records_[index + snapshots + 1].kind & spool::kSnapshot) != 0)
      ++snapshots;
    const std::uint64_t epoch = record.a48();
    const Gap* gap = next_gap();
    if (gap == nullptr && !carrying_) return snapshots;
    for (; gap != nullptr; gap = next_gap()) {
      if (!stack_.in_gap()) {
        if (epoch < gap->suspend_epoch) break;
        enter_gap(record.ticks);
        gap_by_epoch_ = true;
      }
      if (carrying_) reconcile(index, snapshots);
      if (epoch < gap->resume_epoch) break;
      leave_gap(record.ticks);
    }
    if (carrying_) reconcile(index, snapshots);
    return snapshots;
  }

  // After a hole in the records: closes what is no longer open, at the times that were
  // carried over, and opens the snapshots' regions.
  void reconcile(std::size_t index, std::size_t snapshots) {
    carrying_ = false;
    std::size_t same = 0;   // frames that stay
    std::size_t taken = 0;  // snapshots of these frames
    while (same < stack_.size()) {
      if (stack_[same].derived) {
        ++same;
        continue;
      }
      // The recorder may keep open what was closed here because its end is missing.
      std::size_t at = taken;
      while (at < snapshots &&
             !RecordInterpreter::is_same(stack_[same], snapshot(index, at)))
        ++at;
      if (at == snapshots) break;
      taken = at + 1;
      ++same;
    }
    replay_carried(same);
    const std::uint64_t last = last_before_hole_;
    stack_.close_to(same, last);
    for (; taken < snapshots; ++taken)
      if (snapshot(index, taken).ticks >= last) interpreter_.begin(snapshot(index, taken));
  }

  const Record& snapshot(std::size_t index, std::size_t number) const {
    return records_[index + 1 + number];
  }

  // Closes regions that were open when writing was suspended, down to `keep`: those below
  // ended later, if at all.
  void replay_carried(std::size_t keep) {
    for (const Record& record : carried_) {
      const std::size_t frame = interpreter_.frame_ended_by(record);
      if (frame < keep || frame == stack_.size()) continue;
      count(record);
      stack_.close_to(frame, interpreter_.true_ticks(record));
    }
    carried_.clear();
    carrying_ = false;
  }

  void finish() {
    if (carrying_) replay_carried(0);
    interpreter_.finish();
    const std::uint64_t end = process_.end_ticks;
    // A worker gets no end of its last region.
    std::size_t team = 0;
    const std::uint64_t last = last_event_;
    std::uint64_t ticks = interpreter_.known_end_of_team(team);
    if (ticks >= end) ticks = interpreter_.known_end_of_nested_team(team, last);
    if (ticks < end) {
      outcome_.team_end = ticks;
      pass_gaps_by_time(ticks);
      stack_.close_to(team, ticks);
    }
    // Nor regions that are open at the end.
    if (process_.left_out) stack_.close_to(0, end);
    for (const Gap* gap = next_gap(); gap != nullptr; gap = next_gap()) {
      if (!stack_.in_gap()) enter_gap(gap->suspend_ticks);
      leave_gap(std::min(end, gap->resume_ticks));
    }
    stack_.close_to(0, end);
    timeline_.finish(end);
    if (input_.primary && end != 0) sink_.program_end(end);
  }

  const LocationInput& input_;
  const ProcessContext& process_;
  const spool::RecordSequence& records_;
  EventSink& sink_;
  LocationOutcome outcome_;
  Timeline timeline_;
  ShadowStack stack_;
  DeviceStreams streams_;
  RecordInterpreter interpreter_;
  std::size_t next_gap_ = 0;   // the next gap, or the current one
  bool gap_by_epoch_ = false;  // in a gap that this location's own records have
  bool carrying_ = false;      // between a Suspend and the Sync after its Resume
  std::uint64_t last_event_ = 0;
  std::uint64_t last_before_hole_ = 0;
  std::vector<Record> carried_;
  std::vector<std::uint64_t> metrics_;  // of the next event
};

}  // namespace

LocationInput location_input(const ProcessModel& model, std::size_t location) {
  return {.process = &model.context(),
          .records = &model.records(location),
          .scan = &model.scan(location),
          .index = static_cast<std::uint32_t>(location),
          .primary = location == model.primary(),
          .died = !model.spool().locations[location].facts().ended};
}

LocationOutcome write_location(const LocationInput& input, EventSink& sink) {
  return LocationWriter(input, sink).write();
}

}  // namespace refrain::writer
