// Books of what happened in each place of a process' nest of loops, and what that makes of
// the iterations that were held.
//
// Place in the flow: private to trace_profile.h, which says what the method is. Pure.
// Units: nanoseconds, counts. Cost: held() and total() are linear in places times regions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace refrain::profile {

// What grows with the number of iterations, and what with their duration.
struct Sums {
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
  double sends = 0, bytes_sent = 0, receives = 0, bytes_received = 0, collectives = 0;

  Sums(std::size_t region_count, std::size_t thread_count)
      : regions(region_count), threads(thread_count) {}
  // Adds `counts` times the counts of `other` and `times` times its times.
  void add(const Sums& other, double counts, double times);
  // Counts become those of `times` times `like`, where they are less.
  void raise_counts(const Sums& like, double times);
};

// What an iteration that is in the archive says of those that are not.
enum class SampleKind : std::uint8_t {
  kTypical,  // as long as they were
  kOther,
  kPartial,  // much of it was held, without marks of what
};

// A loop in a place of the nest: its iterations of one kind. The root is what lies outside
// all loops.
class Place {
 public:
  Place(std::size_t regions, std::size_t threads, std::uint32_t loop = ~std::uint32_t{0},
        SampleKind kind = SampleKind::kOther)
      : own_(regions, threads), loop_(loop), kind_(kind) {}

  struct Held {
    double count = 0;
    double ns = 0;
  };

  Sums& own() noexcept { return own_; }
  Place& inside(std::uint32_t loop, SampleKind kind);
  // An iteration of this place is over.
  void end_iteration(double ns, bool complete) noexcept {
    iterations_ += complete;
    ns_ += ns;
  }
  // Complete iterations of `loop` that were held here.
  void hold(std::uint32_t loop, double count, double ns) {
    held_[loop].count += count;
    held_[loop].ns += ns;
  }
  // Nothing was written for so long, on the thread that has the marks.
  void add_gap(double ns) noexcept { gap_ns_ += ns; }

  double iterations() const noexcept { return iterations_; }
  double ns() const noexcept { return ns_; }

 private:
  friend class NestBooks;
  using Key = std::pair<std::uint32_t, SampleKind>;

  Sums own_;
  std::uint32_t loop_;
  SampleKind kind_;
  double iterations_ = 0;
  double ns_ = 0;
  double gap_ns_ = 0;
  std::map<Key, std::unique_ptr<Place>> inside_;
  std::map<std::uint32_t, Held> held_;
  std::uint32_t last_loop_ = ~std::uint32_t{0};  // that was entered here
};

class NestBooks {
 public:
  NestBooks(std::size_t regions, std::size_t threads)
      : regions_(regions), threads_(threads), root_(regions, threads) {}

  Place& root() noexcept { return root_; }
  // Written and held. Once, when all is booked.
  Sums total();
  // What a loop's iterations had in the mean, by those that stand for the others;
  // iterations is 0 if there are none. After total().
  struct Sample {
    Sums sums;
    double iterations = 0;
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
  void estimate(Place& place, std::uint32_t loop, const Place::Held& held, Sums& sums);
  static void add_estimate(const Sample& sample, const Place::Held& held, Sums& sums);
  bool add_sample(Place& place, Sample& sample);
  bool sample_anywhere(Place& place, std::uint32_t loop, SampleKind kind, Sample& sample);

  std::size_t regions_;
  std::size_t threads_;
  Place root_;
  double gap_ns_ = 0;
  double unexplained_ns_ = 0;
  std::map<const Place*, std::pair<State, Sums>> whole_;
};

}  // namespace refrain::profile
