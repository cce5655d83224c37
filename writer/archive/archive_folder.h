// The files of an archive on disk: made aside, moved into place when complete.
//
// Place in the flow: ARCHITECTURE.md, stage 5, around the writing.
// Thread-safety: none. Ownership: what was not published is removed by the destructor.
// Throws only when memory runs out.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace refrain::writer {

// The part of the work directory in which another process of the job writes.
std::string part_folder(const std::string& work_folder, std::uint32_t rank);
// Moves the events and local definitions of a part into the archive in the work directory,
// which must have its own already; removes the rest.
base::Result<> move_part(const std::string& work_folder, std::uint32_t rank);

class ArchiveFolder {
 public:
  explicit ArchiveFolder(std::string archive);
  ~ArchiveFolder();
  ArchiveFolder(const ArchiveFolder&) = delete;
  ArchiveFolder& operator=(const ArchiveFolder&) = delete;

  // Makes the directory to write in; refuses where an archive is, unless `overwrite`. Files
  // left by an interrupted publish() do not count as an archive.
  base::Result<> prepare(bool overwrite);
  const std::string& work_folder() const noexcept { return work_; }
  // Moves the finished files to their place; traces.otf2, which readers look for, last.
  base::Result<> publish();

 private:
  bool publication_was_interrupted() const;

  std::string archive_;
  std::string work_;
};

}  // namespace refrain::writer
