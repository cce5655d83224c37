#include "tracer/recorder/own_stack.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace refrain::recorder::own_stack_test {
namespace {

std::uintptr_t here() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

// So much of the stack is used, and nothing is left out by the compiler.
__attribute__((noinline)) unsigned use(std::size_t bytes) {
  constexpr std::size_t kEach = 1024;
  volatile unsigned char taken[kEach];
  std::memset(const_cast<unsigned char*>(taken), 1, kEach);
  return taken[bytes % kEach] + (bytes > kEach ? use(bytes - kEach) : 0);
}

std::uintptr_t distance(std::uintptr_t a, std::uintptr_t b) {
  return a < b ? b - a : a - b;
}

}  // namespace

TEST_CASE(
    "Own stack: calls run there, one after the other on the same, and return values") {
  const std::uintptr_t before = here();
  std::uintptr_t first = 0;
  CHECK(on_own_stack([&] {
          first = here();
          return 7;
        }) == 7);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(distance(first, before) > 256 * 1024);
#endif
  std::uintptr_t second = 0, inner = 0;
  on_own_stack([&] {
    second = here();
    on_own_stack([&] { inner = here(); });
  });
  CHECK(distance(second, first) < 4096);
  CHECK(distance(second, inner) < 4096);
  CHECK(here() == before);
}

TEST_CASE("Own stack: threads at once - each has one, with room") {
  std::vector<std::thread> threads;
  std::vector<unsigned> sums(24);
  for (unsigned& sum : sums)
    threads.emplace_back([&sum] {
      for (int i = 0; i < 200; ++i) sum += on_own_stack([] { return use(100 * 1024); });
    });
  for (std::thread& thread : threads) thread.join();
  for (const unsigned sum : sums) CHECK(sum == 200 * 100);
}

TEST_CASE(
    "Own stack: large ones - also from inside of a usual one, and calls in them stay") {
  std::uintptr_t usual = 0, large = 0, inner = 0;
  on_own_stack([&] {
    usual = here();
    CHECK(on_large_stack([&] {
            large = here();
            on_own_stack([&] { inner = here(); });
            return use(4 << 20);
          }) == 4096);
  });
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(distance(usual, large) > 256 * 1024);
#endif
  CHECK(distance(large, inner) < 4096);
}

}  // namespace refrain::recorder::own_stack_test
