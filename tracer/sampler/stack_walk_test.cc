// The walk compared with libgcc's unwinder, which is called at the same place: both must name the same callers.
#include "tracer/sampler/stack_walk.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <thread>
#include <vector>

#include "tracer/sampler/walked_functions.h"

using namespace refrain::sampler;
using namespace refrain::sampler::testing;

namespace {

constexpr unsigned kMax = 600;

// What the handler found.
struct Found {
  StackBounds bounds;
  unsigned most = kMax;
  Walk walk;
  std::array<std::uint64_t, kMax> frames;
  std::array<void*, kMax + 8> truth;
  int truths = 0;
  int traps = 0;
  int errno_after = 0;
};
Found g_found;

void on_trap(int, siginfo_t* info, void* context) {
  errno = 123;
  g_found.walk = walk_stack(*static_cast<ucontext_t*>(context), g_found.bounds,
                            g_found.frames.data(), g_found.most);
  g_found.errno_after = errno;
  g_found.truths = backtrace(g_found.truth.data(), static_cast<int>(g_found.truth.size()));
  ++g_found.traps;
#if defined(__aarch64__)
  if (info->si_code != SI_TKILL)  // stands at the instruction, not behind it
    static_cast<ucontext_t*>(context)->uc_mcontext.pc += 4;
#else
  (void)info;
#endif
}

// A signal at this very place.
int trap_here(int result) {
#if defined(__x86_64__)
  asm volatile("int3");
#else
  asm volatile("brk #0");
#endif
  return result;
}
// One further in, in the C library.
int raise_here(int result) {
  raise(SIGTRAP);
  return result;
}

class Traps {
 public:
  explicit Traps(int flags = 0) {
    struct sigaction action {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(SIGTRAP, &action, &before_);
    g_found = {};
    g_found.bounds = bounds_of_this_thread();
    void* some[2];
    backtrace(some, 2);  // loads its library
  }
  ~Traps() { sigaction(SIGTRAP, &before_, nullptr); }

 private:
  struct sigaction before_;
};

std::vector<std::uint64_t> walked() {
  return {g_found.frames.begin(), g_found.frames.begin() + g_found.walk.count};
}

// libgcc's, from the interrupted instruction on.
std::vector<std::uint64_t> truth() {
  std::vector<std::uint64_t> all;
  for (int i = 0; i != g_found.truths; ++i)
    all.push_back(
        reinterpret_cast<std::uint64_t>(g_found.truth[static_cast<std::size_t>(i)]));
  const auto begin = std::find(all.begin(), all.end(), g_found.frames[0]);
  REQUIRE(begin != all.end());
  return {begin, all.end()};
}

// What is not on the thread's own stack is read by process_vm_readv(), which qemu-user does not have.
bool other_stacks_are_read() {
#if defined(__x86_64__)
  return true;
#else
  std::uint64_t word = 1;
  std::uint64_t copy = 0;
  return StackMemory::read_checked(reinterpret_cast<std::uintptr_t>(&word), &copy,
                                   sizeof copy);
#endif
}

void check_all_callers() {
  REQUIRE(g_found.traps == 1);
  CHECK(g_found.errno_after == 123);
  CHECK(g_found.walk.end == WalkEnd::kOutermost);
  CHECK(walked() == truth());
}

template <class Function>
void check_functions(const WalkedFunctions& functions, Function check) {
  const std::pair<const char*, int (*)(int, AtEnd)> all[] = {
      {"recursion", functions.recursion},
      {"arrays of variable length", functions.variable_length},
      {"aligned locals", functions.aligned_locals},
      {"many registers", functions.many_registers},
      {"many arguments", functions.many_arguments},
      {"in qsort()", functions.sorting}};
  for (const auto& [name, function] : all) {
    INFO(functions.name << ", " << name);
    check(function);
  }
}

}  // namespace

TEST_CASE("Stack walk: functions - with tables, of all depths, as libgcc unwinds them") {
  for (const WalkedFunctions* functions :
       {&kWithFramePointer, &kWithoutFramePointer, &kUnoptimized})
    check_functions(*functions, [](auto function) {
      for (const AtEnd at_end : {trap_here, raise_here})
        for (const int depth : {0, 1, 2, 7, 30, 100}) {
          INFO("depth " << depth);
          const Traps traps;
          function(depth, at_end);
          check_all_callers();
          CHECK(g_found.walk.count > static_cast<unsigned>(depth));
        }
    });
}

// Not on aarch64: see stack_walk.h.
#if defined(__x86_64__)
TEST_CASE("Stack walk: functions - only frame pointers") {
  check_functions(kOnlyFramePointer, [](auto function) {
    for (const int depth : {0, 1, 30}) {
      INFO("depth " << depth);
      const Traps traps;
      function(depth, trap_here);
      REQUIRE(g_found.traps == 1);
      // libgcc stops where tables end; the chain of the same functions with tables tells how long it is.
      const unsigned count = g_found.walk.count;
      CHECK(g_found.walk.end == WalkEnd::kOutermost);
      CHECK(count > static_cast<unsigned>(depth) + truth().size());
    }
  });
}

#endif

TEST_CASE("Stack walk: functions - the number of frames, known by the program") {
  for (const WalkedFunctions* functions :
       {&kWithFramePointer, &kWithoutFramePointer, &kUnoptimized, &kOnlyFramePointer}) {
#if defined(__aarch64__)
    if (functions == &kOnlyFramePointer) continue;
#endif
    INFO(functions->name);
    const Traps traps;
    functions->recursion(0, trap_here);
    const unsigned shallow = g_found.walk.count;
    for (const unsigned depth : {1u, 50u, 100u}) {
      functions->recursion(static_cast<int>(depth), trap_here);
      CHECK(g_found.walk.count == shallow + depth);
      CHECK(g_found.walk.end == WalkEnd::kOutermost);
    }
  }
}

TEST_CASE(
    "Stack walk: functions - neither tables nor frame pointers: it ends, and says so") {
  const Traps traps;
  kNothing.recursion(10, trap_here);
  REQUIRE(g_found.traps == 1);
  // The function that called trap_here() is found by trap_here()'s tables.
  CHECK(g_found.walk.count >= 2);
  if (g_found.walk.end == WalkEnd::kUnknownCaller) CHECK(g_found.walk.count < 12);
}

TEST_CASE("Stack walk: depth - more frames than asked for, or just as many") {
  const Traps traps;
  kWithoutFramePointer.recursion(40, trap_here);
  const std::vector<std::uint64_t> all = walked();
  for (const unsigned most : {1u, 2u, 20u, static_cast<unsigned>(all.size()) - 1}) {
    g_found.most = most;
    kWithoutFramePointer.recursion(40, trap_here);
    CHECK(g_found.walk.count == most);
    CHECK(g_found.walk.end == WalkEnd::kTooDeep);
    // The outer ones differ: they were called from another line of this test.
    const unsigned same = std::min(most, 20u);
    CHECK(std::equal(all.begin(), all.begin() + same, g_found.frames.begin()));
  }
  g_found.most = static_cast<unsigned>(all.size());
  kWithoutFramePointer.recursion(40, trap_here);
  CHECK(g_found.walk.count == all.size());
  CHECK(g_found.walk.end == WalkEnd::kOutermost);
}

namespace {

void on_user_signal(int) {
  // The thread sanitizer blocks all signals in handlers.
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
  kWithoutFramePointer.recursion(3, trap_here);
  asm volatile("");  // a call, no jump
}

// A trap in a handler of another signal, which interrupted a trap_here()'s sibling.
void trap_in_handler(int flags) {
  struct sigaction action {};
  struct sigaction before;
  action.sa_handler = on_user_signal;
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, &before);
  kWithoutFramePointer.recursion(5, [](int result) {
    raise(SIGUSR1);
    return result;
  });
  sigaction(SIGUSR1, &before, nullptr);
}

class AlternateStack {
 public:
  AlternateStack() {
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, &before_);
  }
  ~AlternateStack() { sigaltstack(&before_, nullptr); }

