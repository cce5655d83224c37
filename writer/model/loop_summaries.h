// The loops of a process with the statistics of their complete iterations, and the line
// that shows how they are nested.
//
// Place in the flow: ARCHITECTURE.md, stage 5, once the gaps are planned; becomes the
// archive's properties LOOPS and STRUCTURE.
// Thread-safety: none (names are looked up). Cost: a pass over the iterations, one over the
// records of the location that feeds the detector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regions/region_class.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// A counter in the iterations of a loop, of the thread that feeds the detector.
struct LoopCounter {
  std::string name;
  std::uint64_t iterations = 0;  // for which it is known
  double total = 0;
  double ns = 0;  // duration of these
};

struct LoopSummary {
  std::vector<LoopCounter> counters;
  std::uint32_t process = 0;
  std::uint32_t id = 0;
  std::uint16_t level = 0;
  std::int64_t parent = -1;  // id of the loop around it
  std::string name;          // of its region: "loop 1 @ main cg.c:120-124"
  bool named = false;        // by the program: a phase
  std::string function;      // that contains the loop; empty: not known
  std::string file;
  std::uint32_t line = 0;  // of the calls in it: the first
  std::uint32_t last_line = 0;
  std::string region;  // its first event: "!$omp parallel @cg.c:43"
  std::uint32_t body_events = 0;
  std::vector<std::string> body;  // names of the regions of an iteration
  std::uint64_t visits = 0;
  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t written = 0;     // of these, in the archive from begin to end
  std::uint64_t partly = 0;      // of these, in the archive in part
  double total_ns = 0;
  double mean_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  double sigma_ns = 0;
};

// A function that was switched off while the program ran.
struct FunctionOff {
  std::string name;
  std::uint64_t calls = 0;  // until then
  double mean_ns = 0;
};

std::vector<LoopSummary> summarize_loops(ProcessModel& process,
                                         const std::vector<regions::RegionDef>& regions);

// The functions that were switched off while the program ran.
std::vector<FunctionOff> functions_off(ProcessModel& process);

// "init.c:12 init; 75 × [ cg.c:120 setup; 25 × [ cg.c:43 matvec; ... ]; ... ]"; events
// outside all loops by their parallel regions. Empty without a loop.
std::string structure_line(ProcessModel& process);

}  // namespace refrain::writer
