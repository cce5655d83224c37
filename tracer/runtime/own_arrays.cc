#include "tracer/runtime/own_arrays.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "periodicity/zeroed_array.h"

namespace refrain::runtime {
namespace {

struct OwnArray {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
};
constinit std::array<OwnArray, kMostArrays> g_own_arrays;

void on_array(void* begin, std::size_t bytes, bool comes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  for (OwnArray& each : g_own_arrays) {
    std::uintptr_t expected = comes ? 0 : address;
    if (comes && each.begin.compare_exchange_strong(expected, address)) {
      each.bytes.store(bytes);
      return;
    }
    if (!comes && each.begin.load() == address) {
      each.bytes.store(0);
      each.begin.store(0);
      return;
    }
  }
}

}  // namespace

void watch_own_arrays() noexcept { periodicity::g_on_array = on_array; }

std::size_t resident_in_own_arrays() noexcept {
  constexpr std::size_t kPages = 512;  // at a time: stacks are small
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t resident = 0;
  for (const OwnArray& each : g_own_arrays) {
    const std::size_t bytes = each.bytes.load();
    const std::uintptr_t begin = each.begin.load();
    for (std::size_t at = 0; begin != 0 && at < bytes; at += kPages * page) {
      std::array<unsigned char, kPages> is{};
      const std::size_t part = std::min(bytes - at, kPages * page);
      // One that was given back meanwhile is none.
      if (mincore(reinterpret_cast<void*>(begin + at), part, is.data()) != 0) break;
      resident += page * static_cast<std::size_t>(std::ranges::count_if(
                             is, [](unsigned char flags) { return (flags & 1) != 0; }));
    }
  }
  return resident;
}

}  // namespace refrain::runtime
