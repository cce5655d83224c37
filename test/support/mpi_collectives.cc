// Checks of collectives (see mpi_checks.h).
#include <otf2/otf2.h>

#include <algorithm>
#include <optional>

#include "test/support/mpi_checks.h"

namespace refrain::test {
namespace {

// One process in one collective. Blocking or not, it is ordered by its start.
struct Part {
  std::uint32_t comm = 0, root = 0;
  std::int64_t operation = -1;  // -1: it has not ended
  std::uint64_t begin = 0, end = 0, bytes = 0;
};

using Parts = std::map<int, std::vector<Part>>;  // by rank

void finish(Part& part, const Event& end) {
  part.comm = end.reference;
  part.operation = end.value;
  part.root = end.extra;
  part.end = end.time;
  part.bytes = end.sent + end.received;
}

// Threads of a process may be in collectives of different communicators at a time: each has
// its own location.
class Locations {
 public:
  explicit Locations(const Trace& trace) {
    for (const Location& location : trace.locations)
      if (!location.events.empty()) first_[location.events.data()] = first_.size();
  }
  std::size_t of(const Event* event) const {
    return std::prev(first_.upper_bound(event))->second;
  }

 private:
  std::map<const Event*, std::size_t, std::less<>> first_;
};

std::vector<Part> read_parts(const MpiProcesses& processes, int rank, ProblemKind& kind) {
  const Locations locations(processes.trace());
  std::vector<Part> result;
  std::map<std::size_t, std::size_t> open;  // by location
  std::map<std::uint64_t, std::size_t> requests;
  for (const Event* event : processes.events(rank)) {
    const std::string where =
        "rank " + std::to_string(rank) + " at " + std::to_string(event->time);
    if (event->type == EventType::kMpiCollectiveBegin ||
        event->type == EventType::kMpiCollectiveRequest) {
      if (event->type == EventType::kMpiCollectiveBegin &&
          !open.emplace(locations.of(event), result.size()).second)
        kind.add(where + ": begins inside of another one");
      if (event->type == EventType::kMpiCollectiveRequest)
        requests[event->request] = result.size();
      Part part;
      part.begin = event->time;
      result.push_back(part);
    } else if (event->type == EventType::kMpiCollectiveEnd) {
      const auto begun = open.find(locations.of(event));
      if (begun == open.end()) {
        kind.add(where + ": ends, but has not begun");
        continue;
      }
      finish(result[begun->second], *event);
      open.erase(begun);
    } else if (event->type == EventType::kMpiCollectiveComplete) {
      const auto found = requests.find(event->request);
      if (found == requests.end()) {
        kind.add(where + ": is complete, but has not begun");
        continue;
      }
      finish(result[found->second], *event);
      requests.erase(found);
    }
  }
  for (const Part& part : result)
    if (part.operation < 0)
      kind.add("rank " + std::to_string(rank) + " at " + std::to_string(part.begin) +
               ": begins, but never ends");
  std::erase_if(result, [](const Part& part) { return part.operation < 0; });
  return result;
}

// By communicator and rank. Communicators of one process need no comparison.
std::map<std::uint32_t, Parts> by_communicator(const MpiProcesses& processes,
                                               ProblemKind& kind) {
  std::map<std::uint32_t, Parts> result;
  for (int rank = 0; rank < processes.size(); ++rank)
    for (const Part& part : read_parts(processes, rank, kind)) {
      const auto members = processes.members(part.comm, rank);
      if (!members || !std::count(members->begin(), members->end(), rank)) {
        kind.add("rank " + std::to_string(rank) + " at " + std::to_string(part.end) +
                 ": is no member of communicator " + std::to_string(part.comm));
        continue;
      }
      Parts& parts = result[part.comm];
      for (const int member : *members) parts[member];
      parts[rank].push_back(part);
    }
  return result;
}

std::string name_of(std::uint32_t comm, std::size_t number) {
  return "communicator " + std::to_string(comm) + ", collective " + std::to_string(number);
}

std::string text(const Part& part) {
  return "operation " + std::to_string(part.operation) + " root " +
         std::to_string(static_cast<std::int32_t>(part.root));
}

void check_agreement(const MpiProcesses& processes, std::uint32_t comm, const Parts& parts,
                     ProblemKind& kind) {
  const auto& [first_rank, first] = *parts.begin();
  for (const auto& [rank, mine] : parts) {
    if (mine.size() != first.size())
      kind.add("communicator " + std::to_string(comm) + ": rank " +
               std::to_string(first_rank) + " has " + std::to_string(first.size()) +
               ", rank " + std::to_string(rank) + " has " + std::to_string(mine.size()));
    for (std::size_t i = 0; i < std::min(mine.size(), first.size()); ++i) {
      const bool same = mine[i].operation == first[i].operation &&
                        (processes.between_groups(comm) || mine[i].root == first[i].root);
      if (!same)
        kind.add(name_of(comm, i) + ": rank " + std::to_string(first_rank) + " has " +
                 text(first[i]) + ", rank " + std::to_string(rank) + " has " +
                 text(mine[i]));
    }
  }
}

enum class Waits { kAllForAll, kAllForRoot, kRootForAll, kNobody };

Waits waits(const Part& part) {
  switch (part.operation) {
    case OTF2_COLLECTIVE_OP_BARRIER:
      return Waits::kAllForAll;
    case OTF2_COLLECTIVE_OP_ALLGATHER:
    case OTF2_COLLECTIVE_OP_ALLTOALL:
    case OTF2_COLLECTIVE_OP_ALLREDUCE:
      return part.bytes > 0 ? Waits::kAllForAll : Waits::kNobody;
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_SCATTER:
      return part.bytes > 0 ? Waits::kAllForRoot : Waits::kNobody;
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_REDUCE:
      return part.bytes > 0 ? Waits::kRootForAll : Waits::kNobody;
    default:
      return Waits::kNobody;
  }
}

// The i-th collective of all members.
void check_order(const std::vector<int>& members, const Parts& parts, std::size_t i,
                 const std::string& name, ProblemKind& kind) {
  for (std::size_t here = 0; here < members.size(); ++here)
    for (std::size_t there = 0; there < members.size(); ++there) {
      const Part& ends = parts.at(members[here])[i];
      const Part& begins = parts.at(members[there])[i];
      const Waits who = waits(ends);
      const bool waited = who == Waits::kAllForAll ||
                          (who == Waits::kAllForRoot && there == ends.root) ||
                          (who == Waits::kRootForAll && here == ends.root);
      if (waited && ends.end < begins.begin)
        kind.add(name + ": rank " + std::to_string(members[here]) + " leaves at " +
                 std::to_string(ends.end) + ", rank " + std::to_string(members[there]) +
                 " comes at " + std::to_string(begins.begin));
    }
}

}  // namespace

Problems check_collectives(const Trace& trace) {
  const MpiProcesses processes(trace);
  Problems problems = processes.problems();
  ProblemKind kind(problems, "collective");
  for (const auto& [comm, parts] : by_communicator(processes, kind))
    check_agreement(processes, comm, parts, kind);
  return problems;
}

Problems check_causality(const Trace& trace) {
  Problems problems;
  const Replay replayed = replay(trace);
  ProblemKind messages(problems, "received before it was sent");
  for (const auto& [channel, queue] : replayed.channels)
    for (std::size_t i = 0; i < std::min(queue.sends.size(), queue.receives.size()); ++i)
      if (queue.receives[i].time < queue.sends[i].time)
        messages.add(test::text(channel) + ": message " + std::to_string(i) + " sent at " +
                     std::to_string(queue.sends[i].time) + ", received at " +
                     std::to_string(queue.receives[i].time));

  const MpiProcesses processes(trace);
  Problems of_agreement;  // reported by check_collectives
  ProblemKind ignored(of_agreement, ""), kind(problems, "left before all had come");
  for (const auto& [comm, parts] : by_communicator(processes, ignored)) {
    if (processes.between_groups(comm)) continue;
    const auto members = processes.members(comm, parts.begin()->first);
    std::size_t common = parts.begin()->second.size();
    for (const auto& [rank, mine] : parts) common = std::min(common, mine.size());
    if (members->size() != parts.size()) continue;  // of one member each
    for (std::size_t i = 0; i < common; ++i)
      check_order(*members, parts, i, name_of(comm, i), kind);
  }
  return problems;
}

}  // namespace refrain::test
