// Replays the messages and collectives of an archive as readers do: first in, first out per
// channel.
#include <otf2/otf2.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "test/support/trace_checks.h"

namespace refrain::test {
namespace {

constexpr std::size_t kTold = 10;

using ChannelKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>;

struct End {
  std::uint64_t order;  // time of the start
  std::size_t location;
  std::size_t index;
  std::uint64_t bytes;
};

struct Ends {
  std::vector<End> sent;
  std::vector<End> received;
};

class Replay {
 public:
  explicit Replay(const Trace& trace) : trace_(trace) { find_ranks(); }

  Problems run() {
    for (std::size_t i = 0; i < trace_.locations.size(); ++i) location(i);
    for (auto& [key, ends] : channels_) match(key, ends);
    for (const auto& [comm, members] : collectives_) compare(comm, members);
    if (problems_.size() > kTold) problems_.resize(kTold);
    return problems_;
  }

 private:
  // Ranks are positions in the group of MPI's locations; threads have that of their process.
  void find_ranks() {
    std::map<std::uint64_t, std::uint32_t> rank_of_location;
    for (const auto& [ref, group] : trace_.groups)
      if (group.type == OTF2_GROUP_TYPE_COMM_LOCATIONS &&
          group.paradigm == OTF2_PARADIGM_MPI)
        for (std::size_t i = 0; i < group.members.size(); ++i)
          rank_of_location[group.members[i]] = static_cast<std::uint32_t>(i);
    for (const Location& location : trace_.locations) {
      const auto rank = rank_of_location.find(location.reference);
      if (rank != rank_of_location.end()) rank_of_group_[location.group] = rank->second;
    }
  }

  void problem(const std::string& what) { problems_.push_back(what); }

  std::string where(std::size_t location, std::size_t index) const {
    const Event& event = trace_.locations[location].events[index];
    return "location " + std::to_string(location) + " event " + std::to_string(index) +
           " (" + event_name(event.type) + " at " + std::to_string(event.time) + ")";
  }

  // Of a peer, by its rank in the communicator.
  std::uint32_t world_rank(const Comm& comm, std::uint32_t own, std::uint32_t peer) {
    const Group& group = trace_.groups.at(comm.group);
    if (group.type == OTF2_GROUP_TYPE_COMM_SELF) return own;
    const bool other = comm.inter && std::find(group.members.begin(), group.members.end(),
                                               own) != group.members.end();
    const auto& members = other ? trace_.groups.at(comm.other_group).members : group.members;
    if (peer < members.size()) return static_cast<std::uint32_t>(members[peer]);
    problem("peer " + std::to_string(peer) + " is not in " + comm.name);
    return ~std::uint32_t{0};
  }

  void location(std::size_t number) {
    const Location& location = trace_.locations[number];
    const auto known = rank_of_group_.find(location.group);
    std::map<std::uint64_t, std::size_t> sends, posts, collectives;
    std::set<std::uint64_t> used;
    std::size_t in_collective = 0;
    for (std::size_t i = 0; i < location.events.size(); ++i) {
      const Event& event = location.events[i];
      if (event.type < EventType::kMpiSend || event.type > EventType::kMpiCollectiveComplete)
        continue;
      if (known == rank_of_group_.end()) return problem(where(number, i) + ": no MPI rank");
      const std::uint32_t rank = known->second;
      const std::uint64_t request = event.mpi.request;
      const auto starts = [&](std::map<std::uint64_t, std::size_t>& open) {
        if (!used.insert(request).second) problem(where(number, i) + ": request used twice");
        open[request] = i;
      };
      const auto ends = [&](std::map<std::uint64_t, std::size_t>& open) -> std::size_t {
        const auto found = open.find(request);
        if (found == open.end()) {
          problem(where(number, i) + ": its request was not begun");
          return i;
        }
        const std::size_t at = found->second;
        open.erase(found);
        return at;
      };
      switch (event.type) {
        case EventType::kMpiIsend:
          starts(sends);
          [[fallthrough]];
        case EventType::kMpiSend:
          end(rank, number, i, i, true);
          break;
        case EventType::kMpiIsendComplete:
          ends(sends);
          break;
        case EventType::kMpiIrecvRequest:
          starts(posts);
          break;
        case EventType::kMpiIrecv:
          end(rank, number, ends(posts), i, false);
          break;
        case EventType::kMpiRecv:
          end(rank, number, i, i, false);
          break;
        case EventType::kMpiRequestCancelled:
          ends(posts);
          break;
        case EventType::kMpiRequestTest:
          if (!sends.contains(request) && !posts.contains(request))
            problem(where(number, i) + ": tests a request that is not open");
          break;
        case EventType::kMpiCollectiveBegin:
          if (++in_collective != 1) problem(where(number, i) + ": inside another");
          break;
        case EventType::kMpiCollectiveEnd:
          if (in_collective-- != 1) problem(where(number, i) + ": was not begun");
          collective(rank, event);
          break;
        case EventType::kMpiCollectiveRequest:
          starts(collectives);
          break;
        case EventType::kMpiCollectiveComplete:
          collective(rank, event, ends(collectives), number);
          break;
        default:
          break;
      }
    }
    if (!sends.empty() || !posts.empty() || !collectives.empty())
      problem("location " + std::to_string(number) + ": " +
              std::to_string(sends.size() + posts.size() + collectives.size()) +
              " requests are never complete");
    if (in_collective != 0) problem("location " + std::to_string(number) + ": in a collective");
  }

