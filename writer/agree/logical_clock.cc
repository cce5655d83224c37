#include "writer/agree/logical_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace refrain::writer {
namespace {

using Times = std::vector<std::vector<std::uint64_t>>;

// Numbers all events and hubs, with the edges that leave each.
class Graph {
 public:
  Graph(const Times& times, const std::vector<ClockEdge>& edges, std::uint32_t hubs) {
    for (const auto& location : times) {
      first_.push_back(nodes_);
      nodes_ += location.size();
    }
    first_.push_back(nodes_);
    nodes_ += hubs;
    begin_.assign(nodes_ + 1, 0);
    waits_.assign(nodes_, 0);
    for (const ClockEdge& edge : edges) ++begin_[number(edge.from) + 1];
    for (std::size_t i = 0; i < nodes_; ++i) begin_[i + 1] += begin_[i];
    targets_.resize(edges.size());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (const ClockEdge& edge : edges) {
      targets_[next[number(edge.from)]++] = number(edge.to);
      ++waits_[number(edge.to)];
    }
  }

  std::size_t nodes() const { return nodes_; }
  std::size_t hubs_from() const { return first_.back(); }
  std::size_t first(std::size_t location) const { return first_[location]; }
  std::uint32_t& waits(std::size_t node) { return waits_[node]; }
  template <typename Function>
  void for_each_target(std::size_t node, Function function) const {
    for (std::size_t i = begin_[node]; i < begin_[node + 1]; ++i) function(targets_[i]);
  }

 private:
  std::size_t number(const ClockNode& node) const {
    return node.location == ClockEdge::kHub ? first_.back() + node.event
                                            : first_[node.location] + node.event;
  }

  std::size_t nodes_ = 0;
  std::vector<std::size_t> first_;  // of each location; then of the hubs
  std::vector<std::size_t> begin_;  // of each node's targets
  std::vector<std::size_t> targets_;
  std::vector<std::uint32_t> waits_;  // causes without a time yet
};

class Correction {
 public:
  Correction(const Times& times, const std::vector<ClockEdge>& edges, std::uint32_t hubs,
             const LogicalClockOptions& options)
      : given_(times),
        options_(options),
        graph_(times, edges, hubs),
        earliest_(graph_.nodes(), 0),
        done_(times.size(), 0),
        leaps_(times.size()) {
    result_.times.resize(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) result_.times[i].resize(times[i].size());
  }

  LogicalClockResult run() {
    forward();
    for (std::size_t i = 0; i < given_.size(); ++i) backward(i);
    return std::move(result_);
  }

 private:
  struct Leap {
    std::size_t event;
    std::uint64_t by;
  };

  // Events get their times when all their causes have one. A location whose next event
  // waits is continued by the cause.
  void forward() {
    for (std::size_t i = 0; i < given_.size(); ++i) ready_.push_back(i);
    for (;;) {
      while (!ready_.empty()) {
        const std::size_t location = ready_.back();
        ready_.pop_back();
        advance(location);
      }
      // A cycle: the earliest waiting event is released.
      std::size_t stuck = given_.size();
      for (std::size_t i = 0; i < given_.size(); ++i)
        if (done_[i] < given_[i].size() &&
            (stuck == given_.size() || given_[i][done_[i]] < given_[stuck][done_[stuck]]))
          stuck = i;
      if (stuck == given_.size()) return;
      ++result_.cyclic;
      graph_.waits(graph_.first(stuck) + done_[stuck]) = 0;
      ready_.push_back(stuck);
    }
  }

  void advance(std::size_t location) {
    const auto& given = given_[location];
    auto& corrected = result_.times[location];
    for (std::size_t& i = done_[location]; i < given.size(); ++i) {
      const std::size_t node = graph_.first(location) + i;
      if (graph_.waits(node) != 0) return;
      std::uint64_t time = given[i];
      if (i > 0) {
        const auto since = static_cast<double>(given[i] - given[i - 1]);
        time = std::max(
            time, corrected[i - 1] + static_cast<std::uint64_t>(options_.gamma * since));
      }
      if (earliest_[node] > time) {
        leaps_[location].push_back({i, earliest_[node] - time});
        time = earliest_[node];
      }
      if (earliest_[node] > given[i]) ++result_.violations;
      corrected[i] = time;
      propagate(node, time);
    }
  }

