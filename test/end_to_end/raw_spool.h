// Reads the spool of a process record by record, by the format alone (spool/format.h),
// without the code that makes archives of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "spool/format.h"

namespace refrain::test {

struct RawLocation {
  std::uint32_t number = 0;
  std::uint32_t team_number = 0;  // of a worker: OpenMP's
  bool primary = false;
  bool suspended = false;
  std::vector<spool::Record> log;   // the records that its commit word covers
  std::vector<spool::Record> ring;  // likewise, oldest first; empty unless suspended
  bool ring_forgot = false;         // the ring has lost a part of this gap
};

struct RawSpool {
  std::vector<spool::Record> journal;  // and what is next to it, without texts
  std::vector<RawLocation>
      locations;  // as in the archive: by number, workers among themselves by OpenMP's
};

// Of <archive>/spool/process-0.
RawSpool read_raw_spool(const std::filesystem::path& archive);

bool is_event(const spool::Record& record);

// Callbacks in the logs of all locations, without rings.
std::uint64_t logged_events(const RawSpool& spool);

}  // namespace refrain::test
