// Slow calls on files as regions of the thread that made them.
//
// Place in the flow: ARCHITECTURE.md, stage 2: tracer/files has found one, and hands it over when it has ended. It is no symbol: whether a
// call is slow is nondeterministic. Threads without a recorder, and calls inside of MPI's, have none: they are only counted.
// Thread-safety: any thread, also in signal handlers. Cost: of three records.
#pragma once

#include "tracer/files/file_calls.h"

namespace refrain::runtime {

void record_file_call(const files::SlowCall& call) noexcept;

}  // namespace refrain::runtime
