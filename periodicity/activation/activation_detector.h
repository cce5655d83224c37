// ActivationDetector: loops of the code, by the call paths of the events in them.
//
// Place in the flow: ARCHITECTURE.md, stage 4. The default detector. Its symbols are numbers of call paths
// (tracer/runtime/paths.h); what it must know of them it asks CodeFacts.
//
// A loop is a cycle in the code of one function, in one activation of it. From an event to the next the stacks are compared
// from the outermost frame inwards. At the first frame that differs the program has, in one activation,
//   - gone on: from a call to one that can follow it without a jump back of the loops around both (CodeFacts::forward), or
//     from a function to one that it ends with a jump to;
//   - or come round: the innermost loop around both calls iterates;
//   - or come again: neither, so it is another activation. The innermost loop around a call that has not changed, in the
//     nearest frame outwards that has one, iterates (none beyond a function whose loops are not known). (Likewise if no frame differs, or the stack is only shorter. If it is only
//     longer, what was called has called in turn.)
// Where no event lies between, that is not all: a loop around a halo exchange comes round, and the stacks say that the exchange's own loop did. So
// loops have values that they carry (CodeFacts::carried(): counters). Of the loops that go on by the stacks, the outermost one
// whose value differs from the one before it in this iteration has come round.
// So an iteration begins with an event, and level and loop around it are known at once. What iterations have in them does
// not matter: trip counts, orders, branches, output now and then.
//
// Identity: a loop is one header, below one other loop (or none). Its number is the same for all visits; numbers are given in the
// order in which loops are first seen to iterate. A loop that never comes round is not reported: when it comes round first, its first
// iteration is reported, in the past. Which loops are around it is known from the code, but only those that have come round
// count as levels.
//
// Stacks that a program switches between (coroutines): each has a latest path of its own. An event on another stack lies in the
// loops that are open, and what is compared is its stack; an event on one further out ends the loops of those that were
// entered from there. So what a coroutine does from one switch to the next is inside of the loop that resumes it, and of coroutines that
// take turns the loops of the first are seen. Where there are too many stacks or loops, events lie where the one before them does.
//
// kNovel: the iteration has something in it that at most one earlier one of the loop had, a call path, or no earlier one, an
// inner loop that comes round. So of each kind of iteration there are two.
//
// Messages: kMessageSymbol of a symbol is ignored. kNoPath: an event of which nothing is known; it lies where the one before it does.
// kForeign: an event that is like no other (a thread that waits too long): all open loops do something novel.
//
// Thread-safety: none. Cost: for a pair of paths that came before, one comparison to four, and a step for each loop that iterates,
// begins or ends: 12 ns an event of synthetic programs, where most events do that; 4 ns more for each loop that carries a value. A new pair asks CodeFacts. No allocation after construction; memory 9 MiB, touched where used.
// Beyond its tables loops count for nothing, and their events belong to the loops around them.
// Source: activations as in T. Moseley et al., Identifying Potential Parallelism via Loop-centric Profiling, CF 2007, there by
// instrumented loops; K. Freitag et al., Obtaining structured traces by dynamic periodicity, online, of symbols alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "periodicity/activation/code_facts.h"
#include "periodicity/loop_detector.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

// A loop of the code that was seen to come round.
struct ActivationLoop {
  std::uint64_t header = 0;        // as CodeFacts has it
  Place call = 0;                  // a call in it
  std::uint32_t parent = kNoLoop;  // the loop around it
  std::uint64_t iterations = 0;    // in all, and
  std::uint32_t visits = 0;        // in so many visits; those that go on as well
};

class ActivationDetector final : public LoopDetector {
 public:
  static constexpr std::uint32_t kMaxPaths = CodeFacts::kMaxPaths;
  static constexpr std::uint32_t kMostLoops = (1 << 11) - 1;
  static constexpr std::uint32_t kNoPath = 0;
  static constexpr Symbol kForeign = Symbol{1} << 41;

  // `facts` must outlive it.
  explicit ActivationDetector(CodeFacts& facts);

  __attribute__((hot)) void push(Symbol symbol, std::uint16_t depth,
                                 LoopSink& sink) noexcept override;
  void finish(LoopSink& sink) noexcept override;
  std::uint64_t position() const noexcept override { return position_; }
  std::uint64_t reach_events() const noexcept override { return kReach; }
  bool of_code() const noexcept override { return true; }

  // The path may come next: brings what is known of it near to the processor.
  void expect(std::uint32_t path) const noexcept {
    const auto* const begin = reinterpret_cast<const char*>(&paths_[path]);
    for (std::size_t at = 0; at < sizeof(Path); at += 64) __builtin_prefetch(begin + at);
  }

  // Call paths that lie in more loops than are told apart.
  std::uint64_t paths_cut() const noexcept { return paths_cut_; }

  // By their numbers in LoopEvent.
  std::uint32_t loops() const noexcept { return loop_count_; }
  ActivationLoop loop(std::uint32_t number) const noexcept;
  // For tests: the headers of all loops of the code around it, outermost first, and its own.
  std::vector<std::uint64_t> headers(std::uint32_t number) const;

  // The calls in it through which its events came, in its own function; up to `most`. Returns how many.
  std::size_t calls(std::uint32_t number, Place* calls, std::size_t most) const noexcept;

