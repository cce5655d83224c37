// NestedPolicy: loop events in, intervals of the stream to skip.
//
// Place in the flow: between a LoopDetector and what writes or suspends (the gate of the
// tracer, `refrain detect`). Knows positions only: what a minimum gap in time, a ring or
// slow iterations mean for an interval is the caller's.
// Thread-safety: none. Cost: O(1) an event, O(InnerIntervals::kMax) at a break; allocates when a
// loop is seen first and when loops nest deeper than before.
//
// Rules. An iteration is *spent* when enough of its loop has been written:
// - first: when `limit` iterations of its body have been in the run, and it is not the first
//   of its visit. Of these `limit` more are written in iterations that are: a nest of two can
//   be read in each of its written iterations, and nothing is multiplied in deep ones.
//   (Outside any other loop the first of a visit is spent after `limit` such visits: until the
//   loop around an inner loop is known, its visits look like that.)
// - each: when it is number `limit` or later of its visit, or when its loop has been
//   visited `limit` times outside any other loop. (So a nest of depth k writes at most
//   limit^k innermost iterations.)
// - once: when `limit` iterations of its body have been in the run. (Written outer
//   iterations lack the inner loops that are spent.)
// What lies in a spent iteration, at whatever level, is skipped. With limit 0 nothing is.
//
// Of an inner loop whose iterations have messages but no collective operation, other ranks
// may see other loops (in the sweep of a wavefront each rank sees its own shape). What each of
// them skipped would tear the messages of the others, so apart_factor() times as many iterations
// are written before it is spent; with `first` as many of each visit (of loops of the code unless they are innermost and all visits alike: then ranks agree), outside
// any other loop `limit` of each of `limit` visits. (Likewise with `each`: where receives are posted in one
// loop and sent to in the next, one iteration of each has the ends of different messages.)
//
// With `first`, if messages cross the iterations of an inner loop of the code that has a collective in each visit (a receive is open when an
// iteration begins), what is sent in the last iteration that is written, and in one that is written alone, comes in one that is
// not. So *whole visits* of it are written, or nothing: as many as are needed for `limit` iterations if all were as long as the longest so
// far, in steps (1, 2, 5, 10, ...), because ranks may differ a little. A visit goes on for kApartFactor times the limit of iterations; all that
// is in it is written as well. The same holds for a loop that may be inner: it has loops around it that have not come round yet.
//
// When a loop breaks, writing resumes in the past, with the iteration before the last one
// (the broken one counts as an iteration). The same applies to an inner loop in which the
// loop around it broke. With `each` these iterations are resumed whole; else like other
// written iterations: spent iterations of their inner loops stay skipped, but for the last
// two. It is no break if an inner loop ends while the loop around it goes on, or at the end
// of the stream; nor, as is known a little later, if another loop begins where one was left,
// with a spent iteration: programs that take one of several known courses each time do
// nothing new. Except with `each`, nor is it one if the loop has been left `limit` times before
// at the same place of its body, for the same event: of each kind of break the first are kept.
//
// Where an iteration does something novel (kNovel), it is written, from its start on, and so is the one that is skipped
// around it; what else is spent in that stays skipped. Where ranks agree on loops, and the loop has messages but no collective, so is the rest
// of the visit, up to kApartFactor times the limit: what is posted in the iteration may be sent or awaited in a later one.
//
// Reports: suspend(p): nothing from p on is to be written, including what was recorded
// meanwhile, or resumed before at a later position. resume(p): everything from p on is to be
// written, including what was suspended meanwhile. Positions may lie in the past, up to the
// detector's reach_events(). suspend and resume alternate, suspend first, except that a
// resume may follow another to extend it into the past. An interval may turn out empty. A
// resume without inner loops comes as several pairs, in the order of the stream, at most
// InnerIntervals::kMax for each level; more inner loops are written.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "periodicity/loop_detector.h"

namespace refrain::filters {

// InnerIntervals: what inner loops alone would have skipped, regardless of the loops around them.
//
// Place in the flow: inside NestedPolicy: when a loop breaks, its last iterations are written
// like other written iterations, without what its inner loops would have skipped.
// Thread-safety: none. Memory: kMax intervals for each level of the nest, allocated when loops
// nest deeper than before. Cost: O(levels that change) a change.
class InnerIntervals {
 public:
  static constexpr std::uint64_t kMax = 256;  // latest ones, of each level

