#include "tracer/recorder/frame_mark.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>

namespace refrain::recorder::frame_mark_test {
namespace {

const int g_user = 0;
const FrameMark* volatile g_mark = nullptr;
volatile bool g_gone = false;
sigjmp_buf g_back;

[[gnu::noinline]] void ask() {
  const FrameMark here;
  g_gone = FrameMark::is_gone(g_mark, &g_user, &here);
}
void ask_in_handler(int) { ask(); }
void jump_in_handler(int) { siglongjmp(g_back, 1); }

// Is interrupted while its mark is set.
[[gnu::noinline]] void use_and_raise() {
  FrameMark mark;
  mark.set(&g_user);
  g_mark = &mark;
  raise(SIGUSR1);
}

// Frames of `bytes`, in which something is written everywhere.
[[gnu::noinline]] void ask_below(std::size_t blocks) {
  volatile std::uintptr_t room[64];
  for (volatile std::uintptr_t& word : room) word = blocks;
  if (blocks == 0)
    ask();
  else
    ask_below(blocks - 1);
  for (volatile std::uintptr_t& word : room) word = blocks;
}

}  // namespace

TEST_CASE("FrameMark: a handler - its frame is below the mark, which is in use") {
  signal(SIGUSR1, ask_in_handler);
  g_gone = true;
  use_and_raise();
  CHECK_FALSE(g_gone);
}

TEST_CASE("FrameMark: a jump - who comes later sees that the frame is gone") {
  signal(SIGUSR1, jump_in_handler);
  if (sigsetjmp(g_back, 1) == 0) use_and_raise();
  g_gone = false;
  SECTION("from a frame at the same place or above it") { ask(); }
  SECTION("from one below it") { ask_below(64); }
  CHECK(g_gone);
}

TEST_CASE("FrameMark: an alternate stack - nothing can be known, so it is in use") {
  std::array<char, 1 << 16> room;
  stack_t stack{}, before{};
  stack.ss_sp = room.data();
  stack.ss_size = room.size();
  REQUIRE(sigaltstack(&stack, &before) == 0);
  struct sigaction action {};
  action.sa_handler = ask_in_handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  g_gone = true;
  use_and_raise();
  CHECK_FALSE(g_gone);
  REQUIRE(sigaltstack(&before, nullptr) == 0);
}

TEST_CASE("FrameMark: memory that is not there - is no frame that is gone") {
  g_mark = reinterpret_cast<const FrameMark*>(UINTPTR_MAX - 4095);
  errno = EDOM;
  ask();
  const int after = errno;
  CHECK_FALSE(g_gone);
  CHECK(after == EDOM);
}

}  // namespace refrain::recorder::frame_mark_test
