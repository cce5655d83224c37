#include "tracer/recorder/call_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "spool/summary_areas.h"
#include "tracer/recorder/synthetic_rows.h"

namespace refrain::recorder::call_tree_test {
namespace {

using spool::CallKey;

// What the tree must hold, kept the plain way.
class Reference {
 public:
  using Path = std::vector<std::uint64_t>;  // payloads from the outermost region inwards
  struct Sums {
    std::uint64_t visits = 0;
    std::uint64_t time = 0;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t greatest = 0;
    std::map<std::uint64_t, std::uint64_t> from;  // payload of the sibling before, 0: none
    bool operator==(const Sums&) const = default;
  };
  void enter(std::uint64_t payload, std::uint64_t ticks) {
    path_.push_back(payload);
    Sums& sums = sums_[path_];
    ++sums.visits;
    ++sums.from[before_.back()];
    before_.push_back(0);
    begun_.push_back(ticks);
  }
  void leave(std::uint64_t ticks) {
    Sums& sums = sums_[path_];
    const std::uint64_t duration = ticks - begun_.back();
    sums.time += duration;
    sums.least = std::min(sums.least, duration);
    sums.greatest = std::max(sums.greatest, duration);
    begun_.pop_back();
    before_.pop_back();
    before_.back() = path_.back();
    path_.pop_back();
  }
  std::size_t depth() const { return path_.size(); }
  const std::map<Path, Sums>& sums() const { return sums_; }

 private:
  Path path_;
  std::vector<std::uint64_t> begun_;
  std::vector<std::uint64_t> before_{0};
  std::map<Path, Sums> sums_;
};

// A tree whose memory is `bytes`, in an area where it could have twice as many.
struct Area {
  explicit Area(std::uint64_t bytes) : area(2 * bytes, bytes) {
    REQUIRE(tree.open(area.begin(), area.size(), area.memory()));
  }
  spool::CallTree read() const { return spool::read_call_tree(area.bytes()); }

  SummaryArea area;
  CallTree tree;
};

CallKey work(std::uint64_t payload) { return CallKey::make(spool::kWorkBegin, 1, payload); }

// The same of what was read, without open regions.
std::map<Reference::Path, Reference::Sums> sums_of(const spool::CallTree& tree) {
  std::map<Reference::Path, Reference::Sums> result;
  std::vector<Reference::Path> paths(tree.nodes.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const spool::CallTree::Node& node = tree.nodes[i];
    paths[i] = paths[node.parent];
    paths[i].push_back(node.key.payload);
    CHECK_FALSE(node.open);
    result[paths[i]] = {node.visits, node.time, node.least, node.greatest, {}};
  }
  for (const spool::CallTree::Edge& edge : tree.edges) {
    const bool first = (edge.from & spool::kFirstChild) != 0;
    const std::uint32_t parent = tree.nodes[edge.to].parent;
    CHECK((first ? edge.from & ~spool::kFirstChild : tree.nodes[edge.from].parent) ==
          parent);
    result[paths[edge.to]].from[first ? 0 : tree.nodes[edge.from].key.payload] +=
        edge.count;
  }
  return result;
}

TEST_CASE("CallTree: two ends that are learned late - as if they had been known at once") {
  const std::uint8_t kind = spool::kWorkBegin;
  std::mt19937_64 random(7);
  Area area(8 << 20);
  Reference reference;
  std::uint64_t ticks = 1;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t outer = 1 + random() % 3, inner = 10 + random() % 2;
    for (const std::uint64_t payload : {outer, inner}) {
      ticks += random() % 100;
      area.tree.enter(work(payload), ticks);
      reference.enter(payload, ticks);
    }
    const std::uint64_t ended = ticks += random() % 100;
    reference.leave(ended);
    reference.leave(ended);
    ticks += random() % 500;
    REQUIRE(area.tree.may_end_both(kind, kind));
    area.tree.end_both(ticks, true);
    // What comes next is there before it is known when that was.
    const bool more = random() % 2 == 0;
    if (more) area.tree.enter(work(outer), ticks);
    CHECK(area.tree.settle_ends(ended));
    CHECK(area.tree.late_ends().late == ticks - ended);
    if (!more) continue;
    reference.enter(outer, ticks);
    area.tree.leave(++ticks);
    reference.leave(ticks);
  }
  CHECK(sums_of(area.read()) == reference.sums());
  // Nothing is touched that is gone.
  area.tree.enter(work(1), ticks);
  area.tree.enter(work(2), ticks);
  area.tree.end_both(ticks, true);
  area.tree.close();
  CHECK_FALSE(area.tree.settle_ends(ticks));
  CHECK_FALSE(area.tree.may_end_both(kind, kind));
}

TEST_CASE("CallTree: random programs - as the plain way says") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const std::uint64_t regions = 1 + random() % 6;
    const std::size_t depth = 1 + random() % 5;
    Area area(8 << 20);
    Reference reference;
    std::uint64_t ticks = random() % 2 == 0 ? 1 : ~std::uint64_t{0} / 2 + 12345;
    for (int i = 0; i < 4000; ++i) {
      ticks += random() % 1000;
      const bool leaves =
          reference.depth() == depth || (reference.depth() != 0 && random() % 2 == 0);
      if (leaves) {
        area.tree.leave(ticks);
        reference.leave(ticks);
      } else {
        const std::uint64_t payload = 1 + random() % regions;
        area.tree.enter(work(payload), ticks);
        reference.enter(payload, ticks);
      }
    }
    while (reference.depth() != 0) {
      area.tree.leave(ticks);
      reference.leave(ticks);
    }
    const spool::CallTree tree = area.read();
    CHECK_FALSE(tree.damaged);
    CHECK(area.area.made_once());
    CHECK(sums_of(tree) == reference.sums());
  }
}

