// The program's own regions, parameters and their values in the journal; part of
// Journal.
//
// Errors: texts that cannot be parsed are skipped; what has no text here is known by its
// number only (the process was killed before it was recorded).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace refrain::spool {

struct UserRegion {
  std::uint32_t name = 0;  // number of the name, which regions of several places may share
  std::string text;
  std::string file;
  std::uint32_t line = 0;
};

// A function that is not recorded any more.
struct FunctionOff {
  std::uint64_t address = 0;
  std::uint64_t calls = 0;  // until then
  std::uint64_t ticks = 0;  // that they took
};

// A counter that threads read.
struct Metric {
  std::string unit;
  std::string name;
  bool operator==(const Metric&) const = default;
};

struct UserJournal {
  std::map<std::uint32_t, UserRegion> regions;
  std::map<std::uint32_t, std::string> parameters;
  std::map<std::uint32_t, std::string> strings;
  std::vector<FunctionOff> functions_off;
  std::vector<Metric> metrics;  // by number

  // A text of any key.
  void take_text(std::uint8_t key, const std::string& text);
  // With a name in any case.
  UserRegion region(std::uint32_t number) const;
  std::string parameter(std::uint32_t number) const;
};

}  // namespace refrain::spool
