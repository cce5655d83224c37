// Where the spool of a process lies, if not in the archive's directory (setting spool_dir).
//
// Place in the flow: ARCHITECTURE.md, stages 2 and 5. A directory of the node's own that looks like an archive's, and a note in
// the archive's directory:
//
//   <spool_dir>/refrain-spool-<program>-<host>-<pid>/spool/process-0/   the spool
//   <spool_dir>/refrain-spool-<program>-<host>-<pid>/archive            path of the archive
//   <archive>/spool/process-<P>.place                                   host and path of the spool
//
// Thread-safety: none needed. Errors: a note that makes no sense counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace refrain::spool {

struct SpoolPlace {
  std::string host;
  std::string folder;  // .../refrain-spool-.../spool/process-0
};

inline constexpr const char* kPlacePrefix = "refrain-spool-";
// Of a process that did not know its number yet; a spool stays there where the archive is on another file system.
inline constexpr const char* kProvisionalPrefix = ".refrain-";
inline constexpr const char* kPlaceSuffix = ".place";

std::string own_host();

// The note is complete or absent, whenever this process is killed.
base::Result<> write_place(const std::string& archive, std::uint32_t process,
                           const SpoolPlace& place);
std::optional<SpoolPlace> read_place(const std::string& archive, std::uint32_t process);
void remove_place(const std::string& archive, std::uint32_t process) noexcept;

// The directory of the node that has the spool `folder` of a note: its second last but one part.
std::string place_root(const std::string& folder);
// The archive that a directory of the node belongs to; empty: it is none.
std::string archive_of_place(const std::string& root);
// Says so in the directory of the node.
void name_archive(const std::string& root, const std::string& archive) noexcept;

// Removes the spool of a note from this node, with its directory.
void remove_placed(const SpoolPlace& place) noexcept;

}  // namespace refrain::spool
