#include "writer/interpret/record_interpreter.h"

#include <algorithm>

#include "spool/file_format.h"
#include "spool/mpi_format.h"
#include "spool/ompt_values.h"
#include "spool/thread_format.h"

namespace refrain::writer {
namespace {

namespace ompt = spool::ompt;
using spool::Record;

std::uint64_t address_of(const Record& record) {
  return record.payload & spool::kAddressMask;
}

bool is_worksharing(const Frame& frame) {
  if (frame.record_kind != spool::kWorkBegin) return false;
  switch (regions::work_class(frame.sub)) {
    case regions::RegionClass::kLoop:
    case regions::RegionClass::kSections:
    case regions::RegionClass::kSingle:
    case regions::RegionClass::kWorkshare:
      return true;
    default:
      return false;  // others may contain worksharing constructs
  }
}

bool is_barrier(regions::RegionClass cls) {
  return cls == regions::RegionClass::kBarrier ||
         cls == regions::RegionClass::kImplicitBarrier ||
         cls == regions::RegionClass::kImplementationBarrier ||
         cls == regions::RegionClass::kTeamsBarrier;
}

// The kind of the record that opened what this one closes.
std::uint8_t begin_kind(std::uint8_t end_kind) {
  return end_kind == spool::kMutexReleased ? std::uint8_t{spool::kMutexAcquire}
                                           : spool::begin_of(end_kind);
}

// Epochs and other numbers of instances may be equal by accident.
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
      return regions::work_class(frame.sub) == regions::work_class(end.sub);
    case spool::kSyncRegionEnd:
    case spool::kWaitEnd:
      return regions::sync_class(frame.sub) == regions::sync_class(end.sub);
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
    case spool::kTargetDataEnd:
      return end_target_data(record);
    case spool::kUserParameter:
      return parameter(record);
    case spool::kFileEnter:
      return begin_file(record, next_record(index));
    case spool::kFileMoved:
      return file_moved(record);
    case spool::kThreadCallBegin:
      return begin_thread_call(record, index);
    case spool::kTaskCreate:
      return create_task(record);
    case spool::kTaskSchedule:
      return schedule_task(record);
    case spool::kMutexAcquire:
      return acquire(record, next_record(index));
    case spool::kMutexAcquired:
      return acquired(record);
    case spool::kMutexReleased:
      return released(record);
    default:
      break;
  }
  const spool::RecordKind& kind = spool::kind_row(record.kind);
  if (kind.part == spool::Part::kDetail) return mpi_.take(record, index);
  switch (kind.effect) {
    case spool::Effect::kBegin:
      return begin(record);
    case spool::Effect::kEnd:
      return end(record);
    case spool::Effect::kMoment:
      return moment(record);
    default:
      return;  // thread start and end are in the location's properties
  }
}

void RecordInterpreter::begin(const Record& record) {
  const spool::RecordKind& kind =
      spool::kind_row(record.kind & static_cast<std::uint8_t>(~spool::kSnapshot));
  switch (kind.kind) {
    case spool::kParallelBegin:
      return begin_parallel(record);
    case spool::kImplicitTaskBegin:
      return begin_implicit_task(record);
    case spool::kWorkBegin:
      return begin_work(record);
    case spool::kSyncRegionBegin:
      return begin_sync(record);
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
    case spool::kFileEnter:
      return begin_file(record, nullptr);
    default:
      break;
  }
  if (kind.effect == spool::Effect::kBegin)
    begin_region(record, regions::keys_opened_by(record)[0].cls);
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
  const regions::RegionKey parallel = parallel_region(record);
  frame.address = parallel.address;
  const std::uint32_t team = outermost ? process_.teams->team_of_epoch(record.a48())
                                       : process_.teams->team_of_nested(record.a48());
  if (team != kNoTeam) frame.comm = process_.first_comm + team;
  frame.region = region(parallel.cls, parallel.address);
  stack_.push(frame);
}

void RecordInterpreter::begin_work(const Record& record) {
  const regions::RegionClass cls = regions::work_class(record.sub);
  Frame frame;
  frame.record_kind = spool::kWorkBegin;
  frame.sub = record.sub;
  frame.begin_ticks = record.ticks;
  if (is_worksharing(frame)) close_worksharing(record.ticks);
  frame.region = region(cls, address_of(record));
  if (record.sub == ompt::kWorkSingleExecutor)
    frame.inner_region = region(regions::RegionClass::kSingleBlock, address_of(record));
  stack_.push(frame);
}

