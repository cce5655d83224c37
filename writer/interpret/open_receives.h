// Which messages of a process that died are uncertain, because a receive of any source or
// tag was open at that time.
//
// Place in the flow: ARCHITECTURE.md, stage 5, in the pass of mpi_interpreter.h that
// collects. MPI gives the messages of a channel to receives in the order in which these
// were posted. If a receive got a message of a channel, and an earlier posted one would
// have taken it as well, the earlier one has an earlier message. Where it died before
// recording that, the numbers of everything posted after it are off by one: these are left
// out, with their other ends.
//
// Thread-safety: none, one a location. Cost: a look at each open receive of any source or
// tag, for each receive; memory: 32 bytes for each channel that such a one could have taken
// from.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "spool/format.h"
#include "writer/messages/message_plan.h"

namespace refrain::writer {

class OpenReceives {
 public:
  // A receive was posted (kMpiPost); `place`: in the order of posting on this location.
  void posted(const spool::Record& post, std::uint64_t place);
  // It is complete, or cancelled.
  void gone(std::uint64_t place);
  // The receive of this place got this message of a channel (kMpiRecv). Numbers are already
  // corrected.
  void received(const spool::Record& message, std::uint64_t place, const Channel& channel,
                std::uint64_t number);
  // The process died: removes uncertain messages from the log.
  void leave_out(MessageLog& log) const;

 private:
  struct Open {
    spool::Record post;
    std::uint64_t place;
    std::map<Channel, std::uint64_t> first_later;  // smallest number posted after it
  };
  std::vector<Open> open_;
};

}  // namespace refrain::writer