TEST_CASE("CallTree: regions of other kinds and payloads - have nodes of their own") {
  Area area(1 << 20);
  for (int i = 0; i < 3; ++i) {
    area.tree.point(CallKey::make(spool::kWorkBegin, 1, 7), 10);
    area.tree.point(CallKey::make(spool::kWorkBegin, 2, 7), 10);
    area.tree.point(CallKey::make(spool::kMaskedBegin, 1, 7), 10);
    area.tree.point(CallKey::make(spool::kWorkBegin, 1, 8), 10);
  }
  const spool::CallTree tree = area.read();
  REQUIRE(tree.nodes.size() == 5);
  for (std::size_t i = 1; i < 5; ++i) CHECK(tree.nodes[i].visits == 3);
  CHECK(tree.edges.size() == 5);  // four of the round, and to the first
}

TEST_CASE("CallTree: killed - open regions last until the end") {
  Area area(1 << 20);
  area.tree.enter(work(1), 100);
  area.tree.point(work(2), 150);
  area.tree.enter(work(3), 160);
  spool::CallTree tree = area.read();
  REQUIRE(tree.nodes.size() == 4);
  CHECK(tree.nodes[1].open);
  CHECK(tree.nodes[1].time == 0);
  CHECK_FALSE(tree.nodes[2].open);
  CHECK(tree.nodes[3].open);
  SECTION("at the end of the process") {
    tree.end_open(~std::uint64_t{0}, 200);
    CHECK(tree.nodes[1].time == 100);
    CHECK(tree.nodes[3].time == 40);
    CHECK(tree.own_times()[1] == 60);
  }
  SECTION("too early") {
    tree.end_open(0, 0);
    CHECK(tree.nodes[3].time == 0);
  }
  SECTION("a team that ended before") {
    area.tree.enter(CallKey::make(spool::kImplicitTaskBegin, 0, 4), 170);
    area.tree.enter(work(5), 175);
    tree = area.read();
    tree.end_open(180, 200);
    CHECK(tree.nodes[3].time == 40);
    CHECK(tree.nodes[4].time == 10);
    CHECK(tree.nodes[5].time == 5);
  }
}

