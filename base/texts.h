// Texts as they are shown: on a terminal, in XML, in a shell's line; times and sizes.
//
// Thread-safety: pure. Errors: throws for lack of memory. Cost: a copy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::base {

// A text of an archive, which may contain anything, as valid UTF-8, without control characters (but tab and ends of lines) and without what turns the direction of writing:
// U+FFFD in their place, one for each wrong byte. A terminal obeys none of what is left.
std::string clean_text(std::string_view text);
// The same as one line: a space for each tab and end of a line.
std::string clean_line(std::string_view text);

// As text or in the quotes of an attribute. XML knows no control characters: '?'; what else it
// forbids is replaced as clean_text() does.
std::string xml_text(std::string_view text);

// The text as one word of a shell, for a line that a user may copy: in quotes where it has to be.
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

// "1.5 s", "12.35 ms", "850 ns", "5530000 s": with so many digits, in the largest unit in which the rounded value is at
// least 1; whole seconds where they are more than these digits. Nanoseconds are whole.
std::string duration_text(double nanoseconds, int digits = 4);

// "12.3 MB", "850 bytes".
std::string bytes_text(std::uint64_t bytes);

// A user's text for a message, in quotes: its first 40 characters, without what a terminal cannot show.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t kMax = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kMax)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kMax ? "...'" : "'");
}

}  // namespace refrain::base
