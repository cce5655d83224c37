// Books of what happened in each place of a process' nest of loops, and what that makes of
// the iterations that were held.
//
// Place in the flow: private to trace_profile.h, which says what the method is. Pure.
// Units: nanoseconds, counts. Cost: held() and total() are linear in places times regions.
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

// What grows with the number of iterations, and what with their duration.
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

// What an iteration that is in the archive says of those that are not.
enum class SampleKind : std::uint8_t {
  kTypical,  // as long as they were
  kOther,    // their calls are as typical
  kFirst,    // of a visit: what came before may reach into it, on other threads
  kPartial,  // much of it was held without marks of what, or it was broken off
};

// A loop in a place of the nest: its iterations of one kind. The root is what lies outside
// all loops.
class Place {
 public:
  explicit Place(const Shape& shape, std::uint32_t loop = ~std::uint32_t{0},
                 SampleKind kind = SampleKind::kOther)
      : shape_(shape), own_(shape), loop_(loop), kind_(kind) {}

  struct Held {
    double count = 0;
    double ns = 0;
  };

  Sums& own() noexcept { return own_; }
  // `variant`: its class, by iteration_classes.h.
  Place& inside(std::uint32_t loop, SampleKind kind, std::uint32_t variant = 0);
  // An iteration of this place is over.
  void end_iteration(double ns, bool complete) noexcept {
    iterations_ += complete;
    ns_ += ns;
  }
  // Complete iterations of `loop`, of one class, that were held here.
  void hold(std::uint32_t loop, std::uint32_t variant, double count, double ns) {
    Held& held = held_[{loop, variant}];
    held.count += count;
    held.ns += ns;
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
  std::map<Variant, Held> held_;
  std::uint32_t last_loop_ = ~std::uint32_t{0};  // that was entered here
};

class NestBooks {
 public:
  explicit NestBooks(const Shape& shape) : shape_(shape), root_(shape) {}

  Place& root() noexcept { return root_; }
  // Written and held. When all is booked; what it comes to is found out once.
  const Sums& total();
  // What a loop's iterations had in the mean, by those that stand for the others;
  // iterations is 0 if there are none. After total().
  struct Sample {
    Sums counts;  // of `iterations`
    double iterations = 0;
    Sums times;  // of `ns`
    double ns = 0;
  };
  Sample sample(std::uint32_t loop);
  // Valid after total(): of the thread that has the marks, how long nothing was written,
  // and how much of this there is no iteration to tell by.
  double gap_ns() const noexcept { return gap_ns_; }
  double unexplained_ns() const noexcept { return unexplained_ns_; }

 private:
  enum class State : std::uint8_t { kOpen, kBusy, kDone };

  // What happened in a place, inner loops and what was held included.
  const Sums& whole(Place& place);
  void settle_gap(Place& place, Sums& sums);
  void estimate(Place& place, const Place::Variant& variant, const Place::Held& held,
                Sums& sums);
  Sample no_sample() const { return {Sums(shape_), 0, Sums(shape_), 0}; }
  // Which samples are asked for: of a loop, in a place or anywhere below it.
  struct Wanted {
    std::uint32_t loop = 0;
    std::uint32_t variant = kAny;
    bool anywhere = false;
    static constexpr std::uint32_t kAny = ~std::uint32_t{0};
  };
  // Adds to the sample what there is of a kind.
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
