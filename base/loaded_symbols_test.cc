// Against the loader's own answers.
#include "base/loaded_symbols.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace refrain::base::loaded_symbols_test {
namespace {

const char* offset(const void* address, std::ptrdiff_t bytes) {
  return static_cast<const char*>(address) + bytes;
}

TEST_CASE("Loaded symbols: by name - what dlsym finds") {
  for (const char* name : {"printf", "qsort", "pthread_create", "abort", "environ",
                           "_ZdlPv", "getenv", "__libc_start_main"}) {
    INFO(name);
    CHECK(symbol_of(name) == dlsym(RTLD_DEFAULT, name));
  }
  CHECK(symbol_of("no_such_function_anywhere") == nullptr);
}

TEST_CASE("Loaded symbols: names with versions - the default one, if there is one") {
  // The last one is there for programs of old alone.
  for (const char* name :
       {"realpath", "posix_spawn", "pthread_cond_wait", "fmemopen", "__ctype_b"}) {
    INFO(name);
    CHECK(symbol_of(name) == dlsym(RTLD_DEFAULT, name));
  }
}

TEST_CASE("Loaded symbols: by name in an object, and after it") {
  const auto* const libc = reinterpret_cast<const void*>(&std::qsort);
  const void* const qsort = dlsym(RTLD_DEFAULT, "qsort");
  REQUIRE(qsort != nullptr);
  CHECK(symbol_in(qsort, "qsort") == qsort);
  CHECK(symbol_in(qsort, "_dl_catch_nothing") == nullptr);
  CHECK(symbol_after(qsort, "qsort") == nullptr);
  static const int here = 0;
  CHECK(symbol_after(&here, "qsort") == qsort);
  CHECK(symbol_in(&here, "qsort") ==
        (symbol_at(libc).object == symbol_at(&here).object ? libc : nullptr));
}

TEST_CASE("Loaded symbols: by address - the function that dladdr finds") {
  int functions = 0, without = 0;
  for (const char* of : {"qsort", "printf", "fopen"}) {
    const void* const begin = dlsym(RTLD_DEFAULT, of);
    REQUIRE(begin != nullptr);
    for (std::ptrdiff_t bytes = -20'000; bytes < 20'000; bytes += 37) {
      const void* const address = offset(begin, bytes);
      Dl_info expected{};
      if (dladdr(address, &expected) == 0) continue;
      const LoadedSymbol found = symbol_at(address);
      REQUIRE(found.object != nullptr);
      CHECK(std::string(expected.dli_fname).ends_with(found.file));
      if (found.name != nullptr) {
        ++functions;
        CHECK(found.begin == expected.dli_saddr);
      } else {
        ++without;
        CHECK(expected.dli_sname == nullptr);
      }
    }
  }
  CHECK(functions > 100);
  CHECK(without > 100);
}

TEST_CASE("Loaded symbols: an address in no object") {
  const auto memory = std::malloc(1);
  CHECK(symbol_at(memory).object == nullptr);
  CHECK(symbol_in(memory, "qsort") == nullptr);
  CHECK(symbol_after(memory, "qsort") == nullptr);
  std::free(memory);
}

}  // namespace
}  // namespace refrain::base::loaded_symbols_test
