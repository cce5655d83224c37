// Texts of archives as they may be shown: they may contain anything.
//
// Thread-safety: pure. Cost: a copy.
#pragma once

#include <string>
#include <string_view>

namespace refrain::base {

// Valid UTF-8, without control characters (but tab and ends of lines) and without what turns the direction of writing:
// U+FFFD in their place, one for each wrong byte. A terminal obeys none of what is left.
std::string clean_text(std::string_view text);
// The same as one line: a space for each tab and end of a line.
std::string clean_line(std::string_view text);

}  // namespace refrain::base
