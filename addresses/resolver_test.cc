#include "addresses/resolver.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "code/debug_index.h"

namespace refrain::addresses {

// The functions that are looked up, with lines that the tests know.
[[gnu::noinline]] std::uint64_t here() {
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}

static inline __attribute__((always_inline)) std::uint64_t inlined_call() {
  const std::uint64_t address = here();
  asm volatile("" ::: "memory");
  return address;
}

constexpr unsigned kInlinedLine = __LINE__ - 5;

[[gnu::noinline]] std::uint64_t outer_function() {
  const std::uint64_t address = inlined_call();
  asm volatile("" ::: "memory");
  return address;
}

[[gnu::noinline]] std::uint64_t here_too() {
  const std::uint64_t address = here();
  asm volatile("" ::: "memory");
  return address;
}

namespace {

struct Mapping {
  std::string text;  // as a kTextModule
  std::string path;
};

// The executable mapping around an address, with this build id.
Mapping mapping_of(std::uint64_t address, const std::string& build_id = "-",
                   std::uint64_t shift = 0) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    char path[4096] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %4095s", &start, &end, &offset,
                    path) != 4 ||
        address < start || address >= end)
      continue;
    char text[8192];
    std::snprintf(text, sizeof(text), "%lx %lx %lx %s %s", start + shift, end + shift,
                  offset, build_id.c_str(), path);
    return {text, path};
  }
  return {};
}

TEST_CASE("Resolver: modules - the table's texts") {
  Module module;
  CHECK(parse_module("55aa0000 55ab0000 1000 0123abcd /usr/bin/a b", module));
  CHECK(module.start == 0x55aa0000);
  CHECK(module.offset == 0x1000);
  CHECK(module.build_id == "0123abcd");
  CHECK(module.path == "/usr/bin/a b");
  CHECK(parse_module("1 2 0 - x", module));
  CHECK(module.build_id.empty());
  for (const char* text :
       {"", "1", "1 2 3", "1 2 3 -", "2 1 0 - x", "x 2 0 - y", "1 2 0 - "})
    CHECK_FALSE(parse_module(text, module));
}

TEST_CASE("Resolver: names - the innermost inlined function, and what contains it") {
  const std::uint64_t address = outer_function();
  Resolver symbols({mapping_of(address).text});
  const Place& symbol = symbols.at_call(address);
  CHECK(symbol.elf_symbol == "_ZN7refrain9addresses14outer_functionEv");
  CHECK_THAT(symbol.file, Catch::EndsWith("resolver_test.cc"));
  CHECK(symbol.line == kInlinedLine);
  CHECK(&symbols.at_call(address) == &symbol);  // once each
  CHECK(symbols.complaints().empty());
}

TEST_CASE("Resolver: places - independent of the load address") {
  const std::uint64_t address = outer_function();
  constexpr std::uint64_t kShift = 0x10000000;
  Resolver symbols({mapping_of(address, "-", kShift).text});
  CHECK(symbols.at_call(address + kShift).elf_symbol ==
        "_ZN7refrain9addresses14outer_functionEv");
  CHECK_THAT(symbols.at_call(address).function, Catch::StartsWith("0x"));
}

TEST_CASE("Resolver: names - a function of C is no type, whatever its name") {
  CHECK(code::demangled("f") == "f");
  CHECK(code::demangled("d") == "d");
  CHECK(code::demangled("Pi") == "Pi");
  CHECK(code::demangled("_Z1fv") == "f()");
  CHECK(code::demangled("__solver_MOD_step") == "solver::step");
}

TEST_CASE("Resolver: threads - what std::thread's own function executes") {
  const auto of = [](const char* function) {
    Place place;
    place.function = function;
    return thread_function(place);
  };
  CHECK(
      of("std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > "
         ">::_M_run()") == "main::{lambda()#1}");
  CHECK(of("std::thread::_State_impl<std::thread::_Invoker<std::tuple<f()::{lambda(int, "
           "char)#2}, int, std::vector<int> > > >::_M_run()") ==
        "f()::{lambda(int, char)#2}");
  CHECK(
      of("std::thread::_State_impl<std::thread::_Invoker<std::tuple<std::packaged_task<int "
         "()> > > >::_M_run()") == "std::packaged_task<int ()>");
  CHECK(
      of("std::__future_base::_Async_state_impl<std::thread::_Invoker<std::tuple<Work<int> "
         "> >, int>::_M_run()") == "Work<int>");
  CHECK(of("run") == "");
  CHECK(of("std::thread::_State_impl<std::thread::_Invoker<std::tuple<cut") == "");
  Place place;
  place.function = "_M_run";
  place.elf_symbol =
      "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4mainEUlvE_EEEEE6_M_runEv";
  CHECK(thread_function(place) == "main::{lambda()#1}");
}

