#include "base/shared_vector.h"

#include <catch2/catch.hpp>

namespace refrain::base::shared_vector_test {
namespace {

TEST_CASE(
    "SharedVector: equal ones are kept once, and each is its own when it is changed") {
  SharedVector<int> a = {1, 2};
  SharedVector<int> b = {1, 2};
  CHECK(a == b);
  CHECK_FALSE(a.is_shared_with(b));
  b.share(a);
  CHECK(a.is_shared_with(b));

  SharedVector<int> c = b;
  c.push_back(3);
  CHECK(c == SharedVector<int>{1, 2, 3});
  CHECK(a == SharedVector<int>{1, 2});
  CHECK(a.is_shared_with(b));

  c.share(a);  // unequal
  CHECK(c.size() == 3);
  CHECK(c.at(2) == 3);
}

TEST_CASE("SharedVector: one without members is equal to one that had some") {
  SharedVector<int> none;
  CHECK(none.empty());
  CHECK(none.begin() == none.end());
  SharedVector<int> emptied = {1};
  emptied.edit().clear();
  CHECK(none == emptied);
}

}  // namespace
}  // namespace refrain::base::shared_vector_test
