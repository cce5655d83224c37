#include "writer/process/record_interpreter.h"

#include <algorithm>

#include "spool/mpi_format.h"
#include "spool/ompt_values.h"

namespace refrain::writer {
namespace {

namespace ompt = spool::ompt;
using spool::Record;

std::uint64_t address_of(const Record& record) {
  return record.payload & spool::kAddressMask;
}

bool is_worksharing(const Frame& frame) {
  if (frame.record_kind != spool::kWorkBegin) return false;
  switch (work_class(frame.sub)) {
    case RegionClass::kLoop:
    case RegionClass::kSections:
    case RegionClass::kSingle:
    case RegionClass::kWorkshare:
      return true;
    default:
      return false;  // others may contain worksharing constructs
  }
}

bool is_barrier(RegionClass cls) {
  return cls == RegionClass::kBarrier || cls == RegionClass::kImplicitBarrier ||
         cls == RegionClass::kImplementationBarrier || cls == RegionClass::kTeamsBarrier;
}

// The kind of the record that opened what this one closes.
std::uint8_t begin_kind(std::uint8_t end_kind) {
  return end_kind == spool::kMutexReleased ? std::uint8_t{spool::kMutexAcquire}
                                           : static_cast<std::uint8_t>(end_kind - 1);
}

// Epochs and other numbers of instances may be equal by chance.
bool is_instance(const Frame& frame, const Record& record) {
  constexpr auto kOther = spool::kTeamNested | spool::kTeamInitial | spool::kTeamForeign;
  return frame.id == record.a48() && (frame.sub & kOther) == (record.sub & kOther);
}

bool closes(const Frame& frame, const Record& end) {
  if (frame.record_kind != begin_kind(end.kind)) return false;
  switch (end.kind) {
    case spool::kParallelEnd:
      // LLVM's runtime may give serialised nested regions the data of an outer one; the
      // call's address distinguishes them.
      return is_instance(frame, end) || frame.address == address_of(end);
    case spool::kImplicitTaskEnd:
      return is_instance(frame, end);
    case spool::kWorkEnd:
      return work_class(frame.sub) == work_class(end.sub);
    case spool::kSyncRegionEnd:
    case spool::kWaitEnd:
      return sync_class(frame.sub) == sync_class(end.sub);
    case spool::kUserLeave:
    case spool::kFunctionLeave:
      return frame.id == end.payload;
    default:
      return true;
  }
}

}  // namespace

RecordInterpreter::RecordInterpreter(const LocationInput& input, ShadowStack& stack,
                                     DeviceStreams& streams, LocationOutcome& outcome)
    : input_(input),
      process_(*input.process),
      stack_(stack),
      streams_(streams),
      mpi_(input, stack, outcome),
      outcome_(outcome) {}

void RecordInterpreter::take(const Record& record, std::size_t index) {
  switch (record.kind) {
    case spool::kMpiEnter:
      begin_mpi(record);
      return mpi_.entered(record.ticks, index);
    case spool::kMpiLeave:
      mpi_.take(record, index);
      return end(record);
    case spool::kMpiSend:
    case spool::kMpiRecv:
    case spool::kMpiPost:
    case spool::kMpiDone:
    case spool::kMpiTested:
    case spool::kMpiCancelled:
    case spool::kMpiCollective:
    case spool::kMpiRma:
    case spool::kMpiIo:
      return mpi_.take(record, index);
    case spool::kParallelEnd:
    case spool::kImplicitTaskEnd:
    case spool::kWorkEnd:
    case spool::kSyncRegionEnd:
    case spool::kWaitEnd:
    case spool::kMaskedEnd:
    case spool::kReductionEnd:
    case spool::kTargetEnd:
    case spool::kTargetSubmitEnd:
    case spool::kUserLeave:
    case spool::kFunctionLeave:
      return end(record);
    case spool::kTargetDataEnd:
      return end_target_data(record);
    case spool::kUserParameter:
      return parameter(record);
    case spool::kTaskCreate:
      return create_task(record);
    case spool::kTaskSchedule:
      return schedule_task(record);
    case spool::kMutexAcquire:
      return acquire(record, index + 1 < input_.records->size()
                                 ? &(*input_.records)[index + 1]
                                 : nullptr);
    case spool::kMutexAcquired:
      return acquired(record);
    case spool::kMutexReleased:
      return released(record);
    case spool::kNestLock:
    case spool::kFlush:
    case spool::kCancel:
      return moment(record);
    default:
      return begin(record);
  }
}

void RecordInterpreter::begin(const Record& record) {
  switch (record.kind & ~spool::kSnapshot) {
    case spool::kParallelBegin:
      return begin_parallel(record);
    case spool::kImplicitTaskBegin:
      return begin_implicit_task(record);
    case spool::kWorkBegin:
      return begin_work(record);
    case spool::kSyncRegionBegin:
      return begin_sync(record);
    case spool::kWaitBegin:
      return begin_region(record, wait_class(record.sub));
    case spool::kMaskedBegin:
      return begin_region(record, RegionClass::kMasked);
    case spool::kReductionBegin:
      return begin_region(record, RegionClass::kReduction);
    case spool::kTargetBegin:
    case spool::kTargetDataBegin:
    case spool::kTargetSubmitBegin:
      return begin_target(record);
    case spool::kTaskSchedule:
      return push_task(record);
    case spool::kMutexAcquire:
      return acquire(record, nullptr);
    case spool::kMpiEnter:
      return begin_mpi(record);
    case spool::kUserEnter:
    case spool::kFunctionEnter:
      return begin_user(record);
    default:
      return;  // thread begin and end are in the location's properties
  }
}

bool RecordInterpreter::is_same(const Frame& frame, const Record& snapshot) noexcept {
  return frame.record_kind == (snapshot.kind & ~spool::kSnapshot) &&
         frame.begin_ticks == snapshot.ticks;
}

void RecordInterpreter::begin_parallel(const Record& record) {
  Frame frame;
  frame.kind = FrameKind::kFork;
  frame.record_kind = spool::kParallelBegin;
  frame.sub = record.sub;
  frame.id = record.a48();
  frame.address = address_of(record);
  frame.number = static_cast<std::uint32_t>(record.payload >> 48);
  frame.begin_ticks = record.ticks;
  stack_.push(frame);
}

void RecordInterpreter::begin_implicit_task(const Record& record) {
  if ((record.sub & spool::kTeamInitial) != 0) return;
  const bool outermost = is_epoch_instance(record);
  if (outermost) {  // the one before is over, reported or not
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      if (stack_[i].kind != FrameKind::kTeam || is_instance(stack_[i], record)) continue;
      stack_.close_to(i, record.ticks);
      break;
    }
  }
  Frame frame;
  frame.kind = FrameKind::kTeam;
  frame.record_kind = spool::kImplicitTaskBegin;
  frame.sub = record.sub;
  frame.id = record.a48();
  frame.begin_ticks = record.ticks;
  frame.number = static_cast<std::uint32_t>(record.payload);
  const RegionKey parallel = parallel_region(record);
  frame.address = parallel.address;
  const std::uint32_t team = outermost ? process_.teams->team_of_epoch(record.a48())
                                       : process_.teams->team_of_nested(record.a48());
  if (team != kNoTeam) frame.comm = process_.first_comm + team;
  frame.region = region(parallel.cls, parallel.address);
  stack_.push(frame);
}