// That of a worker, whose last region has an end that only its team knows.
TEST_CASE("CallTree: a visit that ended with its team - may be the shortest") {
  Area area(1 << 20);
  const CallKey task = CallKey::make(spool::kImplicitTaskBegin, 0, 4);
  area.tree.enter(task, 100);
  area.tree.leave(150);
  area.tree.enter(task, 160);
  spool::CallTree tree = area.read();
  REQUIRE(tree.nodes.size() == 2);
  SECTION("known") {
    tree.end_open(170, 200);
    CHECK(tree.nodes[1].least == 10);
  }
  SECTION("the process was killed in it") {
    tree.end_open(~std::uint64_t{0}, 170);
    CHECK(tree.nodes[1].least == 50);
  }
  CHECK(tree.nodes[1].time == 60);
  CHECK(tree.nodes[1].greatest == 50);
}

TEST_CASE(
    "CallTree: a visit that is cut off - is no shortest one, unless it is the only one") {
  Area area(1 << 20);
  area.tree.enter(work(1), 100);
  area.tree.leave(150);
  area.tree.enter(work(1), 160);
  area.tree.enter(work(2), 161);
  spool::CallTree tree = area.read();
  REQUIRE(tree.nodes.size() == 3);
  tree.end_open(~std::uint64_t{0}, 162);
  CHECK(tree.nodes[1].visits == 2);
  CHECK(tree.nodes[1].time == 52);
  CHECK(tree.nodes[1].least == 50);
  CHECK(tree.nodes[1].greatest == 50);
  CHECK(tree.nodes[2].least == 1);
}

TEST_CASE("CallTree: ends - of an outer region, of none, and across a team") {
  Area area(1 << 20);
  area.tree.end(spool::kWorkBegin, 5);
  area.tree.enter(CallKey::make(spool::kMaskedBegin, 0, 1), 10);
  area.tree.enter(CallKey::make(spool::kImplicitTaskBegin, 0, 2), 20);
  area.tree.enter(work(3), 30);
  area.tree.end(spool::kMaskedBegin, 35);  // lies outside of the team
  area.tree.enter(CallKey::make(spool::kSyncRegionBegin, 1, 4), 40);
  area.tree.end(spool::kImplicitTaskBegin, 50);
  area.tree.end(spool::kMaskedBegin, 60);
  const spool::CallTree tree = area.read();
  REQUIRE(tree.nodes.size() == 5);
  CHECK(tree.nodes[1].time == 50);
  CHECK(tree.nodes[2].time == 30);
  CHECK(tree.nodes[3].time == 20);
  CHECK(tree.nodes[4].time == 10);
}

// Sums that hold whatever found a place.
void check_overflow(std::uint64_t bytes, std::uint64_t kinds, std::size_t depth) {
  INFO(bytes << " bytes, " << kinds << " kinds, depth " << depth);
  Area area(bytes);
  std::mt19937_64 random(bytes + kinds);
  std::uint64_t regions = 0, outermost = 0, begun = 0, ticks = 0;
  std::size_t open = 0;
  const auto leave = [&] {
    area.tree.leave(ticks);
    if (--open == 0) outermost += ticks - begun;
  };
  for (int i = 0; i < 50000; ++i) {
    ticks += 1 + random() % 10;
    if (open == depth || (open != 0 && random() % 2 == 0)) {
      leave();
      continue;
    }
    if (open++ == 0) begun = ticks;
    area.tree.enter(work(1 + random() % kinds), ticks);
    ++regions;
  }
  while (open != 0) leave();
  const spool::CallTree tree = area.read();
  CHECK_FALSE(tree.damaged);
  std::uint64_t counted = 0, time = 0;
  for (const spool::CallTree::Node& node : tree.nodes) {
    CHECK_FALSE(node.open);
    counted += node.visits + node.regions_elsewhere;
  }
  CHECK(counted == regions);
  for (std::size_t i = 1; i < tree.nodes.size(); ++i)
    if (tree.nodes[i].parent == spool::kRootNode) time += tree.nodes[i].time;
  CHECK(time + tree.nodes[0].time_elsewhere == outermost);
}

