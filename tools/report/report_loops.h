// Of a report: the loops of the program's code, where stacks were sampled, and what the largest serial ones say.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after code_profile/samples. Format: docs/reference/report-format.md. Thread-safety: pure, but for
// the disk. Fails where a file of samples cannot be read. Memory: by the places in the program, not by samples.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/archive_info.h"
#include "analysis/report/finding.h"
#include "base/result.h"
#include "code_profile/loop_profile.h"

namespace refrain::tools {

struct ReportedLoops {
  nlohmann::ordered_json value;  // of the block `loops`; null: nothing was sampled
  std::vector<report::Finding> findings;
  std::vector<std::string> limits;  // what was left out for size
};

// `info`: of the archive.
base::Result<ReportedLoops> report_loops(const std::string& archive,
                                         const analysis::ArchiveInfo& info);
// Of loops and functions the first `most`, which are those with the largest totals.
ReportedLoops reported_loops(const code_profile::LoopProfile& profile,
                             std::size_t most = 4000);

}  // namespace refrain::tools
