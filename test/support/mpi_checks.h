// Checks of MPI's records in any archive, by an independent replay, which pairs sends with
// receives as readers do.
//
// A channel is (source, destination, communicator, tag). Sends queue up in the order of
// MpiSend and MpiIsend, receives in the order of MpiRecv and MpiIrecvRequest (the posting;
// it is of the channel that its MpiIrecv names). First in, first out.
//
// Checks return problems in words, like those of trace_checks.h; none: good.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "test/support/mpi_processes.h"
#include "test/support/trace_checks.h"

namespace refrain::test {

// Returns true if the tracer counts calls of the procedure and records none: by its table.
bool is_local_call(const std::string& procedure);

struct Channel {
  int source = 0, destination = 0;  // ranks of all processes
  std::uint32_t comm = 0, tag = 0;
  auto operator<=>(const Channel&) const = default;
};
std::string text(const Channel& channel);

struct MessageEnd {
  std::uint64_t time = 0;  // of the send, or of the receive's completion
  std::uint64_t bytes = 0;
};

struct Queue {
  std::vector<MessageEnd> sends, receives;  // the n-th of each are a pair
};

struct Replay {
  std::map<Channel, Queue> channels;
  Problems problems;  // of records that belong to no channel

  std::size_t pairs() const;
  std::size_t unmatched() const;
};
Replay replay(const Trace& trace);

// Every send has a receive and every receive a send, of the same length.
Problems check_messages(const Trace& trace);

// No receive is complete before its send was begun. No member leaves a collective before
// those have entered whom it needs: all of them, the root, or, for the root, all.
Problems check_causality(const Trace& trace);

// The members of each communicator were in the same collectives in the same order, with the
// same root; all that were begun have ended.
Problems check_collectives(const Trace& trace);

// On every process each request is begun, then complete or cancelled, once; no two of the
// same number are active at a time; none stays open.
Problems check_requests(const Trace& trace);

// All of them.
Problems check_mpi(const Trace& trace);

}  // namespace refrain::test
