// Which message and collective records an archive may have: those whose other ends it has,
// too.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between the plan of the gaps and the writing.
// Each location reports the numbers of what it would write (a dry run of location_writer.h
// collects them); these are merged by process, then pairwise over all processes, in any
// order; what all ends have is kept.
//   - A message is kept if its sender's and its receiver's record are both there, identified
//     by channel and number.
//   - A collective is kept if all members of its communicator have it, identified by its number.
//
// Thread-safety: pure; a MessagePlan is const after plan_messages().
// Cost: memory for each channel and each interval of numbers without a hole, about 100
// bytes a channel and 16 an interval, none for a message. A merge is linear in both sides.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

#include "exchange/bytes.h"
#include "writer/messages/number_ranges.h"

namespace refrain::writer {

// What MPI delivers in order. Ranks are those in MPI_COMM_WORLD.
struct Channel {
  std::uint64_t comm = 0;  // identity
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t tag = 0;

  auto operator<=>(const Channel&) const = default;
};

struct ChannelHash {
  std::size_t operator()(const Channel& channel) const noexcept;
};

// What one location would write.
struct MessageLog {
  std::unordered_map<Channel, NumberRanges, ChannelHash> sent;
  std::unordered_map<Channel, NumberRanges, ChannelHash> received;
  std::unordered_map<std::uint64_t, NumberRanges> collectives;  // by communicator
};

// What one process or several would write.
struct MessageSummary {
  struct Ends {
    NumberRanges sent;
    NumberRanges received;
    bool operator==(const Ends&) const = default;
  };
  struct Members {
    std::uint64_t count = 0;
    NumberRanges common;  // what all of them have
    bool operator==(const Members&) const = default;
  };
  std::map<Channel, Ends> channels;
  std::map<std::uint64_t, Members> collectives;

  bool operator==(const MessageSummary&) const = default;
};

// Adds a location's log to its process, before any merge.
void add_location(MessageSummary& process, MessageLog& log);
// Associative and commutative: processes may be merged in a tree.
MessageSummary merge(MessageSummary a, const MessageSummary& b);
void put(exchange::ByteWriter& out, const MessageSummary& summary);
void take(exchange::ByteReader& in, MessageSummary& summary);

struct MessagePlan {
  std::unordered_map<Channel, NumberRanges, ChannelHash> channels;
  std::unordered_map<std::uint64_t, NumberRanges> collectives;

  bool keeps(const Channel& channel, std::uint64_t number) const noexcept;
  bool keeps_collective(std::uint64_t comm, std::uint64_t number) const noexcept;
  bool operator==(const MessagePlan&) const = default;
};
void put(exchange::ByteWriter& out, const MessagePlan& plan);
void take(exchange::ByteReader& in, MessagePlan& plan);

// `members`: number of processes in each communicator, by identity.
MessagePlan plan_messages(const MessageSummary& all,
                          const std::unordered_map<std::uint64_t, std::uint64_t>& members);

}  // namespace refrain::writer
