#include "periodicity/zeroed_array.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>

namespace refrain::periodicity {
namespace {

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("ZeroedArray: large and hardly used - zeros that take no memory") {
  constexpr std::size_t kSize = std::size_t{32} << 20;
  const std::size_t before = resident_bytes();
  REQUIRE(before > 0);
  ZeroedArray<std::uint64_t> array(kSize);
  REQUIRE(array.size() == kSize);
  for (std::size_t i = 0; i < kSize; i += kSize / 16) {
    CHECK(array[i] == 0);
    array[i] = i + 1;
  }
  // 256 MiB; sanitizers keep an eighth of that of their own.
  CHECK(resident_bytes() < before + (std::size_t{48} << 20));
  for (std::size_t i = 0; i < kSize; i += kSize / 16) CHECK(array[i] == i + 1);
  CHECK(array[kSize - 1] == 0);
}

}  // namespace refrain::periodicity
