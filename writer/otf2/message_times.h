// When the messages that are kept were sent and received, to count those that were received
// before they were sent.
//
// Place in the flow: ARCHITECTURE.md, step 7; collected while it is decided which requests
// are written (mpi_job.h), put together over all processes in a tree. Thread-safety: plain
// values. Units: ticks, of rank 0's clock where they are compared. Cost: 48 bytes an end; a
// message whose ends have met is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "writer/exchange/bytes.h"
#include "writer/otf2/message_plan.h"

namespace refrain::writer {

// Of one location; only so many are noted.
struct MessageTimes {
  struct Entry {
    Channel channel;
    std::uint64_t number = 0;
    std::uint64_t ticks = 0;
  };
  std::size_t most = 0;  // entries of each kind
  std::vector<Entry> sends;
  std::vector<Entry> receives;

  void sent(const Channel& channel, std::uint64_t number, std::uint64_t ticks) {
    if (sends.size() < most) sends.push_back({channel, number, ticks});
  }
  void received(const Channel& channel, std::uint64_t number, std::uint64_t ticks) {
    if (receives.size() < most) receives.push_back({channel, number, ticks});
  }
};

// Of one location or several.
struct TimeSummary {
  std::uint64_t checked = 0;               // messages of which both ends have met
  std::uint64_t violations = 0;            // of these, received before they were sent
  std::vector<MessageTimes::Entry> sends;  // others, by channel and number
  std::vector<MessageTimes::Entry> receives;
};

// `times`: of the common clock already.
TimeSummary time_summary(MessageTimes times);
void put(ByteWriter& out, const std::vector<MessageTimes::Entry>& entries);
void take(ByteReader& in, std::vector<MessageTimes::Entry>& entries);

TimeSummary merge(TimeSummary a, const TimeSummary& b);
void put(ByteWriter& out, const TimeSummary& summary);
void take(ByteReader& in, TimeSummary& summary);

}  // namespace refrain::writer
