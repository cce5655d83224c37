// Many ranks of a made-up job in one thread: what they tell each other before their archive
// is written, and what that costs.
//
// The job: a grid of three dimensions, closed to a ring in each, whose ranks exchange halos
// with six neighbours, and rows and columns of a second, flat grid with a communicator
// each. A thousand iterations, of which each rank wrote the first ten, the last two, and
// one rank in sixteen a slow one; each written iteration has an inner loop that is held in
// part. Each rank runs by itself, children before parents on the way up and behind them on
// the way down, with a clock of its own: a message is there when it was sent, so that the
// clocks show the longest way through the tree. They are CPU time; a network would add its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::simulation {

// Of one exchange.
struct Cost {
  std::string what;
  unsigned depth = 0;             // messages behind each other on the way up
  double longest_way_s = 0;       // until the last rank has its result
  double serial_s = 0;            // all ranks' time
  std::size_t largest_bytes = 0;  // message
  std::size_t root_bytes = 0;     // peak memory of rank 0, what it told and was told in it
};

struct Report {
  std::uint32_t ranks = 0;
  std::vector<Cost> costs;
  bool same_cut = false;  // all ranks wrote the same iterations in the end
  std::size_t comms = 0;  // defined
  std::size_t kept = 0;   // channels with messages that are kept, each end counted
};

// `ranks`: a power of two, at least 8.
Report simulate(std::uint32_t ranks);

}  // namespace refrain::simulation
