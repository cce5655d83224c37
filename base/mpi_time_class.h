// The class of the time in an MPI procedure, by its name.
//
// Place in the flow: ARCHITECTURE.md, steps 3 and 11. Thread-safety: pure. Cost: as role_of_mpi().
#pragma once

#include <string_view>

#include "base/time_class.h"

namespace refrain::base {

TimeClass class_of_mpi(std::string_view procedure) noexcept;

}  // namespace refrain::base
