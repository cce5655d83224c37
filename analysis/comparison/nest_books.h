// Accumulates what happened in each place of a process' nest of loops, and estimates the
// skipped iterations from it.
//
// Place in the flow: private to comparison.h, which describes the method. Pure.
// Units: nanoseconds, counts. Cost: skipped() and total() are linear in places and the regions in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/archive_info.h"
#include "analysis/profile/efficiencies.h"
#include "base/result.h"
#include "reader/trace.h"

namespace refrain::analysis {

// How many of each a process has.
struct Shape {
  std::size_t regions = 0;
  std::size_t threads = 0;
  std::size_t counters = 0;
};

// Sums that grow with the number of iterations, and those that grow with their duration.
struct Sums {
  // Of one counter.
  struct Counted {
    double sum = 0;
    double calls = 0;  // that it is known of
  };
  struct Region {
    double calls = 0;         // of a loop: its complete iterations
    double inclusive_ns = 0;  // of a loop: their durations
    double exclusive_ns = 0;
  };
  struct Thread {
    ThreadTimes times;      // in regions
    double outside_ns = 0;  // in none
  };
  // Of the regions that occur: there are many places, and few regions in most.
  class Regions {
   public:
    Region& operator[](std::uint32_t region) { return sums_[region]; }
    const Region& operator[](std::uint32_t region) const {
      static constexpr Region kNone{};
      const auto found = sums_.find(region);
      return found == sums_.end() ? kNone : found->second;
    }
    void erase(std::uint32_t region) { sums_.erase(region); }
    // Pairs of region and sums, in any order.
    auto begin() const { return sums_.begin(); }
    auto end() const { return sums_.end(); }

   private:
    std::unordered_map<std::uint32_t, Region> sums_;
  };
  Regions regions;
  std::vector<Thread> threads;  // by thread of the process
  // By region and counter: from the start to the end of a call.
  std::vector<Counted> region_counters;
  std::vector<double> thread_counters;  // by thread and counter
  double sends = 0, bytes_sent = 0, receives = 0, bytes_received = 0, collectives = 0;

  explicit Sums(const Shape& shape)
      : threads(shape.threads),
        region_counters(shape.regions * shape.counters),
        thread_counters(shape.threads * shape.counters) {}
  // Adds `counts` times the counts of `other` and `times` times its times.
  void add(const Sums& other, double counts, double times);
  // Counts become those of `times` times `like`, where they are less.
  void raise_counts(const Sums& like, double times);
};

// How a written iteration is used to estimate skipped ones.
enum class SampleKind : std::uint8_t {
  kTypical,  // of similar duration
  kOther,    // only its calls are typical
  kFirst,    // of a visit: on other threads the code before it may still run
  kPartial,  // much of it was skipped without marks
  kBroken,   // it was broken off: it is none
};

// A loop in a place of the nest: its iterations of one kind. The root is what lies outside
// all loops. A loop is named by its region here.
class Place {
 public:
  explicit Place(const Shape& shape, RegionId loop = RegionId(~std::uint32_t{0}),
                 SampleKind kind = SampleKind::kOther)
      : shape_(shape), own_(shape), loop_(loop), kind_(kind) {}

  struct Skipped {
    double count = 0;
    double ns = 0;
  };

  Sums& own() noexcept { return own_; }
  // `variant`: its class, by IterationClasses.
  Place& inside(RegionId loop, SampleKind kind, std::uint32_t variant = 0);
  // An iteration of this place is over.
  void end_iteration(double ns, bool complete) noexcept {
    iterations_ += complete;
    ns_ += ns;
  }
  // Complete iterations of `loop`, of one class, that were skipped here.
  void suspend(RegionId loop, std::uint32_t variant, double count, double ns) {
    Skipped& skipped = skipped_[{loop, variant}];
    skipped.count += count;
    skipped.ns += ns;
  }
  // Nothing was written for so long, on the thread that has the marks.
  void add_gap(double ns) noexcept { gap_ns_ += ns; }

  double iterations() const noexcept { return iterations_; }
  double ns() const noexcept { return ns_; }

 private:
  friend class NestBooks;
  using Key = std::tuple<RegionId, SampleKind, std::uint32_t>;
  using Variant = std::pair<RegionId, std::uint32_t>;  // of a loop

