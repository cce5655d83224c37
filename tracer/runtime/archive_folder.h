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
// NAME.2, NAME.3, ... if the name is in use and `overwrite` is not set.
ArchiveFolder make_archive_folder(const std::string& wanted, const std::string& program,
                                  std::uint32_t process, bool overwrite);

}  // namespace refrain::runtime
