// What `refrain info --json` says of an archive.
//
// Place in the flow: ARCHITECTURE.md, step 8, after analysis/archive_info.h. Pure. Thread-safety: none
// needed. Units: in the names. Texts are the archive's bytes, which need not be UTF-8.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/archive_info.h"

namespace refrain::tools {

// `archive`: its name, as the user gave it.
nlohmann::ordered_json info_value(const analysis::ArchiveInfo& info,
                                  const std::string& archive);

}  // namespace refrain::tools
