// What `refrain run` cannot say, because it has become the program: that there is no archive, and why,
// or that processes of the command were killed.
//
// And what any process has done that is not traced: MPI of which this library has no wrappers, regions of libgomp.
//
// Place in the flow: the end of a process (lifecycle.cc). Only the process that was `refrain run`
// speaks, known by its number (REFRAIN_RUN: "pid seconds faults directory"): the program itself, or a launcher or shell whose
// children had sessions.
// Thread-safety: once, when the process ends. Errors: silence.
#pragma once

namespace refrain::runtime {

// `recorded`: this process has an archive of its own, and only those of others may be missing.
void report_run(bool recorded) noexcept;

// What was not traced, in a process with or without a session, if `refrain run` has not said it (REFRAIN_SAID). True if
// anything was said.
bool report_untraced(bool mpi_is_traced) noexcept;

// The process has ended in order: whoever watches it need say nothing (REFRAIN_WATCH: tools/command/run_command.cc).
void report_orderly_end() noexcept;

}  // namespace refrain::runtime
