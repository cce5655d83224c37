// One line of `refrain doctor`: what was looked at, what it is, and what to do about it.
#pragma once

#include <string>
#include <vector>

namespace refrain::tools {

struct Check {
  enum class State {
    kWorks,
    kNote,     // works, but something should be known
    kAbsent,   // optional, and not there
    kProblem,  // programs cannot be traced, or not as they should be
  };
  State state = State::kWorks;
  std::string name;    // a word or two
  std::string text;    // what it is
  std::string advice;  // what to do; empty: nothing
};

using Checks = std::vector<Check>;

// A word for the state, as printed.
const char* state_name(Check::State state);

// A problem among them.
bool has_problem(const Checks& checks);

}  // namespace refrain::tools
