// Where the time in MPI goes by size of messages and by partner, of all processes of a run.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after message_calls.h; `refrain profile` prints it.
// Definitions: docs/profile.md. Thread-safety: pure.
// Units: nanoseconds, but of parts, which are in ticks of their process, so that sums are exact; bytes.
// Shapes: rows have the largest time first, and at least one call; parts are in the order of processes,
// of those that made such calls. All three tables have the same calls, so that their sums are equal.
// Cost: calls of all processes x log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/message_calls.h"

namespace refrain::analysis {

struct MessageTables {
  using Partner = summary::FlowGraph::Partner;
  static constexpr std::uint32_t kNone = summary::RunSummary::kNone;

  struct Process {
    std::uint32_t number = 0;
    std::uint32_t rank = kNone;
    double ticks_per_second = 1e9;
  };
  struct Part {
    std::uint32_t process = 0;  // index in `processes`
    CallSums sums{};            // ticks
  };
  struct Row {
    std::string procedure;
    Partner to{}, from{};  // none in `by_size`
    // The smallest and the largest; of graphs that do not know single sizes, at least and at most.
    std::uint64_t size_least = 0;
    std::uint64_t size_greatest = 0;
    std::uint64_t calls = 0;
    double time_ns = 0;
    double minimum_ns = 0;  // of one call
    double maximum_ns = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    // Time of the process with the least and the most, of those that made such calls.
    double process_minimum_ns = 0;
    double process_maximum_ns = 0;
    std::uint32_t slowest = 0;  // index of the process with the most
    std::vector<Part> parts;

    double mean_ns() const;
    // Bytes sent and received in a second of these calls; 0 without time.
    double bytes_per_second() const;
  };

  bool sizes = true;     // are known: if not, `by_size` is empty
  bool partners = true;  // likewise
  std::vector<Process> processes;
  std::vector<Row> by_size;       // by procedure and size_class()
  std::vector<Row> by_partner;    // by procedure and partners
  std::vector<Row> by_signature;  // by all of them
  // Of all processes, as ProcessMessages.
  std::uint64_t calls_elsewhere = 0;
  double elsewhere_ns = 0;
  std::uint64_t elsewhere_bytes = 0;
  std::uint64_t messages_outside = 0;
  std::uint64_t outside_bytes = 0;

  bool complete() const { return sizes && partners; }
};

MessageTables message_tables(const std::vector<ProcessMessages>& processes);

}  // namespace refrain::analysis
