// Cost of agreeing on the archive of a job, by the number of ranks:
//     bazel run -c opt //test/measure:tree_report -- 64 1024 16384
// See job_simulation.h.
#include <cstdio>
#include <cstdlib>
#include <vector>

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
  return 0;
}
