// The call paths of an analysis by their parent, their region and their place, to find those of a summary in it.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: const after it was made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "waits/wait_analysis.h"

namespace refrain::waits {

class PathFinder {
 public:
  explicit PathFinder(const WaitAnalysis& written) {
    for (PathId i{1}; i < written.paths.size(); ++i) {
      const WaitAnalysis::Path& path = written.paths[i];
      if (path.region < written.regions.size())
        known_.try_emplace({path.parent, key(written.regions[path.region]), path.site}, i);
    }
  }
  // kNone: there is none.
  PathId find(PathId parent, const std::string& region, const std::string& site) const {
    const auto found = known_.find({parent, region, site});
    return found == known_.end() ? PathId{kNone} : found->second;
  }
  template <typename Region>
  static std::string key(const Region& region) {
    return region.name + '\n' + region.file + ':' + std::to_string(region.line);
  }

 private:
  std::map<std::tuple<PathId, std::string, std::string>, PathId> known_;
};

}  // namespace refrain::waits
