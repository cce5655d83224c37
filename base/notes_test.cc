#include "base/notes.h"

#include <catch2/catch.hpp>

namespace refrain::base::notes_test {
namespace {

TEST_CASE("take_notes: each line once, in their order, until they are taken") {
  take_notes();
  note("first");
  note("second");
  note("first");
  CHECK(take_notes() == std::vector<std::string>{"first", "second"});
  CHECK(take_notes().empty());
  note("first");
  CHECK(take_notes() == std::vector<std::string>{"first"});
}

}  // namespace
}  // namespace refrain::base::notes_test