  Shape shape_;
  Sums own_;
  RegionId loop_;
  SampleKind kind_;
  double iterations_ = 0;
  double ns_ = 0;
  double gap_ns_ = 0;
  bool unlike_ = false;  // what was skipped in it without marks has no like
  std::map<Key, std::unique_ptr<Place>> inside_;
  std::map<Variant, Skipped> skipped_;
  RegionId last_loop_{~std::uint32_t{0}};  // that was entered here
};

class NestBooks {
 public:
  explicit NestBooks(const Shape& shape) : shape_(shape), root_(shape) {}

  Place& root() noexcept { return root_; }
  // Written and skipped. After all was added; computed once.
  const Sums& total();
  // Mean of a loop's iterations, from those that represent the others; iterations is 0 if
  // there are none. After total().
  struct Sample {
    Sums counts;  // of `iterations`
    double iterations = 0;
    Sums times;  // of `ns`
    double ns = 0;
  };
  Sample sample(RegionId loop);
  // Messages of all iterations of a loop that have a mark or were estimated from their time, also of those that were written in
  // part. After total().
  struct Messages {
    double iterations = 0;
    double sends = 0;
    double bytes_sent = 0;
    bool known = true;      // false: no written iteration is like what was skipped
    bool outermost = true;  // no iteration lies in another loop
    double gap_ns = 0;      // as below, in these iterations
  };
  Messages messages(RegionId loop);
  // Valid after total(): of the thread that has the marks, how long nothing was written,
  // and how much of this cannot be estimated from any iteration.
  double gap_ns() const noexcept { return gap_ns_; }
  double unexplained_ns() const noexcept { return unexplained_ns_; }

 private:
  enum class State : std::uint8_t { kOpen, kBusy, kDone };

  // What happened in a place, including inner loops and skipped iterations.
  const Sums& whole(Place& place);
  void settle_gap(Place& place, Sums& sums);
  void estimate(Place& place, const Place::Variant& variant, const Place::Skipped& skipped,
                Sums& sums);
  // That skipped iterations of a place are estimated from.
  Sample like_skipped(Place& place, const Place::Variant& variant);
  void add_messages(Place& place, RegionId loop, bool inside, Messages& messages);
  Sample no_sample() const { return {Sums(shape_), 0, Sums(shape_), 0}; }
  // Which samples are wanted: of a loop, in a place or anywhere below it.
  struct Wanted {
    RegionId loop;
    std::uint32_t variant = kAny;
    bool anywhere = false;
    static constexpr std::uint32_t kAny = ~std::uint32_t{0};
  };
  // Adds the iterations of a kind to the sample.
  using Add = void (NestBooks::*)(Place&, Sample&);
  void each_sample(Place& place, const Wanted& wanted, SampleKind kind, Add add,
                   Sample& sample);
  void fill(Place& place, const Wanted& wanted, Sample& sample);
  bool may_tell(Place& place);
  void add_counts(Place& place, Sample& sample);
  void add_times(Place& place, Sample& sample);

  Shape shape_;
  Place root_;
  double gap_ns_ = 0;
  double unexplained_ns_ = 0;
  std::map<const Place*, std::pair<State, Sums>> whole_;
};

// The marks of iterations in a trace of Refrain, as its events are read.
//
// Thread-safety: none. Cost: O(1) an event.

// IterationClasses: distinguishes the iterations of a loop that have more or fewer iterations of
// inner loops, by their position in the visit, or by their duration.
//
// The number of inner iterations is known of a
// written iteration; of a skipped one only its position and its duration are. Where written
// ones of the same position are alike in all visits, a skipped one is assumed to be like those
// of its position, or of the latest position before it that has any. Otherwise it is assumed to
// be like those with the nearest duration (of those not written for being slow). Where
// durations do not distinguish the written ones either, or there are too many numbers of inner
// iterations, all iterations are of one class. Pure.
// Thread-safety: const after settle(). Cost: settle() sorts the samples.
class IterationClasses {
 public:
  static constexpr std::size_t kMax = 8;
  static constexpr std::uint32_t kNoClass = kMax;  // with a number that no sample has

