#include "writer/agree/clock_repair.h"

#include <algorithm>
#include <map>
#include <utility>

#include "writer/agree/logical_clock.h"

namespace refrain::writer {
namespace {

using spool::JournalClockOffset;

// Interpolation rounds, here and in the reader.
constexpr std::uint64_t kRounding = 2;

// Distance of two points that define the rate of a clock beyond its offsets.
constexpr std::uint64_t kFar = std::uint64_t{1} << 32;

struct End {
  std::uint64_t ticks;
  std::uint32_t process;
};

// Calls for the two ends of each matched message of a channel, in order of their numbers.
template <typename Function>
void for_each_message(const ChannelTimes& sends, const ChannelTimes& receives,
                      std::uint32_t source, std::uint32_t destination, Function function) {
  ChannelTimes::Cursor send(sends);
  ChannelTimes::Cursor receive(receives);
  bool more = receive.next();
  while (more && send.next()) {
    while (more && receive.end().number < send.end().number) more = receive.next();
    if (!more || receive.end().number != send.end().number) continue;
    function(End{send.end().ticks, source}, End{receive.end().ticks, destination});
    more = receive.next();
  }
}

// All sends of a channel are those of one process, and so are its receives.
template <typename Function>
void for_each_message(const std::vector<MessageEnds>& processes, Function function) {
  std::map<Channel, std::uint32_t> receivers;
  for (std::uint32_t i = 0; i < processes.size(); ++i)
    for (const auto& [channel, times] : processes[i].receives) receivers[channel] = i;
  for (std::uint32_t i = 0; i < processes.size(); ++i)
    for (const auto& [channel, sends] : processes[i].sends) {
      const auto to = receivers.find(channel);
      if (to == receivers.end()) continue;
      for_each_message(sends, processes[to->second].receives.at(channel), i, to->second,
                       function);
    }
}

// The times at which a message begins or ends in a process, each once.
std::vector<std::uint64_t> moments_of(const MessageEnds& process) {
  std::vector<std::uint64_t> moments;
  for (const auto* side : {&process.sends, &process.receives})
    for (const auto& [channel, times] : *side)
      for (ChannelTimes::Cursor cursor(times); cursor.next();)
        moments.push_back(cursor.end().ticks);
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  return moments;
}

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from);
}

// The clock's offsets, with the correction added where it changes.
ClockMap corrected(const ClockMap& clock, const std::vector<std::uint64_t>& moments,
                   const std::vector<std::uint64_t>& given,
                   const std::vector<std::uint64_t>& times) {
  std::vector<JournalClockOffset> offsets;
  const std::uint64_t error =
      clock.offsets().empty() ? 0 : clock.offsets().front().error_ticks;
  const auto put = [&](std::uint64_t ticks, std::uint64_t global, std::uint64_t own_error) {
    offsets.push_back({ticks, distance(ticks, global), own_error});
  };
  auto measured = clock.offsets().begin();
  std::int64_t correction = 0;
  const auto put_measured = [&](std::uint64_t until) {
    for (; measured != clock.offsets().end() && measured->ticks < until; ++measured)
      put(measured->ticks,
          clock.to_global(measured->ticks) + static_cast<std::uint64_t>(correction),
          measured->error_ticks);
    if (measured != clock.offsets().end() && measured->ticks == until) ++measured;
  };
  // Beyond the outermost offsets readers extrapolate from the nearest two.
  const auto flat = [&](std::uint64_t ticks) {
    const bool bracketed = clock.offsets().size() > 1 &&
                           clock.offsets().front().ticks <= ticks &&
                           clock.offsets().back().ticks >= ticks;
    if (bracketed) return;
    put_measured(ticks);
    put(ticks, clock.to_global(ticks) + static_cast<std::uint64_t>(correction), error);
  };
  const auto correction_at = [&](std::size_t i) { return distance(given[i], times[i]); };
  if (!moments.empty()) {
    flat(moments.front() - std::min(moments.front(), kFar));
    flat(moments.front() - 1);
  }
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const std::int64_t here = correction_at(i);
    const std::int64_t next = i + 1 < moments.size() ? correction_at(i + 1) : here;
    if (here == correction && here == next) continue;
    put_measured(moments[i]);
    correction = here;
    put(moments[i], times[i], error);
  }
  if (!moments.empty()) {
    flat(moments.back() + 1);
    flat(moments.back() + kFar);
  }
  put_measured(~std::uint64_t{0});
  return ClockMap(std::move(offsets));
}

}  // namespace

JobClocks merge(JobClocks a, const JobClocks& b) {
  a.ends.insert(a.ends.end(), b.ends.begin(), b.ends.end());
  a.clocks.insert(a.clocks.end(), b.clocks.begin(), b.clocks.end());
  return a;
}

void put(exchange::ByteWriter& out, const JobClocks& job) {
  out.number(job.ends.size());
  for (const MessageEnds& ends : job.ends) put(out, ends);
  out.number(job.clocks.size());
  for (const ClockMap& clock : job.clocks) {
    out.number(clock.offsets().size());
    for (const JournalClockOffset& offset : clock.offsets()) {
      out.number(offset.ticks);
      out.signed_number(offset.offset_ticks);
      out.number(offset.error_ticks);
    }
  }
}

void take(exchange::ByteReader& in, JobClocks& job) {
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    take(in, job.ends.emplace_back());
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    std::vector<JournalClockOffset> offsets;
    for (std::size_t more = in.count(); more != 0 && in.ok(); --more) {
      const std::uint64_t ticks = in.number();
      const std::int64_t offset = in.signed_number();
      offsets.push_back({ticks, offset, in.number()});
    }
    job.clocks.emplace_back(std::move(offsets));
  }
}

std::vector<ClockMap> repair_clocks(const std::vector<MessageEnds>& processes,
                                    const std::vector<ClockMap>& clocks) {
  std::vector<std::vector<std::uint64_t>> moments;
  std::vector<std::vector<std::uint64_t>> given(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    moments.push_back(moments_of(processes[i]));
    for (const std::uint64_t ticks : moments[i])
      given[i].push_back(clocks[i].to_global(ticks));
  }
  const auto node = [&](const End& end) -> ClockNode {
    const auto& own = moments[end.process];
    const auto at = std::lower_bound(own.begin(), own.end(), end.ticks);
    return {end.process, static_cast<std::uint32_t>(at - own.begin())};
  };
  std::vector<ClockEdge> edges;
  for_each_message(processes, [&](const End& send, const End& receive) {
    if (send.process != receive.process) edges.push_back({node(send), node(receive)});
  });
  const LogicalClockResult result =
      correct_times(given, edges, 0, LogicalClockOptions{.latency = kRounding});
  std::vector<ClockMap> repaired;
  repaired.reserve(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i)
    repaired.push_back(corrected(clocks[i], moments[i], given[i], result.times[i]));
  return repaired;
}

}  // namespace refrain::writer
