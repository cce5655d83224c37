// The files that an OTF2 archive consists of, on disk.
//
// Thread-safety: any thread. Errors: what cannot be looked at is not there.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace refrain::base {

// In the order of publication: the one that readers look for comes last.
inline constexpr std::array<const char*, 4> kArchiveFiles = {
    "traces", "traces.def", "traces.marker", "traces.otf2"};

// Whether the folder holds an OTF2 archive or a part of one.
bool holds_archive(const std::string& folder);
// Bytes of traces.* on disk.
std::uint64_t archive_bytes(const std::string& folder);

}  // namespace refrain::base
