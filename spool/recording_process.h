// Whether an archive's spool is being written.
//
// Thread-safety: none needed. Errors: what cannot be read counts as not being written.
// Cost: the spool's files are mapped, their headers read, and /proc of their processes.
#pragma once

#include <string>

namespace refrain::spool {

// The number of a process of this machine that writes to the spool of `archive`, or 0.
long recording_process(const std::string& archive);

}  // namespace refrain::spool
