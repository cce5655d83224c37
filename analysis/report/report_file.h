// Writes a report: the page with its data, as one file.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after blocks.h. Thread-safety: any thread, of different files.
// Errors: one line. The file has its name only when it is complete; until then it is beside it, under another
// name, and is removed if something goes wrong.
#pragma once

#include <string>
#include <string_view>

#include "analysis/report/blocks.h"
#include "base/result.h"

namespace refrain::report {

// Where the data goes in the page.
inline constexpr std::string_view kDataLine = "<!-- refrain:data -->";

// `page`: HTML that has kDataLine once. `replace`: an existing file; else that is an error.
base::Result<> write_report(const std::string& path, std::string_view page,
                            const Blocks& blocks, bool replace);

}  // namespace refrain::report
