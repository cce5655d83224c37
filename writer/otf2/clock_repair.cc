#include "writer/otf2/clock_repair.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "writer/clocks/logical_clock.h"

namespace refrain::writer {
namespace {

using Entry = MessageTimes::Entry;
using spool::JournalClockOffset;

// Interpolation rounds, here and in the reader.
constexpr std::uint64_t kRounding = 2;

// Two points so far apart say how a clock goes on.
constexpr std::uint64_t kFar = std::uint64_t{1} << 32;

struct End {
  const Entry* entry;
  std::uint32_t process;
};

bool before(const Entry& a, const Entry& b) {
  return std::tie(a.channel, a.number) < std::tie(b.channel, b.number);
}

template <typename Function>
void for_each_message(const std::vector<MessageEnds>& processes, Function function) {
  std::vector<End> sends;
  std::vector<End> receives;
  for (std::uint32_t i = 0; i < processes.size(); ++i) {
    for (const Entry& entry : processes[i].sends) sends.push_back({&entry, i});
    for (const Entry& entry : processes[i].receives) receives.push_back({&entry, i});
  }
  const auto by_message = [](const End& a, const End& b) {
    return before(*a.entry, *b.entry);
  };
  std::sort(sends.begin(), sends.end(), by_message);
  std::sort(receives.begin(), receives.end(), by_message);
  auto receive = receives.begin();
  for (const End& send : sends) {
    while (receive != receives.end() && by_message(*receive, send)) ++receive;
    if (receive == receives.end()) return;
    if (!by_message(send, *receive)) function(send, *receive);
  }
}

// The moments of a process at which a message begins or ends, each once.
std::vector<std::uint64_t> moments_of(const MessageEnds& process) {
  std::vector<std::uint64_t> moments;
  for (const auto* entries : {&process.sends, &process.receives})
    for (const Entry& entry : *entries) moments.push_back(entry.ticks);
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  return moments;
}

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from);
}

// The clock's offsets and, where it changes, the correction on top of them.
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
  // Beyond the outermost offsets readers go on as between the nearest two.
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

void put(ByteWriter& out, const JobClocks& job) {
  out.number(job.ends.size());
  for (const MessageEnds& ends : job.ends) {
    put(out, ends.sends);
    put(out, ends.receives);
  }
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

void take(ByteReader& in, JobClocks& job) {
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    MessageEnds& ends = job.ends.emplace_back();
    take(in, ends.sends);
    take(in, ends.receives);
  }
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
    const auto at = std::lower_bound(own.begin(), own.end(), end.entry->ticks);
    return {end.process, static_cast<std::uint32_t>(at - own.begin())};
  };
  std::vector<ClockEdge> edges;
  for_each_message(processes, [&](const End& send, const End& receive) {
    if (send.process != receive.process) edges.push_back({node(send), node(receive)});
  });
  const LogicalClockResult result =
      correct_times(given, edges, 0, LogicalClockOptions{.latency = kRounding});
  std::vector<ClockMap> repaired;
  for (std::size_t i = 0; i < processes.size(); ++i)
    repaired.push_back(corrected(clocks[i], moments[i], given[i], result.times[i]));
  return repaired;
}

}  // namespace refrain::writer
