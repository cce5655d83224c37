// Programs made up for tests: functions of loops, branches and calls, which run, say which events come with which stack, count
// their own loops, and answer what CodeFacts is asked.
//
// Thread-safety: none. A program is a tree of statements for each function; it is run by an interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "periodicity/activation/code_facts.h"

namespace refrain::periodicity::testing {

struct Statement {
  // A region is an event, and a call from the same place (of a parallel region, what all threads run).
  enum class Kind : std::uint8_t { kEvent, kCall, kRegion, kLoop, kBranch };
  Kind kind = Kind::kEvent;
  Place place = 0;          // of an event or a call; of a loop its header
  std::size_t callee = 0;   // of a call or region
  std::uint32_t trips = 0;  // of a loop: at most so many more than one
  std::vector<std::vector<Statement>>
      blocks;  // of a loop one, of a branch those it chooses from
};

// Counts by the headers around, outermost first.
using LoopCounts = std::map<std::vector<std::uint64_t>, std::uint64_t>;

class SyntheticProgram final : public CodeFacts {
 public:
  // Where each function, and each iteration of a loop, begins with an event, no loop can be missed; nor where each carries a value that is stepped at the end.
  struct Shape {
    unsigned functions = 4;
    unsigned depth = 4;  // of statements in each other
    bool events_first = true;
    unsigned trips = 6;  // of a loop, at most so many more than one
    // So many loops in 100 carry a counter, which begins anew with each visit or goes on; some are stepped in the midst.
    unsigned carrying = 0;
    bool midst = false;
  };
  SyntheticProgram(std::uint64_t seed, Shape shape);

  // Runs; at each event `event` gets its path's number. Stops after so many.
  void run(std::uint64_t most, const std::function<void(std::uint32_t)>& event);
  // What it has counted: iterations with an event in them. Loops that never came round in any visit are not in it.
  LoopCounts counts() const;
  std::size_t paths() const { return paths_.size(); }

  std::span<const PathFrame> frames(std::uint32_t path) noexcept override;
  std::span<const std::uint64_t> loops(Place call) noexcept override {
    return places_[call].loops;
  }
  std::uint64_t function(Place call) noexcept override { return places_[call].function; }
  bool forward(Place from, Place to) noexcept override;
  bool jumps(Place, Place, Place) noexcept override { return false; }
  unsigned stack(std::uint32_t) noexcept override { return 0; }
  bool loops_known(Place) noexcept override { return true; }
  bool carries(std::uint32_t) noexcept override { return shape_.carrying != 0; }
  std::span<const CarriedWord> carried(std::uint32_t path) noexcept override;

 private:
  struct Where {
    std::uint64_t function = 0;
    std::vector<std::uint64_t> loops;
    // From the function's begin inwards: which statement of which block.
    std::vector<std::pair<unsigned, unsigned>> steps;
    std::vector<bool> in_loop;  // whether that step leads into a loop
  };
  std::vector<Statement> block(std::size_t function, unsigned depth, bool first);
  void place(std::size_t function, const std::vector<Statement>& block, Where where,
             unsigned index);
  // `steps_at`: before which statement the innermost loop's counter is stepped.
  void execute(std::size_t function, const std::vector<Statement>& block,
               std::size_t steps_at = ~std::size_t{0});
  void event(Place call);
  unsigned any(unsigned below) { return static_cast<unsigned>(random_() % below); }

  std::mt19937_64 random_;
  Shape shape_;
  Place next_place_ = 1;
  std::vector<std::vector<Statement>> functions_;
  std::map<Place, Where> places_;
  std::map<std::vector<std::pair<Place, std::uint64_t>>, std::uint32_t> paths_;
  std::vector<std::vector<PathFrame>> frames_{{}};
  std::vector<PathFrame> stack_;
  // A loop that is run.
  struct Running {
    std::uint64_t counter;
    bool late = false;
    std::uint64_t iterations = 0;  // with events
    bool silent = true;            // the iteration, so far
  };
  std::vector<std::uint64_t> around_;  // headers
  std::vector<Running> running_;       // of these
  std::vector<CarriedWord> carried_;
  std::uint64_t turns_ = 0;  // iterations of all loops
  LoopCounts counts_;
  std::map<std::vector<std::uint64_t>, bool> came_round_;
  std::uint64_t left_ = 0;
  std::function<void(std::uint32_t)> event_;
};

}  // namespace refrain::periodicity::testing
