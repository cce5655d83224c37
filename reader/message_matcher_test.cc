// The two ends of messages: by the order in which they were posted.
#include "reader/message_matcher.h"

#include <catch2/catch.hpp>
#include <string>

namespace refrain::reader::message_matcher_test {
namespace {

// Two ranks of one thread each. Events are numbered from 1 on.
struct Ranks {
  TraceDefinitions definitions = [] {
    TraceDefinitions out;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      out.processes.emplace_back().locations = {LocationId(rank)};
      out.locations.emplace_back().process = ProcessId(rank);
    }
    out.groups.push_back({ProcessId{0}, ProcessId{1}});
    out.comms.emplace_back().group = 0;
    return out;
  }();
  std::string
      found;  // "send-receive " of each message, "send " or "-receive " of lone ends
  MessageMatcher matcher{
      definitions,
      [this](const MatchedMessage& message) {
        found += std::to_string(message.send.number) + "-" +
                 std::to_string(message.receive.number) + " ";
      },
      [this](const MessageChannel&, const MessageSide& side, bool sends) {
        found += (sends ? "" : "-") + std::to_string(side.number) + " ";
      }};
  std::uint64_t number = 0;

  void event(std::uint32_t rank, EventKind kind, std::uint64_t request = 0,
             std::uint32_t tag = 0, std::uint32_t peer = kNone) {
    TraceEvent event;
    event.location = LocationId(rank);
    event.kind = kind;
    event.ref = 0;
    event.peer = peer == kNone ? 1 - rank : peer;
    event.tag = tag;
    event.request = request;
    matcher.event(event, {.location = event.location, .number = ++number});
  }
};

}  // namespace

TEST_CASE("Message matcher: receives - in the order in which they were posted") {
  Ranks ranks;
  ranks.event(1, EventKind::kMpiIrecvRequest, 7);
  ranks.event(1, EventKind::kMpiIrecvRequest, 8);
  ranks.event(1, EventKind::kMpiIrecvRequest, 9);
  ranks.event(0, EventKind::kMpiSend);
  ranks.event(0, EventKind::kMpiIsend, 1);
  ranks.event(1, EventKind::kMpiRecv, 0, 3);  // of another channel, and waits all the same
  ranks.event(0, EventKind::kMpiSend, 0, 3);
  ranks.event(1, EventKind::kMpiIrecv, 9);
  CHECK(ranks.found.empty());
  ranks.event(1, EventKind::kMpiRequestCancelled, 7);
  ranks.event(1, EventKind::kMpiIrecv, 8);
  CHECK(ranks.found == "4-10 5-8 7-6 ");
}

TEST_CASE("Message matcher: what comes after lost messages - is not matched") {
  Ranks ranks;
  TraceEvent late;
  late.location = LocationId(1);
  late.kind = EventKind::kMpiRecv;
  late.ref = 0;
  late.peer = 0;
  late.uncertain = true;
  ranks.event(0, EventKind::kMpiSend);
  ranks.matcher.event(late, {.location = late.location, .number = 2});
  ranks.matcher.flush();
  CHECK(ranks.found == "1 ");
}

TEST_CASE("Message matcher: ends without another one - known at the end, in their order") {
  Ranks ranks;
  ranks.event(1, EventKind::kMpiIrecvRequest, 7);  // never completes
  ranks.event(1, EventKind::kMpiRecv, 0, 0, 5);    // no such rank
  ranks.event(0, EventKind::kMpiSend, 0, 3);
  ranks.event(0, EventKind::kMpiSend, 0, 2);
  ranks.event(0, EventKind::kMpiRecv, 0, 2);
  ranks.event(1, EventKind::kMpiRecv, 0, 4);
  CHECK(ranks.found.empty());
  ranks.matcher.flush();
  CHECK(ranks.found == "-5 3 4 -6 ");
  CHECK(ranks.matcher.unmatched_sends() == 2);
  CHECK(ranks.matcher.unmatched_receives() == 2);
  CHECK(ranks.matcher.unknown() == 1);
}

TEST_CASE("Message matcher: too many ends in a channel - the oldest one has no other") {
  Ranks ranks;
  for (std::size_t i = 0; i <= MessageMatcher::kMaxPending; ++i)
    ranks.event(0, EventKind::kMpiSend);
  CHECK(ranks.found == "1 ");
  ranks.event(1, EventKind::kMpiRecv);
  CHECK(ranks.found == "1 2-" + std::to_string(ranks.number) + " ");
}

TEST_CASE("Message matcher: channels - those without messages are dropped, others stay") {
  Ranks ranks;
  ranks.event(0, EventKind::kMpiSend, 0, 7);
  for (std::uint32_t tag = 8; tag < 3 * MessageMatcher::kMaxEmpty; ++tag) {
    ranks.event(0, EventKind::kMpiSend, 0, tag);
    ranks.event(1, EventKind::kMpiRecv, 0, tag);
  }
  ranks.found.clear();
  ranks.event(1, EventKind::kMpiRecv, 0, 7);
  CHECK(ranks.found == "1-" + std::to_string(ranks.number) + " ");
}

}  // namespace refrain::reader::message_matcher_test