  // From `position` on, an iteration of a loop at level `depth` - 1 is spent, and none deeper;
  // 0: none at all.
  void spent_below(std::size_t depth, std::uint64_t position) noexcept {
    const std::size_t inner = depth == 0 ? 0 : depth - 1;  // levels that have one inside
    if (inner > levels_.size()) levels_.resize(inner);
    for (std::size_t level = inner_; level < inner; ++level) levels_[level].from = position;
    for (std::size_t level = inner; level < inner_; ++level) levels_[level].end(position);
    inner_ = inner;
  }

  // Calls f(begin, end) for what loops deeper than `level` would have skipped of [from, to).
  template <typename F>
  void each(std::size_t level, std::uint64_t from, std::uint64_t to, const F& f) const {
    if (level >= levels_.size()) return;
    const Level& all = levels_[level];
    for (std::uint64_t i = all.count - std::min(all.count, kMax); i != all.count; ++i) {
      const Interval& interval = all.intervals[i % kMax];
      const std::uint64_t begin = std::max(interval.begin, from);
      const std::uint64_t end = std::min(interval.end, to);
      if (begin < end) f(begin, end);
    }
  }

  // Since when a loop deeper than `level`, which is now, has been spent.
  std::uint64_t spent_from(std::size_t level) const noexcept { return levels_[level].from; }

  void clear() noexcept {
    for (Level& level : levels_) level.count = 0;
    inner_ = 0;
  }

 private:
  struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  struct Level {
    std::array<Interval, kMax> intervals;
    std::uint64_t count = 0;
    std::uint64_t from = 0;

    void end(std::uint64_t position) noexcept {
      if (count != 0 && intervals[(count - 1) % kMax].end == from) {
        intervals[(count - 1) % kMax].end = position;  // loops side by side
      } else {
        intervals[count++ % kMax] = {from, position};
      }
    }
  };

  std::vector<Level> levels_;
  std::size_t inner_ = 0;
};

enum class Nested : std::uint8_t { kFirst, kEach, kOnce };

// The setting `nested`.
constexpr Nested nested_of(std::string_view word) noexcept {
  return word == "each" ? Nested::kEach : word == "once" ? Nested::kOnce : Nested::kFirst;
}
constexpr const char* word_of(Nested nested) noexcept {
  return nested == Nested::kEach ? "each" : nested == Nested::kOnce ? "once" : "first";
}

struct NestedPolicySettings {
  std::uint64_t limit = 10;  // iterations; 0 = skip nothing
  Nested nested = Nested::kFirst;
};

class IntervalSink {
 public:
  virtual void suspend(std::uint64_t position) noexcept = 0;
  virtual void resume(std::uint64_t position) noexcept = 0;
  // The same of what inner loops skip in iterations that were resumed in the past.
  virtual void skip_inside(std::uint64_t begin, std::uint64_t end) noexcept {
    suspend(begin);
    resume(end);
  }
  // Returns true if a loop and its iterations are the same ones on all ranks.
  virtual bool loops_agree() const noexcept { return false; }
  // Returns true if messages are nondeterministic: which ones, and in which iteration, differs from rank to rank.
  virtual bool by_chance() const noexcept { return false; }
  // Returns true if receives are open that an event before the latest one has posted.
  virtual bool receives_open() const noexcept { return false; }
  // Returns true if other ranks may have run something else in these events; EventHistory::apart().
  virtual bool apart(std::uint64_t /*begin*/, std::uint64_t /*end*/) const noexcept {
    return false;
  }

 protected:
  ~IntervalSink() = default;
};

class NestedPolicy final : public periodicity::LoopSink {
 public:
  NestedPolicy(NestedPolicySettings settings, IntervalSink& sink)
      : settings_(settings), sink_(sink) {}

  static constexpr std::uint64_t kApartFactor = 3;
  static constexpr std::uint64_t kChanceFactor = 10;  // where messages are nondeterministic

  void on_loop_event(const periodicity::LoopEvent& event) noexcept override;

  // From the next iteration on. Not to be raised.
  void lower_limit(std::uint64_t limit) noexcept { settings_.limit = limit; }
  // Of the loop with most of them; with `each` of the open visits.
  std::uint64_t most_iterations() const noexcept;

