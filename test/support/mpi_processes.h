// The processes of an MPI archive: which location group is which rank, who is in a
// communicator, and what each process recorded, in the order of time.
//
// A rank is a position in the group of type COMM_LOCATIONS and paradigm MPI. The threads of
// a process are one stream of events here, merged by time: requests and channels are of
// processes. Thread-safety: none needed. Errors: problems(), in words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/support/read_trace.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// Reports the first few of many problems of one kind, and how many there were.
class ProblemKind {
 public:
  ProblemKind(Problems& problems, std::string kind)
      : problems_(problems), kind_(std::move(kind)) {}
  void add(const std::string& what);

 private:
  Problems& problems_;
  std::string kind_;
  std::size_t count_ = 0, last_ = 0;  // last_: where the count stands
};

class MpiProcesses {
 public:
  // The trace must live as long as this does.
  explicit MpiProcesses(const Trace& trace);

  int size() const { return static_cast<int>(events_.size()); }
  std::uint32_t location_group(int rank) const { return location_groups_[rank]; }
  const std::vector<const Event*>& events(int rank) const { return events_[rank]; }

  // Ranks of the communicator's members; of an intercommunicator, of both groups. `self`: the
  // asking process (for communicators of one). Nothing: undefined, or wrongly defined.
  std::optional<std::vector<int>> members(std::uint32_t comm, int self) const;
  bool between_groups(std::uint32_t comm) const;
  // The process that a rank means in a message record of process `self`; nothing: none.
  std::optional<int> peer(std::uint32_t comm, int self, std::int64_t rank) const;

  const Trace& trace() const { return trace_; }
  const Problems& problems() const { return problems_; }

 private:
  void collect(const Group& world);
  std::optional<std::vector<int>> group_members(std::uint32_t group, int self) const;

  const Trace& trace_;
  std::vector<std::uint32_t> location_groups_;
  std::vector<std::vector<const Event*>> events_;
  Problems problems_;
};

}  // namespace refrain::test
