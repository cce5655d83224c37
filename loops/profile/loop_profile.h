// The loops and functions of a run, of all its processes and threads: names, source lines, counts, and who
// is in whom or calls whom.
//
// Place in the flow: made of raw_profile.h, printed by loop_text.h, drawn by tools/graph/loop_drawing.h.
// Processes are merged by module and place in its file, so that addresses need not be the same.
// Thread-safety: plain values; add_process() from one thread.
// Units: counts are of instructions that ran (a repeated string instruction counts once a repetition).
// Errors: modules whose file is not there have addresses instead of names.
// Source: Moseley et al., section 3.2 (terms), 3.4 (self, total), 3.5 (graph).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "loops/profile/raw_profile.h"

namespace refrain::loops {

struct ThreadOfLoop {
  std::uint64_t process = 0;
  std::uint32_t thread = 0;
  std::uint64_t entries = 0, iterations = 0;
};

struct Node {
  bool is_loop = false;
  std::string function;  // as in the source; of a loop: the one it lies in
  std::string file;      // empty: not known
  std::uint32_t line = 0;
  std::string module;         // path
  std::uint64_t address = 0;  // in the module's file
  Counts self{}, total{};
  std::uint64_t entries = 0;  // of a function: calls
  // Of loops.
  std::uint64_t iterations = 0;
  std::map<std::uint64_t, std::uint64_t> trips{};  // iterations of an entry: how often
  std::uint32_t parent = kNone;                    // loop
  std::uint32_t depth = 0;                         // 1: outermost
  bool irreducible = false;
  std::vector<ThreadOfLoop> threads{};
};

// From a loop or function to one that lies in it or is called by it.
struct Edge {
  std::uint32_t from = 0, to = 0;
  std::uint64_t count = 0;
  Counts total{};
};

struct LoopProfile {
  std::vector<std::string> commands;  // of the processes
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  Counts total{};
  std::vector<std::string> complaints;
};

class ProfileBuilder {
 public:
  ProfileBuilder();
  ~ProfileBuilder();
  ProfileBuilder(const ProfileBuilder&) = delete;
  ProfileBuilder& operator=(const ProfileBuilder&) = delete;
  void add_process(const RawProfile& raw);
  // Loops and functions that ran, by total.
  LoopProfile finish();

 private:
  struct Impl;
  Impl* impl_;
};

// "main", "solver.c:42".
std::string name_of(const Node& node);

}  // namespace refrain::loops
