// What is in an archive as JSON, for scripts and reports; docs/reference/info.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/archive_info.h. Pure. Thread-safety: none
// needed. Units: in the names.
#pragma once

#include <string>

#include "analysis/archive_info.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {

// As `refrain info --json` prints it, in UTF-8, part by part: with 100 000 threads it has a gigabyte. Texts are the archive's
// bytes, which need not be UTF-8. `archive`: its name, as the user gave it.
void put_info_json(const analysis::ArchiveInfo& info, const std::string& archive,
                   const PutText& put);

}  // namespace refrain::tools
