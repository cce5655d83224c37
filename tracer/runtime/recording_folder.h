// Makes the archive's folder and the spool folder in it, without ever taking one that
// exists unless that was asked for.
//
// Place in the flow: ARCHITECTURE.md, step 2. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::runtime {

struct ArchiveFolder {
  std::string archive;  // absolute path
  std::string spool;    // <archive>/spool/process-<P>
  std::string error;    // one line; empty if all is well
};

// `wanted` empty: refrain-<program>-<date> in the current folder. Takes the next free
// NAME.2, NAME.3, ... if the name is in use and `overwrite` is not set, or another process
// is still recording under that name.
ArchiveFolder make_archive_folder(const std::string& wanted, const std::string& program,
                                  std::uint32_t process, bool overwrite);

// For a process of a job that does not know its number yet: a hidden folder of its own
// where the archive will be, `.refrain-<program>-<host>-<pid>`.
ArchiveFolder make_provisional_folder(const std::string& wanted,
                                      const std::string& program);

// Moves the spool of process 0 of `from` (a folder of make_provisional_folder()) to be that of
// `process` in `archive`, and removes what is left. Files that are open stay so. The result has
// no `archive` if it cannot be.
ArchiveFolder move_spool(const ArchiveFolder& from, const std::string& archive,
                         std::uint32_t process);

// Removes the spool of process 0 of a folder of make_provisional_folder(), and that.
void remove_spool(const ArchiveFolder& folder) noexcept;

// Removes what make_archive_folder() has made, as far as nothing is in it.
void remove_empty(const ArchiveFolder& folder) noexcept;

}  // namespace refrain::runtime
