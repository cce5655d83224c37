// NestBuilder: builds the structure of a stream while it is read.
//
// Place in the flow: next to the policy, after a LoopDetector; for each symbol append()
// first, then the detector's loop events. `refrain detect` prints the result.
// Thread-safety: none. Allocates.
//
// Method. Every open loop has a row: the events and visits of inner loops of its present
// iteration so far. A loop that is detected in the past takes its iterations out of the row
// around it; one that is left becomes one piece of it, followed by the begun part of
// another iteration. A loop's body is the row that most of its iterations had; the visits
// of inner loops in it give the range of their iterations.
//
// Memory: the part of a row further back than the detector's reach is shortened: at most
// 2 · reach + 2^16 pieces of 40 bytes. A loop needs its body, with straight rows of events
// shortened, in up to four variants.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "filters/nest.h"
#include "periodicity/loop_detector.h"

namespace refrain::filters {

struct NestLoop {
  std::uint32_t parent = periodicity::kNoLoop;  // around most of its visits
  std::uint32_t level = 0;                      // 0 = in no other loop
  std::uint32_t body_events = 0;                // of its latest visit
  std::uint64_t visits = 0;
  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t first_event = 0;
};

class NestBuilder final : public periodicity::LoopSink {
 public:
  explicit NestBuilder(std::uint64_t reach_events);

  void append(periodicity::Symbol symbol);
  void on_loop_event(const periodicity::LoopEvent& event) noexcept override;

  // The stream has ended, and the events of the detector's finish() have been reported.
  void finish();

  // After finish().
  Nest nest() const;
  const std::map<std::uint32_t, NestLoop>& loops() const noexcept { return loops_; }

 private:
  struct Piece {
    NestPiece what;
    std::uint64_t position;
  };
  using Row = std::vector<Piece>;
  struct Frame {
    std::uint32_t loop = periodicity::kNoLoop;
    Row row{};
    std::uint64_t first = 0;  // where the visit begins
    std::uint64_t begin = 0;  // where the present iteration begins
    std::uint64_t number = 0;
    bool any = false;  // an iteration has been reported
  };
  struct Variant {
    std::uint64_t hash = 0;
    std::uint64_t times = 0;
    NestRow body{};
  };
  struct Details {
    std::array<Variant, 4> variants{};
    std::map<std::uint32_t, std::uint64_t> parents{};  // visits by the loop around them
  };

  void open(const periodicity::LoopEvent& event);
  void iterate(const periodicity::LoopEvent& event);
  void leave(const periodicity::LoopEvent& event);
  void complete(Frame& frame, std::uint64_t end);
  void vote(const Row& row, std::size_t size, std::uint32_t parent);
  void see_body(std::uint32_t loop, const Row& row, std::size_t size);
  void shorten(Row& row);
  void find_levels();

  std::uint64_t reach_;
  std::size_t crowded_;
  std::uint64_t position_ = 0;
  std::vector<Frame> frames_;  // frames_[0]: the run, in no loop
  NestRow run_;
  std::map<std::uint32_t, NestLoop> loops_;
  std::map<std::uint32_t, Details> details_;
};

}  // namespace refrain::filters
