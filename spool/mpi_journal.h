// MPI in the journal of a process: its rank, procedures, communicators, windows,
// clock offsets.
//
// Place in the flow: ARCHITECTURE.md, stage 5; part of journal.h, which reads all else.
// Thread-safety: const after the journal was parsed. Ownership: plain values.
// Units: ranks in MPI_COMM_WORLD unless said otherwise; ticks of the process' clock, of
// rank 0's where the name says so.
// Errors: cut-off or contradicting records are skipped.
// Cost: memory for each communicator and its members, none for an event.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spool/format.h"
#include "spool/mpi_format.h"

namespace refrain::spool {

// --- The numbers of a channel's messages, corrected by what the journal reports later.
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

struct JournalComm {
  MpiCommKind kind = kMpiCommIntra;
  std::uint32_t rank = 0;  // of this process in it
  std::uint32_t size = 0;  // 0: not known
  std::uint64_t identity = 0;
  std::uint64_t parent = 0;            // identity; 0: none
  std::vector<std::uint32_t> members;  // may be known to another process only
  std::vector<std::uint32_t> remote;   // of an intercommunicator, the other group
  std::string name;
  std::string topology;  // text of kTextTopology, without the number
};

struct JournalClockOffset {
  std::uint64_t ticks = 0;
  std::int64_t offset_ticks = 0;  // to be added for rank 0's clock
  std::uint64_t error_ticks = 0;  // bound
};

// A channel as this process sees it.
struct ChannelEnd {
  bool sent = false;  // by this process
  std::uint16_t comm = 0;
  std::uint32_t peer = 0;  // in it
  std::uint32_t tag = 0;
  auto operator<=>(const ChannelEnd&) const = default;
};

// Receives of which no message is recorded: see kTextNotReceived.
struct NotReceived {
  std::uint64_t freed = 0;
  std::uint64_t failed = 0;
  std::uint64_t open = 0;
};

struct MpiJournal {
  bool known = false;  // the process has reported its rank
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::map<std::uint16_t, std::string> procedures;
  std::map<std::uint16_t, JournalComm> comms;  // by number in this process; windows, too
  std::vector<JournalClockOffset> offsets;     // in the order of their ticks
  std::string taken;  // text of kTextTaken; not empty: numbers of messages are meaningless

  NotReceived not_received;
  std::map<ChannelEnd, MessageNumbers> numbers;  // of channels that have wrong ones

  // The corrected number of a message, from the one in its record.
  std::uint64_t right_number(const ChannelEnd& channel, std::uint64_t number) const {
    if (numbers.empty()) return number;
    const auto found = numbers.find(channel);
    return found == numbers.end() ? number : found->second.right(number);
  }

  // Takes a record or a text; what does not concern MPI is ignored.
  void take(const Record& record);
  void take_text(std::uint8_t key, const std::string& text);
  void finish();
  // MPI_COMM_WORLD as a communicator; nullptr: not in the journal.
  const JournalComm* world() const;
  // What the processes of the job agree on overrides what this one reports, or has lost; no
  // rank for one beyond the others.
  void settle(std::uint32_t job_rank, std::uint32_t job_size);
};

}  // namespace refrain::spool
