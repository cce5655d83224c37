#include "writer/summary.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace refrain::writer::summary_test {

TEST_CASE("Summary: without a loop - everything is written, except coalesced polls") {
  WriteResult result;
  CHECK(summary_lines(result, "a").front() == "no loop detected: everything is written");
  result.mpi.counts.polls_together = 1;
  CHECK(summary_lines(result, "a").front() ==
        "no loop detected: everything is written, except coalesced polls");
  result.locks_left_out = 1;
  CHECK(
      summary_lines(result, "a")[0] ==
      "no loop detected: everything is written, except coalesced polls and short locks in a row");
}

TEST_CASE("Summary: samples - the next command; alone where there are no events") {
  WriteResult result;
  result.sampled = true;
  result.locations = 1;
  result.archive_bytes = 17'300;
  result.writing_ns = 95.5e6;
  CHECK(summary_lines(result, "a") ==
        std::vector<std::string>{
            "no OpenMP or MPI events; wrote call-stack samples of 1 thread in "
            "95.5 ms: 17.3 kB",
            "loops of the source: refrain loops a"});
  result.events_seen = result.events_written = 5;
  CHECK(summary_lines(result, "a").back() == "loops of the source: refrain loops a");
  CHECK(summary_lines(result, "a").size() == 4);
  result.summary_only = true;
  CHECK(summary_lines(result, "a").back() == "loops of the source: refrain loops a");
}

TEST_CASE("Summary: ranks - which have events") {
  WriteResult result;
  result.ranks = {.policy = "representatives=1",
                  .written = "0",
                  .clusters = "0: 0-3",
                  .why = "events of 1 of 4 ranks: 0 (as 0-3: equal event flow graphs)"};
  result.mpi.counts.sends_dropped = 20;
  const auto lines = summary_lines(result, "a");
  CHECK(lines.front() ==
        "no loop detected: everything is written of the ranks that have events");
  CHECK(std::find(lines.begin(), lines.end(), result.ranks.why) != lines.end());
  CHECK(std::find(lines.begin(), lines.end(),
                  "20 of 20 messages were left out because only one rank wrote them; "
                  "--ranks all -n 0 keeps all") != lines.end());
  result.ranks.written = "all";
  CHECK(summary_lines(result, "a").front() == "no loop detected: everything is written");
}

TEST_CASE("Summary: loops - the main one, the full size, the next command") {
  WriteResult result;
  result.locations = 2;
  result.events_seen = 10'000;
  result.events_written = 1'000;
  result.archive_events = 2'600;
  result.archive_bytes = 26'000;
  result.event_bytes = 10'400;
  result.mark_records = 600;
  result.duration_s = 2;
  result.writing_ns = 3.2e6;
  LoopSummary inner;
  inner.id = 2;
  inner.level = 1;
  inner.parent = 1;
  inner.name = "loop 2 @ solve b.c:7";
  inner.iterations = 100;
  inner.total_ns = 1.9e9;
  LoopSummary outer;
  outer.id = 1;
  outer.name = "loop 1 @ main a.c:5-9";
  outer.iterations = 100;
  outer.written = 10;
  outer.partly = 2;
  outer.total_ns = 1.5e9;
  LoopSummary of_other = outer;
  of_other.process = 1;
  of_other.total_ns = 2e9;
  result.loops = {inner, outer, of_other};
  CHECK(
      summary_lines(result, "dir/a") ==
      std::vector<std::string>{
          "main loop 1 @ main a.c:5-9: 100 iterations in 75 % of the time, 10 written "
          "and 2 partial; 1 other loop",
          // 2000 of the records are of events, 4 bytes each; 600 are marks, which would be 900.
          "wrote 1000 of 10000 events (10 %) of 2 threads in 3.2 ms: 26 kB instead of "
          "about 99.2 kB",
          "next: refrain info dir/a"});
  result.mpi.used = true;
  result.mpi.counts.sends = 90;
  result.mpi.counts.sends_dropped = 10;
  CHECK(
      summary_lines(result, "a").at(2) ==
      "10 of 100 messages were left out because only one rank wrote them; -n 0 keeps all");
  // Of other messages.
  result.mpi.counts.receives_dropped = 5;
  CHECK(
      summary_lines(result, "a").at(2) ==
      "15 of 105 messages were left out because only one rank wrote them; -n 0 keeps all");
}

TEST_CASE("Summary: messages with one end where nothing was skipped - the reason is said") {
  WriteResult result;
  result.locations = 2;
  result.events_seen = result.events_written = 400;
  result.mpi.used = true;
  result.mpi.counts.sends = 96;
  result.mpi.counts.receives_dropped = 4;
  const auto has = [&](const std::string& line) {
    const std::vector<std::string> lines = summary_lines(result, "a");
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  CHECK(has("4 of 100 messages were left out because only one end was recorded"));
  result.mpi.counts.receives_freed = 2;
  result.mpi.counts.receives_failed = 1;
  result.mpi.counts.receives_open = 1;
  CHECK(has(
      "4 of 100 messages were left out because their receives were not recorded: 2 with "
      "a freed request (MPI_Request_free), 1 failed, 1 not complete before "
      "MPI_Finalize"));
  result.events_written = 40;
  result.mpi.counts.receives_freed = result.mpi.counts.receives_open = 0;
  CHECK(has(
      "4 of 100 messages were left out because only one rank wrote them; -n 0 keeps all "
      "but those whose receives were not recorded: 1 failed"));
}

TEST_CASE("Summary: losses - by cause, with a hint for a ring that is too small") {
  WriteResult result;
  CHECK(loss_lines(result).empty());
  result.lost[spool::kLossLateThread] = 2;
  CHECK(loss_lines(result) ==
        std::vector<std::string>{"lost events, by cause: 2 late_thread"});
  result.lost[spool::kLossRingOverflow] = 357656;
  REQUIRE(loss_lines(result).size() == 2);
  CHECK(loss_lines(result)[0] ==
        "lost events, by cause: 357656 ring_overflow, 2 late_thread");
  CHECK(loss_lines(result)[1].find("--ring") != std::string::npos);
}

}  // namespace refrain::writer::summary_test
