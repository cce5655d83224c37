// Waiting time by who waited and who caused it: the direct part of delay costs, without what passes through others' waits.
//
// Place in the flow: private to waits/paths; delay_costs.h fills it, for findings. Thread-safety: none.
// Units: ticks, as fractions. Memory: kMost entries; what would be one more is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "waits/paths/records.h"

namespace refrain::waits::paths {

struct Cause {
  WaitKind kind{};
  std::uint32_t location = 0;  // that waited
  std::uint32_t path = 0;
  std::uint32_t causer = 0;  // location
  std::uint32_t causer_path = 0;
  double ticks = 0;
};

class Causes {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  void add(const Wait& wait, std::uint32_t causer_path, double ticks) {
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
  using Key =
      std::tuple<WaitKind, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<Key, double> sums_;
};

}  // namespace refrain::waits::paths
