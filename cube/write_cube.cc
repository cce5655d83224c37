#include "cube/write_cube.h"

#include <exception>
#include <vector>

#include "cube/cubex_file.h"
#include "cube/summary_experiment.h"
#include "summary/run_summary.h"

namespace refrain::cube {

base::Result<> write_cube(const std::string& archive, const std::string& file) {
  try {
    const auto processes = summary::read_summaries(archive);
    if (!processes) return processes.failure();
    if (processes->empty()) return base::Failure{archive + " has no summary"};
    return write_cube(*processes, file);
  } catch (const std::exception& problem) {
    return base::Failure{problem.what()};
  }
}

base::Result<> write_cube(std::span<const summary::RunSummary> processes,
                          const std::string& file) {
  return write_cubex(experiment_of(processes), file);
}

}  // namespace refrain::cube
