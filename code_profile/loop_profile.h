// The loops and functions of a run, of all its processes and threads: names, source lines, counts, and who
// is in whom or calls whom.
//
// Place in the flow: made of raw_profile.h, or of samples (code_profile/samples/sampled_profile.h), printed by loop_text.h,
// drawn by tools/graph/control_flow_drawing.h. candidates.h chooses loops of it.
// Processes are merged by module and place in its file, so that addresses need not be the same.
// Thread-safety: plain values; add_process() from one thread.
// Units: counts are of instructions that ran (a repeated string instruction counts once a repetition); in
// profiles of samples the first one is of samples, the others are 0.
// Errors: modules whose file is not there have addresses instead of names.
// Source: Moseley et al., section 3.2 (terms), 3.4 (self, total), 3.5 (graph).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "code_profile/raw_profile.h"

namespace refrain::code_profile {

struct ThreadOfLoop {
  std::uint64_t process = 0;
  std::uint32_t thread = 0;
  std::uint64_t entries = 0, iterations = 0;
  std::uint64_t samples = 0;  // total
};

struct Node {
  bool is_loop = false;
  std::string function;  // as in the source; of a loop: the one it lies in
  std::string file;      // empty: not known
  std::uint32_t line = 0;
  std::string module;         // path
  std::uint64_t address = 0;  // in the module's file
  Counts self{}, total{};
  std::uint64_t entries = 0;  // of a function: calls; not known of samples
  bool unknown = false;       // stands for code that was not found: "[unknown]"
  // Samples of its total while a parallel region that was begun in it ran, and while one around it did.
  std::uint64_t parallel_inside = 0, parallel_around = 0;
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

enum class Unit : std::uint8_t { kInstructions, kSamples };

// How samples were taken, of all processes.
struct Sampling {
  std::uint64_t period_ns = 0;  // of a thread's CPU time
  std::uint64_t taken = 0, shortened = 0, lost = 0, missed = 0, not_followed = 0;
  std::uint64_t threads = 0, threads_without = 0;
  std::map<std::string, std::uint64_t> not_placed{};  // innermost frames, by name
};

// A loop that the detector found while the program ran, and what lies in it.
struct DetectedLoop {
  std::uint32_t number = 0;  // as `refrain info` has it
  std::string name{};
  std::string file{};  // as a loop of the code has it
  std::uint32_t line = 0;
  std::string function{};        // likewise
  std::uint64_t iterations = 0;  // of all processes
  double elapsed_ns = 0;         // of these
  struct Part {
    std::uint32_t node = 0;
    std::uint64_t samples = 0;  // with the loop and the node on the stack
  };
  std::uint64_t samples = 0;  // with the loop on the stack
  std::vector<Part>
      parts{};  // the loop itself and all that lies in it or is called by it, by samples
};

struct LoopProfile {
  Unit unit = Unit::kInstructions;
  Sampling sampling{};
  std::vector<std::string> commands;  // of the processes
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<DetectedLoop> detected;  // of samples: those that are a loop of the code
  std::vector<DetectedLoop>
      communicating;  // of all that were detected: those with calls of MPI in an iteration
  Counts total{};
  std::vector<std::string> complaints;
};

// Returns true if a node is the loop, by the place in the source.
inline bool is_one(const Node& node, const DetectedLoop& loop) {
  return node.is_loop && node.line == loop.line && node.file == loop.file;
}

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

}  // namespace refrain::code_profile
