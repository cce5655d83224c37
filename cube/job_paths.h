// Call paths of all processes in one tree: which one a node of a process' summary is.
//
// Place in the flow: summary_experiment.h. Thread-safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cube/experiment.h"
#include "summary/run_summary.h"

namespace refrain::cube {

// The call paths of one process.
struct ProcessPaths {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> of_node;  // of a fork: that of what lies around it
  // Below a node, for what found no place there; kNone: everything did. Last: outside of all regions.
  std::vector<std::uint32_t> other;
};

class CallPaths {
 public:
  explicit CallPaths(Experiment& experiment) : experiment_(experiment) {}

  ProcessPaths add(const summary::RunSummary& process);

 private:
  std::uint32_t path(std::uint32_t parent, std::uint32_t region);
  std::uint32_t region(const Region& region);
  std::uint32_t other_region();

  Experiment& experiment_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> paths_;
  std::map<std::tuple<std::string, std::string, std::string, std::uint32_t, std::string,
                      std::string>,
           std::uint32_t>
      regions_;
};

}  // namespace refrain::cube
