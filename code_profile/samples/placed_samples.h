// Samples of one process' call stacks, by place: functions and loops of the machine code in each other.
//
// Place in the flow: made of addresses by sample_placement.h, kept in an archive by sample_file.h, read by
// sampled_profile.h. Thread-safety: plain values.
// Units: samples; each stands for `period_ns` of a thread's CPU time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::code_profile {

// A function, a loop, or what stands for code that cannot be found.
struct SamplePlace {
  enum class Kind : std::uint8_t {
    kFunction,
    kLoop,
    kUnknown,  // no function is known there: `function` says why, "[unknown]"
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  Kind kind = Kind::kFunction;
  std::string function;     // as in the source; of a loop: the one it is in, inlined or not
  std::string file = {};    // full path as the compiler knew it; empty: not known
  std::uint32_t line = 0;   // of a function where it begins
  std::string module = {};  // path
  std::uint64_t address = 0;  // in the module's file
  std::uint32_t parent =
      kNone;  // of a loop: index of the loop around it, smaller than its own
  bool irreducible = false;

  bool operator==(const SamplePlace&) const = default;
};

// The threads of a process, and below each the places of its stacks, outermost first: function, the loops
// around its call, the function called, and so on.
struct SampleNode {
  static constexpr std::uint32_t kThread = 0xffffffff;

  std::uint32_t parent = kThread;  // index, smaller than its own; kThread: this is a thread
  std::uint32_t place = 0;         // index of a place; of a thread its number
  std::uint64_t samples = 0;       // in this very place
  bool operator==(const SampleNode&) const = default;
};

struct PlacedSamples {
  std::uint32_t process = 0;
  std::string command;
  std::uint64_t period_ns = 0;
  std::uint64_t taken = 0;         // the following are parts of it
  std::uint64_t shortened = 0;     // inner frames are missing
  std::uint64_t lost = 0;          // in no node
  std::uint64_t missed = 0;        // periods without a stack of their own
  std::uint64_t not_followed = 0;  // outer frames are missing
  std::uint32_t threads = 0;
  std::uint32_t threads_without = 0;  // could not be sampled
  std::vector<SamplePlace> places;
  std::vector<SampleNode> nodes;
  std::vector<std::string> notes;  // modules that could not be read; each a line
  bool operator==(const PlacedSamples&) const = default;
};

}  // namespace refrain::code_profile