  // For tests: iterations of it that were reported: not those of visits before it first came round.
  std::uint64_t reported(std::uint32_t number) const noexcept {
    return nodes_[node_of_loop_[number]].reported;
  }

 private:
  static constexpr std::uint32_t kMaxPairs = 1 << 16;
  static constexpr unsigned kMaxOpen = 24;
  static_assert(kMaxOpen <= LoopSink::kMaxNoted);
  static constexpr unsigned kMaxFrames = 72;               // of a path, and some more
  static constexpr std::uint64_t kReach = (1 << 17) - 64;  // with some more a table of 2^17
  static constexpr std::uint16_t kNone = 0;
  static constexpr std::uint16_t kRoots =
      CodeFacts::kMaxStacks;  // the first nodes: around all of a stack

  // A loop of the code below another one.
  struct Node {
    std::uint64_t header;
    std::uint64_t iterations;
    Place call;
    std::uint64_t left_at;   // position
    std::uint64_t reported;  // iterations
    std::uint32_t number;    // kNoLoop: it has not come round
    std::uint32_t visits;    // reported
    std::uint16_t parent;
  };
  // What a pair of paths means: the loops around the first that go on, and whether the innermost of these iterates.
  struct Step {
    std::uint32_t to;
    std::uint8_t kept;
    bool iterates;
    bool quiet;  // and nothing begins or ends
  };
  struct Path {
    bool known;
    std::uint8_t open;  // loops around it
    std::uint8_t stack;
    std::uint32_t once;  // a bit for each that had it in one iteration only,
    std::array<std::uint32_t, kMaxOpen> begin;  // and where that began
    std::array<std::uint16_t, kMaxOpen> nodes;  // outermost first
    std::array<Step, 4> next;                   // that came after it
    std::uint8_t newest;
    bool carries;
  };
  struct Pair {
    std::uint64_t paths;  // 0: free
    std::uint8_t kept;
    bool iterates;
  };
  struct Open {
    std::uint16_t node = kNone;
    bool reported = false;
    bool may_be_inner = false;  // these four if it is
    std::uint16_t level = 0;
    std::uint32_t visit = 0;
    std::uint32_t parent = kNoLoop;
    std::uint64_t iteration = 0;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;  // of the iteration before
  };

  static constexpr std::uint32_t kMaxNodes = kRoots + kMostLoops;

  // A stack with loops open, or in between of such.
  struct Stack {
    unsigned number = 0;
    std::uint32_t path = kNoPath;  // the latest, unless it is the innermost one
    unsigned first = 0;            // of its open loops
  };

  Step find_step(std::uint32_t path) noexcept;
  Step compare(std::uint32_t path) noexcept;
  void learn(std::uint32_t path) noexcept;
  std::uint16_t child(std::uint16_t parent, std::uint64_t header, Place call) noexcept;
  void take_other(std::uint32_t path, LoopSink& sink) noexcept;
  bool on_stack(const Path& path, LoopSink& sink) noexcept;
  void take_second(Path& path, LoopSink& sink) noexcept;
  __attribute__((hot)) void take(const Step& step, LoopSink& sink) noexcept;
  __attribute__((hot)) void take_carried(Step step, std::span<const CarriedWord> words,
                                         LoopSink& sink) noexcept;
  __attribute__((hot)) bool differs(std::span<const CarriedWord> words) const noexcept;
  __attribute__((hot)) void iterate(unsigned at, LoopSink& sink) noexcept;
  __attribute__((hot)) void begin(std::uint16_t node, LoopSink& sink) noexcept;
  __attribute__((hot)) void leave_to(unsigned kept, bool at_end, LoopSink& sink) noexcept;
  void report(unsigned at, LoopSink& sink, std::uint16_t noted = kNotNoted) noexcept;
  void report_novel(unsigned count, LoopSink& sink) noexcept;
  __attribute__((hot)) LoopEvent event_of(LoopEventKind kind, const Open& open,
                                          std::uint64_t position) const noexcept;

  CodeFacts& facts_;
  std::uint64_t position_ = 0;
  std::uint32_t path_ = kNoPath;  // the latest of the innermost stack
  std::array<Stack, CodeFacts::kMaxStacks> stacks_{};
  unsigned innermost_ = 0;  // of stacks_
  unsigned open_count_ = 0;
  std::array<Open, kMaxOpen> open_{};
  // What they carry in this iteration, as CodeFacts numbers it, but by open_; with room for loops beyond that.
  static constexpr std::uint64_t kNotKnown = 0x9e3779b97f4a7c15;  // no counter comes so far
  std::array<std::uint64_t, std::size_t{3} * CodeFacts::kMaxCarried> carried_{};
  std::uint32_t node_count_ = kRoots;
  std::uint32_t loop_count_ = 0;
  std::uint32_t pair_count_ = 0;
  std::uint64_t paths_cut_ = 0;
  std::uint32_t last_path_ = kNoPath;  // the highest number
  ZeroedArray<Path> paths_;
  ZeroedArray<Node> nodes_;
  ZeroedArray<std::uint16_t> node_of_loop_;
  ZeroedArray<Pair> pairs_;
};

}  // namespace refrain::periodicity
