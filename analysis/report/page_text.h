// The page of a report, without its data: HTML with its styles and scripts.
//
// Place in the flow: ARCHITECTURE.md, stage 7, before report_file.h. Made by the build from analysis/report/page.
// Thread-safety: constant.
#pragma once

#include <string_view>

namespace refrain::report {

std::string_view page_text();

}  // namespace refrain::report
