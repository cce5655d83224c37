#include "writer/agree/logical_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace refrain::writer
