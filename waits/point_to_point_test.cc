#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::point_to_point_test {

using reader::EventKind;

TEST_CASE("Waits: late sender - until the send begins") {
  SyntheticTrace trace(2);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 400, 450, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 300);
  CHECK(of_location(result, "mpi_latesender", 1) == 300);
  CHECK(total(result, "mpi_latesender_wo") == 0);
  CHECK(total(result, "mpi_latereceiver") == 0);
  CHECK(total(result, "mpi_point2point") == 360 + 50);
  CHECK(result.problems.clock_violations == 0);
}

TEST_CASE("Waits: late sender - none where the send comes first") {
  SyntheticTrace trace(2);
  trace.send(0, 50, 80, 1);
  trace.receive(1, 100, 140, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 0);
  CHECK(total(result, "mpi_latereceiver") == 0);
}

TEST_CASE("Waits: late sender - two ranks exchanged exchange their severities") {
  for (const std::uint32_t a : {0U, 1U}) {
    SyntheticTrace trace(2);
    const std::uint32_t b = 1 - a;
    trace.receive(b, 100, 460, a);
    trace.send(a, 400, 450, b);
    const WaitAnalysis result = trace.analyze();
    CHECK(of_location(result, "mpi_latesender", b) == 300);
    CHECK(of_location(result, "mpi_latesender", a) == 0);
  }
}

TEST_CASE(
    "Waits: late sender - at most until the receive's leave, and the clocks are reported") {
  SyntheticTrace trace(2);
  trace.receive(1, 100, 200, 0);
  trace.send(0, 230, 250, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 100);
  CHECK(result.problems.clock_violations == 1);
  CHECK(result.problems.worst_violation == 30);
}

TEST_CASE("Waits: late sender - of a non-blocking receive, in the call that completes it") {
  SyntheticTrace trace(2);
  trace.enter(1, 10, rIrecv);
  trace.request(1, 12, EventKind::kMpiIrecvRequest, 5);
  trace.leave(1, 15, rIrecv);
  trace.enter(1, 100, rWait);
  trace.message(1, 300, EventKind::kMpiIrecv, 0, 0, 5);
  trace.leave(1, 300, rWait);
  trace.send(0, 250, 280, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 150);
  // The receive was posted long before the send.
  CHECK(total(result, "mpi_latereceiver") == 0);
}

TEST_CASE("Waits: late sender - MPI_Test does not wait") {
  SyntheticTrace trace(2);
  trace.enter(1, 10, rIrecv);
  trace.request(1, 12, EventKind::kMpiIrecvRequest, 5);
  trace.leave(1, 15, rIrecv);
  trace.enter(1, 100, rTest);
  trace.message(1, 300, EventKind::kMpiIrecv, 0, 0, 5);
  trace.leave(1, 300, rTest);
  trace.send(0, 250, 280, 1);
  CHECK(total(trace.analyze(), "mpi_latesender") == 0);
}

TEST_CASE("Waits: late sender - a call waits for the latest of its messages, once") {
  SyntheticTrace trace(3);
  trace.enter(0, 10, rWaitall);
  trace.request(0, 10, EventKind::kMpiIrecvRequest, 1);
  trace.request(0, 10, EventKind::kMpiIrecvRequest, 2);
  trace.message(0, 300, EventKind::kMpiIrecv, 1, 0, 1);
  trace.message(0, 300, EventKind::kMpiIrecv, 2, 0, 2);
  trace.leave(0, 300, rWaitall);
  trace.send(1, 110, 120, 0);
  trace.send(2, 210, 220, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 200);
  CHECK(total(result, "mpi_latesender_wo") == 0);
}

TEST_CASE("Waits: wrong order - a message from another source was sent before") {
  SyntheticTrace trace(3);
  trace.send(2, 10, 20, 0, 2);
  trace.send(1, 200, 210, 0, 1);
  trace.receive(0, 100, 230, 1, 1);
  trace.receive(0, 240, 250, 2, 2);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 100);
  CHECK(total(result, "mpi_latesender_wo") == 100);
  CHECK(total(result, "mpi_lswo_different") == 100);
  CHECK(total(result, "mpi_lswo_same") == 0);
}

TEST_CASE("Waits: wrong order - a message from the same source was sent before") {
  SyntheticTrace trace(2);
  trace.send(1, 10, 20, 0, 2);
  trace.send(1, 200, 210, 0, 1);
  trace.receive(0, 100, 230, 1, 1);
  trace.receive(0, 240, 250, 1, 2);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_lswo_same") == 100);
  CHECK(total(result, "mpi_lswo_different") == 0);
}

