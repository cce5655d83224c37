// Why what a user names as an archive has none, and what to do: of runs that were killed.
//
// Place in the flow: ARCHITECTURE.md, stage 7, before an archive is read. Thread-safety: none needed. Errors: what cannot be read
// counts as absent. Cost: that of spool/spool_folder.h, and only where there is no archive.
#pragma once

#include <string>
#include <vector>

namespace refrain::tools {

// A sentence without its full stop. Empty: there is an archive, or nothing that a run of Refrain left.
std::string why_no_archive(const std::string& archive);

// The same for a directory from which no archive can be made, and of which that is known. Empty: one can, or it is none.
// `spool_dirs`: where spools may be, too.
std::string why_no_recording(const std::string& archive,
                             const std::vector<std::string>& spool_dirs = {});

// That parts of the job which has recorded `archive` lie next to it. Empty: there are none.
std::string other_parts(const std::string& archive);

}  // namespace refrain::tools
