#include "waits/paths/sweep.h"

#include <algorithm>
#include <queue>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace refrain::waits::paths {
namespace {

void add(std::vector<Ticks>& row, PathId path, Ticks ticks) {
  if (path >= row.size()) row.resize(std::size_t{path} + 1);
  row[path] += ticks;
}

}  // namespace

// Its part before `time_`. The path comes to the midst of a segment only where an effect lies before its cause.
void CriticalPath::follow(const Segment& segment) {
  followed_.clear();
  if (time_ <= segment.begin) return;
  const Ticks whole = segment.end - segment.begin;
  const Ticks part = std::min(time_, segment.end) - segment.begin;
  Ticks all = 0, taken = 0;
  for (const PathTime& each : segment.times) {
    all += each.ticks;
    followed_.push_back({each.path, share_of(each.ticks, part, whole)});
    taken += followed_.back().ticks;
  }
  const Ticks wanted = share_of(all, part, whole);
  if (taken < wanted)
    std::ranges::max_element(followed_, {}, &PathTime::ticks)->ticks += wanted - taken;
  for (const PathTime& each : followed_) add(times_[current_], each.path, each.ticks);
}

void CriticalPath::segment(const Segment& segment) {
  if (segment.location >= latest_.size()) return;
  Segment& latest = latest_[segment.location];
  latest.begin = segment.begin;
  latest.end = segment.end;
  latest.times = segment.times;
  for (PathTime& each : latest.times) each.path = PathId(each.path & ~kInGap);
  if (segment.location == current_) follow(latest);
}

bool CriticalPath::wait(const Wait& wait) {
  if (wait.location != current_ || wait.causer >= latest_.size() || until_ < wait.until)
    return false;
  if (time_ < wait.until) {
    // Nothing of the location is on the path.
    for (const PathTime& each : followed_) times_[current_][each.path] -= each.ticks;
    current_ = wait.causer;
    until_ = wait.point;
    follow(latest_[current_]);
    return true;
  }
  Ticks waited = 0;
  if (wait.kind != WaitKind::kFork) {
    const Ticks wanted = wait.until - wait.enter;
    const auto drop = [&](PathTime& from) {
      const Ticks dropped = std::min(wanted - waited, from.ticks);
      from.ticks -= dropped;
      times_[current_][from.path] -= dropped;
      waited += dropped;
    };
    const auto own = std::ranges::find(followed_, wait.path, &PathTime::path);
    if (own != followed_.end()) drop(*own);
    if (waited == 0) return false;
    // What ran inside of the call, of which the segment is then: Replay::pop().
    for (PathTime& each : followed_) drop(each);
  }
  current_ = wait.causer;
  time_ = wait.enter + waited;
  until_ = wait.point > wait.until ? wait.point : time_;
  follow(latest_[current_]);
  return true;
}

// What later waits of others have charged to this one.
DelayCosts::ByKind DelayCosts::charged_to(const Wait& wait) {
  ByKind sum{};
  if (wait.location >= charged_.size()) return sum;
  std::vector<Charged>& open = charged_[wait.location];
  std::erase_if(open, [&](const Charged& each) { return each.since >= wait.enter; });
  for (const Charged& each : open) {
    if (each.before <= wait.enter) continue;
    for (std::size_t kind = 0; kind < kDelayKinds; ++kind)
      sum[kind] += each.rates[kind] * static_cast<double>(wait.ticks);
  }
  return sum;
}

void DelayCosts::wait(const Wait& wait, bool bounded) {
  if (wait.causer >= costs_.size()) return;
  ByKind rates = charged_to(wait);
  double whole = static_cast<double>(wait.waited);
  for (const PathTime& each : wait.excess) whole += static_cast<double>(each.ticks);
  if (whole <= 0) return;
  for (double& each : rates) each /= whole;
  const bool message =
      wait.kind == WaitKind::kLateSender || wait.kind == WaitKind::kLateReceiver;
  double rate = static_cast<double>(wait.ticks) / whole;
  if (message && !wait.clocks_disagree) rate = std::min(rate, 1.0);
  const auto kind = static_cast<std::size_t>(wait.kind);
  const bool named = kind < kDelayKinds;
  std::vector<Cost>& row = costs_[wait.causer];
  for (const PathTime& each : wait.excess) {
    if (each.path >= row.size()) row.resize(std::size_t{each.path} + 1);
    Cost& cost = row[each.path];
    const auto ticks = static_cast<double>(each.ticks);
    if (named) {
      cost.short_term[kind] += rate * ticks;
      causes_.add(wait, each.path, rate * ticks);
    }
    for (std::size_t other = 0; other < kDelayKinds; ++other)
      cost.long_term[other] += rates[other] * ticks;
  }
  if (wait.waited == 0) return;
  if (named) rates[kind] += rate;
  std::vector<Charged>& open = charged_[wait.causer];
  const Ticks before = bounded ? wait.point : ~Ticks{0};
  const auto same = std::ranges::find_if(open, [&](const Charged& each) {
    return each.since == wait.since && each.before == before;
  });
  Charged& charged =
      same != open.end()
          ? *same
          : open.emplace_back(Charged{.since = wait.since, .before = before, .rates = {}});
  for (std::size_t other = 0; other < kDelayKinds; ++other)
    charged.rates[other] += rates[other];
}

}  // namespace refrain::waits::paths