void RecordInterpreter::begin_work(const Record& record) {
  const RegionClass cls = work_class(record.sub);
  Frame frame;
  frame.record_kind = spool::kWorkBegin;
  frame.sub = record.sub;
  frame.begin_ticks = record.ticks;
  if (is_worksharing(frame)) close_worksharing(record.ticks);
  frame.region = region(cls, address_of(record));
  if (record.sub == ompt::kWorkSingleExecutor)
    frame.inner_region = region(RegionClass::kSingleBlock, address_of(record));
  stack_.push(frame);
}

void RecordInterpreter::begin_sync(const Record& record) {
  const RegionClass cls = sync_class(record.sub);
  if (is_barrier(cls)) close_worksharing(record.ticks);
  // A wait that begins and ends with it (kWaitToo) is not a region: readers would subtract
  // its time from the barrier's.
  begin_region(record, cls);
}

void RecordInterpreter::begin_mpi(const Record& record) {
  Frame frame;
  frame.record_kind = spool::kMpiEnter;
  frame.begin_ticks = record.ticks;
  frame.region = region(RegionClass::kMpi, record.payload >> spool::kMpiProcedureShift);
  frame.place = process_.regions->place_of_site(address_of(record));
  stack_.push(frame);
}

void RecordInterpreter::begin_user(const Record& record) {
  Frame frame;
  frame.record_kind = record.kind & static_cast<std::uint8_t>(~spool::kSnapshot);
  frame.begin_ticks = record.ticks;
  frame.id = record.payload;
  frame.region = process_.regions->find(keys_opened_by(record)[0]);
  stack_.push(frame);
}

void RecordInterpreter::parameter(const Record& record) {
  const std::uint32_t number = process_.regions->parameter(keys_opened_by(record)[0]);
  const bool text = record.sub == spool::kParameterText;
  stack_.point(record.ticks, [&](EventSink& sink) {
    const OTF2_ParameterRef ref = kFirstUserParameter + number;
    if (!text)
      return sink.parameter(record.ticks, ref, static_cast<std::int64_t>(record.payload));
    const auto known =
        process_.user_strings.find(static_cast<std::uint32_t>(record.payload));
    sink.parameter_text(record.ticks, ref,
                        known == process_.user_strings.end() ? 0 : known->second);
  });
}

void RecordInterpreter::begin_region(const Record& record, RegionClass cls) {
  Frame frame;
  frame.record_kind = record.kind & static_cast<std::uint8_t>(~spool::kSnapshot);
  frame.sub = record.sub;
  frame.begin_ticks = record.ticks;
  frame.region = region(cls, address_of(record));
  stack_.push(frame);
}

