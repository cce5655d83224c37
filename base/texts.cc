#include "base/texts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <span>

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

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
    }
  }
  return clean_text(out);
}

namespace {

struct Unit {
  double size;
  const char* name;
};

std::string digits_of(double value, std::chars_format format, int digits) {
  std::array<char, 400> text;  // the longest double has 309 digits
  const auto end = std::to_chars(text.begin(), text.end(), value, format, digits).ptr;
  return {text.begin(), end};
}

std::string scaled(double value, std::span<const Unit> units, int digits,
                   const char* smallest) {
  for (const Unit& unit : units) {
    const std::string text =
        digits_of(value / unit.size, std::chars_format::general, digits);
    if (text.find('e') != std::string::npos && value > unit.size)
      return digits_of(value / unit.size, std::chars_format::fixed, 0) + " " + unit.name;
    if (std::strtod(text.c_str(), nullptr) >= 1) return text + " " + unit.name;
  }
  return digits_of(value, std::chars_format::fixed, 0) + " " + smallest;
}

}  // namespace

std::string duration_text(double nanoseconds, int digits) {
  constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  return scaled(nanoseconds, kUnits, digits, "ns");
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  return scaled(static_cast<double>(bytes), kUnits, 3, "bytes");
}

}  // namespace refrain::base
