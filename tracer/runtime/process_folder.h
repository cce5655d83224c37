// Where this process' spool lies, and which process of its job it is.
//
// Place in the flow: ARCHITECTURE.md, stage 3. A process of a job begins in a provisional directory, and
// moves to the job's archive when its rank is known. With the setting spool_dir the spool stays where it is, and the
// archive's directory gets a note (spool/spool_place.h).
// Thread-safety: make() before there are other threads; settle() and spool() under the session's lock,
// the others from the thread that settles, or after that.
// Errors: one line of text. Cost: system calls and allocations, except for the getters.
#pragma once

#include <cstdint>
#include <string>

#include "filters/settings.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/runtime/recording_folder.h"

namespace refrain::runtime {

class ProcessFolder {
 public:
  ProcessFolder() = default;
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  ~ProcessFolder() { abandon(); }

  // Makes the archive's directory, or a provisional one if the process is `of_job`. Empty, or an error.
  std::string make(const filters::Settings& settings, const std::string& program,
                   bool of_job);
  // Where the archive is to be, as an absolute path: the program may change its directory.
  const std::string& wanted() const noexcept { return wanted_; }
  // Removes it again, as far as nothing is recorded in it.
  void remove_empty() noexcept;

  // This is process `rank` of `size`: moves the spool to `archive`. Empty, or an error.
  std::string settle(const std::string& archive, std::uint32_t rank, std::uint32_t size);
  bool settled() const noexcept { return provisional_.archive.empty(); }
  // Removes what was recorded, if the process has not settled: nobody will read it.
  void discard() noexcept;

  const std::string& archive() const noexcept { return archive_; }
  const std::string& spool() const noexcept { return spool_; }
  // Of spool(), for as long as there is a recording, wherever it moves; -1: there is none.
  int descriptor() noexcept;
  // In a forked child: the parent's directory is none of its own.
  void abandon() noexcept;
  std::uint32_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }

 private:
  std::string make_elsewhere(const filters::Settings& settings, const std::string& program,
                             bool of_job);
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
};

}  // namespace refrain::runtime
