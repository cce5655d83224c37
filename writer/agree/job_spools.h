// The spools that an archive is made from.
//
// Place in the flow: ARCHITECTURE.md, stage 5, first; see spool_folder.h.
// Thread-safety: none while opening. Errors: as complaints; without any usable spool the
// list is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spool/spool_folder.h"

namespace refrain::writer {

// The spools of all processes, with the MPI_COMM_WORLD that they agree on (job_world.h) and
// an empty entry for each missing rank, because readers take a process' number for its
// rank. Or the spool of one rank alone.
spool::SpoolFolder open_job_spools(const std::string& archive,
                                   std::optional<std::uint32_t> rank);

// Adds an empty entry for a rank that left no spool.
void add_missing_rank(spool::SpoolFolder& spools, std::uint32_t rank);

}  // namespace refrain::writer
