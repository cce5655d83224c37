// Runs what needs memory, in a program that may have none left: a trace that lacks something is better
// than a program that is aborted.
//
// Thread-safety: that of the body. Errors: exceptions of the body end here.
#pragma once

#include <exception>
#include <utility>

namespace refrain::recorder {

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