 private:
  std::vector<char> memory_ = std::vector<char>(1 << 18);
  stack_t before_;
};

}  // namespace

TEST_CASE("Stack walk: signals - through the handler of another one") {
  if (!other_stacks_are_read()) return;
  const Traps traps;
  trap_in_handler(0);
  check_all_callers();
}

TEST_CASE("Stack walk: signals - the other handler is on a stack of its own") {
  if (!other_stacks_are_read()) return;
  const AlternateStack stack;
  const Traps traps;
  trap_in_handler(SA_ONSTACK);
  check_all_callers();
}

TEST_CASE("Stack walk: signals - the walk itself is on another stack") {
  if (!other_stacks_are_read()) return;
  const AlternateStack stack;
  const Traps traps(SA_ONSTACK);
  kWithoutFramePointer.aligned_locals(20, trap_here);
  check_all_callers();
}

TEST_CASE("Stack walk: bounds - unknown: the same is found") {
  if (!other_stacks_are_read()) return;
  const Traps traps;
  g_found.bounds = {};
  kWithoutFramePointer.variable_length(20, trap_here);
  check_all_callers();
}

TEST_CASE("Stack walk: threads - to their begin") {
  std::thread thread([] {
    const Traps traps;
    kWithoutFramePointer.many_registers(12, trap_here);
  });
  thread.join();
  check_all_callers();
}

