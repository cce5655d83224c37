#include "periodicity/nested/kept_events.h"

#include <catch2/catch.hpp>

namespace refrain::periodicity::kept_events_test {
namespace {

TEST_CASE("KeptEvents: all - nothing is left out until messages are") {
  const RecentEvents recent;
  KeptEvents kept(recent);
  CHECK(kept.all());
  CHECK_FALSE(kept.leaves_out(kMessageSymbol | 1));
  kept.leave_out_messages();
  CHECK_FALSE(kept.all());
  CHECK(kept.leaves_out(kMessageSymbol | 1));
  CHECK_FALSE(kept.leaves_out(1));
}

TEST_CASE("KeptEvents: positions - the nearest event with the same symbol") {
  RecentEvents recent;
  const Symbol symbols[]{1, kMessageSymbol | 9, 2, kMessageSymbol | 9, 1, 3};
  for (std::uint64_t k = 0; k != 6; ++k) recent.note(k, symbols[k], 5);
  const KeptEvents kept(recent);
  CHECK(kept.before(6, 1) == 4);
  CHECK(kept.before(4, 1) == 0);
  CHECK(kept.before(3, 2) == 2);
  CHECK(kept.next(1, 6, 1) == 4);
  CHECK(kept.next(2, 6, 2) == 2);
  CHECK(kept.next(1, 4, 3) == 4);
}

TEST_CASE("KeptEvents: positions - symbols are compared without their highest bits") {
  RecentEvents recent;
  recent.note(0, Symbol{1} << 60 | 7, 0);
  recent.note(1, 8, 0);
  const KeptEvents kept(recent);
  CHECK(kept.before(2, Symbol{1} << 60 | 7) == 0);
}

}  // namespace
}  // namespace refrain::periodicity::kept_events_test
