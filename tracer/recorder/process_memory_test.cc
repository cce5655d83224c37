#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "tracer/recorder/resource_use.h"

namespace refrain::recorder::process_memory_test {

TEST_CASE(
    "Process memory: what is touched is resident, and the peak stays when it is given back") {
  constexpr std::size_t kBytes = std::size_t{96} << 20;
  const ProcessMemory before = process_memory();
  REQUIRE(before.resident_bytes > 0);
  CHECK(before.peak_bytes >= before.resident_bytes);
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  std::memset(memory, 1, kBytes);
  const ProcessMemory during = process_memory();
  CHECK(during.resident_bytes >= before.resident_bytes + kBytes * 9 / 10);
  munmap(memory, kBytes);
  const ProcessMemory after = process_memory();
  CHECK(after.peak_bytes >= during.resident_bytes * 9 / 10);
  CHECK(after.resident_bytes < during.resident_bytes - kBytes / 2);
}

}  // namespace refrain::recorder::process_memory_test
