// The samples of a process in its archive: ARCHIVE/samples/process-N.json (format: docs/reference/loops.md).
//
// Place in the flow: between write_samples.h, in the process that writes the archive, and sampled_profile.h.
// Thread-safety: pure, but for the disk. Ownership: plain values.
// Nothing in a file is believed: of what is returned, parents come before children and indices lead somewhere.
// Cost: linear.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "code_profile/loop_profile.h"

namespace refrain::code_profile {

// Samples of one process' call stacks, by place: functions and loops of the machine code in each other.
//
// Thread-safety: plain values. Units: samples; each stands for `period_ns` of a thread's CPU time.

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

// What makes a place of samples the same in all processes: its kind, its module and address, or, of what stands for code that
// was not found, its name.
//
// Pure.

using PlaceKey = std::tuple<SamplePlace::Kind, std::string, std::uint64_t>;

inline PlaceKey key_of(const SamplePlace& place) {
  const bool unknown = place.kind == SamplePlace::Kind::kUnknown;
  return {place.kind, unknown ? place.function : place.module, place.address};
}

// Of the node that is made of such places.
inline PlaceKey key_of(const Node& node) {
  using Kind = SamplePlace::Kind;
  const Kind kind = node.unknown   ? Kind::kUnknown
                    : node.is_loop ? Kind::kLoop
                                   : Kind::kFunction;
  return {kind, node.unknown ? node.function : node.module, node.address};
}

// As the file has it.
std::string to_text(const PlacedSamples& samples);
base::Result<PlacedSamples> samples_from_text(const std::string& text);

std::string sample_file_path(const std::string& archive, std::uint32_t process);
// Replaces a file that is there, at one moment.
base::Result<> write_sample_file(const std::string& archive, const PlacedSamples& samples);
// Of all processes, in their order; none if the archive has none.
base::Result<std::vector<PlacedSamples>> read_sample_files(const std::string& archive);

}  // namespace refrain::code_profile
