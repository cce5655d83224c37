#include "cube/write_cube.h"

#include <exception>
#include <vector>

#include "cube/cubex_file.h"
#include "cube/summary_experiment.h"
#include "summary/run_summary.h"

namespace refrain::cube {

std::string write_cube(const std::string& archive, const std::string& file) {
  try {
    const auto processes = summary::read_summaries(archive);
    if (!processes) return processes.error();
    if (processes->empty()) return archive + " has no summary";
    return write_cube(*processes, file);
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

std::string write_cube(std::span<const summary::RunSummary> processes,
                       const std::string& file) {
  return write_cubex(experiment_of(processes), file);
}

}  // namespace refrain::cube