void RecordInterpreter::begin_sync(const Record& record) {
  const regions::RegionClass cls = regions::sync_class(record.sub);
  if (is_barrier(cls)) close_worksharing(record.ticks);
  // A wait that begins and ends with it (kWaitToo) is not a region: readers would subtract
  // its time from the barrier's.
  begin_region(record, cls);
}

void RecordInterpreter::begin_mpi(const Record& record) {
  Frame frame;
  frame.record_kind = spool::kMpiEnter;
  frame.begin_ticks = record.ticks;
  frame.region =
      region(regions::RegionClass::kMpi, record.payload >> spool::kMpiProcedureShift);
  frame.place = process_.regions->place_of_site(address_of(record));
  stack_.push(frame);
}

void RecordInterpreter::begin_user(const Record& record) {
  Frame frame;
  frame.record_kind = record.kind & static_cast<std::uint8_t>(~spool::kSnapshot);
  frame.begin_ticks = record.ticks;
  frame.id = record.payload;
  frame.region = process_.regions->find(regions::keys_opened_by(record)[0]);
  if (frame.record_kind == spool::kFunctionEnter && (record.sub & spool::kTeamCut) == 0 &&
      record.a48() != 0)
    frame.thread = {ThreadAct::kRun, record.a48()};
  stack_.push(frame);
}

// The end has the number of the thread that is made or waited for.
void RecordInterpreter::begin_thread_call(const Record& record, std::size_t index) {
  Frame frame;
  frame.record_kind = spool::kThreadCallBegin;
  frame.sub = record.sub;
  frame.begin_ticks = record.ticks;
  frame.region = region(regions::keys_opened_by(record)[0].cls, address_of(record));
  const auto call = static_cast<spool::ThreadCall>(record.sub & spool::kThreadCalls);
  const bool creates =
      call == spool::ThreadCall::kCreate || call == spool::ThreadCall::kC11Create;
  if (creates || call == spool::ThreadCall::kJoin || call == spool::ThreadCall::kC11Join) {
    // Values of counters come between, and what a signal handler does.
    constexpr std::size_t kNear = 64;
    const auto& records = *input_.records;
    for (std::size_t i = index + 1; i < std::min(records.size(), index + kNear); ++i) {
      if (records[i].kind == spool::kThreadCallBegin) break;
      if (records[i].kind != spool::kThreadCallEnd) continue;
      if (records[i].a48() != 0)
        frame.thread = {creates ? ThreadAct::kCreate : ThreadAct::kWait, records[i].a48()};
      break;
    }
  }
  stack_.push(frame);
}

// `next`: with its bytes.
void RecordInterpreter::begin_file(const Record& record, const Record* next) {
  Frame frame;
  frame.record_kind = spool::kFileEnter;
  frame.begin_ticks = record.ticks;
  frame.id = record.payload;
  frame.region = process_.regions->find(regions::keys_opened_by(record)[0]);
  if (record.sub < spool::kFileOperations.size()) {
    frame.file.operation = static_cast<spool::FileOperation>(record.sub);
    frame.file.descriptor = spool::FileDescriptor::of(record.a48());
    if (next != nullptr && next->kind == spool::kFileMoved)
      frame.file.bytes = next->payload & spool::kAddressMask;
  }
  stack_.push(frame);
}

const Record* RecordInterpreter::next_record(std::size_t index) const {
  const auto& records = *input_.records;
  return index + 1 < records.size() ? &records[index + 1] : nullptr;
}

