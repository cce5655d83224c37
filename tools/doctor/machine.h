// What of this machine and this directory matters to a traced program: clock, limits, file system.
//
// Errors: what cannot be read is not mentioned.
#pragma once

#include <string>

#include "tools/doctor/check.h"

namespace refrain::tools {

// Optional libraries and programs: what needs them.
void check_helpers(Checks& checks);

// The clock of the time stamps.
void check_clock(Checks& checks);

// Limits of files and descriptors that a traced program would inherit.
void check_limits(Checks& checks);

// Where archives would be written: rights, space, kind of file system, recordings of killed runs.
void check_folder(Checks& checks, const std::string& folder);

}  // namespace refrain::tools
