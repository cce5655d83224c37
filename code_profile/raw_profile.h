// One process's file of loops, as the tool for valgrind wrote it (code_profile/counter/README.md has the format).
//
// Place in the flow: between code_profile/counter and loop_profile.h. Thread-safety: plain values.
// Errors: one line: file, line, what is wrong. All numbers that refer to something are
// checked, so that who reads the result need not.
// Cost: linear in the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "base/result.h"

namespace refrain::code_profile {

// Instructions, loads, stores, floating-point operations.
using Counts = std::array<std::uint64_t, 4>;
inline constexpr std::size_t kInstructions = 0, kLoads = 1, kStores = 2, kFlops = 3;

inline constexpr std::uint32_t kNone = 0xffffffff;

struct RawModule {
  std::uint64_t start = 0, end = 0, offset = 0;
  std::string path;  // empty: no file
};

// How often and how much, of one thread; threads that came one after the other share a number.
struct RawCalls {
  std::uint32_t thread = 0;
  std::uint64_t calls = 0;
  Counts total{};
};

struct RawFunction {
  std::uint64_t address = 0;
  std::uint32_t module = kNone;
  bool recursive = false;
  std::vector<RawCalls> called{};
};

struct RawCallEdge {
  std::uint32_t function = 0;
  bool tail = false;  // a jump
  RawCalls calls{};
};

struct RawBlock {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t module = kNone, function = kNone, loop = kNone;
  std::uint64_t runs = 0;
  Counts of_one_run{};
  std::vector<RawCallEdge> edges{};
  std::vector<std::uint32_t> jumps{};  // blocks; only of blocks in loops
};

struct RawTrips {
  std::uint32_t exit = kNone;  // block that ran last
  std::uint64_t backs = 0;     // how often control came back to the head
  std::uint64_t times = 0;
};

struct RawLoopCounts {
  std::uint32_t thread = 0;
  std::uint64_t inherited = 0;  // iterations of trips that began before a fork
  Counts total{};
  std::vector<RawTrips> trips{};
};

struct RawLoop {
  bool exists = false;
  std::uint32_t head = 0, parent = kNone;
  bool irreducible = false;
  bool head_leaves = false;              // its head has a way out of it
  std::vector<std::uint32_t> latches{};  // blocks in it that jump to its head
  std::vector<RawLoopCounts> counts{};
};

struct RawProfile {
  std::uint64_t process = 0, parent = 0;
  std::string command;
  std::vector<RawModule> modules;
  std::vector<RawFunction> functions;
  std::vector<RawBlock> blocks;
  std::vector<RawLoop> loops;  // by number; not all exist
};

base::Result<RawProfile> read_raw_profile(const std::string& path);
base::Result<RawProfile> read_raw_profile(std::istream& in, const std::string& name);

}  // namespace refrain::code_profile
