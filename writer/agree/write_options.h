// What the writer is asked for; see archive_writer.h.
//
// Ownership: plain values. Units: as their names say.
#pragma once

#include <cstdint>
#include <string>

#include "exchange/bytes.h"

namespace refrain::writer {

struct WriteOptions {
  std::string archive;         // directory; its spool/ is read, its traces.* are made
  unsigned threads = 0;        // 0: one for each processor
  bool recovered = false;      // the process died: use its rings, too
  bool keep_spool = false;     // else it is removed after success
  bool incomplete = false;     // without spools that are on other hosts; keeps the spool
  bool overwrite = false;      // replace traces.* that are there
  bool logical_clock = false;  // no message arrives before it was sent, see logical_clock.h
  std::uint64_t budget_bytes = 0;  // of the archive; 0: none; see budget_trim.h
  // Ranks of each cluster whose events are written; 0: all ranks; see writer/agree/rank_choice.h.
  std::uint64_t representatives = 0;
  std::string filter;          // text of a filter file, see filters/region_filter.h
  bool filter_of_run = false;  // of one that died: instead, the file that its settings name
  std::string version;         // of Refrain, if the spool does not say
};

// Which ranks have their events in the archive, as text; see writer/agree/rank_choice.h.
struct RanksResult {
  std::string policy;    // "representatives=1"; empty: all, as usual
  std::string written;   // "0,3", or "all"
  std::string clusters;  // one a line: its ranks that are written, a colon, its ranks
  std::string why;       // in a line
};

// What the first process tells the others.
struct Assignment {
  WriteOptions options;
  std::string work_folder;
};

Assignment merge(Assignment a, const Assignment& b);
void put(exchange::ByteWriter& out, const Assignment& assignment);
void take(exchange::ByteReader& in, Assignment& assignment);

}  // namespace refrain::writer