  // A written iteration.
  struct Sample {
    std::uint64_t inner = 0;     // iterations of inner loops directly in it
    std::uint64_t position = 0;  // in its visit
    std::uint64_t ns = 0;
    bool leading = true;  // none of its visit was skipped before
  };
  void add(const Sample& sample) { samples_.push_back(sample); }
  // All are added.
  void settle();

  std::uint32_t of_inner(std::uint64_t inner) const noexcept;
  std::uint32_t of_skipped(std::uint64_t position, std::uint64_t ns) const noexcept;

 private:
  bool by_position();
  bool by_duration();
  std::uint32_t of_duration(std::uint64_t ns) const noexcept;

  std::vector<Sample> samples_;
  std::vector<std::uint64_t> inner_;           // by class, ascending; empty: one class
  std::map<std::uint64_t, std::uint32_t> at_;  // by position: the class of most
  std::vector<double> end_ns_;  // of all classes but the last: where the next begins
};

// Counts the iterations of visits from their marks: a visit ends with the iteration around it,
// or when another loop begins.
class VisitCounter {
 public:
  struct Visit {
    std::uint32_t loop = reader::kNone;
    std::uint64_t iterations = 0;  // begun
    bool skipped = false;          // one of them was
  };
  // An iteration begins at this depth: its visit, including it.
  const Visit& begin(std::size_t depth, std::uint32_t loop, bool skipped) {
    visits_.resize(depth + 1);
    Visit& visit = visits_.back();
    if (visit.loop != loop) visit = {.loop = loop};
    ++visit.iterations;
    visit.skipped |= skipped;
    return visit;
  }

 private:
  std::vector<Visit> visits_;  // the latest of each level
};

struct WrittenIteration {
  SampleKind kind = SampleKind::kOther;
  RegionId loop;
  std::size_t depth = 0;      // written iterations around it
  std::uint32_t variant = 0;  // of nest_books.cc
};
// The marks of a process.
struct ProcessMarks {
  std::uint32_t location = reader::kNone;  // that has them; kNone: none
  // Use of each written iteration, in the order of their begins.
  std::vector<WrittenIteration> written;
  std::map<std::uint32_t, IterationClasses> classes;  // by loop

  std::uint32_t variant_of_skipped(std::uint32_t loop, std::uint64_t position,
                                   std::uint64_t ns) const {
    const auto found = classes.find(loop);
    return found == classes.end() ? 0 : found->second.of_skipped(position, ns);
  }
};
using TraceMarks = std::vector<ProcessMarks>;  // by process

// First pass: collects them.
class SampleSink final : public reader::TraceSink {
 public:
  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  TraceMarks take() { return std::move(marks_); }

 private:
  struct Written {
    std::uint32_t region;
    bool complete;
    std::uint64_t position;  // in a visit of its loop
    bool leading;  // none of the visit was skipped before: not written for being slow
    std::size_t depth;
    std::uint64_t ns = 0;
    std::uint64_t unreported_ns = 0;  // skipped, without marks
    std::uint64_t inner = 0;          // complete iterations directly in it
  };
  struct Range {
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t greatest = 0;
  };
  struct Durations {
    std::uint64_t least_ns = ~std::uint64_t{0};  // of complete iterations
    Range skipped;
  };
  struct Open {
    std::uint32_t region;
    std::size_t written;  // place in the list; kSkipped
    std::uint64_t begin_ns;
    bool complete;
    std::uint64_t gap_ns = 0;      // directly in it
    std::uint64_t skipped_ns = 0;  // of iterations directly in it
    std::uint64_t inner = 0;       // complete iterations directly in it
  };
  struct Process {
    std::vector<Open> open;
    VisitCounter visits;
    std::uint32_t location = reader::kNone;  // that has the marks
    std::uint64_t ns = 0;                    // until then gaps are counted
    std::vector<Written> written;
    std::unordered_map<std::uint32_t, Durations> loops;  // by region
  };
  static constexpr std::size_t kSkipped = ~std::size_t{0};

  void count_gap(Process& process, std::uint64_t ns) const;
  void end_iteration(Process& process, std::uint64_t ns);
  static SampleKind kind_of(const Process& process, const Written& iteration);

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> attributes_;
  std::vector<Process> processes_;
  std::vector<bool> on_;  // by location: it is being written
  TraceMarks marks_;
};

}  // namespace refrain::analysis
