// What is in an archive as JSON, for scripts; docs/info.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, step 8, after analysis/archive_info.h. Pure. Units: in the names.
#pragma once

#include <string>

#include "analysis/archive_info.h"

namespace refrain::tools {

std::string info_json(const analysis::ArchiveInfo& info, const std::string& archive);

}  // namespace refrain::tools
