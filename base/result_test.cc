#include "base/result.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

namespace {

using refrain::base::Failure;
using refrain::base::Result;

Result<int> half(int number) {
  if (number % 2 != 0) return Failure{"odd"};
  return number / 2;
}

Result<> even(int number) {
  const auto halved = half(number);
  if (!halved) return halved.failure();
  return {};
}

}  // namespace

TEST_CASE("a result is a value, or why there is none") {
  CHECK(half(4).ok());
  CHECK(*half(4) == 2);
  CHECK(half(4).error().empty());
  CHECK_FALSE(half(3));
  CHECK(half(3).error() == "odd");
}

TEST_CASE("a failure goes through results of other types") {
  CHECK(even(2));
  CHECK(even(2).error().empty());
  CHECK(even(1).error() == "odd");
}

TEST_CASE("what can only be moved comes out of a result") {
  Result<std::unique_ptr<int>> held(std::make_unique<int>(7));
  REQUIRE(held);
  CHECK(**held == 7);
  const std::unique_ptr<int> taken = *std::move(held);
  CHECK(*taken == 7);
}
