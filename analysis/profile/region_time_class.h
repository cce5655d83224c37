// What the time of a region is: work, one of OpenMP's overheads, or one of MPI's kinds of calls.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: pure functions.
// Source: summary/time_class.h. Deviations: docs/profile.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "summary/time_class.h"

namespace refrain::analysis {

using summary::kTimeClasses;
using summary::TimeClass;

// As in JSON and CSV: "mpi_point_to_point"; and in words: "MPI, point-to-point".
const char* class_name(TimeClass cls) noexcept;
const char* class_title(TimeClass cls) noexcept;
bool is_mpi(TimeClass cls) noexcept;

// By role and paradigm of OTF2, and the name of an MPI procedure or OpenMP routine. A barrier that
// ends a `single` is not told apart from others here.
TimeClass class_of(std::uint32_t role, std::uint32_t paradigm,
                   std::string_view name) noexcept;

// Whether it is a parallel region of OpenMP.
bool is_parallel_region(std::uint32_t role, std::uint32_t paradigm) noexcept;

}  // namespace refrain::analysis
