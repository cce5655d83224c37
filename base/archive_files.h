// The files that an archive consists of, on disk: OTF2's, the summary (run_summary.h), and the
// profile made of that (cube/write_cube.h).
//
// Thread-safety: any thread. Errors: what cannot be read counts as absent.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace refrain::base {

// In the order of publication: the one that readers look for comes last.
inline constexpr std::array<const char*, 7> kArchiveFiles = {
    "profile.cubex", "summary",       "samples",    "traces",
    "traces.def",    "traces.marker", "traces.otf2"};

// The directory of an archive that is given by it or by its anchor file.
std::string archive_folder(const std::string& path);
// The first of OTF2's files with this anchor that is there and is neither a regular file nor a link to one: reading a pipe or a device
// might never end. Empty: there is none. Cost: one look at the directory of the locations' files.
std::string irregular_file(const std::string& anchor);
// Returns true if the directory holds an OTF2 archive or a part of one.
bool holds_archive(const std::string& folder);
// Bytes of these on disk, and of these the files of events alone.
struct ArchiveBytes {
  std::uint64_t all = 0;
  std::uint64_t events = 0;
};
ArchiveBytes archive_bytes(const std::string& folder);
// Removes these, the anchor first; keeps everything else in the directory.
Result<> remove_archive(const std::string& folder);

}  // namespace refrain::base
