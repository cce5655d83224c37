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

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "exchange/bytes.h"

namespace refrain::writer {

// --- A set of numbers as ranges: messages of a channel, collectives of a communicator or
// iterations of a loop. Numbers are mostly added in order, so the ranges are few.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for message_plan.h and rank_cuts.h.
// Thread-safety: const access from any number of threads. Pure.
// Cost: add() O(1) in order, else O(ranges) now and then; contains() O(log ranges); memory
// 16 bytes a range.

class NumberRanges {
 public:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // one past the last
    bool operator==(const Range&) const = default;
  };

  NumberRanges() = default;
  NumberRanges(std::initializer_list<Range> ranges) {
    for (const Range& range : ranges) add(range.begin, range.end);
    normalize();
  }

  void add(std::uint64_t number) { add(number, number + 1); }
  void add(std::uint64_t begin, std::uint64_t end);
  // Must be called after add(), before any other function.
  void normalize();

  bool contains(std::uint64_t number) const noexcept;
  bool empty() const noexcept { return ranges_.empty(); }
  std::uint64_t count() const noexcept;
  const std::vector<Range>& ranges() const noexcept { return ranges_; }
  bool operator==(const NumberRanges& other) const noexcept {
    return ranges_ == other.ranges_;
  }

 private:
  std::vector<Range> ranges_;
  std::size_t compact_at_ = 64;
};

NumberRanges unite(const NumberRanges& a, const NumberRanges& b);
NumberRanges intersect(const NumberRanges& a, const NumberRanges& b);
// The part of [begin, end) that is not in `of`.
NumberRanges complement(const NumberRanges& of, std::uint64_t begin, std::uint64_t end);

void put(exchange::ByteWriter& out, const NumberRanges& ranges);
void take(exchange::ByteReader& in, NumberRanges& ranges);

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
