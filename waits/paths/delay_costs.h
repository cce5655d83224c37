// Delay costs: who made others wait, directly and through waits of others.
//
// Place in the flow: private to waits/paths; sweep.h calls it, backwards in time. Thread-safety: none.
// A wait is charged to what the causer did longer than the one that waits since both were synchronised last, and to what
// the causer waited itself meanwhile, in proportion. What is charged to a wait is charged further to what caused that:
// long-term costs, of the kind of the wait that is their last effect. Waits are handed over before those that caused them.
// Units: ticks, as fractions. Memory: the result, and for each location the intervals for which it is charged.
// Source: Boehme et al., TOPC 3(2), 2016, section 3; names and kinds of Scalasca 2.6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "waits/paths/records.h"

namespace refrain::waits::paths {

// Waiting time by who waited and who caused it: the direct part of delay costs, without what passes through others' waits.
//
// Thread-safety: none.
// Units: ticks, as fractions. Memory: kMost entries; what would be one more is left out.
struct Cause {
  WaitKind kind{};
  LocationId location{};  // that waited
  PathId path{};
  LocationId causer{};  // location
  PathId causer_path{};
  double ticks = 0;
};

class Causes {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  void add(const Wait& wait, PathId causer_path, double ticks) {
    if (wait.location == kNone) return;
    const Key key = {wait.kind, wait.location, wait.path, wait.causer, causer_path};
    if (const auto known = sums_.find(key); known != sums_.end())
      known->second += ticks;
    else if (sums_.size() < kMost)
      sums_.emplace(key, ticks);
  }

  std::vector<Cause> list() const {
    std::vector<Cause> out;
    for (const auto& [key, ticks] : sums_)
      out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key),
                     std::get<4>(key), ticks});
    return out;
  }

 private:
  using Key = std::tuple<WaitKind, LocationId, PathId, LocationId, PathId>;
  std::map<Key, double> sums_;
};

class DelayCosts {
 public:
  using ByKind = std::array<double, kDelayKinds>;
  struct Cost {
    ByKind short_term{};
    ByKind long_term{};
  };
  using Table = std::vector<std::vector<Cost>>;  // by location and path

  explicit DelayCosts(std::size_t locations) : charged_(locations), costs_(locations) {}

  // `bounded`: later waits of its causer may still be to come. They are not charged.
  void wait(const Wait& wait, bool bounded);
  Table take() { return std::move(costs_); }
  const Causes& causes() const { return causes_; }

 private:
  // Waits of a location since then, before another time, are charged in proportion to what they last.
  struct Charged {
    Ticks since = 0;
    Ticks before = 0;
    ByKind rates{};
  };

  ByKind charged_to(const Wait& wait);

  std::vector<std::vector<Charged>> charged_;
  Table costs_;
  Causes causes_;
};

}  // namespace refrain::waits::paths
