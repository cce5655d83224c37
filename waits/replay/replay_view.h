// What patterns may ask of a replay about the run.
//
// Place in the flow: private to replay.h. Thread-safety: none. Ownership: of neither.
#pragma once

#include "reader/trace_definitions.h"
#include "waits/metrics/locations.h"
#include "waits/metrics/pattern.h"

namespace refrain::waits {

class ReplayView final : public RunView {
 public:
  ReplayView(const reader::TraceDefinitions& definitions,
             const std::vector<ProcessState>& processes)
      : definitions_(definitions), processes_(processes) {}

  double ticks_per_second() const override {
    return static_cast<double>(definitions_.ticks_per_second);
  }
  std::uint32_t processes() const override {
    return static_cast<std::uint32_t>(definitions_.processes.size());
  }
  std::uint32_t locations() const override {
    return static_cast<std::uint32_t>(definitions_.locations.size());
  }
  bool location(std::uint32_t number, Location& to) const override {
    if (number >= definitions_.locations.size()) return false;
    const reader::LocationInfo& info = definitions_.locations[number];
    const bool known = info.process < definitions_.processes.size();
    to = {info.process, info.thread,
          known ? definitions_.processes[info.process].rank : kNone};
    return true;
  }
  bool region(std::uint32_t process, std::uint32_t path, Region& to) const override {
    const CallPaths::Path* at = find(process, path);
    if (at == nullptr) return false;
    to = {};
    if (at->region >= definitions_.regions.size()) return true;
    const reader::RegionInfo& region = definitions_.regions[at->region];
    to = {region.name.c_str(), region.file.c_str(), region.line, ""};
    const auto site = definitions_.places.find(at->site);
    if (at->site != kNone && site != definitions_.places.end())
      to.site = site->second.c_str();
    return true;
  }
  std::uint32_t parent(std::uint32_t process, std::uint32_t path) const override {
    const CallPaths::Path* at = find(process, path);
    return at == nullptr ? kNone : at->parent;
  }

 private:
  const CallPaths::Path* find(std::uint32_t process, std::uint32_t path) const {
    if (process >= processes_.size()) return nullptr;
    const auto& paths = processes_[process].paths.paths();
    return path < paths.size() ? &paths[path] : nullptr;
  }

  const reader::TraceDefinitions& definitions_;
  const std::vector<ProcessState>& processes_;
};

}  // namespace refrain::waits
