// The call paths of one process: regions in the context of the regions around them; of MPI calls also by call site.
//
// Place in the flow: private to waits/. Thread-safety: none. Shapes: path 0 is the program; a parent stands before its
// children. Cost: O(1) where a path is followed again by the path that followed it before; else a look-up.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "waits/metrics/metric.h"

namespace refrain::waits {

class CallPaths {
 public:
  struct Path {
    PathId parent{kNone};
    RegionId region{kNone};      // kNone: the program
    std::uint32_t site = kNone;  // reference of a source code location
    PathId latest{kNone};        // child
  };

  CallPaths() : paths_(1) {}

  PathId child(PathId parent, RegionId region, std::uint32_t site) {
    const PathId latest = paths_[parent].latest;
    if (latest != kNone && paths_[latest].region == region && paths_[latest].site == site)
      return latest;
    return paths_[parent].latest = look_up(parent, region, site);
  }
  const std::vector<Path>& paths() const { return paths_; }

 private:
  struct Key {
    PathId parent;
    RegionId region;
    std::uint32_t site;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      std::uint64_t mixed =
          (std::uint64_t{key.parent} << 32 | key.region) * 0x9e3779b97f4a7c15ULL;
      mixed ^= mixed >> 29;
      return static_cast<std::size_t>((mixed + key.site) * 0xbf58476d1ce4e5b9ULL >> 7);
    }
  };

  PathId look_up(PathId parent, RegionId region, std::uint32_t site) {
    const auto next = PathId(paths_.size());
    const auto [at, is_new] = known_.try_emplace({parent, region, site}, next);
    if (is_new) paths_.push_back({parent, region, site, PathId{kNone}});
    return at->second;
  }

  std::vector<Path> paths_;
  std::unordered_map<Key, PathId, Hash> known_;
};

}  // namespace refrain::waits
