// Finds and opens the spool files of an archive directory: one ProcessSpool a process.
//
// Place in the flow: ARCHITECTURE.md, stage 5, first thing the writer does.
// Thread-safety: none while opening; const afterwards.
// Ownership: the SpoolFolder owns the mappings of all files.
// Errors: a missing or unreadable directory gives an empty list; complaints say why, and
// name every file of which only a part could be read. What lies on another host is listed apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "spool/spool_place.h"
#include "spool/spool_reader.h"

namespace refrain::spool {

// What the processes of a job agree on; see writer/agree/job_spools.h.
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
  std::vector<SpoolFile> locations;  // usable ones only, sort_locations()
  std::uint64_t missing =
      0;  // locations that it had, as far as is known, and that are not among these
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

// Path of the spool inside an archive directory.
std::string spool_path(const std::string& archive);

SpoolFolder open_spool_folder(const std::string& archive);
// Of one process; none if it has left nothing.
SpoolFolder open_spool_of(const std::string& archive, std::uint32_t process);
// Its directory: in the archive's directory, or where the note there says (spool_place.h).
std::string process_path(const std::string& archive, std::uint32_t process);
// The numbers of the processes that have one, in order; also where it cannot be seen from here.
std::vector<std::uint32_t> process_numbers(const std::string& archive,
                                           std::error_code& error);
// Where the spool of a process is, if it is on another host and not to be seen from here.
std::optional<SpoolPlace> distant_place(const std::string& archive, std::uint32_t process);

// Removes the spool of one process, in the archive's directory or elsewhere.
void remove_spool_of(const std::string& archive, std::uint32_t process) noexcept;
// Removes the spool of an archive, but for what is on other hosts.
void remove_spools(const std::string& archive, std::error_code& error) noexcept;

// --- Who writes an archive's spool.
//
// Thread-safety: none needed. Errors: what cannot be read counts as not being written.
// Cost: the spool's files are mapped, their headers read, and /proc of their processes.

// The number of a process of this machine that writes to the spool of `archive`, or 0.
long recording_process(const std::string& archive);

// --- What a directory has that an archive can be made of.
//
// Thread-safety: none needed. Errors: what cannot be read counts as absent. Cost: the spool's files are mapped, their headers read.

enum class Recording : std::uint8_t {
  kNone,        // no spool
  kReadable,    // an archive can be made, here or with what is on other hosts
  kStarting,    // nothing yet, and its process lives, or may
  kEmpty,       // nothing: its processes were killed before they recorded anything
  kUnreadable,  // only files that are damaged, or of another version
};
Recording recording_in(const std::string& archive);

// Removes a directory that a process made for itself (provisional, or in spool_dir), if it is kEmpty, the process was one of this host,
// and it was not made just now: of another container with this host's name it may be of one that lives. Returns true if it did.
bool remove_empty_recording(const std::string& archive) noexcept;

// A recording of a process that was killed before it knew its place in the job, and that was to be part of an archive.
struct PartOfJob {
  std::string folder;
  std::string run;  // kTextRun; empty: not known
  std::uint64_t start_epoch_ns = 0;
};
// Those of `archive`, which need not exist: next to it, and in directories that spool_dir named. In the order of their starts.
std::vector<PartOfJob> parts_of(const std::string& archive,
                                const std::vector<std::string>& spool_dirs = {});
// The run that has recorded what is in `archive`; empty: not known.
std::string run_in(const std::string& archive);

// --- Finds archives that a run has made, and recordings without archive because the run was killed.
//
// Place in the flow: ARCHITECTURE.md, stage 1 and the end: for `refrain run` before a program and for
// the library after one. Thread-safety: none needed. Errors: what cannot be read counts as absent.
// Cost: one look at each directory with an archive's prefix; at most kMaxLooks.

struct FoundArchives {
  static constexpr std::size_t kMaxLooks = 1000;
  bool any = false;               // archives, or unfinished ones
  std::vector<std::string> left;  // paths of recordings that no process writes to
  std::vector<std::string>
      reported;  // likewise, of processes that have said why there is no archive
  std::vector<std::string> empty;  // of recordings that are kEmpty
};

// In the directory `archive` and in those that further processes take next to it (ARCHIVE.2, ...), if it is not empty; else in
// those of `folder` with the default name of archives; and the recordings there of processes that did not come to the end of
// MPI_Init. Only what changed at `since` or later, in seconds of the epoch.
FoundArchives find_archives(const std::string& archive, const std::string& folder,
                            std::int64_t since);

// A line about recordings without archive, of which there is one at least.
std::string line_about_left(const std::vector<std::string>& left);

// --- Brings the spools of a job that was killed together: from the nodes into the archive's directory.
//
// Place in the flow: ARCHITECTURE.md, stage 5, before `refrain recover`, where the setting spool_dir has put the spools
// elsewhere (spool_place.h). Thread-safety: none needed; one process a node.
// Errors: what was copied is complete; a spool is removed from the node after that.

// Those that are on other hosts, by number.
std::vector<DistantSpool> distant_spools(const std::string& archive);

// "3 processes are on node17, node18 (process 4: /tmp/refrain-spool-app-node17-4711/spool/process-0)"
std::string places_text(const std::vector<DistantSpool>& distant);

// Looks in `folder` for spools that are not where their notes say, by the names of their directories, and changes the
// notes. The number that were found.
std::size_t find_moved_spools(const std::string& archive, const std::string& folder);

// Moves all spools that can be seen from here into the archive's directory: how many these were.
base::Result<std::size_t> collect_spools(const std::string& archive);

}  // namespace refrain::spool
