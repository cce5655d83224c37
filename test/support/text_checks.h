// Texts in tests: of errors, and changed ones.
//
// Thread-safety: pure.
#pragma once

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

namespace refrain::test {

// What the std::runtime_error of `work` says; empty if it throws none.
template <typename Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

// With the first `from`, which must be there, as `to`.
inline std::string replaced(std::string text, const std::string& from,
                            const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace refrain::test