void RecordInterpreter::parameter(const Record& record) {
  const std::uint32_t number =
      process_.regions->parameter(regions::keys_opened_by(record)[0]);
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

// Bytes, offset and file of the call that is open.
void RecordInterpreter::file_moved(const Record& record) {
  if (stack_.size() == 0) return;
  const std::uint32_t call = stack_[stack_.size() - 1].region;
  const auto number = [&](regions::RegionKey key) {
    return kFirstUserParameter + process_.regions->parameter(key);
  };
  stack_.point(record.ticks, [&](EventSink& sink) {
    if (sink.drops(call)) return;
    const auto path = process_.user_strings.find(
        file_string(static_cast<std::uint32_t>(record.payload >> spool::kFileShift)));
    if (path != process_.user_strings.end())
      sink.parameter_text(record.ticks, number(regions::kFileParameter), path->second);
    if (record.a48() != spool::kNoFileOffset)
      sink.parameter(record.ticks, number(regions::kOffsetParameter),
                     static_cast<std::int64_t>(record.a48()));
    const spool::FileAct act = record.sub < spool::kFileOperations.size()
                                   ? spool::kFileOperations[record.sub].act
                                   : spool::FileAct::kNone;
    if (act == spool::FileAct::kRead || act == spool::FileAct::kWrite)
      sink.bytes_moved(record.ticks, record.payload & spool::kAddressMask, call);
  });
}

void RecordInterpreter::begin_region(const Record& record, regions::RegionClass cls) {
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

regions::RegionKey RecordInterpreter::parallel_region(const Record& task) {
  regions::RegionKey key;
  const bool encounters = static_cast<std::uint32_t>(task.payload) == 0;
  for (std::size_t i = stack_.size(); i > 0; --i) {
    const Frame& frame = stack_[i - 1];
    const bool just_begun = encounters && i == stack_.size();
    if (frame.kind == FrameKind::kFork && (just_begun || is_instance(frame, task)))
      return {regions::parallel_class(frame.sub), frame.address};
  }
  if (!is_epoch_instance(task)) {
    key = process_.teams->nested_region(task.a48());
  } else if (const auto parallel =
                 find_parallel(*process_.primary, process_.primary_scan->epochs, task.a48(),
                               &parallel_hint_)) {
    key = regions::keys_opened_by(*parallel)[0];
  }
  return key.cls != regions::RegionClass::kNone
             ? key
             : regions::RegionKey{regions::RegionClass::kParallel, 0};
}

// An implicit barrier without an address ends its parallel region.
std::uint32_t RecordInterpreter::region(regions::RegionClass cls, std::uint64_t address) {
  if (address == 0 && regions::is_implicit_barrier(cls)) {
    const Frame* team = team_frame();
    if (team != nullptr) {
      const std::uint32_t known = process_.regions->find({cls, team->address});
      if (known != regions::kNoRegion) return known;
    }
  }
  return process_.regions->find({cls, address});
}

namespace {

namespace ompt = spool::ompt;

constexpr int kTaskLocationShift = 32;  // id of a task: creating location << 32 | number

bool is_ordered(const Record& record) { return record.sub == ompt::kMutexOrdered; }

// The lock is held for a block of code, not just for the time of the call.
bool spans_block(const Record& record) {
  return record.sub == ompt::kMutexCritical || record.sub == ompt::kMutexAtomic ||
         record.sub == ompt::kMutexOrdered;
}

// The task has this lock already: the end of the call that sets it, or tests it.
bool takes_again(const Record& record) {
  return record.kind == spool::kNestLock && record.sub == ompt::kScopeBegin;
}

}  // namespace

std::uint32_t RecordInterpreter::creator_rank(std::uint64_t task, OTF2_CommRef comm) const {
  if (comm == OTF2_UNDEFINED_COMM) return 0;
  const auto location =
      process_.index_of.find(static_cast<std::uint32_t>(task >> kTaskLocationShift));
  if (location == process_.index_of.end()) return 0;
  const std::uint32_t rank =
      process_.teams->rank_in(comm - process_.first_comm, location->second);
  return rank == kNoTeam ? 0 : rank;
}

void RecordInterpreter::create_task(const Record& record) {
  const Frame* team = team_frame();
  const OTF2_CommRef comm = team != nullptr ? team->comm : OTF2_UNDEFINED_COMM;
  const std::uint32_t create =
      region(regions::RegionClass::kTaskCreate, record.payload & spool::kAddressMask);
  const std::uint32_t creator = creator_rank(record.a48(), comm);
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.enter(record.ticks, create);
    if (comm != OTF2_UNDEFINED_COMM)
      sink.task_create(record.ticks, comm, creator, record.aux32);
    sink.leave(record.ticks, create);
  });
}

void RecordInterpreter::push_task(const Record& record) {
  const Frame* team = team_frame();
  Frame frame;
  frame.kind = FrameKind::kTask;
  frame.record_kind = spool::kTaskSchedule;
  frame.id = record.a48();
  frame.number = record.aux32;
  frame.begin_ticks = record.ticks;
  frame.comm = team != nullptr ? team->comm : OTF2_UNDEFINED_COMM;
  frame.creator = creator_rank(record.a48(), frame.comm);
  frame.region = region(regions::RegionClass::kTask, record.payload & spool::kAddressMask);
  stack_.push(frame);
}