  void propagate(std::size_t node, std::uint64_t time) {
    graph_.for_each_target(node, [&](std::size_t target) {
      const bool hub = target >= graph_.hubs_from();
      earliest_[target] = std::max(earliest_[target], hub ? time : time + options_.latency);
      std::uint32_t& waits = graph_.waits(target);
      if (waits == 0) return;  // released before
      --waits;
      if (waits != 0) return;
      if (hub) return propagate(target, earliest_[target]);
      const auto next = std::upper_bound(first_of_.begin(), first_of_.end(), target);
      ready_.push_back(static_cast<std::size_t>(next - first_of_.begin()) - 1);
    });
  }

  // Events before a leap by d are moved as well: by d at the leap, by nothing `spread` d
  // before it, not beyond what waits for them elsewhere, and without squeezing the time
  // between two events by more than gamma.
  void backward(std::size_t location) {
    auto& times = result_.times[location];
    for (auto leap = leaps_[location].rbegin(); leap != leaps_[location].rend(); ++leap) {
      const auto window = options_.spread * static_cast<double>(leap->by);
      const std::uint64_t at = times[leap->event] - leap->by;  // without the leap
      std::uint64_t next_was = at;
      for (std::size_t i = leap->event; i-- > 0;) {
        const auto before = static_cast<double>(at - std::min(at, times[i]));
        if (before >= window) break;
        const auto shift = static_cast<std::uint64_t>(static_cast<double>(leap->by) *
                                                      (1 - before / window));
        const auto apart = static_cast<std::uint64_t>(
            std::ceil(options_.gamma * static_cast<double>(next_was - times[i])));
        next_was = times[i];
        const std::uint64_t limit = std::min(times[i + 1] - std::min(times[i + 1], apart),
                                             latest(graph_.first(location) + i));
        times[i] = std::max(times[i], std::min(times[i] + shift, limit));
      }
    }
  }

  // The latest time that a node may have without moving its effects.
  std::uint64_t latest(std::size_t node) const {
    std::uint64_t latest = std::numeric_limits<std::uint64_t>::max();
    graph_.for_each_target(node, [&](std::size_t target) {
      if (target >= graph_.hubs_from()) {
        latest = std::min(latest, this->latest(target));
        return;
      }
      const std::uint64_t time = time_of(target);
      latest = std::min(latest, time - std::min(time, options_.latency));
    });
    return latest;
  }

  std::uint64_t time_of(std::size_t node) const {
    const auto next = std::upper_bound(first_of_.begin(), first_of_.end(), node);
    const auto location = static_cast<std::size_t>(next - first_of_.begin()) - 1;
    return result_.times[location][node - first_of_[location]];
  }

  std::vector<std::size_t> first_numbers() const {
    std::vector<std::size_t> all;
    all.reserve(given_.size());
    for (std::size_t i = 0; i < given_.size(); ++i) all.push_back(graph_.first(i));
    return all;
  }

  const Times& given_;
  const LogicalClockOptions& options_;
  Graph graph_;
  const std::vector<std::size_t> first_of_ = first_numbers();
  std::vector<std::uint64_t> earliest_;  // by a node's causes
  std::vector<std::size_t> done_;        // events of a location that have their time
  std::vector<std::size_t> ready_;       // locations to continue with
  std::vector<std::vector<Leap>> leaps_;
  LogicalClockResult result_;
};

}  // namespace

LogicalClockResult correct_times(const Times& times, const std::vector<ClockEdge>& edges,
                                 std::uint32_t hubs, const LogicalClockOptions& options) {
  return Correction(times, edges, hubs, options).run();
}

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