TEST_CASE("CallTree: more than fits - is counted, and sums stay exact") {
  check_overflow(24 << 10, 3, 3);
  check_overflow(24 << 10, 140, 1);
  check_overflow(24 << 10, 40, 4);
  check_overflow(32 << 10, 5, 6);
  check_overflow(160 << 10, 1000, 2);
}

TEST_CASE("CallTree: more predecessors than fit - visits stay exact") {
  Area area(24 << 10);
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint64_t> visits;
  for (std::uint64_t ticks = 0; ticks < 30000; ++ticks) {
    const std::uint64_t payload = 1 + random() % 20;
    ++visits[payload];
    area.tree.enter(work(payload), ticks);
    area.tree.point(work(100), ticks);
    area.tree.leave(ticks + 1);
  }
  const spool::CallTree tree = area.read();
  std::uint64_t inner = 0;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const auto& node = tree.nodes[i];
    if (node.parent == spool::kRootNode)
      CHECK(node.visits == visits[node.key.payload]);
    else
      inner += node.visits;
  }
  CHECK(inner == 30000);
}

TEST_CASE("CallTree: no area - nothing happens") {
  CallTree tree;
  tree.enter(work(1), 1);
  tree.sent(1, 1);
  tree.leave(2);
  tree.end(spool::kWorkBegin, 3);
  Area area(1 << 20);
  area.tree.point(work(1), 1);
  area.tree.close();
  area.tree.point(work(1), 2);
  CHECK(area.read().nodes.at(1).visits == 1);
}

// --- Tasks and locks ------------------------------------------------------------------

spool::RecordWords schedule(std::uint64_t ticks, std::uint8_t status, std::uint64_t site,
                            std::uint64_t next, bool prior_explicit) {
  const std::uint64_t flags = (next != 0 ? spool::kTaskNextExplicit : 0) |
                              (prior_explicit ? spool::kTaskPriorExplicit : 0);
  return spool::record_words(spool::kTaskSchedule, ticks, site | flags << 48, status, next);
}
constexpr std::uint8_t kComplete = 1, kYield = 2, kSwitch = 7;

TEST_CASE("CallTree: tasks - nested while one waits, and below it again") {
  Area area(1 << 20);
  area.tree.enter(CallKey::make(spool::kImplicitTaskBegin, 0, 1), 0);
  area.tree.task_schedule(schedule(10, kSwitch, 0xa, 1, false));
  area.tree.enter(work(5), 20);
  area.tree.task_schedule(schedule(30, kYield, 0xb, 2, true));
  area.tree.task_schedule(schedule(50, kComplete, 0xa, 1, true));  // back to the first
  area.tree.leave(60);
  area.tree.task_schedule(schedule(70, kComplete, 0, 0, true));
  area.tree.end(spool::kImplicitTaskBegin, 100);
  const spool::CallTree tree = area.read();
  REQUIRE(tree.nodes.size() == 5);
  CHECK(tree.nodes[1].time == 100);
  CHECK(tree.nodes[2].key.payload == 0xa);
  CHECK(tree.nodes[2].time == 60);
  CHECK(tree.nodes[3].time == 40);
  CHECK(tree.nodes[4].key.payload == 0xb);
  CHECK(tree.nodes[4].parent == 3);
  CHECK(tree.nodes[4].time == 20);
}

spool::RecordWords mutex(spool::Kind kind, std::uint64_t ticks, std::uint8_t sub) {
  return spool::record_words(kind, ticks, 0xc, sub, 77);
}

