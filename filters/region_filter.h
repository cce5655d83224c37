// Which regions are left out of an archive, by their name or source file, as filter files in
// Score-P's syntax say.
//
// Place in the flow: ARCHITECTURE.md, stage 5: the writer asks it once a region. Pure.
// Syntax:
//     # comment, to the end of the line
//     SCOREP_FILE_NAMES_BEGIN
//       EXCLUDE */lib/*
//       INCLUDE */lib/solver*.c
//     SCOREP_FILE_NAMES_END
//     SCOREP_REGION_NAMES_BEGIN
//       EXCLUDE
//         helper_*  tiny[0-9]
//         MANGLED _ZN4boost*
//     SCOREP_REGION_NAMES_END
// A rule is EXCLUDE or INCLUDE and the patterns up to the next keyword. Rules apply in
// order, all regions being included at first; the last that matches decides. A region in
// an excluded file is out whatever its name. MANGLED makes the rest of its rule look at
// the linkage name. In patterns * matches any characters (also / and blanks), ? one,
// [a-z] [!a-z] one of a set, and \ escapes the character after it, such as a blank or #.
// A \ at the end of a line continues the line.
//
// Thread-safety: const after parse(). Errors: parse() reports the first mistake with its
// line; it throws only for lack of memory.
// Cost: excludes() is O(patterns * name), worst case O(patterns * name * pattern).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace refrain::filters {

// Returns true if all of `text` matches; see above for the pattern.
bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

class RegionFilter {
 public:
  // Replaces what was there. Empty result: fine; else "line 3: ...", and the filter then
  // excludes nothing.
  base::Result<> parse(std::string_view text);

  bool excludes(std::string_view region_name, std::string_view mangled_name,
                std::string_view file) const noexcept;
  // Returns true if there may be a region that it excludes whose name begins so.
  bool may_exclude(std::string_view name_begin) const noexcept;
  bool empty() const noexcept { return file_rules_.empty() && region_rules_.empty(); }

 private:
  friend class FilterParser;
  struct Rule {
    bool exclude = false;
    bool mangled = false;
    std::string pattern;
  };
  std::vector<Rule> file_rules_;
  std::vector<Rule> region_rules_;
};

}  // namespace refrain::filters
