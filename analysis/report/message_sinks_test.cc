// Messages, collective operations: their ends are put together.
#include <catch2/catch.hpp>

#include "analysis/report/blocks.h"
#include "analysis/report/flow_blocks.h"
#include "analysis/report/message_sink.h"
#include "analysis/report/synthetic_events.h"
#include "test/support/report_reader.h"

namespace refrain::report::message_sinks_test {
namespace {

using reader::EventKind;

TEST_CASE(
    "Messages: lines - from the begin of the call that sends to the end of the receive") {
  SyntheticEvents trace(2);
  trace.enter(1, 5, rRecv);
  trace.enter(0, 10, rSend);
  trace.message(0, 11, EventKind::kMpiSend, 1, 3, 0, 64);
  trace.leave(0, 20, rSend);
  trace.message(1, 30, EventKind::kMpiRecv, 0, 3, 0, 64);
  trace.leave(1, 31, rRecv);
  const TimelineRows rows(trace.reported(), 2);
  MessageSink sink(rows);
  trace.feed(sink, 100);
  REQUIRE(sink.lines().size() == 1);
  const MessageSink::Line& line = sink.lines()[0];
  CHECK(line.from == 0);
  CHECK(line.to == 1);
  CHECK(line.sent_ns == 10);
  CHECK(line.received_ns == 30);
  CHECK(line.bytes == 64);
  REQUIRE(sink.matrix().size() == 1);
  CHECK(sink.matrix().at({0, 1}).messages == 1);
  CHECK(sink.matrix().at({0, 1}).bytes == 64);
}

// Two receives of one channel complete in the other order; a third one is cancelled.
TEST_CASE("Messages: requests - first sent, first posted") {
  SyntheticEvents trace(2);
  for (const std::uint64_t request : {1, 2, 3})
    trace.message(1, request, EventKind::kMpiIrecvRequest, 0, 0, request);
  trace.enter(0, 10, rSend);
  trace.message(0, 10, EventKind::kMpiSend, 1, 0, 0, 1);
  trace.enter(0, 20, rSend);
  trace.message(0, 20, EventKind::kMpiIsend, 1, 0, 9, 2);
  trace.message(1, 30, EventKind::kMpiIrecv, 0, 0, 3);
  trace.message(1, 31, EventKind::kMpiRequestCancelled, 0, 0, 2);
  trace.message(1, 40, EventKind::kMpiIrecv, 0, 0, 1);
  const TimelineRows rows(trace.reported(), 2);
  MessageSink sink(rows);
  trace.feed(sink, 100);
  REQUIRE(sink.lines().size() == 2);
  CHECK(sink.lines()[0].sent_ns == 10);
  CHECK(sink.lines()[0].received_ns == 40);
  CHECK(sink.lines()[1].sent_ns == 20);
  CHECK(sink.lines()[1].received_ns == 30);
  CHECK(sink.matrix().at({0, 1}).bytes == 3);
}

TEST_CASE("Messages: one end only - no line, but a number in the matrix") {
  SyntheticEvents trace(2);
  trace.message(0, 10, EventKind::kMpiSend, 1);
  trace.message(1, 10, EventKind::kMpiRecv, 0, 5);
  trace.message(1, 11, EventKind::kMpiSend, 7);  // no such rank
  const TimelineRows rows(trace.reported(), 2);
  MessageSink sink(rows);
  trace.feed(sink, 100);
  CHECK(sink.lines().empty());
  CHECK(sink.matrix().size() == 1);
}

TEST_CASE("Messages: many ranks - groups of them") {
  SyntheticEvents trace(2500);
  trace.message(2499, 10, EventKind::kMpiSend, 0, 0, 0, 5);
  const TimelineRows rows(trace.reported(), 2500);
  MessageSink sink(rows);
  trace.feed(sink, 100);
  const auto groups = sink.groups();
  CHECK(groups.size() <= MessageSink::kMaxGroups);
  CHECK(groups.front().first == 0);
  CHECK(groups.back().second == 2499);
  CHECK(sink.matrix().begin()->first.first == groups.size() - 1);
}

TEST_CASE("Longest: more than it keeps - the longest stay") {
  struct Item {
    double length_ = 0;
    double length() const { return length_; }
  };
  Longest<Item> longest(10);
  for (int i = 0; i < 1000; ++i) longest.add({static_cast<double>(i * 7919 % 1000)});
  CHECK(longest.seen() == 1000);
  auto kept = longest.take();
  REQUIRE(kept.size() == 10);
  for (const Item& item : kept) CHECK(item.length_ >= 990);
}

TEST_CASE("Collective operations: members - first, last, and the end") {
  SyntheticEvents trace(3);
  for (std::uint64_t operation = 0; operation < 2; ++operation)
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const std::uint64_t at = 100 * operation + 10 * rank;
      trace.enter(rank, at, rAllreduce);
      trace.message(rank, at + 30 - 10 * rank, EventKind::kMpiCollectiveEnd, 0);
      trace.leave(rank, at + 40 - 10 * rank, rAllreduce);
    }
  // One that only two join.
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    trace.enter(rank, 300, rAllreduce);
    trace.message(rank, 310, EventKind::kMpiCollectiveEnd, 0);
    trace.leave(rank, 311, rAllreduce);
  }
  CollectiveSink sink;
  trace.feed(sink, 1000);
  REQUIRE(sink.operations().size() == 2);
  const CollectiveSink::Operation& second = sink.operations()[1];
  CHECK(second.region == rAllreduce);
  CHECK(second.first_ns == 100);
  CHECK(second.last_ns == 120);
  CHECK(second.left_ns == 140);
}

TEST_CASE("Messages: of the whole run - what each rank sends to whom, of calls with one") {
  using Partner = analysis::MessageTables::Partner;
  analysis::MessageTables tables;
  tables.processes = {{.number = 0, .rank = 4}, {.number = 1, .rank = 5}, {.number = 2}};
  const auto row = [&](const char* procedure, Partner to) {
    analysis::MessageTables::Row& out = tables.by_partner.emplace_back();
    out.procedure = procedure;
    out.to = to;
    for (std::uint32_t i = 0; i < 3; ++i)
      out.parts.push_back({.process = i, .sums = {.calls = i + 1, .bytes_sent = 100 * i}});
  };
  row("MPI_Waitall", {});
  row("MPI_Isend", {Partner::Kind::kRelative, -1});
  row("MPI_Startall", {Partner::Kind::kSeveral, 0});
  Blocks blocks;
  add_sent(blocks, "a/", tables);
  std::string text;
  blocks.write([&](const std::string& part) { text += part; });
  // What has no rank cannot be in it.
  CHECK(test::ReportReader(text).numbers("a/messages/sent") ==
        std::vector<double>{1, 4, 1, 0, 1, 5, 2, 100});
  tables.by_partner.clear();
  Blocks none;
  add_sent(none, "a/", tables);
  CHECK(!none.has("a/messages/sent"));
}

}  // namespace
}  // namespace refrain::report::message_sinks_test