TEST_CASE("Waits: wrong order - not of messages that two threads receive") {
  SyntheticTrace trace(2, 2);
  trace.send({1, 0}, 10, 20, 0, 2);
  trace.send({1, 0}, 200, 210, 0, 1);
  trace.receive({0, 1}, 100, 230, 1, 1);
  trace.receive({0, 0}, 240, 250, 1, 2);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 100);
  CHECK(total(result, "mpi_latesender_wo") == 0);
}

TEST_CASE("Waits: wrong order - not where messages are received as they are sent") {
  SyntheticTrace trace(3);
  trace.send(1, 200, 210, 0, 1);
  trace.send(2, 220, 230, 0, 2);
  trace.receive(0, 100, 230, 1, 1);
  trace.receive(0, 240, 250, 2, 2);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 100);
  CHECK(total(result, "mpi_latesender_wo") == 0);
}

TEST_CASE("Waits: late receiver - until the receive is posted") {
  SyntheticTrace trace(2);
  trace.send(0, 100, 520, 1);
  trace.receive(1, 400, 510, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latereceiver") == 300);
  CHECK(of_location(result, "mpi_latereceiver", 0) == 300);
  CHECK(total(result, "mpi_latesender") == 0);
}

TEST_CASE("Waits: late receiver - not where the send was over before") {
  SyntheticTrace trace(2);
  trace.send(0, 100, 150, 1);
  trace.receive(1, 400, 510, 0);
  CHECK(total(trace.analyze(), "mpi_latereceiver") == 0);
}

TEST_CASE("Waits: late receiver - of a non-blocking send, in the call that completes it") {
  SyntheticTrace trace(2);
  trace.enter(0, 10, rIsend);
  trace.message(0, 10, EventKind::kMpiIsend, 1, 0, 9);
  trace.leave(0, 20, rIsend);
  trace.enter(0, 100, rWait);
  trace.request(0, 350, EventKind::kMpiIsendComplete, 9);
  trace.leave(0, 350, rWait);
  trace.receive(1, 300, 340, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latereceiver") == 200);
}

TEST_CASE("Waits: exchange - no part of a call is charged twice") {
  // Both wait for the other's send; rank 1 is late.
  SyntheticTrace trace(2);
  trace.enter(0, 100, rSendrecv);
  trace.message(0, 100, EventKind::kMpiSend, 1);
  trace.message(0, 420, EventKind::kMpiRecv, 1);
  trace.leave(0, 420, rSendrecv);
  trace.enter(1, 400, rSendrecv);
  trace.message(1, 400, EventKind::kMpiSend, 0);
  trace.message(1, 430, EventKind::kMpiRecv, 0);
  trace.leave(1, 430, rSendrecv);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 300);
  CHECK(total(result, "mpi_latereceiver") == 0);
  CHECK(total(result, "mpi_point2point") == 320 + 30);
}

TEST_CASE("Waits: messages - matched in the order in which receives were posted") {
  SyntheticTrace trace(2);
  trace.send(0, 10, 20, 1);
  trace.send(0, 500, 510, 1);
  trace.enter(1, 5, rIrecv);
  trace.request(1, 5, EventKind::kMpiIrecvRequest, 1);
  trace.request(1, 6, EventKind::kMpiIrecvRequest, 2);
  trace.leave(1, 7, rIrecv);
  // The second one is waited for first: it gets the second message.
  trace.enter(1, 100, rWait);
  trace.message(1, 520, EventKind::kMpiIrecv, 0, 0, 2);
  trace.leave(1, 520, rWait);
  trace.enter(1, 530, rWait);
  trace.message(1, 540, EventKind::kMpiIrecv, 0, 0, 1);
  trace.leave(1, 540, rWait);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 400);
  CHECK(total(result, "mpi_lswo_same") == 400);
}

TEST_CASE(
    "Waits: messages - ends without the other one are reported, the rest is analysed") {
  SyntheticTrace trace(2);
  trace.send(0, 10, 20, 1, 77);
  trace.receive(1, 15, 30, 0, 78);
  trace.send(0, 40, 50, 9);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 400, 450, 1);
  const WaitAnalysis result = trace.analyze();
  CHECK(result.problems.sends_without_receive == 1);
  CHECK(result.problems.receives_without_send == 1);
  CHECK(result.problems.unknown_ends == 1);
  CHECK(total(result, "mpi_latesender") == 300);
}

TEST_CASE("Waits: messages - many in flight, and memory for what is pending only") {
  SyntheticTrace trace(2);
  for (std::uint64_t i = 0; i < 5000; ++i) trace.send(0, 10 * i, 10 * i + 5, 1);
  for (std::uint64_t i = 0; i < 5000; ++i)
    trace.receive(1, 60000 + 10 * i, 60005 + 10 * i, 0);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "mpi_latesender") == 0);
  CHECK(result.problems.sends_without_receive == 0);
}

}  // namespace refrain::waits::point_to_point_test
