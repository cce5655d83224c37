// Samples the call stacks of all threads: a timer for each thread's CPU time, whose signal's handler
// notes the stack.
//
// Place in the flow: ARCHITECTURE.md, stage 3; started with the session (setting `loops`), from then on
// threads get their timer when they begin (new_threads.cc).
// Source: Moseley et al., section 2.
//
// The signal is one of the real-time signals that the program does not use when sampling starts. A
// thread that waits takes no samples, so system calls that wait are hardly ever interrupted by one.
// Thread-safety: start, stop and abandon: one thread; sample_this_thread(): any, outside of handlers.
// Errors: start_sampling() says in one line what is wrong; a thread that gets no timer is counted.
// Cost: nothing between samples. A sample: see stack_walk.h and sample_table.h.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>

namespace refrain::sampler {

// All threads that there are, and those to come. `path`: the file to make. Once in a process.
std::string start_sampling(const std::string& path, std::uint64_t hz);

// The signal of the timers; 0: none is used. And whether a signal that came is one of theirs.
int own_signal() noexcept;
bool is_of_own_timer(const siginfo_t& info) noexcept;

// Returns true if threads are to have a timer.
bool sampling() noexcept;

// The calling thread, which has just begun.
void sample_this_thread() noexcept;

// No samples are kept from here on; idempotent.
void stop_sampling() noexcept;

// In a forked child, which has no timers: the file is the parent's.
void abandon_sampling() noexcept;

}  // namespace refrain::sampler
