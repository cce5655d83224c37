// Loads patterns from shared objects that were built against refrain_patterns.h.
//
// Place in the flow: ARCHITECTURE.md, stage 6: `refrain analyze --patterns my.so`. Thread-safety: none.
// Fails for a file that cannot be loaded, that is no module of patterns, or that was built for another version.
// Ownership: what was loaded stays until the process ends. A module's code runs as the user: it is trusted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "waits/metrics/pattern.h"
#include "waits/modules/refrain_patterns.h"

namespace refrain::waits {

class PatternModules {
 public:
  // After those loaded before it.
  base::Result<> load(const std::string& file);
  bool empty() const { return modules_.empty(); }
  // New ones of all modules.
  std::vector<std::unique_ptr<Pattern>> make() const;

 private:
  struct Module {
    std::string file;
    const refrain_pattern_list* list = nullptr;
  };
  std::vector<Module> modules_;
};

}  // namespace refrain::waits
