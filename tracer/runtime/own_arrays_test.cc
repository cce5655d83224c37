#include "tracer/runtime/own_arrays.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <vector>

#include "periodicity/zeroed_array.h"

namespace refrain::runtime::own_arrays_test {

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("Own arrays: how much of them is resident") {
  using periodicity::ZeroedArray;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  watch_own_arrays();
  const std::size_t before = resident_in_own_arrays();
  std::vector<ZeroedArray<char>> arrays;
  for (const std::size_t pages : {16, 20000, 100}) {
    arrays.emplace_back(pages * page);
    // Page by page.
    madvise(&arrays.back()[0], pages * page, MADV_NOHUGEPAGE);
  }
  CHECK(resident_in_own_arrays() == before);
  for (ZeroedArray<char>& each : arrays)
    for (std::size_t i = 0; i < each.size(); i += 2 * page) each[i] = 1;
  CHECK(resident_in_own_arrays() == before + (8 + 10000 + 50) * page);
  arrays.pop_back();
  CHECK(resident_in_own_arrays() == before + (8 + 10000) * page);
  arrays.clear();
  CHECK(resident_in_own_arrays() == before);
}
#endif

}  // namespace refrain::runtime::own_arrays_test
