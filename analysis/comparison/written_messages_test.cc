// Which messages of a whole trace are left out, were only some of its events written.
#include <catch2/catch.hpp>
#include <random>

#include "analysis/comparison/skipping_sink.h"

namespace refrain::analysis::written_messages_test {
namespace {

using reader::EventKind;
using reader::TraceEvent;

reader::TraceDefinitions two_ranks() {
  reader::TraceDefinitions definitions;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    definitions.processes.emplace_back().rank = rank;
    definitions.processes.back().locations = {LocationId(rank)};
    definitions.locations.emplace_back().process = ProcessId(rank);
  }
  definitions.groups.push_back({ProcessId{0}, ProcessId{1}});
  reader::CommInfo comm;
  comm.of_processes = true;
  comm.group = 0;
  definitions.comms.push_back(comm);
  return definitions;
}

struct Event {
  TraceEvent event;
  bool written;
};

class Program {
 public:
  void add(std::uint32_t rank, EventKind kind, bool written, std::uint64_t request = 0,
           std::uint32_t tag = 0) {
    TraceEvent event;
    event.location = LocationId(rank);
    event.kind = kind;
    event.ref = 0;
    event.peer = 1 - rank;
    event.tag = tag;
    event.request = request;
    events_.push_back({event, written});
  }
  // By event: whether it is kept.
  std::vector<bool> kept() const {
    const reader::TraceDefinitions definitions = two_ranks();
    WrittenMessages messages;
    messages.begin(definitions);
    for (const Event& each : events_) CHECK(messages.keeps(each.event, each.written));
    messages.finish();
    messages.begin(definitions);
    std::vector<bool> kept;
    for (const Event& each : events_)
      kept.push_back(messages.keeps(each.event, each.written));
    return kept;
  }

 private:
  std::vector<Event> events_;
};

}  // namespace

TEST_CASE("Written messages: both ends, or none") {
  Program program;
  for (const bool sent : {true, false})
    for (const bool received : {true, false}) {
      program.add(0, EventKind::kMpiSend, sent);
      program.add(1, EventKind::kMpiRecv, received);
    }
  CHECK(program.kept() ==
        std::vector<bool>{true, true, false, false, false, false, false, false});
}

TEST_CASE(
    "Written messages: receives belong to sends in the order in which they were posted") {
  Program program;
  program.add(1, EventKind::kMpiIrecvRequest, true, 7);
  program.add(1, EventKind::kMpiIrecvRequest, true, 8);
  program.add(0, EventKind::kMpiSend, true);
  program.add(0, EventKind::kMpiSend, false);
  program.add(1, EventKind::kMpiIrecv, true, 8);  // of the second send
  program.add(1, EventKind::kMpiIrecv, true, 7);
  CHECK(program.kept() == std::vector<bool>{true, true, true, false, false, true});
}

TEST_CASE(
    "Written messages: a receive that was posted in a gap is left out, a cancelled one is none") {
  Program program;
  program.add(1, EventKind::kMpiIrecvRequest, false, 1);
  program.add(1, EventKind::kMpiIrecvRequest, true, 2);
  program.add(1, EventKind::kMpiIrecvRequest, true, 3);
  program.add(1, EventKind::kMpiRequestCancelled, true, 2);
  program.add(0, EventKind::kMpiSend, true);
  program.add(0, EventKind::kMpiIsend, true);
  program.add(1, EventKind::kMpiIrecv, true, 3);
  program.add(1, EventKind::kMpiIrecv, true, 1);
  CHECK(program.kept() ==
        std::vector<bool>{true, true, true, true, false, true, true, false});
}

TEST_CASE("Written messages: without another end, in channels of their own - left out") {
  Program program;
  program.add(0, EventKind::kMpiSend, true, 0, 1);
  program.add(1, EventKind::kMpiRecv, true, 0, 2);
  program.add(1, EventKind::kMpiIrecvRequest, true, 4);  // never completes
  program.add(0, EventKind::kMpiSend, true, 0, 3);
  program.add(1, EventKind::kMpiRecv, true, 0, 3);
  CHECK(program.kept() == std::vector<bool>{false, false, true, true, true});
}

}  // namespace refrain::analysis::written_messages_test