namespace {

ucontext_t g_main_context;
ucontext_t g_coroutine;

void run_coroutine() {
  kWithoutFramePointer.recursion(9, trap_here);
  asm volatile("");  // a call, no jump
}

}  // namespace

TEST_CASE("Stack walk: coroutines - to the begin of their own stack") {
  if (!other_stacks_are_read()) return;
  const Traps traps;
  std::vector<char> memory(1 << 18);
  REQUIRE(getcontext(&g_coroutine) == 0);
  g_coroutine.uc_stack.ss_sp = memory.data();
  g_coroutine.uc_stack.ss_size = memory.size();
  g_coroutine.uc_link = &g_main_context;
  makecontext(&g_coroutine, run_coroutine, 0);
  REQUIRE(swapcontext(&g_main_context, &g_coroutine) == 0);
  REQUIRE(g_found.traps == 1);
  check_all_callers();
  CHECK(g_found.walk.count ==
        13);  // trap_here(), ten times recursion(), run_coroutine(), the C library
}

#if defined(__x86_64__)
namespace {

// libgcc's, of the function that calls this.
__attribute__((noinline)) std::vector<std::uint64_t> outer_callers() {
  std::array<void*, kMax> all;
  const auto end = all.begin() + backtrace(all.data(), kMax);
  auto here = std::find(all.begin(), end, __builtin_return_address(0));
  REQUIRE(here != end);
  std::vector<std::uint64_t> callers;
  while (++here != end) callers.push_back(reinterpret_cast<std::uint64_t>(*here));
  return callers;
}

// Of a walk whose frames are `inner` ones and, a line further up, the function that called this.
void check_outer_callers(unsigned inner, const std::vector<std::uint64_t>& callers) {
  REQUIRE(g_found.traps == 1);
  CHECK(g_found.walk.end == WalkEnd::kOutermost);
  REQUIRE(g_found.walk.count > inner);
  const std::vector<std::uint64_t> all = walked();
  CHECK(std::vector<std::uint64_t>(all.begin() + inner + 1, all.end()) == callers);
}

// Machine code at run time: no object, no tables.
class MadeCode {
 public:
  explicit MadeCode(std::initializer_list<unsigned char> code) {
    memory_ =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::copy(code.begin(), code.end(), static_cast<unsigned char*>(memory_));
    mprotect(memory_, kBytes, PROT_READ | PROT_EXEC);
  }
  ~MadeCode() { munmap(memory_, kBytes); }
  int call(AtEnd at_end) const {
    return reinterpret_cast<int (*)(int, AtEnd)>(memory_)(1, at_end);
  }
  bool holds(std::uint64_t address) const {
    return address - reinterpret_cast<std::uint64_t>(memory_) < kBytes;
  }

 private:
  static constexpr std::size_t kBytes = 4096;
  void* memory_;
};

__attribute__((noinline)) int call_made(const MadeCode& code, AtEnd at_end) {
  const int got = code.call(at_end);
  asm volatile("" : : "r"(got));  // a call, no jump
  return got + 1;
}

}  // namespace

TEST_CASE("Stack walk: code without an object - by its frame pointer") {
  // push rbp; mov rbp,rsp; sub rsp,32; call rsi; leave; ret
  const MadeCode code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
                      0xec, 0x20, 0xff, 0xd6, 0xc9, 0xc3};
  const Traps traps;
  call_made(code, trap_here);
  check_outer_callers(3, outer_callers());
  CHECK(code.holds(g_found.frames[1]));
}

TEST_CASE("Stack walk: code without an object - just called, or about to return") {
  // int3; ret - int3; push rbp; int3; ...
  const MadeCode leaf{0xcc, 0x90, 0xc3};
  const MadeCode pushed{0x55, 0xcc, 0x48, 0x89, 0xe5, 0x5d, 0xc3};
  for (const MadeCode* code : {&leaf, &pushed}) {
    const Traps traps;
    call_made(*code, trap_here);
    check_outer_callers(2, outer_callers());
    CHECK(code->holds(g_found.frames[0]));
  }
}
#endif
