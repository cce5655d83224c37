// The OpenMP runtimes and MPI libraries of this machine, and whether programs with them can be traced.
#pragma once

#include <string>

#include "tools/doctor/check.h"
#include "tools/programs/elf_program.h"

namespace refrain::tools {

// The library of Refrain, LLVM's OpenMP runtime and the MPI libraries. With `folder`, short traced runs in
// it show that they work together.
void check_runtimes(Checks& checks, const std::string& folder);

// How `refrain run` would trace this program.
void check_program(Checks& checks, const std::string& command);

// OpenMP runtime and MPI libraries in one line each, for `refrain --version`.
std::string runtimes_text();

// What of this machine and this directory matters to a traced program: clock, limits, file system.
//
// Errors: what cannot be read is not mentioned.

// Optional libraries and programs: what needs them.
void check_helpers(Checks& checks);

// The clock of the time stamps.
void check_clock(Checks& checks);

// Limits of files and descriptors that a traced program would inherit.
void check_limits(Checks& checks);

// Where archives would be written: rights, space, kind of file system, recordings of killed runs.
void check_folder(Checks& checks, const std::string& folder);

}  // namespace refrain::tools
