// In which order receives of a channel were posted, where they are numbered in another.
//
// Place in the flow: ARCHITECTURE.md, stage 2, next to channel_counters.h. MPI gives the messages
// of a channel to the receives that take them in the order in which these were posted. A
// receive of any source or tag can be numbered only when it is known what it got, and by then
// receives that were posted after it may have numbers, which may be in the spool. This says by
// how many it comes late; that is reported to the journal (kTextNumbers), and the writer corrects
// the numbers (spool/mpi_journal.h).
//
// Thread-safety: none; see threads.h.
// Cost: nothing while no receive of any source or tag is open. Else a search among the channel's
// receives since the oldest that is, and memory: 8 bytes each, of the latest kMax of a channel.
// Without memory, or where more are posted, the order is not corrected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace refrain::mpi {

// The other end of a channel to this process.
struct ChannelEnd {
  std::uint16_t comm = 0;
  int peer = 0;
  int tag = 0;
  auto operator<=>(const ChannelEnd&) const = default;
};

class PostingOrder {
 public:
  static constexpr std::size_t kMax = 4096;

  // No receive of any source or tag is open.
  bool idle() const noexcept { return open_.empty(); }

  // A receive of any source or tag is posted. Its place in the order, never 0; 0: no memory.
  std::uint64_t open() noexcept;
  // A receive of this channel is posted, and has the channel's next number.
  void post(const ChannelEnd& channel) noexcept;
  // That of this place took a message of the channel, and has its next number. How many of the
  // channel's receives with numbers were posted after it.
  std::uint64_t close(std::uint64_t place, const ChannelEnd& channel) noexcept;
  // That of this place takes no message.
  void drop(std::uint64_t place) noexcept;

 private:
  void make_room(std::vector<std::uint64_t>& places) const noexcept;

  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> open_;                          // places, ascending
  std::map<ChannelEnd, std::vector<std::uint64_t>> posted_;  // likewise; of those numbered
};

}  // namespace refrain::mpi
