#include "test/support/message_log.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "test/support/mpi_checks.h"

namespace refrain::test {
namespace {

void read_line(MessageLog& log, const std::string& line, const std::string& file) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  if (what == "C") {
    std::string name;
    words >> name;
    std::vector<int> members;
    for (int member; words >> member;) members.push_back(member);
    const auto known = log.members.emplace(name, members).first;
    if (name.empty() || known->second != members)
      throw std::runtime_error(file + ": communicator of two kinds: " + line);
    return;
  }
  LoggedChannel channel;
  LoggedMessage message;
  words >> channel.source >> channel.destination >> channel.comm >> channel.tag >>
      message.bytes >> message.number;
  if (!words || (what != "S" && what != "R"))
    throw std::runtime_error(file + ": not understood: " + line);
  LoggedMessages& messages = log.channels[channel];
  (what == "S" ? messages.sends : messages.receives).push_back(message);
}

std::string text(const LoggedChannel& channel) {
  return std::to_string(channel.source) + " to " + std::to_string(channel.destination) +
         ", " + channel.comm + ", tag " + std::to_string(channel.tag);
}

std::vector<LoggedMessage> in_order(std::vector<LoggedMessage> messages) {
  std::sort(
      messages.begin(), messages.end(),
      [](const LoggedMessage& a, const LoggedMessage& b) { return a.number < b.number; });
  return messages;
}

// The archive's communicator with this name in the log.
class Communicators {
 public:
  Communicators(const Trace& trace, const MessageLog& log) : trace_(trace) {
    const MpiProcesses processes(trace);
    for (const auto& [name, members] : log.members) {
      std::vector<std::uint32_t> candidates;
      for (const auto& [comm, definition] : trace.comms)
        if (!processes.between_groups(comm) && processes.members(comm, -1) == members)
          candidates.push_back(comm);
      choose(name, candidates);
    }
  }

  std::optional<std::uint32_t> of(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
  }

 private:
  void choose(const std::string& name, std::vector<std::uint32_t> candidates) {
    if (candidates.size() > 1)
      std::erase_if(candidates,
                    [&](std::uint32_t comm) { return trace_.comms.at(comm).name != name; });
    if (candidates.size() == 1) by_name_[name] = candidates.front();
  }

  const Trace& trace_;
  std::map<std::string, std::uint32_t> by_name_;
};

// The archive's ends must be messages of the log, in order; all of them, if it is full.
void compare_ends(const std::vector<MessageEnd>& ends,
                  const std::vector<LoggedMessage>& messages, Extent extent,
                  const std::string& name, ProblemKind& kind) {
  if (extent == Extent::kFull && ends.size() != messages.size())
    kind.add(name + ": " + std::to_string(messages.size()) + " by the log, " +
             std::to_string(ends.size()) + " in the archive");
  std::size_t next = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t expected = next;
    while (next < messages.size() && messages[next].bytes != ends[i].bytes &&
           extent == Extent::kReduced)
      ++next;
    if (next >= messages.size() || messages[next].bytes != ends[i].bytes) {
      kind.add(name + ": number " + std::to_string(i) + " of the archive, of " +
               std::to_string(ends[i].bytes) + " bytes, is no message of the log from " +
               std::to_string(expected) + " on");
      return;
    }
    ++next;
  }
}

}  // namespace

std::size_t MessageLog::sends() const {
  std::size_t result = 0;
  for (const auto& [channel, messages] : channels) result += messages.sends.size();
  return result;
}

MessageLog read_message_log(const std::filesystem::path& prefix, int ranks) {
  MessageLog log;
  log.ranks = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string name = prefix.string() + "." + std::to_string(rank);
    std::ifstream file(name);
    if (!file) throw std::runtime_error("cannot read " + name);
    for (std::string line; std::getline(file, line);) read_line(log, line, name);
  }
  if (log.members.empty()) throw std::runtime_error(prefix.string() + ": empty logs");
  return log;
}

Problems check_log(const MessageLog& log) {
  Problems problems;
  ProblemKind kind(problems, "log");
  for (const auto& [channel, messages] : log.channels) {
    if (!log.members.count(channel.comm)) kind.add(text(channel) + ": unknown members");
    for (std::size_t i = 0; i < messages.sends.size(); ++i)
      if (messages.sends[i].number != i)
        kind.add(text(channel) + ": send " + std::to_string(i) + " has number " +
                 std::to_string(messages.sends[i].number));
    if (messages.sends.size() != messages.receives.size())
      kind.add(text(channel) + ": " + std::to_string(messages.sends.size()) + " sent, " +
               std::to_string(messages.receives.size()) + " received");
    const std::vector<LoggedMessage> received = in_order(messages.receives);
    for (std::size_t i = 0; i < std::min(received.size(), messages.sends.size()); ++i)
      if (received[i].number != i || received[i].bytes != messages.sends[i].bytes)
        kind.add(text(channel) + ": message " + std::to_string(i) + " of " +
                 std::to_string(messages.sends[i].bytes) + " bytes was received as " +
                 std::to_string(received[i].number) + " of " +
                 std::to_string(received[i].bytes));
  }
  return problems;
}

Problems compare_with_log(const Trace& trace, const MessageLog& log, Extent extent) {
  const Replay replayed = replay(trace);
  const Communicators communicators(trace, log);
  Problems problems = replayed.problems;
  ProblemKind kind(problems, "log");
  std::map<Channel, bool> known;
  for (const auto& [channel, messages] : log.channels) {
    const auto comm = communicators.of(channel.comm);
    if (!comm) {
      kind.add(text(channel) + ": no such communicator, or more than one, is defined");
      continue;
    }
    const Channel where{channel.source, channel.destination, *comm,
                        static_cast<std::uint32_t>(channel.tag)};
    known[where] = true;
    const auto found = replayed.channels.find(where);
    const Queue queue = found == replayed.channels.end() ? Queue{} : found->second;
    compare_ends(queue.sends, messages.sends, extent, text(channel) + ", sent", kind);
    // Receives are in the archive in the order of posting, in the log in that of completion.
    compare_ends(queue.receives, in_order(messages.receives), extent,
                 text(channel) + ", received", kind);
  }
  for (const auto& [channel, queue] : replayed.channels)
    if (!known.count(channel)) kind.add(test::text(channel) + ": is not in the log");
  return problems;
}

}  // namespace refrain::test
