// A path in a line that a user may copy into a shell.
//
// Pure. Thread-safety: any thread. Errors: throws for lack of memory.
#pragma once

#include <string>
#include <string_view>

namespace refrain::base {

// The text as one word of a shell: in quotes where it has to be.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  std::string word = "'";
  for (const char c : text)
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  return word + "'";
}

}  // namespace refrain::base
