#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/message_calls.h"

namespace refrain::analysis::message_events_test {
namespace {

using reader::EventKind;
using reader::TraceEvent;
using Partner = summary::FlowGraph::Partner;

Partner relative(std::int32_t rank) { return {Partner::Kind::kRelative, rank}; }
Partner root(std::int32_t rank) { return {Partner::Kind::kRoot, rank}; }
constexpr Partner kSeveral{Partner::Kind::kSeveral, 0};

enum Region : std::uint32_t { kMain, kSend, kRecv, kIrecv, kWaitall, kStart, kBcast, kPut };
enum Comm : std::uint32_t { kWorld, kSelf, kReversed, kBridge, kUndefined };

// Four processes of one thread each.
class Run {
 public:
  Run() {
    const char* names[] = {"main",        "MPI_Send",  "MPI_Recv",  "MPI_Irecv",
                           "MPI_Waitall", "MPI_Start", "MPI_Bcast", "MPI_Put"};
    for (const char* name : names) {
      reader::RegionInfo& region = definitions_.regions.emplace_back();
      region.name = name;
      region.paradigm = region.name == "main" ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MPI;
    }
    definitions_.locations.resize(4);
    definitions_.processes.resize(4);
    for (std::uint32_t i = 0; i < 4; ++i) {
      definitions_.locations[i].process = ProcessId(i);
      definitions_.processes[i].rank = i;
    }
    definitions_.ticks_per_second = 1000;
    for (const std::vector<int>& group :
         {std::vector{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 1}, {3, 2}})
      definitions_.groups.emplace_back(group.begin(), group.end());
    definitions_.comms.resize(5);
    definitions_.comms[kWorld].group = 0;
    definitions_.comms[kSelf].self = true;
    definitions_.comms[kReversed].group = 1;
    definitions_.comms[kBridge].group = 2;
    definitions_.comms[kBridge].remote = 3;
    definitions_.windows.resize(2);
    definitions_.windows[0].comm = kReversed;
    events_.begin(definitions_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Run& at(std::uint32_t location) {
    location_ = location;
    return *this;
  }
  Run& enter(std::uint32_t region) {
    return put({.ref = region, .kind = EventKind::kEnter});
  }
  Run& leave(std::uint32_t region) {
    return put({.ref = region, .kind = EventKind::kLeave});
  }
  Run& wait(std::uint64_t ticks) {
    now_ += ticks;
    return *this;
  }
  Run& message(EventKind kind, std::uint32_t peer, std::uint64_t bytes,
               std::uint64_t request = 0, std::uint32_t comm = kWorld) {
    return put(
        {.bytes = bytes, .request = request, .ref = comm, .peer = peer, .kind = kind});
  }
  Run& collective(EventKind kind, std::uint32_t peer, std::uint64_t sent,
                  std::uint64_t received, std::uint64_t request = 0,
                  std::uint32_t comm = kWorld) {
    return put({.bytes = sent,
                .received = received,
                .request = request,
                .ref = comm,
                .peer = peer,
                .kind = kind});
  }

  Run& put_to(std::uint32_t window, std::uint32_t peer, std::uint64_t bytes) {
    return put({.bytes = bytes, .ref = window, .peer = peer, .kind = EventKind::kRmaPut});
  }

  std::vector<MessageCalls> calls(std::uint32_t process) const {
    return taken_of(process).calls;
  }
  std::vector<MessageCalls> calls() const { return calls(0); }
  CallSums outside() const { return taken_of(0).outside; }

 private:
  ProcessMessages taken_of(std::uint32_t process) const {
    MessageEvents copy = events_;
    return copy.take()[process];
  }
  Run& put(TraceEvent event) {
    event.location = LocationId(location_);
    event.ticks = now_;
    events_.event(event);
    return *this;
  }

  reader::TraceDefinitions definitions_;
  MessageEvents events_;
  std::uint32_t location_ = 0;
  std::uint64_t now_ = 5000;
};

CallSums once(std::uint64_t time, std::uint64_t sent = 0, std::uint64_t received = 0) {
  return {.calls = 1,
          .time = time,
          .minimum = time,
          .maximum = time,
          .bytes_sent = sent,
          .bytes_received = received};
}

}  // namespace

TEST_CASE("Message events: calls with what is sent and received in them") {
  Run run;
  run.at(1).enter(kMain).enter(kSend).wait(3);
  run.message(EventKind::kMpiSend, 2, 100).wait(4).leave(kSend);
  run.enter(kSend).message(EventKind::kMpiSend, 2, 120).wait(1).leave(kSend);
  run.enter(kSend).message(EventKind::kMpiSend, 2, 128).leave(kSend);
  run.enter(kRecv).wait(9).message(EventKind::kMpiRecv, 0, 64).leave(kRecv);
  run.enter(kBcast).wait(2);
  run.collective(EventKind::kMpiCollectiveEnd, 3, 10, 30).leave(kBcast).leave(kMain);
  CHECK(
      run.calls(1) ==
      std::vector<MessageCalls>{
          {.procedure = "MPI_Bcast",
           .to = root(3),
           .size_least = 30,
           .size_greatest = 30,
           .sums = once(2, 10, 30)},
          {.procedure = "MPI_Recv",
           .from = relative(-1),
           .size_least = 64,
           .size_greatest = 64,
           .sums = once(9, 0, 64)},
          {.procedure = "MPI_Send",
           .to = relative(1),
           .size_least = 100,
           .size_greatest = 120,
           .sums = {.calls = 2, .time = 8, .minimum = 1, .maximum = 7, .bytes_sent = 220}},
          {.procedure = "MPI_Send",
           .to = relative(1),
           .size_least = 128,
           .size_greatest = 128,
           .sums = once(0, 128)}});
  CHECK(run.calls(0).empty());
}

TEST_CASE("Message events: several partners, and a collective without a root") {
  Run run;
  run.enter(kStart).message(EventKind::kMpiIsend, 1, 8, 1);
  run.message(EventKind::kMpiIsend, 1, 8, 2).leave(kStart);
  run.enter(kStart).message(EventKind::kMpiIsend, 1, 8, 3);
  run.message(EventKind::kMpiIsend, 2, 8, 4).leave(kStart);
  run.enter(kBcast).collective(EventKind::kMpiCollectiveEnd, OTF2_UNDEFINED_UINT32, 1, 1);
  run.leave(kBcast);
  const auto calls = run.calls();
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].to == Partner{});
  CHECK(calls[1].to == relative(1));
  CHECK(calls[1].size_greatest == 16);
  CHECK(calls[2].to == kSeveral);
}

TEST_CASE(
    "Message events: receives that do not block - partner where posted, bytes where done") {
  Run run;
  run.at(2);
  for (const std::uint64_t request : {1, 2})
    run.enter(kIrecv)
        .wait(1)
        .message(EventKind::kMpiIrecvRequest, 0, 0, request)
        .leave(kIrecv);
  // One call posts two of other partners.
  run.enter(kStart).message(EventKind::kMpiIrecvRequest, 0, 0, 3);
  run.message(EventKind::kMpiIrecvRequest, 0, 0, 4).wait(5).leave(kStart);
  run.enter(kWaitall).wait(10);
  run.message(EventKind::kMpiIrecv, 3, 7, 2).message(EventKind::kMpiIrecv, 1, 5, 1);
  run.message(EventKind::kMpiIrecv, 1, 5, 3).message(EventKind::kMpiIrecv, 0, 1, 4);
  run.leave(kWaitall);
  const auto calls = run.calls(2);
  REQUIRE(calls.size() == 4);
  CHECK(calls[0] ==
        MessageCalls{.procedure = "MPI_Irecv", .from = relative(-1), .sums = once(1)});
  CHECK(calls[1] ==
        MessageCalls{.procedure = "MPI_Irecv", .from = relative(1), .sums = once(1)});
  CHECK(calls[2] ==
        MessageCalls{.procedure = "MPI_Start", .from = kSeveral, .sums = once(5)});
  CHECK(calls[3] == MessageCalls{.procedure = "MPI_Waitall",
                                 .size_least = 18,
                                 .size_greatest = 18,
                                 .sums = once(10, 0, 18)});
}

TEST_CASE(
    "Message events: requests that never end, are cancelled, or end where they began") {
  Run run;
  run.enter(kIrecv).message(EventKind::kMpiIrecvRequest, 0, 0, 1).leave(kIrecv);
  run.enter(kIrecv).message(EventKind::kMpiIrecvRequest, 0, 0, 2).leave(kIrecv);
  run.message(EventKind::kMpiRequestCancelled, 0, 0, 2);
  run.message(EventKind::kMpiIrecv, 3, 5, 2);  // it is over
  run.enter(kIrecv).message(EventKind::kMpiIrecvRequest, 0, 0, 3);
  run.message(EventKind::kMpiIrecv, 3, 5, 3).leave(kIrecv);
  // The same number again, although the first has not ended.
  for (int i = 0; i < 2; ++i)
    run.enter(kStart)
        .message(EventKind::kMpiIrecvRequest, 0, 0, 9)
        .message(EventKind::kMpiIrecvRequest, 0, 0, 9)
        .leave(kStart);
  run.enter(kWaitall).message(EventKind::kMpiIrecv, 2, 1, 9).leave(kWaitall);
  const auto calls = run.calls();
  REQUIRE(calls.size() == 5);
  CHECK(calls[0].procedure == "MPI_Irecv");
  CHECK(calls[0].from == Partner{});
  CHECK(calls[0].sums.calls == 2);
  CHECK(calls[1].from == relative(3));
  CHECK(calls[1].size_greatest == 5);
  CHECK(calls[2].procedure == "MPI_Start");
  CHECK(calls[2].from == Partner{});
  CHECK(calls[3].procedure == "MPI_Start");
  CHECK(calls[3].from == relative(2));
  CHECK(run.outside().calls == 1);
}

TEST_CASE("Message events: the root of an intercommunicator's collective") {
  Run run;
  run.at(3).enter(kBcast);
  run.collective(EventKind::kMpiCollectiveEnd, OTF2_COLLECTIVE_ROOT_SELF, 1, 1, 0, kBridge);
  run.leave(kBcast).at(2).enter(kBcast);
  run.collective(EventKind::kMpiCollectiveEnd, OTF2_COLLECTIVE_ROOT_THIS_GROUP, 1, 1, 0,
                 kBridge);
  run.leave(kBcast);
  CHECK(run.calls(3)[0].to == root(0));
  CHECK(run.calls(2)[0].to == Partner{});
}

TEST_CASE("Message events: a collective that does not block has its root where it began") {
  Run run;
  run.enter(kBcast).collective(EventKind::kNonBlockingCollectiveRequest, 0, 0, 0, 5);
  run.leave(kBcast).enter(kWaitall).wait(2);
  run.collective(EventKind::kNonBlockingCollectiveComplete, 2, 4, 8, 5).leave(kWaitall);
  const auto calls = run.calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0] == MessageCalls{.procedure = "MPI_Bcast", .to = root(2), .sums = once(0)});
  CHECK(calls[1] == MessageCalls{.procedure = "MPI_Waitall",
                                 .size_least = 8,
                                 .size_greatest = 8,
                                 .sums = once(2, 4, 8)});
}