  // After each symbol: all its loop events have been reported. A writer that runs with the
  // program cannot go back before a resume later on.
  void symbol_done() noexcept { left_inner_.clear(); }

  // Short way for an iteration of the innermost loop that is spent like the one before,
  // whatever was in it: takes it and returns true. Else nothing has changed, and
  // on_loop_event() takes it.
  bool goes_on(std::uint16_t level, std::uint64_t position,
               std::uint64_t iteration) noexcept {
    if (settings_.limit == 0) return true;
    Open& loop = open_[level];
    if (!loop.stays_spent || !suspended_ || &loop != &open_.back()) return false;
    left_inner_.clear();
    left_ = 0;
    move_on(loop, position, iteration);
    return true;
  }

  // Level of the outermost loop whose current iteration is spent; kNoLevel: none is.
  static constexpr std::uint16_t kNoLevel = 0xffff;
  std::uint16_t spent_level() const noexcept { return spent_level_; }
  // The earliest position that a resume may name from now on, while something is spent.
  std::uint64_t resume_position() const noexcept {
    const std::uint16_t level = spent_level();
    return level == kNoLevel ? kNowhere : open_[level].previous_begin;
  }
  // Start of the iteration before that one, if it was of the same visit.
  std::uint64_t before_resume_position() const noexcept {
    const std::uint16_t level = spent_level();
    return level == kNoLevel ? kNowhere : open_[level].before_previous;
  }

  // Counts from here on: nothing that began before `position` has been an iteration or a
  // visit, nothing is skipped.
  void restart(std::uint64_t position) noexcept;

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  struct Loop {
    std::uint64_t iterations = 0;  // of the visits that are over; not with `each`
    std::uint64_t outermost_visits = 0;
    std::uint64_t more_firsts =
        0;  // iterations written as the first of an inner visit only
    std::uint64_t latest_visit = 0;  // iterations of it
    bool uneven = false;             // not all visits have as many, or it has a loop inside
    bool apart = false;              // its latest iteration that was checked
    bool crossed = false;            // whole visits are written
    std::uint64_t visits = 0;        // that are over
    std::uint64_t longest_visit = 0;
  };
  struct Open {
    std::uint64_t iteration_begin = 0;
    std::uint64_t previous_begin = 0;   // of the iteration before,
    std::uint64_t before_previous = 0;  // and of the one before that
    std::uint64_t number = kNone;       // of the current iteration
    std::uint64_t had_before = 0;       // iterations of the body, before this visit
    std::uint64_t visit_begin = 0;
    std::uint32_t loop = 0;
    std::uint64_t first_counted = 0;  // iteration that the limit counts from
    bool stays_spent = false;         // also the rest of its visit
    bool spent = false;               // the current iteration,
    bool skipped = false;             // or one around it,
    bool whole = false;               // or all of it is written, what is inside as well
    bool visits_spent = false;
    bool novel = false;  // an iteration of this visit did something novel
    bool broken = false;
  };
  struct LeftInner {
    std::uint16_t level;
    std::uint64_t last;  // where its last two iterations begin
  };

  static void move_on(Open& loop, std::uint64_t position,
                      std::uint64_t iteration) noexcept {
    loop.before_previous = loop.previous_begin;
    loop.previous_begin = loop.iteration_begin;
    loop.iteration_begin = position;
    loop.number = iteration;
  }
  void open(const periodicity::LoopEvent& event) noexcept;
  bool is_spent(const periodicity::LoopEvent& event, Open& loop) noexcept;
  bool first_is_spent(const periodicity::LoopEvent& event) noexcept;
  bool by_visits(const periodicity::LoopEvent& event, Open& loop) noexcept;
  bool writes_visit(std::size_t level) noexcept;
  std::uint64_t apart_factor() const noexcept {
    return sink_.by_chance() ? kChanceFactor : kApartFactor;
  }
  void close_from(std::size_t level) noexcept;
  Loop& counts_of(std::uint32_t loop) noexcept;
  void set_spent(std::size_t level, bool spent) noexcept;
  void find_spent_level() noexcept;
  void begin_iteration(const periodicity::LoopEvent& event) noexcept;
  void leave(const periodicity::LoopEvent& event) noexcept;
  void write_novel(const periodicity::LoopEvent& event) noexcept;
  bool knows(const periodicity::LoopEvent& left) const noexcept;
  void decide(std::uint64_t position) noexcept;
  void note_inner(std::uint64_t position) noexcept;
  void resume_from(std::uint64_t from, std::uint64_t end) noexcept;

