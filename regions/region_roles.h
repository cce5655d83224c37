// What a region is for readers of the field.
//
// Thread-safety: pure. Cost: a MPI procedure's, as base::role_of_mpi().
#pragma once

#include <otf2/otf2.h>

#include "regions/region_table.h"

namespace refrain::regions {

OTF2_RegionRole role_of(RegionClass cls) noexcept;
OTF2_RegionRole role_of(const RegionDef& region) noexcept;
OTF2_Paradigm paradigm_of(RegionClass cls) noexcept;

}  // namespace refrain::regions
