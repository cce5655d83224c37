// When the kept messages were sent and received, to count those that were received before
// they were sent, and to repair that.
//
// Place in the flow: ARCHITECTURE.md, stage 5; collected while it is decided which requests
// are written (mpi_job.h), merged over all processes in a tree. Thread-safety: plain
// values. Units: ticks, of rank 0's clock where they are compared.
// Cost: memory of 3 to 8 bytes an end, as differences from the one before, and about 150
// for each channel; a message is dropped once its ends are matched. Time: linear, except
// where the ends of a channel are not in the order of their numbers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "exchange/bytes.h"
#include "writer/messages/message_plan.h"

namespace refrain::writer {

class ClockMap;

// One side of a channel: when its messages were sent, or when they were received.
class ChannelTimes {
 public:
  struct End {
    std::uint64_t number = 0;  // of the message
    std::uint64_t ticks = 0;
    auto operator<=>(const End&) const = default;
  };

  // Iterates in order.
  class Cursor {
   public:
    explicit Cursor(const ChannelTimes& times) noexcept;
    // Returns true if there is one at end(). Not to be called again after it returned false.
    bool next() noexcept;
    const End& end() const noexcept { return end_; }

   private:
    exchange::ByteReader in_;
    std::uint64_t left_;
    End end_;
  };

  void add(End end);
  std::uint64_t count() const noexcept { return count_; }
  std::vector<End> ends() const;
  // In order of their numbers, in the ticks of `clock`.
  ChannelTimes sorted(const ClockMap& clock) const;

  // Both sorted.
  static ChannelTimes merge(const ChannelTimes& a, const ChannelTimes& b);

  friend void put(exchange::ByteWriter& out, const ChannelTimes& times);
  // Fails the reader unless they are sorted.
  friend void take(exchange::ByteReader& in, ChannelTimes& times);

 private:
  std::uint64_t count_ = 0;
  End last_;
  bool sorted_ = true;
  exchange::ByteWriter code_;
};

using TimesByChannel = std::map<Channel, ChannelTimes>;

// Of one location, in the order in which they happened; at most `most` are noted.
class MessageTimes {
 public:
  explicit MessageTimes(std::size_t most = 0) : most_(most) {}

  void sent(const Channel& channel, std::uint64_t number, std::uint64_t ticks) {
    if (sends_noted_++ < most_) sends_[channel].add({number, ticks});
  }
  void received(const Channel& channel, std::uint64_t number, std::uint64_t ticks) {
    if (receives_noted_++ < most_) receives_[channel].add({number, ticks});
  }

  const TimesByChannel& sends() const noexcept { return sends_; }
  const TimesByChannel& receives() const noexcept { return receives_; }

 private:
  std::size_t most_;
  std::size_t sends_noted_ = 0;
  std::size_t receives_noted_ = 0;
  TimesByChannel sends_;
  TimesByChannel receives_;
};

// Of one location or several, all of one clock, sorted.
struct MessageEnds {
  TimesByChannel sends;
  TimesByChannel receives;
};

// `clock`: the clock to convert to.
MessageEnds message_ends(const MessageTimes& times, const ClockMap& clock);
MessageEnds message_ends(const MessageEnds& ends, const ClockMap& clock);
// Locations of one process: both may have a channel.
MessageEnds merge(MessageEnds a, const MessageEnds& b);
void put(exchange::ByteWriter& out, const MessageEnds& ends);
void take(exchange::ByteReader& in, MessageEnds& ends);

// Of one process or several.
struct TimeSummary {
  std::uint64_t checked = 0;     // messages with both ends matched
  std::uint64_t violations = 0;  // of these, received before they were sent
  MessageEnds ends;              // unmatched ends
};

// `ends`: already of the common clock.
TimeSummary time_summary(MessageEnds ends);
TimeSummary merge(TimeSummary a, const TimeSummary& b);
void put(exchange::ByteWriter& out, const TimeSummary& summary);
void take(exchange::ByteReader& in, TimeSummary& summary);

}  // namespace refrain::writer
