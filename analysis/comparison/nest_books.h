// Accumulates what happened in each place of a process' nest of loops, and estimates the
// skipped iterations from it.
//
// Place in the flow: private to trace_profile.h, which describes the method. Pure.
// Units: nanoseconds, counts. Cost: skipped() and total() are linear in places times regions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

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
    double useful_ns = 0;
    double outside_mpi_ns = 0;
  };
  std::vector<Region> regions;  // by region
  std::vector<Thread> threads;  // by thread of the process
  // By region and counter: from the begin to the end of a call.
  std::vector<Counted> region_counters;
  std::vector<double> thread_counters;  // by thread and counter
  double sends = 0, bytes_sent = 0, receives = 0, bytes_received = 0, collectives = 0;

  explicit Sums(const Shape& shape)
      : regions(shape.regions),
        threads(shape.threads),
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
  kPartial,  // much of it was skipped without marks, or it was broken off
};

// A loop in a place of the nest: its iterations of one kind. The root is what lies outside
// all loops.
class Place {
 public:
  explicit Place(const Shape& shape, std::uint32_t loop = ~std::uint32_t{0},
                 SampleKind kind = SampleKind::kOther)
      : shape_(shape), own_(shape), loop_(loop), kind_(kind) {}

  struct Skipped {
    double count = 0;
    double ns = 0;
  };

  Sums& own() noexcept { return own_; }
  // `variant`: its class, by iteration_marks.h.
  Place& inside(std::uint32_t loop, SampleKind kind, std::uint32_t variant = 0);
  // An iteration of this place is over.
  void end_iteration(double ns, bool complete) noexcept {
    iterations_ += complete;
    ns_ += ns;
  }
  // Complete iterations of `loop`, of one class, that were skipped here.
  void suspend(std::uint32_t loop, std::uint32_t variant, double count, double ns) {
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
  using Key = std::tuple<std::uint32_t, SampleKind, std::uint32_t>;
  using Variant = std::pair<std::uint32_t, std::uint32_t>;  // of a loop

  Shape shape_;
  Sums own_;
  std::uint32_t loop_;
  SampleKind kind_;
  double iterations_ = 0;
  double ns_ = 0;
  double gap_ns_ = 0;
  std::map<Key, std::unique_ptr<Place>> inside_;
  std::map<Variant, Skipped> skipped_;
  std::uint32_t last_loop_ = ~std::uint32_t{0};  // that was entered here
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
  Sample sample(std::uint32_t loop);
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
  Sample no_sample() const { return {Sums(shape_), 0, Sums(shape_), 0}; }
  // Which samples are wanted: of a loop, in a place or anywhere below it.
  struct Wanted {
    std::uint32_t loop = 0;
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

}  // namespace refrain::analysis