namespace refrain::waits::paths {
namespace {

class Sweep {
 public:
  Sweep(std::size_t locations, LocationId location, Ticks end)
      : critical_(locations, location, end), costs_(locations) {}

  base::Result<PathResult> run(Records& file) {
    std::string_view record;
    RecordType type{};
    Segment segment;
    Wait wait;
    PathResult result;
    while (file.previous(record)) {
      if (!decode(record, type, segment, wait))
        return base::Failure{"a temporary file is damaged"};
      if (type == RecordType::kWait) {
        keep(wait);
        continue;
      }
      if (!segment.last) hand_out(segment.end);
      critical_.segment(segment);
    }
    while (!order_.empty()) next();
    if (!file.error().empty()) return base::Failure{file.error()};
    result.critical = critical_.take();
    result.delays = costs_.take();
    result.causes = costs_.causes().list();
    return result;
  }

 private:
  static constexpr std::uint32_t kMaxBehind = 4096;

  struct Place {
    Ticks until = 0;
    std::uint64_t number = 0;  // in the order of reading
    std::uint64_t turn = 0;    // of those that are deferred at another one's place
    // What ends later comes first; of equal ones what was written later.
    bool operator<(const Place& other) const {
      return std::tie(until, other.number, other.turn) <
             std::tie(other.until, number, turn);
    }
  };
  struct Kept {
    Wait wait;
    std::uint64_t number = 0;
    Place place;
    std::uint32_t behind = kNone;  // deferred until that one is handed out
    bool deferred = false;
    bool followed = false;  // by the critical path, while it was deferred
  };
  // By location, time there, and number in kept_.
  using ByTime = std::set<std::tuple<std::uint32_t, Ticks, std::uint32_t>>;

  void keep(Wait& wait) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(kept_.size()));
      kept_.emplace_back();
    }
    const std::uint32_t at = free_.back();
    free_.pop_back();
    Kept& kept = kept_[at];
    std::swap(kept.wait, wait);
    kept.number = number_++;
    kept.place = {kept.wait.until, kept.number, 0};
    kept.behind = kNone;
    kept.deferred = kept.followed = false;
    order_.push({kept.place, at});
    // That which is read first was written last.
    if (number_ == 1) disagree_ = kept.wait.clocks_disagree;
    if (kept.wait.known_late) known_late_.emplace(kept.wait.location, kept.wait.enter, at);
    if (!disagree_) return;
    if (kept.wait.point > kept.wait.until)
      late_.emplace(kept.wait.causer, kept.wait.point, at);
  }

  // Those that end later: at the same time, the segment may be that of the call that waited.
  void hand_out(Ticks end) {
    while (!order_.empty() && order_.top().first.until > end) next();
  }

  void next() {
    const std::uint32_t at = order_.top().second;
    order_.pop();
    Kept& kept = kept_[at];
    if (!kept.deferred) follow(kept.wait);
    if (disagree_ && defer(at)) return;
    complete(at);
    costs_.wait(kept.wait, !deferred_.empty());
    free_.push_back(at);
  }

  // Returns true if a wait is to come that charges what the location did after this one's enter.
  bool defer(std::uint32_t at) {
    Kept& kept = kept_[at];
    const Wait& wait = kept.wait;
    kept.behind = kNone;
    if (late_.empty()) return false;
    const auto first = late_.upper_bound({wait.location, wait.enter, kNone});
    if (first == late_.end() || std::get<0>(*first) != wait.location) return false;
    const std::uint32_t other = std::get<2>(*first);
    if (leads_to(other, at)) return false;  // each is said to have caused the other
    kept.behind = other;
    kept.place = kept_[other].place;
    kept.place.turn = ++turn_;
    order_.push({kept.place, at});
    if (kept.deferred) return true;
    kept.deferred = true;
    late_.emplace(wait.causer, wait.point, at);
    deferred_.emplace(wait.location, wait.until, at);
    return true;
  }

  // By those that are behind each other; a line that is too long is taken for a circle.
  bool leads_to(std::uint32_t from, std::uint32_t to) const {
    for (std::uint32_t step = 0; step < kMaxBehind && from != kNone; ++step) {
      if (from == to) return true;
      from = kept_[from].behind;
    }
    return from != kNone;
  }

  // It is handed out. What its causer had waited itself may not have been known when it was written.
  void complete(std::uint32_t at) {
    Kept& kept = kept_[at];
    Wait& wait = kept.wait;
    if (kept.deferred) deferred_.erase({wait.location, wait.until, at});
    if (kept.deferred || wait.point > wait.until)
      late_.erase({wait.causer, wait.point, at});
    if (wait.known_late) known_late_.erase({wait.location, wait.enter, at});
    for (auto each = known_late_.upper_bound({wait.causer, wait.since, kNone});
         each != known_late_.end() && std::get<0>(*each) == wait.causer &&
         std::get<1>(*each) < wait.point;
         ++each) {
      const Kept& caused = kept_[std::get<2>(*each)];
      if (caused.number > kept.number) continue;
      wait.waited += caused.wait.ticks;
      const auto path = std::ranges::find(wait.excess, caused.wait.path, &PathTime::path);
      if (path != wait.excess.end())
        path->ticks -= std::min(path->ticks, caused.wait.ticks);
    }
  }

  void follow(const Wait& wait) {
    bool followed = critical_.wait(wait);
    while (followed && !deferred_.empty()) {
      followed = false;
      auto before =
          deferred_.upper_bound({critical_.location(), critical_.position(), kNone});
      while (before != deferred_.begin() && !followed) {
        --before;
        if (std::get<0>(*before) != critical_.location()) break;
        Kept& kept = kept_[std::get<2>(*before)];
        followed = !std::exchange(kept.followed, true) && critical_.wait(kept.wait);
      }
    }
  }

  CriticalPath critical_;
  DelayCosts costs_;
  std::vector<Kept> kept_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<std::pair<Place, std::uint32_t>> order_;
  std::uint64_t number_ = 0, turn_ = 0;
  ByTime known_late_;  // by location and enter
  // Where clocks disagree:
  bool disagree_ = false;
  ByTime late_;      // by causer and its point: for whose turn others are to wait
  ByTime deferred_;  // by location and end: that do
};

}  // namespace

