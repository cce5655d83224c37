#include "writer/otf2/message_plan.h"

#include <utility>

namespace refrain::writer {

std::size_t ChannelHash::operator()(const Channel& channel) const noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t hash = channel.comm;
  for (const std::uint64_t part :
       {std::uint64_t{channel.source} << 32 | channel.destination,
        std::uint64_t{channel.tag}}) {
    hash = (hash ^ part) * kOdd;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

void add_location(MessageSummary& process, MessageLog& log) {
  for (auto& [channel, numbers] : log.sent) {
    numbers.normalize();
    NumberRanges& known = process.channels[channel].sent;
    known = unite(known, numbers);
  }
  for (auto& [channel, numbers] : log.received) {
    numbers.normalize();
    NumberRanges& known = process.channels[channel].received;
    known = unite(known, numbers);
  }
  for (auto& [comm, numbers] : log.collectives) {
    numbers.normalize();
    MessageSummary::Members& known = process.collectives[comm];
    known.count = 1;
    known.common = unite(known.common, numbers);
  }
}

MessageSummary merge(const MessageSummary& a, const MessageSummary& b) {
  MessageSummary out = a;
  for (const auto& [channel, ends] : b.channels) {
    MessageSummary::Ends& known = out.channels[channel];
    known.sent = unite(known.sent, ends.sent);
    known.received = unite(known.received, ends.received);
  }
  for (const auto& [comm, members] : b.collectives) {
    const auto [at, is_new] = out.collectives.try_emplace(comm, members);
    if (is_new) continue;
    at->second.count += members.count;
    at->second.common = intersect(at->second.common, members.common);
  }
  return out;
}

bool MessagePlan::keeps(const Channel& channel, std::uint64_t number) const noexcept {
  const auto found = channels.find(channel);
  return found != channels.end() && found->second.contains(number);
}

bool MessagePlan::keeps_collective(std::uint64_t comm,
                                   std::uint64_t number) const noexcept {
  const auto found = collectives.find(comm);
  return found != collectives.end() && found->second.contains(number);
}

MessagePlan plan_messages(const MessageSummary& all,
                          const std::unordered_map<std::uint64_t, std::uint64_t>& members) {
  MessagePlan plan;
  for (const auto& [channel, ends] : all.channels) {
    NumberRanges kept = intersect(ends.sent, ends.received);
    if (!kept.empty()) plan.channels.emplace(channel, std::move(kept));
  }
  for (const auto& [comm, known] : all.collectives) {
    const auto size = members.find(comm);
    if (size != members.end() && size->second == known.count)
      plan.collectives.emplace(comm, known.common);
  }
  return plan;
}

}  // namespace refrain::writer
