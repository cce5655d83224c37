// What events refer to, numbered alike in all processes of a job: regions, places of calls,
// texts, and where each process' locations and teams begin.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between the models of the processes and the
// first event. Each process sends its own, they merge in order of rank, and the result is
// numbered as by one process that knows all.
// Thread-safety: pure. Ownership: plain values.
// Cost: a merge is linear in both sides; equal definitions are merged, so that ranks of one
// program send no more than one of them. Consecutive processes with equal numbers of
// locations and teams are one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/bytes.h"
#include "regions/region_table.h"
#include "spool/journal.h"

namespace refrain::writer {

// Of one process.
struct ProcessSize {
  std::uint64_t locations = 0;
  std::uint64_t teams = 0;
  std::uint64_t mpi_locations = 0;  // of a process that uses MPI: all of them
  std::uint64_t streams = 0;        // of devices
  std::uint64_t handles = 0;        // of files
  std::uint64_t contingents = 0;    // 1: with records of threads that the program begins
  bool operator==(const ProcessSize&) const = default;
};

struct SharedDefinitions {
  struct Run {
    std::uint64_t processes = 0;
    ProcessSize size;
    bool operator==(const Run&) const = default;
  };
  std::vector<regions::RegionDef> regions;
  std::vector<regions::SourcePlace> places;
  std::vector<regions::ParameterDef> parameters;
  std::vector<std::string> strings;  // program_texts(), then values of parameters
  std::vector<std::vector<spool::Metric>> metrics;  // of processes that have any
  std::vector<Run> sizes;                           // in order of processes

  void add(const ProcessSize& size);
  // Of all processes before this one.
  ProcessSize before(std::uint64_t process) const noexcept;
  ProcessSize total() const noexcept { return before(UINT64_MAX); }
  // About the bytes of the archive's longest definition: a text, or a group of locations.
  std::uint64_t longest() const noexcept;
};

SharedDefinitions merge(SharedDefinitions a, const SharedDefinitions& b);
void put(exchange::ByteWriter& out, const SharedDefinitions& all);
void take(exchange::ByteReader& in, SharedDefinitions& all);

}  // namespace refrain::writer
