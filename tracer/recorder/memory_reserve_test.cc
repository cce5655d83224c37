#include "tracer/recorder/memory_reserve.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <new>

namespace refrain::recorder::memory_reserve_test {
namespace {

bool new_fails() {
  try {
    return ::operator new(kMemoryPiece) == nullptr;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

// In a process that gets no more memory: how many pieces operator new still gives; -1: the reserve
// disagrees.
int pieces_without_memory(bool reserve) {
  if (reserve) keep_memory_reserve();
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit now{pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
                   RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &now) != 0) return -1;
  while (std::malloc(1 << 10) != nullptr) {
  }
  if (memory_ran_out()) return -1;
  int pieces = 0;
  while (!new_fails()) ++pieces;
  return memory_ran_out() == reserve && !give_back_memory() ? pieces : -1;
}

int in_child(bool reserve) {
  const pid_t child = fork();
  if (child == 0) _exit(pieces_without_memory(reserve));
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("Memory reserve: no memory left - gives its pieces and no more") {
  // A sanitizer's runtime has a malloc of its own, and needs its address space.
  if (std::getenv("REFRAIN_TEST_RUNTIME") != nullptr) return;
  // malloc may have kept some back for itself.
  const int pieces = in_child(true);
  CHECK(pieces >= 16);
  CHECK(pieces < 32);
  CHECK(in_child(false) == 0);
}

}  // namespace refrain::recorder::memory_reserve_test
