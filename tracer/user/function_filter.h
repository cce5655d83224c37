// Whether the filter file excludes a function, asked once for each function while the program
// runs: what is filtered here costs next to nothing afterwards.
//
// Place in the flow: ARCHITECTURE.md, step 2, beside functions.cc. The filter is applied to what
// was recorded once more when the archive is written.
// Thread-safety: any thread, one after the other (a lock). Not for signal handlers.
// Cost: without a filter file none. With one, names are looked up in the program's debug
// information: milliseconds for the first function of a module, microseconds for others.
// Errors: a filter that cannot be read or understood filters nothing; that is reported when the
// archive is written.
#pragma once

#include <cstdint>

namespace refrain::user {

bool filter_excludes(std::uint64_t function) noexcept;

}  // namespace refrain::user