  NestedPolicySettings settings_;
  IntervalSink& sink_;
  std::vector<Open> open_;   // by level
  std::vector<Loop> loops_;  // by their numbers
  std::uint16_t spent_level_ = kNoLevel;
  bool suspended_ = false;
  std::uint64_t restarted_ = 0;  // position
  std::uint64_t resumed_ = 0;    // for the loop left last: from where,
  std::uint64_t left_ = 0;       // and where it was left; 0 once that is settled
  // Inner loops left with this symbol whose last iterations were skipped, from the innermost
  // outwards: for the case that the loop around them breaks at once.
  std::vector<LeftInner> left_inner_;
  InnerIntervals inner_;           // but with `each`
  std::size_t deepest_spent_ = 0;  // level + 1; 0: none
};

// SkippedIntervals: turns the reports of NestedPolicy into the intervals skipped in the end.
//
// Place in the flow: after NestedPolicy, where the whole stream is available afterwards
// (measurements, `refrain detect`, tests).
// Thread-safety: none. Cost: O(1) amortised a call.

class SkippedIntervals final : public IntervalSink {
 public:
  struct Interval {
    std::uint64_t begin;
    std::uint64_t end;
    bool operator==(const Interval&) const = default;
  };

  void suspend(std::uint64_t position) noexcept override {
    cut(position, true);
    suspend_from_ = position;
    while (!skipped_.empty() &&
           skipped_.back().end >= suspend_from_) {  // one with the last
      suspend_from_ = std::min(suspend_from_, skipped_.back().begin);
      skipped_.pop_back();
    }
    suspended_ = true;
  }

  void resume(std::uint64_t position) noexcept override {
    if (suspended_ && suspend_from_ < position)
      skipped_.push_back({suspend_from_, position});
    suspended_ = false;
    cut(position, false);
  }

  // The stream has ended at `position`.
  void finish(std::uint64_t position) noexcept {
    if (suspended_) resume(position);
  }

  // Starts again: nothing is skipped, or everything from a position on.
  void restart() noexcept {
    skipped_.clear();
    suspended_ = false;
  }
  void restart_suspended(std::uint64_t from) noexcept {
    skipped_.clear();
    suspended_ = true;
    suspend_from_ = from;
  }

  // [from, to) is to be written regardless of reports.
  void take_out(std::uint64_t from, std::uint64_t to) noexcept {
    std::vector<Interval>& all = skipped_;
    for (std::size_t i = all.size(); i-- != 0;) {
      const Interval interval = all[i];
      if (interval.end <= from || interval.begin >= to) continue;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(i);
      if (to < interval.end) all.insert(at, {to, interval.end});
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
      if (interval.begin < from) all.insert(first, {interval.begin, from});
    }
    if (!suspended_ || suspend_from_ >= to) return;
    if (suspend_from_ < from) all.push_back({suspend_from_, from});
    suspend_from_ = to;
  }

  // The interval at this place of intervals() is to be written after all.
  void erase(std::size_t index) noexcept {
    skipped_.erase(skipped_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  bool suspended() const noexcept { return suspended_; }
  std::uint64_t suspend_from() const noexcept { return suspend_from_; }
  const std::vector<Interval>& intervals() const noexcept { return skipped_; }

  std::uint64_t skipped_events() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& interval : skipped_) sum += interval.end - interval.begin;
    return sum;
  }

 private:
  // Nothing from `position` on is skipped any more; with `keep`, intervals that begin
  // earlier stay whole.
  void cut(std::uint64_t position, bool keep) noexcept {
    while (!skipped_.empty() && skipped_.back().begin >= position) skipped_.pop_back();
    if (!keep && !skipped_.empty())
      skipped_.back().end = std::min(skipped_.back().end, position);
  }

  std::vector<Interval> skipped_;
  std::uint64_t suspend_from_ = 0;
  bool suspended_ = false;
};

}  // namespace refrain::filters
