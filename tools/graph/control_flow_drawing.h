// The control flow graph of a run as a drawing: texts, colours by time, edges by count.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/flow/control_flow.h; before drawing.h.
// Thread-safety: pure. What the values are called: docs/reference/graph.md.
#pragma once

#include <string>
#include <vector>

#include "analysis/flow/control_flow.h"
#include "analysis/profile/run_profile.h"
#include "base/result.h"
#include "code_profile/loop_profile.h"
#include "tools/graph/drawing.h"

namespace refrain::tools {

// Locations as texts, short enough for the label of an edge: "0-3" are threads where there is one
// process, processes where each has one thread; else "0-1.0-3" are threads 0-3 of processes 0-1.
// Processes are their ranks.
class LocationNames {
 public:
  LocationNames(const analysis::RunProfile& profile, const std::vector<bool>& locations);

  // Of ascending indices.
  std::string list(const std::vector<std::uint32_t>& locations) const;
  // What the numbers are: "threads", "ranks", "ranks.threads"; "processes" without MPI.
  const std::string& unit() const { return unit_; }
  // As of list(), of all.
  std::string all() const;

 private:
  const analysis::RunProfile& profile_;
  std::vector<std::uint32_t> chosen_;
  std::string unit_;
  bool threads_ = false;    // of one process
  bool processes_ = false;  // with one thread each
};

// Of the locations of these processes, "0-3,7" (their ranks, or numbers where they have none);
// empty: all. `error`: one line.
base::Result<std::vector<bool>> locations_of(const analysis::RunProfile& profile,
                                             const std::string& ranks);

Drawing control_flow_drawing(const analysis::RunProfile& profile,
                             const analysis::ControlFlow& flow,
                             const analysis::FlowView& view,
                             const std::vector<bool>& locations);

// The loop call graph: loops oval, functions boxes, as in the paper's Fig. 6 (Moseley et al.).
//
// Thread-safety: pure.

// Only what has this part of all instructions, or samples, at least.
Drawing loop_drawing(const code_profile::LoopProfile& profile, double share);

}  // namespace refrain::tools