  void end(std::uint32_t rank, std::size_t location, std::size_t start, std::size_t index,
           bool sent) {
    const auto& events = trace_.locations[location].events;
    const Event& event = events[index];
    const auto comm = trace_.comms.find(event.reference);
    if (comm == trace_.comms.end())
      return problem(where(location, index) + ": its communicator is not defined");
    const std::uint32_t peer = world_rank(comm->second, rank, event.extra);
    const ChannelKey key{sent ? rank : peer, sent ? peer : rank, event.reference, event.value};
    Ends& ends = channels_[key];
    (sent ? ends.sent : ends.received)
        .push_back({events[start].time, location, start, event.mpi.bytes});
  }

  void match(const ChannelKey& key, Ends& ends) {
    const auto [source, destination, comm, tag] = key;
    const std::string name = "channel " + std::to_string(source) + " to " +
                             std::to_string(destination) + " in " +
                             trace_.comms.at(comm).name + " tag " + std::to_string(tag) + ": ";
    const auto in_order = [](const End& a, const End& b) {
      return std::tie(a.order, a.location, a.index) < std::tie(b.order, b.location, b.index);
    };
    std::sort(ends.sent.begin(), ends.sent.end(), in_order);
    std::sort(ends.received.begin(), ends.received.end(), in_order);
    if (ends.sent.size() != ends.received.size())
      problem(name + std::to_string(ends.sent.size()) + " sent, " +
              std::to_string(ends.received.size()) + " received");
    for (std::size_t i = 0; i < std::min(ends.sent.size(), ends.received.size()); ++i)
      if (ends.sent[i].bytes != ends.received[i].bytes)
        return problem(name + "message " + std::to_string(i) + " has " +
                       std::to_string(ends.sent[i].bytes) + " bytes sent, " +
                       std::to_string(ends.received[i].bytes) + " received");
  }

  // A non-blocking one has its place where it was started.
  void collective(std::uint32_t rank, const Event& event, std::size_t start = 0,
                  std::size_t location = 0) {
    const bool blocking = event.type == EventType::kMpiCollectiveEnd;
    const std::uint64_t order =
        blocking ? event.time : trace_.locations[location].events[start].time;
    collectives_[event.reference][rank].push_back({order, event.value});
  }

  using Sequence = std::vector<std::pair<std::uint64_t, std::int64_t>>;

  void compare(std::uint32_t ref, std::map<std::uint32_t, Sequence> members) {
    const auto comm = trace_.comms.find(ref);
    if (comm == trace_.comms.end()) return problem("collective in no communicator");
    const Group& group = trace_.groups.at(comm->second.group);
    if (group.type == OTF2_GROUP_TYPE_COMM_SELF) return;
    std::size_t size = group.members.size();
    if (comm->second.inter) size += trace_.groups.at(comm->second.other_group).members.size();
    if (members.size() != size)
      problem(comm->second.name + ": collectives on " + std::to_string(members.size()) +
              " of " + std::to_string(size) + " members");
    std::vector<std::int64_t> first;
    for (auto& [rank, sequence] : members) {
      std::sort(sequence.begin(), sequence.end());
      std::vector<std::int64_t> operations;
      for (const auto& [order, operation] : sequence) operations.push_back(operation);
      if (rank == members.begin()->first) first = operations;
      if (operations != first)
        problem(comm->second.name + ": rank " + std::to_string(rank) + " has " +
                std::to_string(operations.size()) + " collectives, or others, than rank " +
                std::to_string(members.begin()->first) + " with " +
                std::to_string(first.size()));
    }
  }

  const Trace& trace_;
  Problems problems_;
  std::map<std::uint32_t, std::uint32_t> rank_of_group_;
  std::map<ChannelKey, Ends> channels_;
  std::map<std::uint32_t, std::map<std::uint32_t, Sequence>> collectives_;
};

}  // namespace

Problems check_messages(const Trace& trace) { return Replay(trace).run(); }

}  // namespace refrain::test
