// OpenMP's explicit tasks: which task a thread runs, and when the last child of each has completed.
//
// Place in the flow: private to waits/. Works on events of one process in the order of their times.
// A task is known by its team, the thread that created it and its number there. What no event has created is the implicit
// task of its thread.
// Thread-safety: none. Units: ticks of the archive since its begin. Memory: one entry for each task that has not
// completed, kMostOpen at most; of tasks beyond that nothing is known.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "reader/trace_event.h"
#include "waits/metrics/metric.h"

namespace refrain::waits {

class Tasks {
 public:
  static constexpr std::size_t kMostOpen = std::size_t{1} << 20;

  explicit Tasks(std::size_t locations) : current_(locations, 0), implicit_(locations) {}

  void created(ProcessId process, const reader::TraceEvent& event);
  void switched(ProcessId process, const reader::TraceEvent& event);
  void completed(ProcessId process, const reader::TraceEvent& event, Ticks now);
  // The one that the location runs; 0: its implicit task.
  std::uint64_t current(LocationId location) const { return current_[location]; }
  // When the latest child of that task of the location completed on another one; 0: none has.
  Ticks children_done(LocationId location, std::uint64_t task) const;

 private:
  struct Key {
    ProcessId process{};
    std::uint32_t team = 0, creator = 0;
    std::uint64_t number = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      std::uint64_t mixed =
          (std::uint64_t{key.process} << 32 | key.creator) * 0x9e3779b97f4a7c15ULL;
      mixed = (mixed ^ mixed >> 29 ^ key.team) * 0xbf58476d1ce4e5b9ULL;
      return static_cast<std::size_t>(mixed ^ mixed >> 31 ^ key.number);
    }
  };
  // Completions of a task's children: the latest one, and the latest on another location than that.
  struct Children {
    Ticks latest = 0, elsewhere = 0;
    LocationId location{kNone};

    void add(LocationId at, Ticks time) {
      if (at != location) elsewhere = latest;
      location = at;
      latest = time;
    }
    Ticks not_on(LocationId at) const { return at == location ? elsewhere : latest; }
  };
  struct Task {
    std::uint64_t parent = 0;
    LocationId parent_location{kNone};  // of an implicit one
    Children children;
  };

  static Key key_of(ProcessId process, const reader::TraceEvent& event) {
    return {process, event.ref, event.tag, event.value};
  }

  std::unordered_map<Key, std::uint64_t, Hash> ids_;  // from 1 on, never again
  std::unordered_map<std::uint64_t, Task> tasks_;
  std::uint64_t made_ = 0;
  std::vector<std::uint64_t> current_;  // by location: id; 0: the implicit task
  std::vector<Children> implicit_;      // by location
};

}  // namespace refrain::waits