std::size_t RecordInterpreter::frame_ended_by(const Record& record) {
  const bool of_team =
      record.kind == spool::kParallelEnd || record.kind == spool::kImplicitTaskEnd;
  const std::size_t base = of_team ? 0 : task_base();
  std::size_t i = stack_.size();
  for (; i > base; --i)
    if (closes(stack_[i - 1], record)) return i - 1;
  // An untied task may continue elsewhere without a record: the end belongs to a task
  // below.
  for (; i > 0 && stack_[i - 1].kind != FrameKind::kTeam; --i)
    if (closes(stack_[i - 1], record)) return i - 1;
  return stack_.size();
}

void RecordInterpreter::end(const Record& record) {
  const std::size_t index = frame_ended_by(record);
  if (index == stack_.size()) {
    const bool initial =
        record.kind == spool::kImplicitTaskEnd && (record.sub & spool::kTeamInitial) != 0;
    if (!initial) ++outcome_.unmatched;
    return;
  }
  stack_.close_to(index, record.ticks);
}

std::uint64_t RecordInterpreter::known_end_of_team(std::size_t& frame) {
  for (frame = 0; frame < stack_.size(); ++frame) {
    const Frame& team = stack_[frame];
    if (team.kind != FrameKind::kTeam) continue;
    constexpr auto kOther = spool::kTeamNested | spool::kTeamForeign;
    if (team.number == 0 || (team.sub & kOther) != 0) return kNever;
    return parallel_end_ticks(*process_.primary, process_.primary_scan->epochs, team.id,
                              &end_hint_)
        .value_or(kNever);
  }
  return kNever;
}

std::uint64_t RecordInterpreter::known_end_of_nested_team(std::size_t& frame,
                                                          std::uint64_t last) {
  for (frame = 0; frame < stack_.size(); ++frame) {
    const Frame& team = stack_[frame];
    if (team.kind != FrameKind::kTeam || team.number == 0) continue;
    const auto ended = process_.nested_ends.find(team.id);
    if (ended != process_.nested_ends.end()) return std::max(ended->second, last);
  }
  return kNever;
}

std::uint64_t RecordInterpreter::true_ticks(const Record& end) {
  const bool last_barrier =
      (end.kind == spool::kSyncRegionEnd || end.kind == spool::kWaitEnd) &&
      (end.sub == ompt::kSyncBarrierImplicitParallel || end.sub == ompt::kSyncBarrierTeams);
  if (end.kind != spool::kImplicitTaskEnd && !last_barrier) return end.ticks;
  const Frame* team = team_frame();
  std::size_t frame = 0;
  if (team == nullptr || team->number == 0) return end.ticks;
  const std::uint64_t ticks = known_end_of_team(frame);
  // For a nested region the recorder has done it.
  const bool outermost = frame < stack_.size() && &stack_[frame] == team;
  return outermost ? std::min(end.ticks, ticks) : end.ticks;
}

// First frame that belongs to the current task.
std::size_t RecordInterpreter::task_base() {
  for (std::size_t i = stack_.size(); i > 0; --i) {
    const FrameKind kind = stack_[i - 1].kind;
    if (kind == FrameKind::kTeam || kind == FrameKind::kTask) return i;
  }
  return 0;
}

const Frame* RecordInterpreter::team_frame() {
  for (std::size_t i = stack_.size(); i > 0; --i)
    if (stack_[i - 1].kind == FrameKind::kTeam) return &stack_[i - 1];
  return nullptr;
}

void RecordInterpreter::close_worksharing(std::uint64_t ticks) {
  for (std::size_t i = task_base(); i < stack_.size(); ++i) {
    if (!is_worksharing(stack_[i])) continue;
    stack_.close_to(i, ticks);
    return;
  }
}

RegionKey RecordInterpreter::parallel_region(const Record& task) {
  RegionKey key;
  const bool encounters = static_cast<std::uint32_t>(task.payload) == 0;
  for (std::size_t i = stack_.size(); i > 0; --i) {
    const Frame& frame = stack_[i - 1];
    const bool just_begun = encounters && i == stack_.size();
    if (frame.kind == FrameKind::kFork && (just_begun || is_instance(frame, task)))
      return {parallel_class(frame.sub), frame.address};
  }
  if (!is_epoch_instance(task)) {
    key = process_.teams->nested_region(task.a48());
  } else if (const auto parallel =
                 find_parallel(*process_.primary, process_.primary_scan->epochs, task.a48(),
                               &parallel_hint_)) {
    key = keys_opened_by(*parallel)[0];
  }
  return key.cls != RegionClass::kNone ? key : RegionKey{RegionClass::kParallel, 0};
}

// An implicit barrier without an address ends its parallel region.
std::uint32_t RecordInterpreter::region(RegionClass cls, std::uint64_t address) {
  if (address == 0 && is_implicit_barrier(cls)) {
    const Frame* team = team_frame();
    if (team != nullptr) {
      const std::uint32_t known = process_.regions->find({cls, team->address});
      if (known != kNoRegion) return known;
    }
  }
  return process_.regions->find({cls, address});
}

}  // namespace refrain::writer
