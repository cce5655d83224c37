#include <catch2/catch.hpp>
#include <cstdint>

#include "spool/summary_format.h"
#include "summary/time_class.h"
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/excluded_regions.h"
#include "tracer/recorder/synthetic_rows.h"

namespace refrain::recorder::call_tree_filter_test {

using spool::CallKey;

TEST_CASE("CallTree: left out by the filter - time is that of what is around") {
  constexpr std::uint64_t kTeam = 0x77;
  set_excluded([](CallKey key, std::uint64_t team) noexcept {
    const bool of_team = key.kind() == spool::kImplicitTaskBegin && key.payload == kTeam;
    // A barrier of which no address is known is that of its team.
    return of_team || (key.kind() == spool::kSyncRegionBegin && team == kTeam) ||
           key == CallKey::make(spool::kMpiEnter, 0, 5);
  });
  SummaryArea area(1 << 20, 1 << 20);
  spool::ClassSums times{};
  CallTree tree;
  REQUIRE(tree.open(area.begin(), area.size(), area.memory(), times.data()));
  const auto time_of = [&](summary::TimeClass cls) {
    return times[static_cast<std::size_t>(cls)];
  };
  constexpr std::uint8_t kImplicit = 2;  // ompt_sync_region_barrier_implicit
  const CallKey barrier = CallKey::make(spool::kSyncRegionBegin, kImplicit, 0);
  const CallKey wait = CallKey::make(spool::kWaitBegin, kImplicit, 0);
  for (const std::uint64_t team : {kTeam, kTeam + 1}) {
    times = {};
    tree.enter(CallKey::make(spool::kImplicitTaskBegin, 0, team), 100);
    tree.began_late(90, 100);
    tree.enter(CallKey::make(spool::kWorkBegin, 1, 1), 110);
    tree.enter(CallKey::make(spool::kMpiEnter, 0, 5), 120);
    tree.leave(150);
    tree.enter(CallKey::make(spool::kMpiEnter, 0, 6), 160);
    tree.leave(170);
    tree.leave(200);
    tree.enter(barrier, 200);
    tree.enter(wait, 210);
    tree.leave(250);
    tree.leave(260);
    tree.leave(300);
    const bool out = team == kTeam;
    CHECK(time_of(summary::TimeClass::kUseful) == (out ? 80 : 10 + 80 + 40));
    CHECK(time_of(summary::TimeClass::kImbalance) == (out ? 40 : 60));
    CHECK(time_of(summary::TimeClass::kMpiManagement) == 10);
    CHECK(time_of(summary::TimeClass::kThreadManagement) == (out ? 0 : 10));
    // From 100 to 300, which is outside of what is counted, less what is inside.
    const std::uint64_t inside = out ? 80 + 40 + 10 : 200 + 10;
    CHECK(times[spool::kOutsideClass] == std::uint64_t{0} - inside);
  }
  set_excluded(nullptr);
}

}  // namespace refrain::recorder::call_tree_filter_test
