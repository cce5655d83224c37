// Many ranks of an artificial job in one thread: their exchanges before the archive is
// written, and the cost of these.
//
// The job: a grid of three dimensions, closed to a ring in each, whose ranks exchange halos
// with six neighbours, and rows and columns of a second, flat grid with a communicator
// each. A thousand iterations, of which each rank wrote the first ten, the last two, and
// one rank in sixteen a slow one; each written iteration has an inner loop that is partly
// skipped. Each rank runs by itself, children before parents on the way up and after them on
// the way down, with its own clock: a message arrives when it was sent, so that the clocks
// show the longest way through the tree. They are CPU time; a network would add its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::simulation {

// Of one exchange.
struct Cost {
  std::string what;
  unsigned depth = 0;             // messages one after the other on the way up
  double longest_way_s = 0;       // until the last rank has its result
  double serial_s = 0;            // all ranks' time
  std::size_t largest_bytes = 0;  // message
  std::size_t root_bytes = 0;     // peak memory of rank 0, including messages
};

struct Report {
  std::uint32_t ranks = 0;
  std::vector<Cost> costs;
  bool same_cut = false;  // all ranks wrote the same iterations in the end
  std::size_t comms = 0;  // defined
  std::size_t kept = 0;   // channels with messages that are kept, both ends
};

// `ranks`: a power of two, at least 8.
Report simulate(std::uint32_t ranks);

}  // namespace refrain::simulation