void RecordInterpreter::schedule_task(const Record& record) {
  const auto flags = static_cast<std::uint16_t>(record.payload >> 48);
  const bool next_explicit = (flags & spool::kTaskNextExplicit) != 0;
  const bool done = record.sub == ompt::kTaskComplete || record.sub == ompt::kTaskCancel;
  std::size_t base = 0;  // first frame above the implicit task
  for (std::size_t i = stack_.size(); i > 0 && base == 0; --i)
    if (stack_[i - 1].kind == FrameKind::kTeam) base = i;
  // The task that stops running: the uppermost one.
  std::size_t prior = stack_.size();
  while (prior > base && stack_[prior - 1].kind != FrameKind::kTask) --prior;
  const bool runs = prior > base;
  const bool ends =
      (done || record.sub == ompt::kTaskDetach) && (flags & spool::kTaskPriorExplicit) != 0;
  if (runs && ends && next_explicit && stack_[prior - 1].id == record.a48()) {
    end_left_task(record.ticks, done);
  } else if (runs && ends) {
    stack_[prior - 1].complete = done;
    stack_.close_to(prior - 1, record.ticks);
  } else if (runs) {
    left_task_ = stack_[prior - 1];
  }
  if (!next_explicit) {
    for (std::size_t i = base; i < stack_.size(); ++i)
      if (stack_[i].kind == FrameKind::kTask) stack_.close_to(i, record.ticks);
    return back_to_implicit(record);
  }
  for (std::size_t i = base; i < stack_.size(); ++i) {
    if (stack_[i].kind != FrameKind::kTask || stack_[i].id != record.a48()) continue;
    const Frame task = stack_[i];
    std::size_t above = i + 1;
    while (above < stack_.size() && stack_[above].kind != FrameKind::kTask) ++above;
    stack_.close_to(above, record.ticks);
    if (task.comm == OTF2_UNDEFINED_COMM) return;
    return stack_.point(record.ticks, [&](EventSink& sink) {
      sink.task_switch(record.ticks, task.comm, task.creator, task.number);
    });
  }
  push_task(record);
}

// A task cannot be suspended for itself: LLVM's runtime has already reported that this one
// runs again, and reports now that the one before it has ended.
void RecordInterpreter::end_left_task(std::uint64_t ticks, bool complete) {
  if (left_task_.kind != FrameKind::kTask) return;
  Frame task = left_task_;
  task.begin_ticks = ticks;
  task.emitted = false;
  stack_.push(task);
  stack_[stack_.size() - 1].complete = complete;
  stack_.close_to(stack_.size() - 1, ticks);
  left_task_ = Frame{};
}

// The implicit task of a thread is number 0 of that thread.
void RecordInterpreter::back_to_implicit(const Record& record) {
  const Frame* team = team_frame();
  if (team == nullptr || team->comm == OTF2_UNDEFINED_COMM) return;
  const OTF2_CommRef comm = team->comm;
  const std::uint32_t rank =
      process_.teams->rank_in(comm - process_.first_comm, input_.index);
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.task_switch(record.ticks, comm, rank == kNoTeam ? 0 : rank, 0);
  });
}

void RecordInterpreter::acquire(const Record& record, const Record* next) {
  const regions::RegionClass cls = regions::mutex_class(record.sub);
  const std::uint32_t where = region(cls, record.payload & spool::kAddressMask);
  const bool test =
      cls == regions::RegionClass::kTestLock || cls == regions::RegionClass::kTestNestLock;
  const bool succeeds = next != nullptr &&
                        (next->kind == spool::kMutexAcquired || takes_again(*next)) &&
                        next->a48() == record.a48();
  if (test && !succeeds) {  // the return of an unsuccessful test is not recorded
    return stack_.point(record.ticks, [&](EventSink& sink) {
      sink.enter(record.ticks, where);
      sink.leave(record.ticks, where);
    });
  }
  Frame frame;
  frame.record_kind = spool::kMutexAcquire;
  frame.sub = record.sub;
  frame.id = record.a48();
  frame.begin_ticks = record.ticks;
  frame.region = where;
  stack_.push(frame);
}

