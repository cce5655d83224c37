// Brings the spools of a job that was killed together: from the nodes into the archive's folder.
//
// Place in the flow: ARCHITECTURE.md, stage 5, before `refrain recover`, where the setting spool_dir has put the spools
// elsewhere (spool_place.h). Thread-safety: none needed; one process a node.
// Errors: what was copied is complete; a spool is removed from the node after that.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "spool/spool_folder.h"

namespace refrain::spool {

// Those that are on other hosts, by number.
std::vector<DistantSpool> distant_spools(const std::string& archive);

// "3 processes are on node17, node18 (process 4: /tmp/refrain-spool-app-node17-4711/spool/process-0)"
std::string places_text(const std::vector<DistantSpool>& distant);

// Looks in `folder` for spools that are not where their notes say, by the names of their folders, and changes the
// notes. The number that were found.
std::size_t find_moved_spools(const std::string& archive, const std::string& folder);

// Moves all spools that can be seen from here into the archive's folder: how many these were.
base::Result<std::size_t> collect_spools(const std::string& archive);

}  // namespace refrain::spool
