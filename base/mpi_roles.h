// The role in OTF2 of an MPI procedure, by its name.
//
// Place in the flow: ARCHITECTURE.md, stage 5; definitions.cc gives it to the regions.
// Thread-safety: pure. Cost: a few comparisons of short texts.
#pragma once

#include <otf2/otf2.h>

#include <string_view>

namespace refrain::base {

// Large-count names ("MPI_Send_c"), non-blocking ("MPI_Ibcast"), persistent ("MPI_Bcast_init")
// and neighbourhood ones have the role of the plain procedure.
OTF2_RegionRole role_of_mpi(std::string_view procedure) noexcept;
// That which an archive defines, if it says more than "function"; else by the name.
OTF2_RegionRole role_of_mpi(std::string_view procedure, OTF2_RegionRole defined) noexcept;

}  // namespace refrain::base
