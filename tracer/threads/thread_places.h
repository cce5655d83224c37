// What of a program a call of POSIX threads comes from, and which function a new thread runs.
//
// Place in the flow: ARCHITECTURE.md, stage 2. The libraries of OpenMP, MPI and Refrain wait for threads and have ones of their own: those are
// not the program's. What comes through the C++ library is its caller's: its threads begin with a function of the library, and
// its condition variables wait there. Under Python code the place is there.
// Thread-safety: any thread; not in signal handlers. Errors: without memory a call is left out.
// Cost: a look into a table; of an address that was never seen some microseconds; through the C++ library an unwind.
#pragma once

#include <cstdint>

namespace refrain::threads {

// The code address (runtime/code_address.h) of the call that returns to `returns_to`; 0: it is not the program's.
std::uint64_t place_of(const void* returns_to) noexcept;

// The function of a thread that pthread_create() is given this for; 0: it is not the program's.
std::uint64_t function_of(const void* creator, std::uint64_t function,
                          void* argument) noexcept;

}  // namespace refrain::threads
