#include "tools/doctor/check.h"

#include <algorithm>

namespace refrain::tools {

const char* state_name(Check::State state) {
  switch (state) {
    case Check::State::kWorks:
      return "ok";
    case Check::State::kNote:
      return "note";
    case Check::State::kAbsent:
      return "absent";
    case Check::State::kProblem:
      return "problem";
  }
  return "";
}

bool has_problem(const Checks& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.state == Check::State::kProblem;
  });
}

}  // namespace refrain::tools
