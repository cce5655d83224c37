// Cost of agreeing on the archive of a job, by the number of ranks:
//     bazel run -c opt //test/measure:tree_report -- 64 1024 16384
// See job_simulation.h and, of the event flow graph, flow_simulation.h.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "test/measure/flow_simulation.h"
#include "test/measure/job_simulation.h"

int main(int argc, char** argv) {
  std::vector<std::uint32_t> sizes;
  for (int i = 1; i < argc; ++i)
    sizes.push_back(static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)));
  if (sizes.empty()) sizes = {64, 1024, 16384};
  for (const std::uint32_t size : sizes)
    if (size < 8 || (size & (size - 1)) != 0) {
      std::fprintf(stderr, "usage: tree_report [RANKS...]  (powers of two, at least 8)\n");
      return 2;
    }
  std::printf("%7s %-14s %5s %14s %12s %14s %12s\n", "ranks", "exchange", "depth",
              "longest way ms", "one rank ms", "largest bytes", "root KiB");
  for (const std::uint32_t size : sizes) {
    const refrain::simulation::Report report = refrain::simulation::simulate(size);
    for (const auto& cost : report.costs)
      std::printf("%7u %-14s %5u %14.3f %12.4f %14zu %12.1f\n", report.ranks,
                  cost.what.c_str(), cost.depth, cost.longest_way_s * 1e3,
                  cost.serial_s / report.ranks * 1e3, cost.largest_bytes,
                  static_cast<double>(cost.root_bytes) / 1024);
    if (report.same_cut && report.kept == 12ULL * size) continue;
    std::fprintf(stderr, "the ranks did not agree\n");
    return 1;
  }
  std::printf("\n%7s %10s %8s %6s %14s %10s %10s %8s\n", "ranks", "dimensions", "clusters",
              "nodes", "largest bytes", "root KiB", "file KiB", "root ms");
  for (const unsigned dimensions : {1U, 2U, 3U})
    for (const std::uint32_t size : sizes) {
      if (size < 1U << 2 * dimensions) continue;
      const auto flow = refrain::simulation::simulate_flow(size, dimensions);
      std::printf("%7u %10u %8zu %6zu %14zu %10.1f %10.1f %8.2f\n", size, dimensions,
                  flow.clusters, flow.nodes, flow.largest_bytes,
                  static_cast<double>(flow.root_bytes) / 1024,
                  static_cast<double>(flow.file_bytes) / 1024, flow.longest_s * 1e3);
    }
  return 0;
}
