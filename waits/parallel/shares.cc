#include "waits/parallel/shares.h"

#include <algorithm>
#include <numeric>

namespace refrain::waits {

std::vector<ReaderShare> shares_of(const reader::TraceDefinitions& definitions,
                                   std::size_t readers) {
  const std::size_t processes = definitions.processes.size();
  std::vector<double> events(processes);
  for (const reader::LocationInfo& location : definitions.locations)
    if (location.process < processes)
      events[location.process] += static_cast<double>(location.events);
  std::vector<std::uint32_t> order(processes);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, [&](std::uint32_t a, std::uint32_t b) { return events[a] > events[b]; });
  std::vector<ReaderShare> shares(readers);
  std::vector<double> given(readers);
  std::vector<std::size_t> reader_of(processes);
  for (const std::uint32_t process : order) {
    const auto least = static_cast<std::size_t>(
        std::distance(given.begin(), std::ranges::min_element(given)));
    given[least] += events[process] + 1;
    reader_of[process] = least;
  }
  for (std::uint32_t i = 0; i < processes; ++i) shares[reader_of[i]].processes.push_back(i);
  for (std::uint32_t i = 0; i < definitions.locations.size(); ++i) {
    const std::uint32_t process = definitions.locations[i].process;
    shares[process < processes ? reader_of[process] : 0].locations.push_back(i);
  }
  return shares;
}

}  // namespace refrain::waits
