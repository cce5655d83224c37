#include "periodicity/zeroed_array.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <new>
#include <utility>
#include <vector>

namespace refrain::periodicity::zeroed_array_test {
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

TEST_CASE("ZeroedArray: sizes around a page and none - zeros, moved with its size") {
  for (const std::size_t size : {0, 1, 511, 2047, 2048, 2049, 100000}) {
    CAPTURE(size);
    // Memory reused by the heap is not zero.
    { std::vector<std::uint64_t> used(size, 7); }
    ZeroedArray<std::uint64_t> array(size);
    for (std::size_t i = 0; i < size; ++i) REQUIRE(array[i] == 0);
    if (size != 0) array[size - 1] = 5;
    ZeroedArray<std::uint64_t> other(3);
    other = std::move(array);
    CHECK(other.size() == size);
    if (size != 0) CHECK(other[size - 1] == 5);
  }
}

// The address sanitizer ends the program where there is no memory.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("ZeroedArray: more than there is - std::bad_alloc") {
  CHECK_THROWS_AS(ZeroedArray<std::uint64_t>(~std::size_t{0} / 4), std::bad_alloc);
  CHECK_THROWS_AS(ZeroedArray<std::uint64_t>(std::size_t{1} << 58), std::bad_alloc);
}
#endif

}  // namespace refrain::periodicity::zeroed_array_test
