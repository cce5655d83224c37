#include "base/ids.h"

#include <catch2/catch.hpp>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace refrain::base::ids_test {

static_assert(sizeof(LocationId) == sizeof(std::uint32_t));
static_assert(std::is_trivially_copyable_v<LocationId>);
static_assert(!std::is_constructible_v<ProcessId, LocationId>);
static_assert(!std::is_assignable_v<ProcessId&, LocationId>);
static_assert(!std::is_convertible_v<std::uint32_t, LocationId>);

template <class A, class B>
constexpr bool kComparable = requires(A a, B b) {
  a == b;
};
static_assert(kComparable<LocationId, LocationId> &&
              kComparable<LocationId, std::uint32_t>);
static_assert(!kComparable<LocationId, ProcessId>);

TEST_CASE("Id: a number in subscripts, and a key") {
  const std::vector<int> values{1, 2, 3};
  int sum = 0;
  for (LocationId i; i < values.size(); ++i) sum += values[i];
  CHECK(sum == 6);
  std::unordered_map<PathId, int> by_path{{PathId{7}, 1}};
  CHECK(by_path.contains(PathId{7}));
  CHECK(PathId{3} < PathId{7});
}

}  // namespace refrain::base::ids_test
