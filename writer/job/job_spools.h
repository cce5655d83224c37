// The spools that an archive is made from.
//
// Place in the flow: ARCHITECTURE.md, step 7, first; see spool_folder.h.
// Thread-safety: none while opening. Errors: as complaints; without any usable spool the
// list is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spool/spool_folder.h"

namespace refrain::writer {

// Of all processes, with what they agree on of their world (job_world.h), and an empty place for
// each rank of theirs that left nothing: readers take a process' number for its rank. Or of one
// rank alone.
spool::SpoolFolder open_job_spools(const std::string& archive,
                                   std::optional<std::uint32_t> rank);

// A place for a rank that left nothing.
void add_missing_rank(spool::SpoolFolder& spools, std::uint32_t rank);

}  // namespace refrain::writer