base::Result<PathResult> sweep(Records& file, std::size_t locations, LocationId location,
                               Ticks end) {
  return Sweep(locations, location, end).run(file);
}

// False: there is no record further.
bool PathPart::read(bool& is_segment) {
  if (has_segment_) return is_segment = true;
  if (!records_.has_next()) return false;
  RecordType type{};
  if (!decode(records_.record(), type, segment_, wait_)) return false;
  is_segment = has_segment_ = type == RecordType::kSegment;
  if (!is_segment) {
    waiting_.push_back({wait_, records_.place()});
    std::push_heap(waiting_.begin(), waiting_.end());
  }
  records_.pop();
  return true;
}

// Those that end later. Returns true if the path leaves the own locations.
bool PathPart::take_waits(Ticks end, PathTurn& to) {
  while (!waiting_.empty() && waiting_.front().wait.until > end) {
    std::pop_heap(waiting_.begin(), waiting_.end());
    const Waiting waiting = std::move(waiting_.back());
    waiting_.pop_back();
    if (!path_.wait(waiting.wait) || owns_(path_.location())) continue;
    to = {path_.location(), path_.position(), waiting.wait.until, waiting.place, false};
    return true;
  }
  return false;
}

base::Result<PathTurn> PathPart::follow(const PathTurn& turn) {
  bool is_segment = false;
  while (read(is_segment)) {
    if (!is_segment) continue;
    if (segment_.end < turn.until && !segment_.last) break;
    if (turn.until == ~Ticks{0}) break;
    path_.segment(segment_);
    has_segment_ = false;
  }
  Waiting before;
  before.wait.until = turn.until;
  before.place = turn.place;
  while (!waiting_.empty() && !(waiting_.front() < before)) {
    std::pop_heap(waiting_.begin(), waiting_.end());
    waiting_.pop_back();
  }
  path_.go_on(turn.location, turn.time);
  PathTurn next;
  while (read(is_segment)) {
    if (!is_segment) continue;
    if (!segment_.last && take_waits(segment_.end, next)) return next;
    path_.segment(segment_);
    has_segment_ = false;
  }
  if (records_.has_next()) return base::Failure{"a temporary file is damaged"};
  const bool left = [&] {
    while (!waiting_.empty()) {
      const Ticks until = waiting_.front().wait.until;
      if (take_waits(until == 0 ? 0 : until - 1, next)) return true;
      if (until == 0) waiting_.clear();
    }
    return false;
  }();
  next.ended = !left;
  return next;
}

}  // namespace refrain::waits::paths
