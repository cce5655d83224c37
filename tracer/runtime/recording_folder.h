// Makes the archive's directory and the spool directory in it, without ever taking one that
// exists unless that was asked for.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "filters/settings.h"
#include "tracer/recorder/descriptors.h"

namespace refrain::runtime {

struct ArchiveFolder {
  std::string archive;  // absolute path
  std::string spool;    // <archive>/spool/process-<P>, or elsewhere
};

// All directories are the user's alone (base/new_file.h), and were made by this process; only for the archive one that exists
// is taken, if it is empty, belongs to the user and nobody else can change it.

// The absolute path of an archive. `wanted` empty: refrain-<program>-<date> in the current directory.
base::Result<std::string> archive_path(const std::string& wanted,
                                       const std::string& program);

// `wanted`: as archive_path() gives it. Takes the next free NAME.2, NAME.3, ... if the name is in use and
// `overwrite` is not set, or another process is still recording under that name. The spool directory of process 0
// is made in it.
base::Result<ArchiveFolder> make_archive_folder(const std::string& wanted, bool overwrite);

// The same for processes whose spools are elsewhere: without a directory for one.
base::Result<ArchiveFolder> make_bare_archive_folder(const std::string& wanted,
                                                     bool overwrite);

// A directory of this process in `spool_dir`, `refrain-spool-<program>-<host>-<pid>` (with .2, .3, ... where that is in
// use), which looks like an archive's with the spool of process 0 (spool/spool_place.h).
base::Result<ArchiveFolder> make_spool_elsewhere(const std::string& spool_dir,
                                                 const std::string& program);

// Makes the spool of such a directory that of `process` in `archive`, and leaves it where it is.
base::Result<ArchiveFolder> place_spool(const ArchiveFolder& from,
                                        const std::string& archive, std::uint32_t process);

// For a process of a job that does not know its number yet: a hidden directory of its own
// where the archive will be, `.refrain-<program>-<host>-<pid>`, likewise.
base::Result<ArchiveFolder> make_provisional_folder(const std::string& archive,
                                                    const std::string& program);

// Moves the spool of process 0 of `from` (a directory of make_provisional_folder()) to be that of
// `process` in `archive`, and removes what is left. Files that are open stay so. On another file system it stays
// where it is, as place_spool() does it.
base::Result<ArchiveFolder> move_spool(const ArchiveFolder& from,
                                       const std::string& archive, std::uint32_t process);

// Removes the spool of process 0 of a directory of make_provisional_folder(), and that.
void remove_spool(const ArchiveFolder& folder) noexcept;

// Removes what make_archive_folder() has made, as far as nothing is in it. A spool elsewhere, where
// `folder` names one, is removed by remove_spool().
void remove_empty(const ArchiveFolder& folder) noexcept;

// Where this process' spool lies, and which process of its job it is.
//
// Place in the flow: ARCHITECTURE.md, stage 3. A process of a job begins in a provisional directory, and
// moves to the job's archive when its rank is known. With the setting spool_dir the spool stays where it is, and the
// archive's directory gets a note (spool/spool_place.h).
// Thread-safety: make() before there are other threads; settle() and spool() under the session's lock,
// the others from the thread that settles, or after that.
// Cost: system calls and allocations, except for the getters.

class ProcessFolder {
 public:
  ProcessFolder() = default;
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  ~ProcessFolder() { abandon(); }

  // Makes the archive's directory, or a provisional one if the process is `of_job`.
  base::Result<> make(const filters::Settings& settings, const std::string& program,
                      bool of_job);
  // Where the archive is to be, as an absolute path: the program may change its directory.
  const std::string& wanted() const noexcept { return wanted_; }
  // Removes it again, with what is in it: the recording cannot start.
  void remove() noexcept;

  // This is process `rank` of `size`: moves the spool to `archive`.
  base::Result<> settle(const std::string& archive, std::uint32_t rank, std::uint32_t size);
  bool settled() const noexcept { return provisional_.archive.empty(); }
  // Removes what was recorded, if the process has not settled: nobody will read it.
  void discard() noexcept;

  const std::string& archive() const noexcept { return archive_; }
  const std::string& spool() const noexcept { return spool_; }
  // Of spool(), for as long as there is a recording, wherever it moves; -1: there is none.
  int descriptor() noexcept;
  // The process has another root directory than when it made this one, so paths lead elsewhere.
  bool root_changed() const noexcept;
  // In a forked child: the parent's directory is none of its own.
  void abandon() noexcept;
  std::uint32_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }

 private:
  base::Result<> make_elsewhere(const filters::Settings& settings,
                                const std::string& program, bool of_job);
  bool open_spool() noexcept;

  std::string wanted_;
  std::string archive_;
  std::string spool_;
  ArchiveFolder provisional_;  // until the rank is known
  ArchiveFolder elsewhere_;    // with spool_dir
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  int descriptor_ = -1;
  recorder::FileIdentity folder_;
  recorder::FileIdentity root_;
};

}  // namespace refrain::runtime
