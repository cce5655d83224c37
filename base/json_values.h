// Values of JSON files that an archive has of Refrain, of which nothing is believed.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: pure.
// Errors: std::runtime_error, what is wrong in one line; who reads a file makes a result of it by result_of().
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace refrain::base::json_values {

using nlohmann::json;

[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what); }

// What `read` gives, or why it threw.
template <typename Read>
Result<std::invoke_result_t<Read>> result_of(Read read) {
  try {
    return read();
  } catch (const std::runtime_error& problem) {
    return Failure{problem.what()};
  }
}

inline const json& member(const json& object, const char* name) {
  if (!object.is_object() || !object.contains(name))
    fail(std::string("has no '") + name + "'");
  return object[name];
}

inline std::uint64_t number(const json& value, const char* name) {
  if (!value.is_number_unsigned()) fail(std::string("'") + name + "' is not a number");
  return value.get<std::uint64_t>();
}

inline std::uint32_t small(const json& value, const char* name) {
  const std::uint64_t n = number(value, name);
  if (n >= std::numeric_limits<std::uint32_t>::max())
    fail(std::string("'") + name + "' is too large");
  return static_cast<std::uint32_t>(n);
}

inline std::string text(const json& value, const char* name) {
  if (!value.is_string()) fail(std::string("'") + name + "' is not a text");
  return value.get<std::string>();
}

inline const json& list(const json& value, const char* name) {
  if (!value.is_array()) fail(std::string("'") + name + "' is not a list");
  return value;  // NOLINT(bugprone-return-const-ref-from-parameter): it lives on
}

}  // namespace refrain::base::json_values
