#include "waits/delay_metrics.h"

#include <string>
#include <utility>

namespace refrain::waits {
namespace {

struct Group {
  const char* name;
  const char* parent;
  const char* title;
};

// Of which the kinds are parts.
constexpr Group kGroups[] = {
    {"delay", "", "Delay costs"},
    {"delay_mpi", "delay", "MPI delay costs"},
    {"delay_p2p", "delay_mpi", "MPI point-to-point delay costs"},
    {"delay_collective", "delay_mpi", "MPI collective delay costs"},
    {"delay_omp", "delay", "OpenMP delay costs"},
};

// In the order of WaitKind.
constexpr Group kKinds[paths::kDelayKinds] = {
    {"delay_latesender", "delay_p2p", "late-sender delay costs"},
    {"delay_latereceiver", "delay_p2p", "late-receiver delay costs"},
    {"delay_barrier", "delay_collective", "barrier delay costs"},
    {"delay_n2n", "delay_collective", "N x N delay costs"},
    {"delay_12n", "delay_collective", "1 x N delay costs"},
    {"delay_n21", "delay_collective", "N x 1 delay costs"},
    {"delay_ompbarrier", "delay_omp", "OpenMP barrier delay costs"},
    {"delay_ompidle", "delay_omp", "OpenMP idleness delay costs"},
};

}  // namespace

std::vector<DelayMetric> delay_metrics() {
  std::vector<DelayMetric> out;
  for (const Group& group : kGroups)
    out.push_back({{group.name, group.parent, group.title,
                    "Waiting time of others, charged to what made them wait", ""},
                   DelayMetric::kSum,
                   {}});
  for (std::size_t kind = 0; kind < paths::kDelayKinds; ++kind) {
    const Group& group = kKinds[kind];
    const std::string aggregate = std::string(group.name) + "_aggregate";
    const auto wait = static_cast<paths::WaitKind>(kind);
    out.push_back({{aggregate, group.parent, std::string("All ") + group.title,
                    "Waiting time of others, charged to what made them wait", ""},
                   DelayMetric::kSum,
                   wait});
    out.push_back(
        {{group.name, aggregate, std::string("Short-term ") + group.title,
          "Waiting time, charged to call paths on which the one that came late had been longer than the one "
          "that waited, since both were synchronised last",
          ""},
         DelayMetric::kShortTerm,
         wait});
    out.push_back(
        {{std::string(group.name) + "_longterm", aggregate,
          std::string("Long-term ") + group.title,
          "Waiting time for one that came late because it had waited itself, charged to what had caused that",
          ""},
         DelayMetric::kLongTerm,
         wait});
  }
  return out;
}

}  // namespace refrain::waits
