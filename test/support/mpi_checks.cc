#include "test/support/mpi_checks.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "test/support/files.h"

namespace refrain::test {
namespace {

std::string of_process(int rank, const Event& event) {
  return "rank " + std::to_string(rank) + ", " + event_name(event.type) + " at " +
         std::to_string(event.time);
}

std::set<std::string> read_local_calls() {
  std::set<std::string> names;
  std::istringstream table(read_file(data_file("tracer/mpi/semantics.tsv")));
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string name, role, stream;
    words >> name >> role >> stream;
    if (stream == "local" || stream == "convert") names.insert(name);
  }
  return names;
}

// Puts the messages of one process into the channels.
class MessageReader {
 public:
  MessageReader(const MpiProcesses& processes, int rank, Replay& into)
      : processes_(processes),
        rank_(rank),
        into_(into),
        reported_(into.problems, "message") {}

  void read() {
    find_cancelled();
    for (const Event* event : processes_.events(rank_)) {
      if (event->type == EventType::kMpiSend || event->type == EventType::kMpiIsend) {
        if (!withdrawn_.count(event)) send(*event);
      } else if (event->type == EventType::kMpiRecv) {
        receive(*event);
      } else if (event->type == EventType::kMpiIrecvRequest) {
        if (const Event* end = completion_of(*event)) receive(*end);
      }
    }
  }

 private:
  // Which sends were cancelled, and by which event each posted receive is complete.
  void find_cancelled() {
    std::map<std::uint64_t, const Event*> active;
    for (const Event* event : processes_.events(rank_)) {
      const bool begins =
          event->type == EventType::kMpiIsend || event->type == EventType::kMpiIrecvRequest;
      if (begins) active[event->request] = event;
      const auto begun = active.find(event->request);
      if (begins || begun == active.end()) {
        if (event->type == EventType::kMpiIrecv)
          reported_.add(of_process(rank_, *event) + " was not posted");
        continue;
      }
      if (event->type == EventType::kMpiRequestCancelled &&
          begun->second->type == EventType::kMpiIsend)
        withdrawn_.insert(begun->second);
      if (event->type == EventType::kMpiIrecv) completion_[begun->second] = event;
      if (event->type == EventType::kMpiRequestCancelled ||
          event->type == EventType::kMpiIrecv ||
          event->type == EventType::kMpiIsendComplete)
        active.erase(begun);
    }
  }

  const Event* completion_of(const Event& post) const {
    const auto found = completion_.find(&post);
    return found == completion_.end() ? nullptr : found->second;
  }

  void send(const Event& event) {
    const auto to = processes_.peer(event.reference, rank_, event.value);
    if (!to) return no_peer(event);
    into_.channels[{rank_, *to, event.reference, event.tag}].sends.push_back(
        {event.time, event.sent});
  }

  void receive(const Event& event) {
    const auto from = processes_.peer(event.reference, rank_, event.value);
    if (!from) return no_peer(event);
    into_.channels[{*from, rank_, event.reference, event.tag}].receives.push_back(
        {event.time, event.received});
  }

  void no_peer(const Event& event) {
    reported_.add(of_process(rank_, event) + ": communicator " +
                  std::to_string(event.reference) + " has no rank " +
                  std::to_string(event.value));
  }

