// The backward pass compared with the definition: each wait charged by itself, in the order in which what is drawn has happened.
#include "waits/paths/sweep.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "waits/paths/records.h"

namespace refrain::waits::paths::sweep_test {
namespace {

constexpr std::uint32_t kWaits = 9;  // path of all calls

// Locations that come to points, and wait there for points of others, each with a clock of its own.
class Drawn {
 public:
  Drawn(std::uint32_t seed, std::size_t locations, Ticks apart)
      : random_(seed), ahead_(locations), now_(locations, 10), points_(locations) {
    for (Ticks& each : ahead_) each = random_() % (apart + 1);
    for (int i = 0; i < 150; ++i) step();
    end_ = 1 + *std::ranges::max_element(now_);
  }

  DelayCosts::Table by_sweep() {
    RecordFile file("");
    std::ranges::stable_sort(records_, {}, &Record::known);
    std::string room;
    for (const Record& each : records_)
      file.append(each.is_wait ? encode(as_known(each), room) : encode(each.segment, room));
    const auto result = sweep(file, now_.size(), LocationId{}, end_);
    REQUIRE(result.ok());
    return result->delays;
  }

  // Those that were caused later charge those that were caused before.
  DelayCosts::Table by_definition() const {
    DelayCosts::Table costs(now_.size(), std::vector<DelayCosts::Cost>(kWaits + 1));
    std::vector<DelayCosts::ByKind> charged(waits_.size());
    for (std::size_t i = waits_.size(); i-- > 0;) {
      const Wait& wait = waits_[i];
      const double whole = static_cast<double>(wait.waited + wait.excess[0].ticks);
      DelayCosts::Cost& cost = costs[wait.causer][wait.excess[0].path];
      const auto kind = static_cast<std::size_t>(wait.kind);
      const auto excess = static_cast<double>(wait.excess[0].ticks);
      cost.short_term[kind] += static_cast<double>(wait.ticks) * excess / whole;
      for (std::size_t k = 0; k < kDelayKinds; ++k)
        cost.long_term[k] += charged[i][k] * excess / whole;
      for (std::size_t other = 0; other < i; ++other) {
        if (!charges(wait, waits_[other])) continue;
        const double part = static_cast<double>(waits_[other].ticks) / whole;
        for (std::size_t k = 0; k < kDelayKinds; ++k)
          charged[other][k] += charged[i][k] * part;
        charged[other][kind] += static_cast<double>(wait.ticks) * part;
      }
    }
    return costs;
  }

  double waiting() const {
    double sum = 0;
    for (const Wait& each : waits_) sum += static_cast<double>(each.ticks);
    return sum;
  }
  std::uint64_t violations() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        waits_, [](const Wait& each) { return each.point > each.until; }));
  }

 private:
  struct Record {
    Ticks known = 0;  // on the clock of who knows it
    bool is_wait = false;
    Segment segment;
    std::size_t wait = 0;
  };

  static bool charges(const Wait& wait, const Wait& before) {
    return before.location == wait.causer && before.enter > wait.since &&
           before.enter < wait.point;
  }

  void point(std::uint32_t location) {
    const Ticks end = now_[location] + ahead_[location];
    const Ticks begin =
        points_[location].empty() ? ahead_[location] : points_[location].back();
    points_[location].push_back(end);
    Record& record = records_.emplace_back();
    record.known = end;
    record.segment = {LocationId(location), false, begin, end, {{PathId{}, end - begin}}};
  }

  void step() {
    const auto from = static_cast<std::uint32_t>(random_() % now_.size());
    const auto to = static_cast<std::uint32_t>((from + 1 + random_() % (now_.size() - 1)) %
                                               now_.size());
    now_[from] += 1 + random_() % 200;
    now_[to] += 1 + random_() % 100;
    point(from);
    point(to);
    const Ticks came = now_[from];
    if (came <= now_[to]) return;
    Wait wait;
    wait.kind = static_cast<WaitKind>(random_() % kDelayKinds);
    wait.location = LocationId(to);
    wait.path = PathId(kWaits);
    wait.enter = points_[to].back();
    now_[to] = came;
    wait.until = std::min(came + ahead_[to], came + ahead_[from]);
    if (wait.until <= wait.enter) return;
    wait.ticks = wait.until - wait.enter;
    wait.point = came + ahead_[from];
    wait.causer = LocationId(from);
    const std::vector<Ticks>& points = points_[from];
    wait.since =
        points[points.size() - 1 - random_() % std::min<std::size_t>(points.size(), 6)];
    if (wait.since == wait.point) wait.since = 0;
    for (const Wait& each : waits_)
      if (charges(wait, each)) wait.waited += each.ticks;
    // So that no more is charged than that.
    wait.excess = {{PathId(random_() % 3), wait.ticks + random_() % 50}};
    Record& record = records_.emplace_back();
    record.known = std::max(came + ahead_[to], wait.point);
    record.is_wait = true;
    record.wait = waits_.size();
    known_.push_back(record.known);
    waits_.push_back(std::move(wait));
  }

  // What became known later was taken for activity.
  Wait as_known(const Record& record) const {
    Wait wait = waits_[record.wait];
    wait.clocks_disagree = true;
    wait.known_late = true;
    Ticks later = 0;
    for (std::size_t i = 0; i < record.wait; ++i)
      if (charges(wait, waits_[i]) && known_[i] > record.known) later += waits_[i].ticks;
    wait.waited -= later;
    wait.excess.push_back({PathId{kWaits}, later});
    return wait;
  }

  std::mt19937 random_;
  std::vector<Ticks> ahead_, now_;
  std::vector<std::vector<Ticks>> points_;
  std::vector<Record> records_;
  std::vector<Wait> waits_;
  std::vector<Ticks> known_;
  Ticks end_ = 0;
};

void check(Ticks apart) {
  std::uint64_t violations = 0;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Drawn drawn(seed, 2 + seed % 4, apart);
    violations += drawn.violations();
    const DelayCosts::Table expected = drawn.by_definition();
    DelayCosts::Table found = drawn.by_sweep();
    double worst = 0, sum = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      found[i].resize(kWaits + 1);
      for (std::size_t path = 0; path <= kWaits; ++path)
        for (std::size_t kind = 0; kind < kDelayKinds; ++kind) {
          const DelayCosts::Cost &a = expected[i][path], &b = found[i][path];
          worst = std::max({worst, std::abs(a.short_term[kind] - b.short_term[kind]),
                            std::abs(a.long_term[kind] - b.long_term[kind])});
          sum += b.short_term[kind] + b.long_term[kind];
        }
    }
    CHECK(worst < 1e-3);
    CHECK(sum == Approx(drawn.waiting()));
  }
  CHECK((violations != 0) == (apart != 0));
}

}  // namespace

TEST_CASE("Sweep: costs are those of the definition - where clocks agree") { check(0); }
TEST_CASE(
    "Sweep: costs are those of the definition - where clocks are less apart than waits") {
  check(30);
}
TEST_CASE(
    "Sweep: costs are those of the definition - where clocks are more apart than waits") {
  check(1000);
  check(100000);
}

}  // namespace refrain::waits::paths::sweep_test
