#include "test/fuzz/pack.h"

#include <catch2/catch.hpp>

#include "test/support/files.h"

namespace refrain::fuzz::pack_test {
namespace {

// Two inputs, "one\n" and 600 times "2", as `tar --format=ustar` packs them.
std::string packed() { return test::read_file(test::data_file("test/fuzz/pack_test.tar")); }

}  // namespace

TEST_CASE("Fuzz: a pack has the inputs that were packed, in their order") {
  CHECK(read_pack(packed()) == std::vector<std::string>{"one\n", std::string(600, '2')});
}

TEST_CASE("Fuzz: a damaged pack is an error, never fewer inputs") {
  const std::string pack = packed();
  CHECK_THROWS(read_pack(""));
  CHECK_THROWS(read_pack(std::string(1024, '\0')));
  // The end mark begins at 2560: a header and 4 bytes, a header and 600.
  for (std::size_t size = 0; size < 2560 + 512; ++size) {
    INFO("cut to " << size);
    CHECK_THROWS(read_pack(pack.substr(0, size)));
  }
  for (std::size_t i = 0; i < 512; ++i) {
    INFO("changed at " << i);
    std::string wrong = pack;
    wrong[1024 + i] = static_cast<char>(wrong[1024 + i] + 1);
    // The last of the sum's bytes has no meaning.
    if (i != 155) CHECK_THROWS(read_pack(wrong));
  }
}

}  // namespace refrain::fuzz::pack_test
