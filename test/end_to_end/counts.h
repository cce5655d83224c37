// Counts of the counting tool (test/tools/counting_tool.c) in a run of a program: the
// reference for a full trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "test/end_to_end/traced.h"

namespace refrain::test {

class Counts {
 public:
  // Runs the program under the tool.
  explicit Counts(const Job& job);

  // Of one counter, "work.loop_static.begin"; 0 if it was never counted.
  std::uint64_t of(const std::string& name) const;
  // Of all counters that start and end so.
  std::uint64_t sum(const std::string& begin, const std::string& end = "") const;
  // Of all callbacks that Refrain registers.
  std::uint64_t registered() const;
  const std::map<std::string, std::uint64_t>& all() const { return counts_; }
  const std::string& output() const { return output_; }

 private:
  std::map<std::string, std::uint64_t> counts_, totals_;
  std::string output_;
};

}  // namespace refrain::test
