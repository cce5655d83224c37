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
  ReusedCode reused;
  Modules modules(reused);
  CHECK_FALSE(modules.covers(address_of_this_code()));
  const std::vector<ModuleText> texts = modules.scan_new();
  CHECK(modules.covers(address_of_this_code()));
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  int found = 0;
  for (const auto& [from, to, text] : texts) {
    unsigned long long begin = 0, end = 0, offset = 0;
    char build_id[256];
    int path_at = 0;
    REQUIRE(std::sscanf(text.c_str(), "%llx %llx %llx %255s %n", &begin, &end, &offset,
                        build_id, &path_at) == 4);
    CHECK(begin < end);
    CHECK((begin == from && end == to));
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
  ReusedCode reused;
  Modules modules(reused);
  modules.scan_new();
  void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW);  // of glibc; else unused
  REQUIRE(library != nullptr);
  const std::vector<ModuleText> texts = modules.scan_new();
  dlclose(library);
  REQUIRE(texts.size() == 1);
  CHECK(texts[0].text.find("libBrokenLocale") != std::string::npos);
}

TEST_CASE("Modules: unloaded - what is loaded in its place has addresses of its own") {
  ReusedCode reused;
  Modules modules(reused);
  modules.scan_new();
  void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  const std::vector<ModuleText> texts = modules.scan_new();
  REQUIRE(texts.size() == 1);
  const std::uint64_t inside = texts[0].begin + 8;
  CHECK(modules.covers(inside));
  CHECK_FALSE(modules.note_unloaded());
  dlclose(library);
  REQUIRE(modules.note_unloaded());
  CHECK_FALSE(modules.covers(inside));
  CHECK(reused.find(inside).gone);
  CHECK_FALSE(reused.find(address_of_this_code()).gone);
  // Again where it was, it is the same code.
  library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  const std::vector<ModuleText> again = modules.scan_new();
  if (again.empty()) {
    CHECK_FALSE(reused.find(inside).gone);
    CHECK(reused.find(inside).address == inside);
    CHECK(modules.covers(inside));
  }
  dlclose(library);
}

TEST_CASE("Modules: reused ranges - later ones over earlier ones, and what comes back") {
  ReusedCode reused;
  const std::size_t first = reused.add(0x1000, 0x5000, ReusedCode::kGone);
  CHECK(reused.find(0x4000).gone);
  const std::size_t second = reused.add(0x2000, 0x3000, ReusedCode::kFirst);
  CHECK(reused.find(0x2010).address == ReusedCode::kFirst + 0x2010);
  CHECK(reused.find(0x4000).gone);
  CHECK(reused.loaded(ReusedCode::kFirst + 0x2010) == 0x2010);
  CHECK(reused.loaded(0x2010) == 0);
  CHECK(reused.loaded(0x9000) == 0x9000);
  CHECK(reused.find(0x9000).address == 0x9000);
  reused.set_shift(second, ReusedCode::kGone);
  CHECK(reused.find(0x2010).gone);
  CHECK(reused.loaded(0x2010) == 0);
  reused.set_shift(first, 0);
  CHECK(reused.loaded(0x2010) == 0x2010);
  CHECK(reused.find(0x2010).address == 0x2010);
  CHECK_FALSE(reused.find(0x2010).gone);
}

}  // namespace
}  // namespace refrain::runtime::modules_test
