// Finds and opens the spool files of an archive folder: one ProcessSpool a process.
//
// Place in the flow: ARCHITECTURE.md, step 7, first thing the writer does.
// Thread-safety: none while opening; const afterwards.
// Ownership: the SpoolFolder owns the mappings of all files.
// Errors: a missing or unreadable folder gives an empty list; complaints say why, and
// name every file of which only a part could be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spool/spool_reader.h"

namespace refrain::spool {

// What the processes of a job agree on; see writer/job/job_world.h.
struct WorldPlace {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
};

struct ProcessSpool {
  std::uint32_t process = 0;
  std::int64_t missing_rank = -1;    // of a process that left nothing, if it is known
  WorldPlace world;                  // of size 0: as the journal says
  SpoolFile journal;                 // may be unusable
  std::vector<SpoolFile> locations;  // usable ones only, by number
};

struct SpoolFolder {
  std::vector<ProcessSpool> processes;  // by number
  std::vector<std::string> complaints;
  std::uint64_t disk_bytes = 0;
};

// Path of the spool inside an archive folder.
std::string spool_path(const std::string& archive);

SpoolFolder open_spool_folder(const std::string& archive);
// Of one process; none if it has left nothing.
SpoolFolder open_spool_of(const std::string& archive, std::uint32_t process);
// Its folder.
std::string process_path(const std::string& archive, std::uint32_t process);

}  // namespace refrain::spool
