// Which messages of a process that died are not certain, because a receive of any source or tag was
// open when it did.
//
// Place in the flow: ARCHITECTURE.md, step 7, in the pass of mpi_interpreter.h that collects. MPI
// gives the messages of a channel to receives in the order in which these were posted. If a receive
// got a message of a channel that one posted before it would have taken as well, that one has taken
// an earlier one. Where it did not live to tell, the numbers of what was posted after it are off by
// one: these are left out, with their other ends.
//
// Thread-safety: none, one a location. Cost: a look at each receive of any source or tag that is
// open, for each receive; memory: 32 bytes for each channel that such a one could have taken from.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "spool/format.h"
#include "writer/job/message_plan.h"

namespace refrain::writer {

class OpenReceives {
 public:
  // A receive was posted (kMpiPost); `place`: in the order of all that this location posted.
  void posted(const spool::Record& post, std::uint64_t place);
  // It is complete, or cancelled.
  void gone(std::uint64_t place);
  // A receive of this place has this message of a channel (kMpiRecv). Numbers are as they were put
  // right.
  void received(const spool::Record& message, std::uint64_t place, const Channel& channel,
                std::uint64_t number);
  // The process died: takes what is not certain out of the log.
  void leave_out(MessageLog& log) const;

 private:
  struct Open {
    spool::Record post;
    std::uint64_t place;
    std::map<Channel, std::uint64_t> first_later;  // least number posted after it
  };
  std::vector<Open> open_;
};

}  // namespace refrain::writer
