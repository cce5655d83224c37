#include "test/support/left_out.h"

#include <otf2/otf2.h>

#include <algorithm>

namespace refrain::test {

bool LeftOut::has(const Region& region) const {
  if ((region.flags & OTF2_REGION_FLAG_PHASE) != 0) return false;
  return std::any_of(names_.begin(), names_.end(), [&](std::string name) {
    if (!name.ends_with('*')) return name == region.name;
    name.pop_back();
    return region.name.starts_with(name);
  });
}

std::string LeftOut::filter_file() const {
  std::string text = "SCOREP_REGION_NAMES_BEGIN\n";
  for (const std::string& name : names_) {
    text += "EXCLUDE ";
    for (const char c : name) {
      if (c == ' ' || c == '#' || c == '[') text += '\\';
      text += c;
    }
    text += '\n';
  }
  return text + "SCOREP_REGION_NAMES_END\n";
}

}  // namespace refrain::test
