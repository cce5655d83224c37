// What a detector of activations asks of the program: the call paths of its events, and how control can go in its code.
//
// Place in the flow: ARCHITECTURE.md, stage 4. An interface, so that the detector knows neither stacks nor machine code: the
// tracer answers from both (tracer/runtime), tests from synthetic programs.
// Thread-safety: that of the detector. Ownership: spans are valid until the next call.
// Cost: asked once for each pair of paths that follow each other; may take milliseconds.
#pragma once

#include <cstdint>
#include <span>

namespace refrain::periodicity {

// A call in the code: its return address, or whatever else stands for it. Never 0.
using Place = std::uint64_t;

// One function on the stack.
struct PathFrame {
  Place place = 0;  // the call in it that has not returned
  std::uint64_t base =
      0;  // of the function's activation: where on the stack it lies; 0: not known
};

// Where a value lies that a loop carries.
struct CarriedWord {
  std::uint64_t address = 0;
  std::uint64_t mask = 0;  // of the eight bytes there what belongs to it
  // The loop's, from the outermost of the path on; kMaxCarried more if it is a late one.
  std::uint64_t number = 0;

  // What lies there now. It may be in another function's frame, which the sanitizers would report.
  __attribute__((no_sanitize("address"), no_sanitize("thread"))) std::uint64_t value()
      const noexcept {
    using Bytes = std::uint64_t __attribute__((may_alias, aligned(1)));
    return *reinterpret_cast<const Bytes*>(address) & mask;
  }
};

class CodeFacts {
 public:
  // Numbers of call paths are below it; 0: no path.
  static constexpr std::uint32_t kMaxPaths = 1 << 15;
  // The frames of a call path, outermost first; the last one is the event's own call. Empty: not known.
  virtual std::span<const PathFrame> frames(std::uint32_t path) noexcept = 0;
  // Which stack it is on: 0: the thread's, all of it; kOtherStack: another one that is not told apart from others.
  static constexpr unsigned kMaxStacks = 8;  // with the thread's own
  static constexpr unsigned kOtherStack = kMaxStacks;
  virtual unsigned stack(std::uint32_t path) noexcept = 0;
  // The loops of the code around a call, in its function, outermost first: numbers that are equal for equal loops.
  virtual std::span<const std::uint64_t> loops(Place call) noexcept = 0;
  // Returns true if they are known. If not, there are none.
  virtual bool loops_known(Place call) noexcept = 0;
  // The function that a call lies in, as a number; 0: not known.
  virtual std::uint64_t function(Place call) noexcept = 0;
  // Returns true if, in one activation, the second call can come after the first without a jump back of the loops that are
  // around both.
  virtual bool forward(Place from, Place to) noexcept = 0;
  // Returns true if the function of the first call can end with a jump to that of the second (a tail call). `caller`: the call that
  // both were reached by; 0: none is known.
  virtual bool jumps(Place caller, Place from, Place to) noexcept = 0;

  // What the first loops around a path carry: values that change once in an iteration, if at all (counters). Those of *late* calls are
  // read after that, the others before it. Where one of the two differs from an event to another in one visit, the loop has come round;
  // where none does, that proves nothing.
  static constexpr unsigned kMaxCarried = 24;
  // Returns true if any of them ever has one.
  virtual bool carries(std::uint32_t) noexcept { return false; }
  // Asked at the path's event. Those that are known now, outermost first; they may be read until the event is over.
  virtual std::span<const CarriedWord> carried(std::uint32_t) noexcept { return {}; }

 protected:
  ~CodeFacts() = default;
};

}  // namespace refrain::periodicity