  const MpiProcesses& processes_;
  const int rank_;
  Replay& into_;
  ProblemKind reported_;
  std::set<const Event*> withdrawn_;
  std::map<const Event*, const Event*> completion_;
};

EventType begin_of(EventType completion) {
  switch (completion) {
    case EventType::kMpiIsendComplete:
      return EventType::kMpiIsend;
    case EventType::kMpiIrecv:
      return EventType::kMpiIrecvRequest;
    case EventType::kMpiCollectiveComplete:
      return EventType::kMpiCollectiveRequest;
    default:
      return EventType::kTypes;
  }
}

void check_requests_of(const MpiProcesses& processes, int rank, ProblemKind& kind) {
  std::map<std::uint64_t, const Event*> active;
  for (const Event* event : processes.events(rank)) {
    const std::string what =
        of_process(rank, *event) + ", request " + std::to_string(event->request);
    const auto found = active.find(event->request);
    switch (event->type) {
      case EventType::kMpiIsend:
      case EventType::kMpiIrecvRequest:
      case EventType::kMpiCollectiveRequest:
        if (found != active.end()) kind.add(what + " is active already");
        active[event->request] = event;
        break;
      case EventType::kMpiIsendComplete:
      case EventType::kMpiIrecv:
      case EventType::kMpiCollectiveComplete:
      case EventType::kMpiRequestCancelled:
        if (found == active.end()) {
          kind.add(what + " is not active");
          break;
        }
        if (event->type != EventType::kMpiRequestCancelled &&
            found->second->type != begin_of(event->type))
          kind.add(what + " was begun by " + event_name(found->second->type));
        active.erase(found);
        break;
      case EventType::kMpiRequestTest:
        if (found == active.end()) kind.add(what + " is not active");
        break;
      default:
        break;
    }
  }
  for (const auto& [request, event] : active)
    kind.add(of_process(rank, *event) + ", request " + std::to_string(request) +
             " is never complete");
}

}  // namespace

bool is_local_call(const std::string& procedure) {
  static const std::set<std::string> kLocal = read_local_calls();
  return kLocal.contains(procedure) ||
         (procedure.ends_with("_c") &&
          kLocal.contains(procedure.substr(0, procedure.size() - 2)));
}

std::string text(const Channel& channel) {
  return std::to_string(channel.source) + " to " + std::to_string(channel.destination) +
         ", communicator " + std::to_string(channel.comm) + ", tag " +
         std::to_string(channel.tag);
}

std::size_t Replay::pairs() const {
  std::size_t result = 0;
  for (const auto& [channel, queue] : channels)
    result += std::min(queue.sends.size(), queue.receives.size());
  return result;
}

std::size_t Replay::unmatched() const {
  std::size_t result = 0;
  for (const auto& [channel, queue] : channels)
    result += queue.sends.size() + queue.receives.size();
  return result - 2 * pairs();
}

Replay replay(const Trace& trace) {
  Replay result;
  const MpiProcesses processes(trace);
  result.problems = processes.problems();
  for (int rank = 0; rank < processes.size(); ++rank)
    MessageReader(processes, rank, result).read();
  return result;
}

Problems check_messages(const Trace& trace) {
  const Replay replayed = replay(trace);
  Problems problems = replayed.problems;
  ProblemKind unmatched(problems, "unmatched"), lengths(problems, "lengths differ");
  for (const auto& [channel, queue] : replayed.channels) {
    if (queue.sends.size() != queue.receives.size())
      unmatched.add(text(channel) + ": " + std::to_string(queue.sends.size()) + " sends, " +
                    std::to_string(queue.receives.size()) + " receives");
    const std::size_t pairs = std::min(queue.sends.size(), queue.receives.size());
    for (std::size_t i = 0; i < pairs; ++i)
      if (queue.sends[i].bytes != queue.receives[i].bytes)
        lengths.add(text(channel) + ": message " + std::to_string(i) + " has " +
                    std::to_string(queue.sends[i].bytes) + " bytes sent, " +
                    std::to_string(queue.receives[i].bytes) + " received");
  }
  return problems;
}

Problems check_requests(const Trace& trace) {
  const MpiProcesses processes(trace);
  Problems problems = processes.problems();
  ProblemKind kind(problems, "request");
  for (int rank = 0; rank < processes.size(); ++rank)
    check_requests_of(processes, rank, kind);
  return problems;
}

Problems check_mpi(const Trace& trace) {
  Problems problems = check_messages(trace);
  append(problems, check_causality(trace));
  append(problems, check_collectives(trace));
  append(problems, check_requests(trace));
  return problems;
}

}  // namespace refrain::test
