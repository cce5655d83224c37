#include "tracer/mpi/callers.h"

#include <alloca.h>
#include <pthread.h>
#include <ucontext.h>

#include <memory>
#include <vector>

#include "catch2/catch.hpp"

namespace refrain::mpi::callers_test {
namespace {

#ifdef __clang__  // which never clones a function that it may not inline
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

// The library under test, as a wrapper of MPI would use it.
NOINLINE std::uint64_t call(Callers& callers, unsigned frames) {
  const std::uint64_t hash =
      callers.hash({__builtin_return_address(0), __builtin_dwarf_cfa()}, frames);
  __asm__ volatile("" ::: "memory");
  return hash;
}

// None of these may become a jump: what follows the calls keeps them calls.
volatile int g_after = 0;
// Not to be known to the compiler, which would make two calls of a loop's one.
volatile int g_two = 2;

NOINLINE std::uint64_t inner(Callers& callers, unsigned frames) {
  const std::uint64_t hash = call(callers, frames);
  g_after = 1;
  return hash;
}
NOINLINE std::uint64_t left(Callers& callers, unsigned frames) {
  const std::uint64_t hash = inner(callers, frames);
  g_after = 2;
  return hash;
}
NOINLINE std::uint64_t right(Callers& callers, unsigned frames) {
  const std::uint64_t hash = inner(callers, frames);
  g_after = 3;
  return hash;
}
NOINLINE std::uint64_t twice(Callers& callers, unsigned frames, bool second) {
  std::uint64_t hash = 0;
  if (second)
    hash = inner(callers, frames);
  else
    hash = inner(callers, frames);
  g_after = 4;
  return hash;
}
NOINLINE std::uint64_t of_any_size(Callers& callers, unsigned frames, std::size_t bytes) {
  auto* room = static_cast<volatile char*>(alloca(bytes));
  room[0] = 1;
  room[bytes - 1] = 1;
  const std::uint64_t hash = call(callers, frames);
  g_after = room[0];
  return hash;
}
NOINLINE std::uint64_t any_size_from_here(Callers& callers, unsigned frames,
                                          std::size_t bytes) {
  const std::uint64_t hash = of_any_size(callers, frames, bytes);
  g_after = 5;
  return hash;
}
NOINLINE std::uint64_t any_size_from_there(Callers& callers, unsigned frames,
                                           std::size_t bytes) {
  const std::uint64_t hash = of_any_size(callers, frames, bytes);
  g_after = 6;
  return hash;
}
NOINLINE std::uint64_t deep(Callers& callers, unsigned frames, int depth) {
  const std::uint64_t hash =
      depth == 0 ? call(callers, frames) : deep(callers, frames, depth - 1);
  g_after = depth;
  return hash;
}

std::unique_ptr<Callers> fresh() { return std::make_unique<Callers>(); }

TEST_CASE("Callers: paths - are distinguished by as many frames as needed") {
  const auto callers = fresh();
  CHECK(left(*callers, 0) == 0);
  const std::uint64_t by_left = left(*callers, 1);
  const std::uint64_t by_right = right(*callers, 1);
  CHECK(by_left != 0);
  CHECK(by_left != by_right);
  CHECK(twice(*callers, 2, false) != left(*callers, 2));
  // The same functions, from two places of this one: the second frame differs.
  std::uint64_t one[2];
  std::uint64_t two[2];
  one[0] = left(*callers, 1), two[0] = left(*callers, 2);
  one[1] = left(*callers, 1), two[1] = left(*callers, 2);
  CHECK(one[0] == one[1]);
  CHECK(two[0] != two[1]);
}

TEST_CASE("Callers: paths - known ones need no unwinding and give the same hash") {
  const auto callers = fresh();
  std::vector<std::uint64_t> lefts;
  std::vector<std::uint64_t> rights;
  std::uint64_t unwinds = 0;
  for (int i = 0; i < 100; ++i) {
    lefts.push_back(left(*callers, 3));
    rights.push_back(right(*callers, 3));
    if (i == 0) unwinds = callers->unwinds();
  }
  CHECK(unwinds == 2);
  CHECK(callers->unwinds() == unwinds);
  for (int i = 1; i < 100; ++i) {
    CHECK(lefts[i] == lefts[0]);
    CHECK(rights[i] == rights[0]);
  }
  CHECK(lefts[0] != rights[0]);
  // Another table unwinds, and finds the same: the hash does not depend on what is known.
  std::uint64_t known = 0;
  std::uint64_t unknown = 0;
  const auto other = fresh();
  for (Callers* each : {callers.get(), callers.get(), other.get()}) {
    const std::uint64_t hash = left(*each, 3);
    (each == other.get() ? unknown : known) = hash;
  }
  CHECK(known == unknown);
}

TEST_CASE("Callers: frames - whose size varies are right at any size") {
  const auto callers = fresh();
  std::vector<std::uint64_t> here;
  std::vector<std::uint64_t> there;
  for (int i = 0; i < 20; ++i) {
    const std::size_t bytes = 16 + 4096 * static_cast<std::size_t>(i % 3);
    here.push_back(any_size_from_here(*callers, 2, bytes));
    there.push_back(any_size_from_there(*callers, 2, bytes));
  }
  for (int i = 1; i < 20; ++i) {
    CHECK(here[i] == here[0]);
    CHECK(there[i] == there[0]);
  }
  CHECK(here[0] != there[0]);
}

TEST_CASE("Callers: frames - of recursion count each") {
  const auto callers = fresh();
  std::uint64_t hashes[6];
  for (int depth = 0; depth < 6; ++depth) hashes[depth] = deep(*callers, 4, depth);
  CHECK(hashes[4] == hashes[5]);  // the outermost call is beyond the frames asked for
  CHECK(hashes[1] != hashes[2]);
}

struct Task {
  Callers* callers;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};
Task* g_task = nullptr;

void run_task() {
  for (int i = 0; i < g_two; ++i)
    (i == 0 ? g_task->first : g_task->second) = left(*g_task->callers, 16);
}

TEST_CASE("Callers: stacks - of threads and coroutines end where they end") {
  const auto callers = fresh();
  left(*callers, 16);
  Task task{callers.get()};
  g_task = &task;
  std::vector<char> stack(64 << 10);
  static ucontext_t back;
  static ucontext_t there;
  getcontext(&there);
  there.uc_stack.ss_sp = stack.data();
  there.uc_stack.ss_size = stack.size();
  there.uc_link = &back;
  makecontext(&there, run_task, 0);
  swapcontext(&back, &there);
  CHECK(task.first != 0);
  CHECK(task.first == task.second);

  pthread_t thread;
  const auto in_thread = fresh();
  task = {in_thread.get()};
  pthread_create(
      &thread, nullptr, [](void*) -> void* { return run_task(), nullptr; }, nullptr);
  pthread_join(thread, nullptr);
  CHECK(task.first != 0);
  CHECK(task.first == task.second);
  CHECK(in_thread->unwinds() == 1);
}

TEST_CASE("Callers: table - what does not fit is unwound and right") {
  const auto callers = fresh();
  // No frame of this program: an unwind does not find it, nothing is above it.
  for (std::uintptr_t address = 1; address < 20000; ++address)
    CHECK(callers->hash({reinterpret_cast<const void*>(address), __builtin_dwarf_cfa()},
                        3) == 0);
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i <= g_two; ++i) hashes.push_back(left(*callers, 3));
  CHECK(hashes[0] != 0);
  CHECK(hashes[1] == hashes[0]);
  CHECK(hashes[2] == hashes[0]);
}

}  // namespace
}  // namespace refrain::mpi::callers_test
