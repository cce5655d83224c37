// A user's text for a message: in quotes, on one line, shortened.
//
// Pure. Thread-safety: any thread. Errors: throws for lack of memory.
#pragma once

#include <string>
#include <string_view>

namespace refrain::filters {

// The first 40 characters of the text, without what a terminal cannot show.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t kMax = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kMax)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kMax ? "...'" : "'");
}

}  // namespace refrain::filters
