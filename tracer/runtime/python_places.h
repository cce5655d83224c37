// Where the Python code of a thread is, as an address: what calls and constructs that it makes are named by.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Bindings (mpi4py, petsc4py, numpy) call MPI and open parallel regions from one
// place of theirs, whoever called them. The innermost function of Python code that the thread runs, with its file and line, gets an address
// that no program has; the journal has its name as that of a module (spool::kTextModule), and all that names addresses knows it then.
// Functions of libraries that only hand on (numpy's wrappers, the standard library) are passed over.
//
// How: a thread has a list of its frames (CPython 3.11: python_frames.h), which it alone changes: no lock of the interpreter is
// needed. The list begins in the thread's state, which counts as one when it says whose it is. Frames are read where the
// interpreter's own stack of frames is, or by a system call that fails where a load would crash; a code object that is new, too.
// Of a sub-interpreter on the thread of another one the place is where that one calls it.
//
// Thread-safety: any thread, not for signal handlers. Errors: what is not as expected has no place (0).
// Cost: programs without Python: a load. Else 20 ns for a place that was seen before, a system call more for a generator that is not
// one of the latest four (whose frames lie elsewhere); microseconds for a new place.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tracer/runtime/code_address.h"

namespace refrain::recorder {
class HandlerSafeMutex;
}

namespace refrain::runtime {

inline constexpr std::uint64_t kPythonAddresses = std::uint64_t{3} << 46;
inline constexpr std::uint64_t kMaxPythonAddresses = 1 << 20;
inline constexpr unsigned kPythonAddressStep = 4;
inline bool is_python_address(std::uint64_t address) noexcept {
  return address - kPythonAddresses < kMaxPythonAddresses * kPythonAddressStep;
}

extern constinit std::atomic<bool> g_any_python;
std::uint64_t find_python_address() noexcept;

// There is an interpreter in this process.
inline bool any_python() noexcept { return g_any_python.load(std::memory_order_acquire); }

// Of the Python code that the calling thread runs; 0: it runs none.
inline std::uint64_t python_address() noexcept {
  return any_python() ? find_python_address() : 0;
}
// Of a call of the calling thread that returns to `code`.
inline std::uint64_t call_address(const void* code) noexcept {
  const std::uint64_t python = python_address();
  return python != 0 ? python : code_address(code);
}

// Of a call that returns to `address`, under the code at `python`: named by the former, if its line is known.
std::uint64_t python_address_with(std::uint64_t address, std::uint64_t python) noexcept;

// Of a function that is called from this line.
std::uint64_t python_address_of(std::string_view function, std::string_view file,
                                std::uint32_t line) noexcept;
// Of libraries that hand on.
bool is_python_library(std::string_view file) noexcept;

// The file with this code may be an interpreter; of the program itself `is_program`. Takes the loader's lock.
void look_for_python(const char* path, std::uint64_t begin, std::uint64_t end,
                     bool is_program) noexcept;

// Around the system's dlclose(): an interpreter that the program has loaded is not asked meanwhile.
void before_python_unloading() noexcept;
void after_python_unloading() noexcept;

// For lock_at_fork() alone.
recorder::HandlerSafeMutex& python_places_mutex() noexcept;

}  // namespace refrain::runtime