void RecordInterpreter::acquired(const Record& record) {
  const auto& orders = process_.locks->orders[input_.index];
  const std::uint32_t order = acquisitions_ < orders.size() ? orders[acquisitions_++] : 0;
  const auto is_mine = [&](const Frame& frame) {
    return frame.record_kind == spool::kMutexAcquire && frame.id == record.a48();
  };
  const std::size_t base = task_base();
  std::size_t index = stack_.size();
  while (index > base && !is_mine(stack_[index - 1])) --index;
  if (index == base) {  // the wait was not recorded
    acquire(record, &record);
    index = stack_.size();
    if (index == 0 || !is_mine(stack_[index - 1])) return;
  }
  stack_.close_to(index, record.ticks);
  const auto lock = process_.locks->ids.find(record.a48());
  if (!is_ordered(record) && lock != process_.locks->ids.end()) {
    auto& held = held_locks_[record.a48()] = {order, false};
    stack_.point(record.ticks, [&](EventSink& sink) {
      if (sink.drops(stack_[index - 1].region)) return;
      sink.acquire_lock(record.ticks, lock->second, order);
      held.emitted = true;
    });
  }
  if (!spans_block(record)) return stack_.close_to(index - 1, record.ticks);
  const regions::RegionClass block = regions::mutex_block_class(record.sub);
  if (block == regions::RegionClass::kNone) return;
  Frame frame;
  frame.record_kind = spool::kMutexAcquired;
  frame.sub = record.sub;
  frame.derived = true;
  frame.id = record.a48();
  frame.begin_ticks = record.ticks;
  frame.region = region(block, record.payload & spool::kAddressMask);
  stack_.push(frame);
}

void RecordInterpreter::released(const Record& record) {
  std::size_t index = stack_.size();  // one past the frame of the acquire
  if (spans_block(record)) {
    const std::size_t base = task_base();
    while (index > base && (stack_[index - 1].record_kind != spool::kMutexAcquire ||
                            stack_[index - 1].id != record.a48()))
      --index;
    if (index == base) {
      ++outcome_.unmatched;
      index = stack_.size() + 1;
    } else {
      stack_.close_to(index, record.ticks);
    }
  }
  const auto lock = process_.locks->ids.find(record.a48());
  const auto held = held_locks_.find(record.a48());
  if (held != held_locks_.end() && lock != process_.locks->ids.end()) {
    if (held->second.emitted)
      stack_.release_lock(record.ticks, lock->second, held->second.order);
    held_locks_.erase(held);
  }
  if (spans_block(record) && index <= stack_.size())
    stack_.close_to(index - 1, record.ticks);
}

void RecordInterpreter::moment(const Record& record) {
  if (takes_again(record)) {
    const std::size_t waits = stack_.size();
    if (waits > task_base() && stack_[waits - 1].record_kind == spool::kMutexAcquire &&
        stack_[waits - 1].id == record.a48())
      stack_.close_to(waits - 1, record.ticks);
  }
  const regions::RegionKey key = regions::keys_opened_by(record)[0];
  const std::uint32_t where = region(key.cls, key.address);
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.enter(record.ticks, where);
    sink.leave(record.ticks, where);
  });
}

namespace ompt = spool::ompt;

// Its stream on the device shows the same, and of a submission the kernel.
void RecordInterpreter::begin_target(const Record& record) {
  Frame frame;
  frame.record_kind = record.kind & static_cast<std::uint8_t>(~spool::kSnapshot);
  frame.sub = record.sub;
  frame.begin_ticks = record.ticks;
  const regions::RegionKeys keys = regions::keys_opened_by(record);
  frame.region = process_.regions->find(keys[0]);
  if (frame.record_kind != spool::kTargetBegin)
    frame.stream =
        streams_.of(static_cast<std::uint16_t>(record.payload >> spool::kDeviceShift));
  stack_.push(frame);
  if (frame.stream == nullptr) return;
  const bool kernel = frame.record_kind == spool::kTargetSubmitBegin;
  Frame there;
  there.begin_ticks = record.ticks;
  there.region = kernel ? process_.regions->find(keys[1]) : frame.region;
  frame.stream->push(there);
}

void RecordInterpreter::end_target_data(const Record& record) {
  const std::size_t index = frame_ended_by(record);
  const bool moves =
      record.sub == ompt::kDataToDevice || record.sub == ompt::kDataFromDevice;
  if (index != stack_.size() && moves) {
    const Frame& frame = stack_[index];
    const auto write = [&](EventSink& sink) {
      sink.bytes_moved(record.ticks, record.payload, frame.region);
    };
    stack_.close_to(index + 1, record.ticks);
    stack_.point(record.ticks, write);
    if (frame.stream != nullptr) frame.stream->point(record.ticks, write);
  }
  end(record);
}

}  // namespace refrain::writer
