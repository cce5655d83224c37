#include "waits/replay/tasks.h"

namespace refrain::waits {

void Tasks::created(ProcessId process, const reader::TraceEvent& event) {
  if (tasks_.size() >= kMostOpen) return;
  const std::uint64_t id = ++made_;
  const auto [at, is_new] = ids_.try_emplace(key_of(process, event), id);
  if (!is_new) {  // the one before has never completed
    tasks_.erase(at->second);
    at->second = id;
  }
  tasks_[id] = {current_[event.location], event.location, {}};
}

void Tasks::switched(ProcessId process, const reader::TraceEvent& event) {
  const auto found = ids_.find(key_of(process, event));
  current_[event.location] = found == ids_.end() ? 0 : found->second;
}

void Tasks::completed(ProcessId process, const reader::TraceEvent& event, Ticks now) {
  current_[event.location] = 0;
  const auto found = ids_.find(key_of(process, event));
  if (found == ids_.end()) return;
  const auto task = tasks_.find(found->second);
  ids_.erase(found);
  if (task == tasks_.end()) return;
  const Task done = task->second;
  tasks_.erase(task);
  if (done.parent == 0) {
    implicit_[done.parent_location].add(event.location, now);
  } else if (const auto parent = tasks_.find(done.parent); parent != tasks_.end()) {
    parent->second.children.add(event.location, now);
  }
}

Ticks Tasks::children_done(LocationId location, std::uint64_t task) const {
  if (task == 0) return implicit_[location].not_on(location);
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? 0 : found->second.children.not_on(location);
}

}  // namespace refrain::waits
