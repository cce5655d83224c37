// What parts of the library do before anything of it is used.
//
// Place in the flow: when the library is loaded; earlier, if a library of the program whose constructors come first (those of
// the program's own libraries do) starts OpenMP or calls MPI in one of them. So no part relies on a constructor.
// Thread-safety: once. They allocate nothing, and know no setting yet.
#pragma once

namespace refrain::runtime {

using AtLoad = void (*)();

// Calls them all, the first time.
void run_at_load() noexcept;

}  // namespace refrain::runtime

// `function` is one of them. At namespace scope.
#define REFRAIN_AT_LOAD(function)                                                \
  [[gnu::used,                                                                   \
    gnu::section("refrain_at_load")]] constinit const ::refrain::runtime::AtLoad \
      kAtLoad_##function = function
