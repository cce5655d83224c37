// What is known of the program's call paths and code, for the detector: paths of the primary thread's calls, and how
// control goes in the code around them.
//
// Place in the flow: ARCHITECTURE.md, stage 4, between paths.h and periodicity/activation.
// Paths end with what the program calls: a procedure of MPI, or a runtime. Frames of Refrain and of OpenMP's runtimes in a row are one
// frame. So a function that ends with a jump to what it calls is known: it has no frame then, but what it calls has.
// Thread-safety: the primary thread's alone, not for its signal handlers. Ownership: owns paths and facts.
// Errors: what is not known is a path of its own (0), has no loops, and is forward.
// Cost: find() see paths.h; the facts of a function are found when they are asked for first: a millisecond.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "code/call_flow.h"
#include "periodicity/activation/code_facts.h"
#include "periodicity/zeroed_array.h"
#include "tracer/runtime/paths.h"
#include "tracer/sampler/saved_registers.h"

namespace refrain::runtime {

// The words that loops around the program's call carry (code/loop_words.h): where they lie.
//
// Place in the flow: ARCHITECTURE.md, stage 4, for ProgramFacts.
// How: a word of a frame lies at a distance from where the function's frame does; registers where the first function further in has saved
// them, the last of which is Refrain's own (REFRAIN_CALL_SITE sees to it). Both are found once for each
// path and the addresses that its frames have.
// Thread-safety: the primary thread's alone. Ownership: fixed memory, 2 MiB of which only what is used is taken.
// Errors: a loop whose word cannot be found is not known.
// Cost: of a path that is new some microseconds.

class CarriedWords {
 public:
  // `stack`: the stack pointer at the path's call.
  bool known(std::uint32_t path, unsigned variant, std::uint64_t stack) const noexcept {
    const List& list = lists_[path * Paths::kVariants + variant];
    return list.made && (list.stack == 0 || list.stack == stack);
  }
  // To be called from the path's call; its frames with the bases that they have now.
  void find(std::uint32_t path, unsigned variant, std::uint64_t stack,
            std::span<const periodicity::PathFrame> frames, periodicity::CodeFacts& facts,
            code::CallFlow& flow, sampler::StackBounds bounds) noexcept;
  // As CodeFacts::carried().
  std::span<const periodicity::CarriedWord> words(std::uint32_t path,
                                                  unsigned variant) const noexcept {
    const List& list = lists_[path * Paths::kVariants + variant];
    return {&words_[list.first], list.count};
  }

  // Returns true if a loop around one of the frames carries anything.
  static bool any(std::span<const periodicity::PathFrame> frames,
                  code::CallFlow& flow) noexcept;

 private:
  struct List {
    std::uint64_t stack;  // the words depend on it; 0: they do not
    std::uint32_t first;
    std::uint16_t count;
    std::uint16_t room;
    std::uint8_t times;  // it was made
    bool made;
  };
  static constexpr std::uint32_t kWords = 1 << 16;
  static constexpr std::uint8_t kMaxTimes = 100;
  static constexpr unsigned kMaxSaved = Paths::kMaxFrames + 32;  // and Refrain's own frames

  using Saved = std::array<sampler::SavedFrame, kMaxSaved>;

  std::unique_ptr<Saved> saved_ = std::make_unique<Saved>();
  std::uint32_t used_ = 0;
  periodicity::ZeroedArray<List> lists_{(Paths::kMax + std::size_t{1}) * Paths::kVariants};
  periodicity::ZeroedArray<periodicity::CarriedWord> words_{kWords};
};

// Makes the function save the registers that its caller may have values in, for ProgramFacts.
#if defined(__x86_64__)
#define REFRAIN_SAVE_REGISTERS asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15")
#else
#define REFRAIN_SAVE_REGISTERS
#endif

// The calling function's own call.
#define REFRAIN_CALL_SITE                                            \
  {                                                                  \
    ({                                                               \
      REFRAIN_SAVE_REGISTERS;                                        \
      __builtin_return_address(0);                                   \
    }),                                                              \
        __builtin_dwarf_cfa(),                                       \
        *static_cast<const void* const*>(__builtin_frame_address(0)) \
  }

class ProgramFacts final : public periodicity::CodeFacts {
 public:
  // What find() takes as callee: nothing but a place in a runtime, or a number below 2^32 of who knows what it means.
  static constexpr std::uint64_t kRuntime = 0;
  // A loop (or sections, ...) of a region, and a barrier. What the runtime does for a region in the region's own call (of gcc's programs)
  // is inside of it, and the barrier inside of the loop, though the program's frames are the same.
  static constexpr std::uint64_t kWork = 0xfffffffe;
  static constexpr std::uint64_t kBarrier = 0xfffffffd;
  // Returns true if the function that begins at an address is such a callee.
  using IsCallee = bool (*)(std::uint64_t function, std::uint64_t callee);
  static void set_is_callee(IsCallee is_callee) noexcept { g_is_callee = is_callee; }

