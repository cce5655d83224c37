// The part of RecordInterpreter for explicit tasks, locks and point events.
#include "spool/ompt_values.h"
#include "writer/process/record_interpreter.h"

namespace refrain::writer {
namespace {

namespace ompt = spool::ompt;
using spool::Record;

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
      region(RegionClass::kTaskCreate, record.payload & spool::kAddressMask);
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
  frame.region = region(RegionClass::kTask, record.payload & spool::kAddressMask);
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
  const RegionClass cls = mutex_class(record.sub);
  const std::uint32_t where = region(cls, record.payload & spool::kAddressMask);
  const bool test = cls == RegionClass::kTestLock || cls == RegionClass::kTestNestLock;
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
    held_locks_[record.a48()] = {order, !stack_.in_gap()};
    stack_.point(record.ticks, [&](EventSink& sink) {
      sink.acquire_lock(record.ticks, lock->second, order);
    });
  }
  if (!spans_block(record)) return stack_.close_to(index - 1, record.ticks);
  const RegionClass block = mutex_block_class(record.sub);
  if (block == RegionClass::kNone) return;
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
  const RegionKey key = keys_opened_by(record)[0];
  const std::uint32_t where = region(key.cls, key.address);
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.enter(record.ticks, where);
    sink.leave(record.ticks, where);
  });
}

}  // namespace refrain::writer
