#include "base/clean_text.h"

#include <algorithm>
#include <cstdint>

namespace refrain::base {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Bytes of the character that begins the text, which is not empty; 0: no character.
std::size_t character(std::string_view text, std::uint32_t& code) {
  const auto byte = [text](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
  };
  const std::uint32_t first = byte(0);
  code = first;
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)
             ? 0
             : length;
}

bool is_shown(std::uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  const bool control = code >= 0x7f && code < 0xa0;
  const bool direction =
      (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !control && !direction && code != 0xfffe && code != 0xffff;
}

}  // namespace

std::string clean_text(std::string_view text) {
  // Most texts are.
  if (std::ranges::all_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x7f &&
               is_shown(static_cast<unsigned char>(c));
      }))
    return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = character(text, code);
    if (length != 0 && is_shown(code))
      out += text.substr(0, length);
    else
      out += kReplacement;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string clean_line(std::string_view text) {
  std::string out = clean_text(text);
  for (char& c : out)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return out;
}

}  // namespace refrain::base
