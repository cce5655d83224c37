// What `refrain run` cannot say, because it has become the program: that there is no archive, and why,
// or that processes of the command were killed.
//
// Place in the flow: the end of a process (lifecycle.cc). Only the process that was `refrain run`
// speaks, known by its number (REFRAIN_RUN: "pid seconds faults folder"): the program itself where
// it had no session, or a launcher or shell whose children had.
// Thread-safety: once, when the process ends. Errors: silence.
#pragma once

namespace refrain::runtime {

void report_run() noexcept;

}  // namespace refrain::runtime
