// Memory for the moment in which there is none left: what the tracer cannot do without until it has
// stopped, in a program that must not end because of it.
//
// Works for the tracer's own operator new (it carries its own C++ runtime), and for what libotf2, which
// does not always look, asks of malloc (tracer/BUILD: --wrap): where there is no memory, a piece of
// the reserve is given back, and it tries again. When all pieces are gone it fails.
// Thread-safety: any thread. Cost: the reserve is not touched, so it takes address space alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <utility>

namespace refrain::recorder {

inline constexpr std::size_t kMemoryPiece = std::size_t{64} << 10;  // bytes

// Once; does nothing where there is no memory for it.
void keep_memory_reserve() noexcept;
extern std::atomic<bool> g_memory_ran_out;

// One piece to the heap. False: there is none left.
bool give_back_memory() noexcept;
// A piece was needed: recording is to stop.
inline bool memory_ran_out() noexcept {
  return g_memory_ran_out.load(std::memory_order_relaxed);
}

// Runs what needs memory, in a program that may have none left: a trace that lacks something is better
// than a program that is aborted.
//
// Thread-safety: that of the body. Errors: exceptions of the body end here.

// Returns true if the body ended without an exception.
template <typename Body>
bool attempted(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace refrain::recorder