TEST_CASE("Resolver: parallel regions - have the line of their function") {
  const std::uint64_t address = outer_function();
  const std::uint64_t other = here_too();
  const Mapping mapping = mapping_of(address);
  char alias[80];
  std::snprintf(alias, sizeof alias, "%llx %llx %llx - [function]",
                static_cast<unsigned long long>(address),
                static_cast<unsigned long long>(address + 1),
                static_cast<unsigned long long>(other - 1));
  Resolver symbols({mapping.text, alias});
  Resolver plain({mapping.text});
  CHECK(symbols.at_call(address).line == plain.at_call(other).line);
  CHECK(symbols.at_call(address).line != plain.at_call(address).line);
  CHECK(symbols.at_call(address).elf_symbol == plain.at_call(address).elf_symbol);
  CHECK(symbols.complaints().empty());
}

TEST_CASE("Resolver: trust - a rebuilt file gives no names") {
  const std::uint64_t address = outer_function();
  const Mapping mapping = mapping_of(address, "00112233");
  Resolver symbols({mapping.text});
  const Place& symbol = symbols.at_call(address);
  CHECK(symbol.elf_symbol.empty());
  CHECK(symbol.line == 0);
  CHECK_THAT(symbol.function,
             Catch::StartsWith(mapping.path.substr(mapping.path.rfind('/') + 1) + "+0x"));
  CHECK_THAT(symbols.complaints().at(0), Catch::Contains("rebuilt"));
}

// This program without its debug information, which is in a file of its own.
TEST_CASE(
    "Resolver: debug files - by the program's link to them, and in debuginfod's cache") {
  namespace fs = std::filesystem;
  const std::uint64_t address = outer_function();
  const Mapping mapping = mapping_of(address);
  const fs::path folder =
      fs::temp_directory_path() / ("debug_files." + std::to_string(::getpid()));
  fs::create_directories(folder / ".debug");
  const std::string copy = (folder / "program").string();
  fs::copy_file(fs::read_symlink("/proc/self/exe"), copy);
  REQUIRE(std::system(("cd '" + folder.string() +
                       "' && objcopy --only-keep-debug program program.debug && strip -g "
                       "program && objcopy --add-gnu-debuglink=program.debug program")
                          .c_str()) == 0);
  std::string text = mapping.text;
  text.replace(text.rfind(mapping.path), std::string::npos, copy);
  const auto line = [&] { return Resolver({text}).at_call(address).line; };
  CHECK(line() == kInlinedLine);
  fs::rename(folder / "program.debug", folder / ".debug/program.debug");
  CHECK(line() == kInlinedLine);
  std::ofstream(folder / ".debug/program.debug", std::ios::app) << "changed";
  CHECK(line() == 0);

  std::string id;
  REQUIRE(std::system(("readelf -n '" + copy + "' | sed -n 's/.*Build ID: //p' > '" +
                       (folder / "id").string() + "'")
                          .c_str()) == 0);
  std::ifstream(folder / "id") >> id;
  REQUIRE_FALSE(id.empty());
  fs::create_directories(folder / "cache" / id);
  fs::rename(folder / ".debug/program.debug", folder / "cache" / id / "debuginfo");
  CHECK(line() == 0);
  ::setenv("DEBUGINFOD_CACHE_PATH", (folder / "cache").c_str(), 1);
  CHECK(line() == kInlinedLine);
  ::unsetenv("DEBUGINFOD_CACHE_PATH");
  fs::remove_all(folder);
}

TEST_CASE("Resolver: unknown - module and offset, or the address") {
  Resolver symbols({"1000 2000 4000 - /no/such/libthing.so", "damaged"});
  CHECK(symbols.at(0x1010).function == "libthing.so+0x4010");
  CHECK(symbols.at(0x9999).function == "0x9999");
  CHECK(symbols.at_call(0).function.empty());
  CHECK(symbols.complaints().size() == 2);
}

}  // namespace
}  // namespace refrain::addresses
