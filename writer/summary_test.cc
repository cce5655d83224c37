#include "writer/summary.h"

#include <catch2/catch.hpp>

namespace refrain::writer {

TEST_CASE("Summary: bytes - three digits, in the unit that the rounded value reaches") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(999) == "999 bytes");
  CHECK(bytes_text(1000) == "1 kB");
  CHECK(bytes_text(12'345) == "12.3 kB");
  CHECK(bytes_text(999'499) == "999 kB");
  CHECK(bytes_text(999'600'000) == "1 GB");
  CHECK(bytes_text(1'234'000'000'000) == "1.23 TB");
}

TEST_CASE("Summary: without a loop - everything is written, but for polls in a row") {
  WriteResult result;
  CHECK(summary_lines(result, "a").front() == "found no loop: everything is written");
  result.mpi.counts.polls_together = 1;
  CHECK(summary_lines(result, "a").front() ==
        "found no loop: everything is written, but for polls in a row");
}

TEST_CASE("Summary: what was written - how much, how long it took, where it is") {
  WriteResult result;
  result.events_written = 25;
  result.events_seen = 100;
  result.locations = 2;
  result.archive_bytes = 12'345;
  result.writing_ns = 3.2e6;
  CHECK(summary_lines(result, "/a/b").back() ==
        "wrote 25 of 100 events (25 %) of 2 threads, 12.3 kB in 3.2 ms: /a/b");
}

TEST_CASE("Summary: losses - by cause, and what helps against a ring that is too small") {
  WriteResult result;
  CHECK(loss_lines(result).empty());
  result.lost[spool::kLossLateThread] = 2;
  CHECK(loss_lines(result) == std::vector<std::string>{"lost, by cause: 2 late_thread"});
  result.lost[spool::kLossRingOverflow] = 357656;
  REQUIRE(loss_lines(result).size() == 2);
  CHECK(loss_lines(result)[0] == "lost, by cause: 357656 ring_overflow, 2 late_thread");
  CHECK(loss_lines(result)[1].find("--ring") != std::string::npos);
}

TEST_CASE("Summary: durations - four digits, long ones in whole seconds") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(850.4) == "850 ns");
  CHECK(duration_text(999.96) == "1 us");
  CHECK(duration_text(12'345'678) == "12.35 ms");
  CHECK(duration_text(3600e9) == "3600 s");
  CHECK(duration_text(86'400e9) == "86400 s");
}

}  // namespace refrain::writer
