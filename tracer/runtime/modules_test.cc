#include "tracer/runtime/modules.h"

#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>

namespace refrain::runtime::modules_test {
namespace {

std::uint64_t address_of_this_code() {
  return reinterpret_cast<std::uint64_t>(&address_of_this_code);
}

TEST_CASE("Modules: scan - finds the program once, with its range and name") {
  Modules modules;
  CHECK_FALSE(modules.covers(address_of_this_code()));
  const std::vector<std::string> texts = modules.scan_new();
  CHECK(modules.covers(address_of_this_code()));
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  int found = 0;
  for (const std::string& text : texts) {
    unsigned long long begin = 0, end = 0, offset = 0;
    char build_id[256];
    int path_at = 0;
    REQUIRE(std::sscanf(text.c_str(), "%llx %llx %llx %255s %n", &begin, &end, &offset,
                        build_id, &path_at) == 4);
    CHECK(begin < end);
    const std::string path = text.substr(static_cast<std::size_t>(path_at));
    CHECK((path[0] == '/' || path == "[vdso]"));
    if (address_of_this_code() < begin || address_of_this_code() >= end) continue;
    CHECK(path == self);
    ++found;
  }
  CHECK(found == 1);
  CHECK(modules.scan_new().empty());
}

TEST_CASE("Modules: scan - a library that comes later is new, and alone") {
  Modules modules;
  modules.scan_new();
  void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW);  // of glibc; else unused
  REQUIRE(library != nullptr);
  const std::vector<std::string> texts = modules.scan_new();
  dlclose(library);
  REQUIRE(texts.size() == 1);
  CHECK(texts[0].find("libBrokenLocale") != std::string::npos);
}

}  // namespace
}  // namespace refrain::runtime::modules_test
