// For tests: profiles as a reader of another make sees them (test/tools/read_cubex.py).
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test {

inline Result read_cubex(const std::vector<std::string>& arguments) {
  Command command;
  command.arguments = {"/usr/bin/python3", "-I", data_file("test/tools/read_cubex.py")};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return run(command);
}

inline nlohmann::json cubex_json(const std::filesystem::path& file) {
  const Result result = read_cubex({file});
  INFO(result.errors);
  REQUIRE(result.ok());
  return nlohmann::json::parse(result.output);
}

// Differences between an archive's profile and its summary; empty: none.
inline std::string cubex_problems(const std::filesystem::path& archive) {
  const Result result = read_cubex({"--check", archive});
  return result.ok() ? std::string() : result.output + result.errors;
}

}  // namespace refrain::test
