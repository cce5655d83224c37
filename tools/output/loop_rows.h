// The nest of an archive's loops as a table: an indented tree, a row each.
//
// Place in the flow: part of info_screen.h. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/archive_info.h"

namespace refrain::tools {

struct TableOptions {
  std::size_t width = 100;
  std::size_t rows = 20;  // at most, unless `all`
  bool all = false;  // also of less than a hundredth of the time; every rank that differs
  bool bodies = false;
};

std::vector<std::string> loop_table(const analysis::ArchiveInfo& info,
                                    const TableOptions& options);

}  // namespace refrain::tools
