// Interprets the MPI records of a location: messages, requests, collectives, one-sided
// operations.
//
// Place in the flow: ARCHITECTURE.md, stage 5: record_interpreter.h -> MpiInterpreter ->
// shadow_stack.h. Up to three passes over the same records, with the same gaps:
//   collect  reports the numbers of what would be written (MessageLog),
//   decide   once the MessagePlan is known: which requests get records,
//   write    writes it.
// The start of an operation decides whether it is kept: a receive that was posted in a gap
// is not written, though it may end after it. A send whose completion is not in the archive
// is written as a blocking one: the message is there, its request is not. Records entirely
// in a gap do not come here.
//
// Thread-safety: none, one a location and pass.
// Cost: O(1) a record but for the search from the start of a call to its collective, a few
// records. Memory: a bit for each request, 64 bytes for each open one.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "spool/format.h"
#include "writer/interpret/location_writer.h"
#include "writer/interpret/shadow_stack.h"
#include "writer/messages/message_plan.h"

namespace refrain::writer {

// --- Which messages of a process that died are uncertain, because a receive of any source or
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

class MpiInterpreter {
 public:
  MpiInterpreter(const LocationInput& input, ShadowStack& stack, LocationOutcome& outcome);

  // The call that begins with the record at this index has just been entered.
  void entered(std::uint64_t ticks, std::size_t index);
  // A record between a call's start and its end; `index`: its position.
  void take(const spool::Record& record, std::size_t index);
  // There are no more records.
  void finish();

 private:
  enum class Start : std::uint8_t { kSend, kReceive, kCollective };
  struct Request {
    Start start = Start::kSend;
    bool kept = false;  // kSend: the message is
    std::uint64_t ordinal = 0;
    std::uint64_t number = 0;  // kCollective
    std::uint64_t comm = 0;    // kCollective: identity
    Collective collective;
  };
  struct Operation {  // one-sided, not complete yet
    std::uint16_t window;
    std::uint32_t target;
    std::uint64_t id;
  };

  const spool::Record* amount_after(std::size_t index) const;
  const LocalComm* comm_of(const spool::Record& record) const;
  const LocalWindow* window_of(const spool::Record& record) const;
  OTF2_CommRef reference(const LocalComm& comm) const;
  Collective collective_of(const spool::Record& record, const spool::Record& amount,
                           const LocalComm& comm) const;
  // Number of a request in the archive: unique in the process.
  std::uint64_t id_of(std::uint64_t ordinal) const noexcept {
    return std::uint64_t{input_.index} << 40 | (ordinal + 1);
  }
  std::uint64_t open_request(std::uint32_t request, Request opened);
  bool decided(std::uint64_t ordinal) const;
  void decide(std::uint64_t ordinal, bool kept);
  std::uint64_t number_of(bool sent, const spool::Record& message,
                          const spool::Record& amount) const;
  bool gap_begins_within(std::uint64_t begin, std::uint64_t end) const;
  bool keeps(const Channel& channel, std::uint64_t number) const;
  bool keeps_collective(std::uint64_t comm, std::uint64_t number) const;

  void send(const spool::Record& record, std::size_t index);
  void receive(const spool::Record& record, std::size_t index);
  void post(const spool::Record& record);
  void done(const spool::Record& record);
  void tested(const spool::Record& record);
  void polled(const spool::Record& record);
  std::uint32_t innermost() const;
  void cancelled(const spool::Record& record);
  void collective(const spool::Record& record, std::size_t index);
  void collective_done(std::uint64_t ticks, const Request& request);
  // On windows.
  void one_sided(const spool::Record& record);
  void window_collective(const spool::Record& record, std::size_t index,
                         const LocalWindow& window);
  void operations_complete(const spool::Record& record, const LocalWindow& window);

  const LocationInput& input_;
  const MpiContext& mpi_;
  ShadowStack& stack_;
  LocationOutcome& outcome_;
  std::unordered_map<std::uint32_t, Request> requests_;
  std::uint64_t ordinals_ = 0;
  OpenReceives open_receives_;            // in the pass that collects
  std::size_t begun_collective_ = kNone;  // index of the record that will end it
  std::vector<Operation> operations_;
  std::uint64_t operation_ids_ = 0;

  static constexpr std::size_t kNone = ~std::size_t{0};
};

}  // namespace refrain::writer