  ProgramFacts();  // throws std::bad_alloc
  // Returns true if the machine's code can be read: the disassembler is there.
  bool reads_code() noexcept {
    const code::CallFlow* const known = flow();
    return known != nullptr && known->available();
  }
  ~ProgramFacts() { g_current.store(nullptr); }
  ProgramFacts(const ProgramFacts&) = delete;
  ProgramFacts& operator=(const ProgramFacts&) = delete;

  // Any thread: some code is not there any more.
  static void code_unloaded() noexcept;

  std::uint32_t find(CallSite site, std::uint64_t callee) noexcept {
    const std::uint32_t path = paths_.find(site, callee);
    latest_ = path;
    latest_stack_ = reinterpret_cast<std::uint64_t>(site.stack);
    return path;
  }
  Paths& paths() noexcept { return paths_; }
  const Paths& paths() const noexcept { return paths_; }
  // Functions that were too long to be looked at.
  std::size_t functions_cut() const noexcept { return flow_ == nullptr ? 0 : flow_->cut(); }

  std::span<const periodicity::PathFrame> frames(std::uint32_t path) noexcept override;
  unsigned stack(std::uint32_t path) noexcept override { return paths_.stack(path); }
  std::span<const std::uint64_t> loops(periodicity::Place call) noexcept override;
  bool loops_known(periodicity::Place call) noexcept override;
  std::uint64_t function(periodicity::Place call) noexcept override;
  bool forward(periodicity::Place from, periodicity::Place to) noexcept override;
  bool jumps(periodicity::Place caller, periodicity::Place from,
             periodicity::Place to) noexcept override;
  bool carries(std::uint32_t path) noexcept override;
  // Of the path that was found last.
  __attribute__((hot)) std::span<const periodicity::CarriedWord> carried(
      std::uint32_t path) noexcept override;

  // Of a frame of paths(): whether it is that of a call in machine code.
  static bool is_address(std::uint64_t place) noexcept {
    return place != sampler::CallWalk::kHiddenPlace && !is_python(place);
  }
  // Returns true if a loop is one of Python code, and where that is.
  static bool is_python(periodicity::Place place) noexcept {
    return sampler::PythonFrames::is_place(place);
  }
  // Of such a frame of a path, what calls in it are named by; 0: it is of a library that hands on, or there is no room.
  std::uint64_t python_call(periodicity::Place place) noexcept;
  // Of the path that was found last: the Python code that the call at one of these places was made under; 0: none.
  std::uint64_t python_around(std::span<const periodicity::Place> calls) noexcept;
  sampler::PythonFrames::Source python_source(std::uint64_t header) const noexcept {
    return paths_.python().source(header);
  }

 private:
  // Places of callees; no address has this bit.
  static constexpr periodicity::Place kCallee = periodicity::Place{1} << 60;
  static constexpr periodicity::Place kInRuntime = kCallee | 0xffffffff;
  static inline IsCallee g_is_callee = nullptr;
  static inline std::atomic<ProgramFacts*> g_current{nullptr};
  static inline std::atomic<std::uint64_t> g_unloads{0};

  // Without what is called.
  static std::span<const periodicity::PathFrame> in_program(
      std::span<const periodicity::PathFrame> frames) noexcept {
    std::size_t count = frames.size();
    while (count != 0 && (frames[count - 1].place & kCallee) != 0) --count;
    return frames.first(count);
  }
  // What is known of the function of a call (loaded_address()), where looking it up changes nothing: no handler of a signal has to wait
  // for that, which would be two system calls for each frame of a new path. Else null.
  code::CallFlow* known(std::uint64_t call) const noexcept {
    const bool known = flow_ != nullptr &&
                       unloads_ == g_unloads.load(std::memory_order_relaxed) &&
                       flow_->knows(call);
    return known ? flow_.get() : nullptr;
  }
  // Null: without memory nothing is known of the code.
  code::CallFlow* flow() noexcept;
  static bool jumps(code::CallFlow& flow, std::uint64_t caller, std::uint64_t from,
                    std::uint64_t to, bool to_callee) noexcept;

  std::unique_ptr<code::CallFlow> flow_;  // made when first asked for
  std::uint64_t unloads_ = 0;
  // Of calls in code that has other addresses (code_address.h), in these.
  std::unordered_map<periodicity::Place, std::vector<std::uint64_t>> moved_loops_;
  std::unordered_map<std::uint64_t, std::uint64_t> python_calls_;
  // Events come to these: side by side, as far as they can be (base/hot_data.h).
  CarriedWords words_;
  std::uint32_t latest_ = 0;  // path
  std::uint64_t latest_stack_ = 0;
  Paths paths_;
  std::array<periodicity::PathFrame, Paths::kMaxFrames + 2> frames_{};
};

}  // namespace refrain::runtime
