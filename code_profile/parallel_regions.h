// Which functions belong to parallel regions of OpenMP, by their names.
//
// Place in the flow: for candidates.h and code_profile/samples/sampled_profile.h. Pure.
// Runtimes: libomp (LLVM, Intel), libgomp.
#pragma once

#include <string_view>

namespace refrain::code_profile {

// Begins a region, a worksharing loop or a task, or is_outlined(): "main.omp_outlined", "main._omp_fn.0".
bool is_parallel(std::string_view function);

// Code of a region or task that the compiler has made a function of.
bool is_outlined(std::string_view function);

// A library that runs or traces programs, whose loops are not the program's: OpenMP's, MPI's, C's, the loader.
bool is_runtime_library(std::string_view module_path);

}  // namespace refrain::code_profile
