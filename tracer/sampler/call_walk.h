// The callers of a call of the traced program, and the words of its stack that tell whether a later call has
// the same ones.
//
// Place in the flow: under tracer/runtime/paths.h. From the call's return address, stack pointer and frame pointer on
// by the unwind tables, as stack_walk.h does from a signal. A rule is made once for each return address.
//
// Which words: all return addresses, and all words from which a frame pointer was taken that a frame
// further out is found by. Whoever comes with the same return address, the same stack pointer and frame pointer
// (only those that by_stack and by_frame name), and finds all words as they were, has the same callers: by induction from
// the inside, each frame is found at the same place. Nothing can be there by accident, as in Callers, and
// in this order each word may be read once those before it are right.
//
// Python: in place of the C function that runs it are the functions that it runs (python_frames.h), with words of their own.
//
// Where a rule needs more (other registers, frames of signals), and where tables end, libgcc walks
// (_Unwind_Backtrace(), which knows code that was registered with it): `certain` is false, and words tell nothing, unless
// it ends at the same frame.
//
// Thread-safety: one thread; not in its signal handlers. No allocation, no lock but in the first walk and in libgcc.
// Ownership: fixed memory, about 100 KiB. What walk() found is valid until the next one.
// Cost: 5 to 7 ns a frame whose rule is known; a new rule 0.6 us; libgcc some microseconds. On stacks other than
// the thread's own 0.2 us more for each 512 bytes (stack_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/sampler/python_frames.h"
#include "tracer/sampler/stack_memory.h"

namespace refrain::sampler {

struct CallSite {
  const void* returns_to;
  const void* stack;  // stack pointer after the return
  const void*
      frame;  // frame pointer register of the function that calls; may be anything there
};

class CallWalk {
 public:
  static constexpr unsigned kMaxFrames = 64;
  using Hidden = bool (*)(std::uint64_t place);
  // Stands for the hidden frames between two others; its base is 0.
  static constexpr std::uint64_t kHiddenPlace = 1;

  using Frame = CallFrame;
  using Word = StackWord;
  struct Found {
    unsigned frames = 0;  // in frames(), the call's first; 0: cannot be walked
    unsigned words = 0;
    unsigned python_words = 0;
    std::uint64_t hash = 0;  // of the places
    bool certain = false;
    PythonFrames::Walk python;
    bool by_stack = true;
    bool by_frame = false;
    bool own_stack = false;  // of the thread
    bool whole =
        false;  // the last frame is the outermost one: no tables have ended, and there are no more
  };

  // `hidden`: whose frames are not told apart (null: none); asked once for each place.
  explicit CallWalk(Hidden hidden = nullptr) noexcept : hidden_(hidden) {}

  Found walk(CallSite site) noexcept;
  const Frame* frames() const noexcept { return frames_; }
  const Word* words() const noexcept { return words_; }
  // May be read when those of words() are right, in their order.
  const Word* python_words() const noexcept { return python_words_; }
  const PythonFrames& python() const noexcept { return python_; }
  PythonFrames& python() noexcept { return python_; }

  // As Found::hash.
  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t place) noexcept {
    return (hash << 9 | hash >> 55) + place * 0x9e3779b97f4a7c15;
  }

  // The calling thread goes on: looks for the bounds of its stack, which takes a millisecond where the process has many mappings.
  void know_stack() noexcept;
  // Returns true if an address lies there; true where the bounds are not known.
  bool on_own_stack(std::uint64_t address) const noexcept {
    return bounds_.end == 0 || (address >= bounds_.begin && address < bounds_.end);
  }
  // Both 0: not known.
  StackBounds own_stack() const noexcept { return bounds_; }
  // Code was unloaded: rules may be wrong.
  void forget() noexcept;
  // How often libgcc walked.
  std::uint64_t unwinds() const noexcept { return unwinds_; }

 private:
  enum class Form : std::uint8_t {
    kStack,     // the canonical frame address is an offset from the stack pointer,
    kFrame,     // from the frame pointer,
    kInMemory,  // or in memory there (functions that align their stack)
    kOutermost,
    kNoTables,
    kHard,
  };
  enum class Keeps : std::uint8_t { kFrame, kAtCfa, kAtFrame, kLost };  // the frame pointer
  struct Rule {
    std::uint64_t place = 0;
    std::int32_t cfa = 0;
    std::int32_t saved = 0;    // where the frame pointer is
    std::int16_t returns = 0;  // where the return address is, from there, in words
    std::uint16_t latest = 0;  // the rule of the caller seen last
    Form form = Form::kHard;
    Keeps keeps = Keeps::kFrame;
    bool hidden = false;
    PythonFrames::Runs runs = PythonFrames::Runs::kNothing;
  };
  enum class End : std::uint8_t { kWhole, kNoTables, kHard };
  static constexpr std::size_t kRules = 4096;

  static std::size_t slot_of(std::uint64_t place) noexcept {
    return place * 0x9e3779b97f4a7c15 >> 52;
  }
  Rule& rule_of(std::uint64_t place) noexcept {
    std::size_t at = slot_of(place);
    while (rules_[at].place != place) {
      if (rules_[at].place == 0) return make(place, at);
      at = (at + 1) % kRules;
    }
    return rules_[at];
  }
  Rule& make(std::uint64_t place, std::size_t at) noexcept;
  void forget_rules() noexcept;
  static Rule made(std::uint64_t place) noexcept;
  End by_rules(CallSite site, StackMemory& memory, Found& found, unsigned& all) noexcept;
  void by_libgcc(CallSite site, Found& found, unsigned all) noexcept;
  unsigned python_frames(Rule& rule, std::uint64_t stack, std::uint64_t cfa, Frame* out,
                         Found& found) noexcept;

  const Hidden hidden_;
  StackBounds bounds_{};
  bool bounds_known_ = false;
  std::uint64_t unwinds_ = 0;
  std::size_t rules_used_ = 0;
  Rule rules_[kRules]{};
  Frame frames_[kMaxFrames];
  Word words_[3 * kMaxFrames];
  Word python_words_[3 * kMaxFrames];
  PythonFrames python_;
};

}  // namespace refrain::sampler
