// What a filter leaves out, for readers of tests: by names of regions alone.
//
// Thread-safety: const.
#pragma once

#include <string>
#include <vector>

#include "test/support/read_trace.h"

namespace refrain::test {

class LeftOut {
 public:
  LeftOut() = default;  // nothing
  // Whole names, or with a * at their end what they begin with.
  explicit LeftOut(std::vector<std::string> names) : names_(std::move(names)) {}

  bool has(const Region& region) const;
  // The same as a filter file.
  std::string filter_file() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace refrain::test
