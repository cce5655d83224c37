// A walk at every single instruction: the processor's trap flag makes a signal of each, in prologues and
// epilogues, in procedure linkage tables, in the dynamic linker and the C library. The calls and returns
// that go by are the truth: a stack of return addresses, kept by what the processor did.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cwchar>
#include <stdexcept>
#include <string>
#include <vector>

#include "tracer/sampler/stack_walk.h"
#include "tracer/sampler/unwind_lookup.h"
#include "tracer/sampler/walked_functions.h"

using namespace refrain::sampler;
using namespace refrain::sampler::testing;

namespace {

constexpr unsigned kMax = 400;
constexpr std::uint64_t kTrapFlag = 0x100;

struct Call {
  std::uint64_t slot;  // where the return address lies
  std::uint64_t returns_to;
};

struct Wrong {
  std::uint64_t address;
  unsigned count;
  unsigned expected;
  WalkEnd end;
};

enum class Truth {
  kAllCallers,
  kOuterCallers,  // those of the function that steps; code leaves frames without returning
};

struct Steps {
  StackBounds bounds;
  Truth truth = Truth::kAllCallers;
  std::uint64_t linker = 0;  // where the dynamic linker is
  unsigned steps_in_linker = 0;
  unsigned outer_calls = 0;
  unsigned steps = 0;
  bool stop = false;
  std::uint64_t address = 0;  // of the step before
  std::uint64_t stack = 0;
  unsigned calls = 0;
  std::array<Call, kMax> callers;  // outermost first
  unsigned wrong = 0;
  unsigned wrong_with_tables = 0;  // where the code has unwind tables
  std::array<Wrong, 4096> examples;
};
Steps g_steps;

__attribute__((no_sanitize("address"))) std::uint64_t word_at(std::uint64_t address) {
  return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

void note_wrong(std::uint64_t address, const Walk& walk) {
  if (g_steps.wrong < g_steps.examples.size())
    g_steps.examples[g_steps.wrong] = {address, walk.count, g_steps.calls + 1, walk.end};
  ++g_steps.wrong;
  CodeObject object;
  FrameProgram program;
  if (find_object(address, object) && find_frame_program(object, address, program))
    ++g_steps.wrong_with_tables;
}

// What the last instruction did to the callers.
void follow_calls(std::uint64_t address, std::uint64_t stack) {
  while (g_steps.calls != 0 && g_steps.callers[g_steps.calls - 1].slot < stack)
    --g_steps.calls;
  if (stack != g_steps.stack - 8) return;
  const std::uint64_t pushed = word_at(stack);
  const bool is_call = pushed > g_steps.address && pushed <= g_steps.address + 8 &&
                       (address < g_steps.address || address > pushed);
  if (is_call && g_steps.calls < kMax) g_steps.callers[g_steps.calls++] = {stack, pushed};
}

// Returns true if the walk found the callers: all, or only those that were there before.
bool is_right(const Walk& walk, const std::uint64_t* frames) {
  const bool all = g_steps.truth == Truth::kAllCallers;
  const unsigned compared = all ? g_steps.calls : g_steps.outer_calls;
  if (walk.end != WalkEnd::kOutermost || walk.count <= compared) return false;
  if (all && walk.count != compared + 1) return false;
  for (unsigned i = 0; i != compared; ++i)
    if (frames[walk.count - 1 - i] != g_steps.callers[i].returns_to) return false;
  return true;
}

void on_step(int, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  auto& registers = context.uc_mcontext.gregs;
  const auto address = static_cast<std::uint64_t>(registers[REG_RIP]);
  const auto stack = static_cast<std::uint64_t>(registers[REG_RSP]);
  static std::uint64_t frames[kMax];
  const Walk walk = walk_stack(context, g_steps.bounds, frames, kMax);
  if (g_steps.steps == 0) {
    // The callers of the function that steps: other tests compare them with libgcc's.
    g_steps.calls = g_steps.outer_calls = walk.count - 1;
    for (unsigned i = 0; i != g_steps.calls; ++i)
      g_steps.callers[i] = {g_steps.bounds.end, frames[walk.count - 1 - i]};
  } else {
    follow_calls(address, stack);
    if (frames[0] != address || !is_right(walk, frames)) note_wrong(address, walk);
  }
  constexpr std::uint64_t kLinkerBytes = 0x30000;
  if (address - g_steps.linker < kLinkerBytes) ++g_steps.steps_in_linker;
  g_steps.address = address;
  g_steps.stack = stack;
  ++g_steps.steps;
  if (g_steps.stop) registers[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
}

// Each instruction of `function` is a step.
template <class Function>
__attribute__((noinline)) void step_through(Function function, Truth truth) {
  struct sigaction action {};
  struct sigaction before;
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  g_steps = {};
  g_steps.bounds = bounds_of_this_thread();
  g_steps.truth = truth;
  g_steps.linker = getauxval(AT_BASE);
  asm volatile(
      "sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; sub $-128, %%rsp"  // red zone
      :
      :
      : "memory", "cc");
  function();
  const_cast<volatile bool&>(g_steps.stop) = true;
  asm volatile("nop; nop" : : : "memory");
  sigaction(SIGTRAP, &before, nullptr);
}

std::string place(std::uint64_t address) {
  Dl_info info{};
  char text[400];
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0)
    std::snprintf(text, sizeof text, "%" PRIx64, address);
  else
    std::snprintf(text, sizeof text, "%s+%" PRIx64 " %s", info.dli_fname,
                  address - reinterpret_cast<std::uint64_t>(info.dli_fbase),
                  info.dli_sname == nullptr ? "" : info.dli_sname);
  return text;
}

std::string wrong_places() {
  std::vector<std::string> lines;
  for (unsigned i = 0; i != std::min<std::size_t>(g_steps.wrong, g_steps.examples.size());
       ++i) {
    const Wrong& wrong = g_steps.examples[i];
    lines.push_back(place(wrong.address) + ": " + std::to_string(wrong.count) +
                    " frames of " + std::to_string(wrong.expected) + ", end " +
                    std::to_string(static_cast<int>(wrong.end)));
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// `least`: so many steps there are at least, or the trap flag did not work.
template <class Function>
void check_steps(unsigned least, Function function, Truth truth = Truth::kAllCallers) {
  step_through(function, truth);
  CHECK(g_steps.steps > least);
  INFO(wrong_places());
  CHECK(g_steps.wrong == 0);
}

int plain_end(int result) { return result + 1; }

volatile int g_sink = 0;

}  // namespace

TEST_CASE("Stack walk: every instruction - functions of all kinds") {
  for (const WalkedFunctions* functions :
       {&kWithFramePointer, &kWithoutFramePointer, &kUnoptimized}) {
    INFO(functions->name);
    check_steps(1500, [&] {
      functions->recursion(12, plain_end);
      functions->variable_length(5, plain_end);
      functions->aligned_locals(5, plain_end);
      functions->many_registers(5, plain_end);
      functions->many_arguments(5, plain_end);
      functions->sorting(2, plain_end);
    });
  }
}

TEST_CASE("Stack walk: every instruction - without tables, by frame pointers") {
  check_steps(500, [] {
    kOnlyFramePointer.recursion(12, plain_end);
    kOnlyFramePointer.many_registers(5, plain_end);
    kOnlyFramePointer.many_arguments(5, plain_end);
  });
}

TEST_CASE("Stack walk: every instruction - the C library, memory, strings, numbers") {
  check_steps(5000, [] {
    char text[100];
    std::snprintf(text, sizeof text, "%d %s %.3f", 42, "text", 3.25);
    void* memory = std::malloc(12345);
    std::memset(memory, 1, 12345);
    std::free(memory);
    std::vector<std::string> texts;
    for (int i = 0; i != 10; ++i)
      texts.push_back(std::string(static_cast<std::size_t>(i * 5), 'a'));
    std::sort(texts.begin(), texts.end(), std::greater<>());
    g_sink =
        static_cast<int>(std::strtod("1.5", nullptr)) + static_cast<int>(texts[0].size());
  });
}

TEST_CASE("Stack walk: every instruction - the kernel's code in the process (vdso)") {
  check_steps(100, [] {
    timespec now;
    for (int i = 0; i != 5; ++i) clock_gettime(CLOCK_MONOTONIC, &now);
  });
}

namespace {

[[noreturn]] __attribute__((noinline)) void fail(int value) {
  throw std::runtime_error("value " + std::to_string(value));
}

}  // namespace

TEST_CASE("Stack walk: every instruction - exceptions") {
  check_steps(
      5000,
      [] {
        try {
          fail(3);
        } catch (const std::exception& error) {
          g_sink = static_cast<int>(std::strlen(error.what()));
        }
      },
      Truth::kOuterCallers);
}

TEST_CASE("Stack walk: every instruction - longjmp()") {
  check_steps(
      50,
      [] {
        jmp_buf place;
        if (setjmp(place) == 0) longjmp(place, 1);
      },
      Truth::kOuterCallers);
}

TEST_CASE("Stack walk: every instruction - the dynamic linker finds a function") {
  // Its first call; nothing else here calls it.
  check_steps(200, [] { g_sink = static_cast<int>(wcsspn(L"aab", L"a")); });
  CHECK(g_steps.steps_in_linker > 100);
}

TEST_CASE("Stack walk: every instruction - a library is loaded and unloaded") {
  // One of the C library's that nobody needs any more. Its _init and _fini have no tables.
  void* library = nullptr;
  step_through(
      [&] {
        library = dlopen("librt.so.1", RTLD_NOW);
        if (library != nullptr) dlclose(library);
      },
      Truth::kAllCallers);
  REQUIRE(library != nullptr);
  CHECK(g_steps.steps > 5000);
  INFO(wrong_places());
  CHECK(g_steps.wrong_with_tables == 0);
  CHECK(g_steps.wrong < 20);
}
