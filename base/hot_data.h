// Where variables lie that are used at each event: side by side, in few pages.
//
// Place in the flow: what runs inside of traced programs. After a system call, and after a computation, the processor has no
// addresses of ours left: each page that an event touches costs it some nanoseconds (docs/lab/cost.md, "After a system call").
// Use: `constinit REFRAIN_HOT_DATA bool g_tracing = false;` at namespace scope, not inline; some bytes each. Those that are
// written at events have a line of their own: alignas(64).
#pragma once

#define REFRAIN_HOT_DATA __attribute__((section("refrain_hot_data")))

namespace refrain::base {

// Room for an object that is made later, with placement new, and never destroyed: its address is known when the program
// is compiled.
template <typename Object>
union Undestroyed {
  constexpr Undestroyed() noexcept : none{} {}
  constexpr ~Undestroyed() {}
  Undestroyed(const Undestroyed&) = delete;
  Undestroyed& operator=(const Undestroyed&) = delete;
  char none;
  Object object;
};

}  // namespace refrain::base