TEST_CASE("CallTree: locks - waiting, holding, and tests that fail or not") {
  Area area(1 << 20);
  SECTION("critical: the region lies in the call that waits for it") {
    area.tree.mutex_acquire(mutex(spool::kMutexAcquire, 10, 5));
    area.tree.mutex_acquired(mutex(spool::kMutexAcquired, 30, 5));
    area.tree.point(work(1), 40);
    area.tree.mutex_released(mutex(spool::kMutexReleased, 60, 5));
    const spool::CallTree tree = area.read();
    REQUIRE(tree.nodes.size() == 4);
    CHECK(tree.nodes[1].time == 50);
    CHECK(tree.nodes[2].time == 30);
    CHECK(tree.nodes[3].parent == 2);
  }
  SECTION("lock: the call alone") {
    area.tree.mutex_acquire(mutex(spool::kMutexAcquire, 10, 1));
    area.tree.mutex_acquired(mutex(spool::kMutexAcquired, 30, 1));
    area.tree.mutex_released(mutex(spool::kMutexReleased, 60, 1));
    const spool::CallTree tree = area.read();
    REQUIRE(tree.nodes.size() == 2);
    CHECK(tree.nodes[1].time == 20);
    CHECK_FALSE(tree.nodes[1].open);
  }
  SECTION("a lock that the task has already: the call ends where it returns") {
    const auto again = [&](std::uint64_t ticks, std::uint8_t endpoint) {
      area.tree.nest_lock(spool::record_words(spool::kNestLock, ticks, 0xc, endpoint, 77));
    };
    area.tree.mutex_acquire(mutex(spool::kMutexAcquire, 10, 3));
    area.tree.mutex_acquired(mutex(spool::kMutexAcquired, 11, 3));
    area.tree.mutex_acquire(mutex(spool::kMutexAcquire, 20, 3));
    again(22, 1);
    area.tree.mutex_acquire(mutex(spool::kMutexAcquire, 30, 4));  // tested
    again(33, 1);
    again(40, 2);
    area.tree.point(work(1), 50);
    const spool::CallTree tree = area.read();
    REQUIRE(tree.nodes.size() == 6);
    for (const auto& node : tree.nodes) CHECK(node.parent == 0);
    CHECK(tree.nodes[1].visits == 2);
    CHECK(tree.nodes[1].time == 3);
    CHECK(tree.nodes[2].key.sub() == 1);
    CHECK(tree.nodes[2].visits == 2);
    CHECK(tree.nodes[3].time == 3);
  }
  SECTION("test") {
    for (std::uint64_t t = 0; t < 100; t += 20) {
      area.tree.mutex_acquire(mutex(spool::kMutexAcquire, t, 2));
      if (t % 40 == 0) area.tree.mutex_acquired(mutex(spool::kMutexAcquired, t + 5, 2));
      area.tree.point(work(1), t + 10);
    }
    const spool::CallTree tree = area.read();
    REQUIRE(tree.nodes.size() == 3);
    CHECK(tree.nodes[1].visits == 5);
    CHECK(tree.nodes[1].time == 15);
    CHECK(tree.nodes[1].greatest == 5);
    CHECK(tree.nodes[2].visits == 5);
    CHECK(tree.nodes[2].parent == 0);
  }
}

TEST_CASE("CallTree: damaged areas - what fits together is read") {
  Area area(64 << 10);
  for (std::uint64_t i = 0; i < 50; ++i) area.tree.point(work(1 + i % 7), i);
  std::mt19937_64 random(3);
  const std::span<std::byte> bytes = area.area.writable();
  for (int round = 0; round < 3000; ++round) {
    for (int i = 0; i < 4; ++i) bytes[random() % 16384] = static_cast<std::byte>(random());
    const spool::CallTree tree = area.read();
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) CHECK(tree.nodes[i].parent < i);
    for (const auto& edge : tree.edges) CHECK(edge.to < tree.nodes.size());
    (void)tree.own_times();
  }
}

}  // namespace
}  // namespace refrain::recorder::call_tree_test