TEST_CASE(
    "Message events: communicators - other orders, oneself, two groups, unknown ones") {
  const auto send = [](std::uint32_t location, std::uint32_t comm, std::uint32_t peer) {
    Run run;
    run.at(location).enter(kSend);
    run.message(EventKind::kMpiSend, peer, 1, 0, comm).leave(kSend);
    const auto calls = run.calls(location);
    REQUIRE(calls.size() == 1);
    return calls[0].to;
  };
  CHECK(send(3, kReversed, 1) == relative(1));
  CHECK(send(0, kReversed, 1) == relative(-2));
  CHECK(send(2, kSelf, 0) == relative(0));
  CHECK(send(1, kBridge, 0) == relative(-1));
  CHECK(send(3, kBridge, 1) == relative(1));
  CHECK(send(1, kUndefined, 0) == Partner{});
  CHECK(send(1, 77, 0) == Partner{});
  CHECK(send(1, kWorld, OTF2_UNDEFINED_UINT32) == Partner{});
}

TEST_CASE("Message events: one-sided access has a partner and no size") {
  Run run;
  run.at(3).enter(kPut).put_to(0, 2, 100).leave(kPut);
  run.enter(kPut).put_to(1, 2, 100).leave(kPut).enter(kPut).put_to(50, 2, 9).leave(kPut);
  const auto calls = run.calls(3);
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].to == Partner{});
  CHECK(calls[0].sums.calls == 2);
  CHECK(calls[1].to == relative(2));
  CHECK(calls[1].size_greatest == 0);
}

TEST_CASE("Message events: calls in each other, without an end or a begin, and none") {
  Run run;
  run.enter(kBcast).wait(1).enter(kSend).message(EventKind::kMpiSend, 1, 8).wait(2);
  run.leave(kSend).collective(EventKind::kMpiCollectiveEnd, 0, 0, 4).wait(3).leave(kBcast);
  run.leave(kRecv).enter(kMain).message(EventKind::kMpiSend, 1, 50).leave(kMain);
  // The inner one is not left: it ends with the outer one.
  run.enter(kRecv).enter(kWaitall).wait(4).leave(kRecv);
  run.enter(kRecv).wait(100);
  const auto calls = run.calls();
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].procedure == "MPI_Bcast");
  CHECK(calls[0].sums == once(6, 0, 4));
  CHECK(calls[1].procedure == "MPI_Recv");
  CHECK(calls[1].sums == once(4));
  CHECK(calls[2].procedure == "MPI_Send");
  CHECK(calls[2].sums == once(2, 8));
  CHECK(calls[3].procedure == "MPI_Waitall");
  CHECK(calls[3].sums == once(4));
  CHECK(run.outside().calls == 1);
  CHECK(run.outside().bytes_sent == 50);
}

}  // namespace refrain::analysis::message_events_test
