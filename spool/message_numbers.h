// The numbers of a channel's messages, corrected by what the journal reports later.
//
// Place in the flow: ARCHITECTURE.md, stage 5: what kTextNumbers says (mpi_journal.h) changes the
// numbers that records have before they are compared with those of the other end.
//   - A number moves: a receive of any source or tag had been posted before others of its
//     channel, and was numbered after them.
//   - A number is taken out: its receive, or send, was cancelled, and others have come after.
// A record has the number reported first; a later report applies to what was reported before it.
//
// Thread-safety: const after finish(). Units: messages, from 0.
// Cost: O(log of reports) a number, and one step for each time that it moves; 32 bytes a report.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::spool {

class MessageNumbers {
 public:
  // The channel's latest number `from` becomes `to`, those in between the next ones.
  void move(std::uint64_t from, std::uint64_t to);
  // The message of this number (as its record has it) does not exist.
  void take_out(std::uint64_t number);
  // No more reports follow.
  void finish();

  // The message's number, from the one in its record.
  std::uint64_t right(std::uint64_t number) const noexcept;

 private:
  struct Move {
    std::uint64_t from;
    std::uint64_t to;
    std::uint64_t least;  // `to` of this and all later moves
  };
  std::uint64_t moved(std::uint64_t number) const noexcept;

  std::vector<Move> moves_;         // `from` ascending
  std::vector<std::uint64_t> out_;  // as reported; after finish() moved and ascending
};

}  // namespace refrain::spool
