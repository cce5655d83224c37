// Finds and opens the spool files of an archive folder: one ProcessSpool a process.
//
// Place in the flow: ARCHITECTURE.md, stage 5, first thing the writer does.
// Thread-safety: none while opening; const afterwards.
// Ownership: the SpoolFolder owns the mappings of all files.
// Errors: a missing or unreadable folder gives an empty list; complaints say why, and
// name every file of which only a part could be read. What lies on another host is listed apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "spool/spool_place.h"
#include "spool/spool_reader.h"

namespace refrain::spool {

// What the processes of a job agree on; see writer/agree/job_world.h.
struct WorldPlace {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
};

struct ProcessSpool {
  std::uint32_t process = 0;
  std::string folder;                // of its files
  std::int64_t missing_rank = -1;    // of a process that left nothing, if it is known
  WorldPlace world;                  // of size 0: as the journal says
  SpoolFile journal;                 // may be unusable
  SpoolFile facts;                   // likewise: not every process has it
  std::vector<SpoolFile> locations;  // usable ones only, by number
};

// A spool that is on another host, and not to be seen from here.
struct DistantSpool {
  std::uint32_t process = 0;
  SpoolPlace place;
};

struct SpoolFolder {
  std::vector<ProcessSpool> processes;  // by number
  std::vector<std::string> complaints;
  std::vector<DistantSpool> distant;  // by number
  std::uint64_t disk_bytes = 0;
};

// Path of the spool inside an archive folder.
std::string spool_path(const std::string& archive);

SpoolFolder open_spool_folder(const std::string& archive);
// Of one process; none if it has left nothing.
SpoolFolder open_spool_of(const std::string& archive, std::uint32_t process);
// Its folder: in the archive's folder, or where the note there says (spool_place.h).
std::string process_path(const std::string& archive, std::uint32_t process);
// The numbers of the processes that have one, in order; also where it cannot be seen from here.
std::vector<std::uint32_t> process_numbers(const std::string& archive,
                                           std::error_code& error);
// Whether the spool of a process is on another host and not to be seen from here.
std::optional<SpoolPlace> distant_place(const std::string& archive, std::uint32_t process);

// Removes the spool of one process, in the archive's folder or elsewhere.
void remove_spool_of(const std::string& archive, std::uint32_t process) noexcept;
// Removes the spool of an archive, but for what is on other hosts.
void remove_spools(const std::string& archive, std::error_code& error) noexcept;

}  // namespace refrain::spool
