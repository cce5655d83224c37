#include "base/quantity_text.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <span>

namespace refrain::base {
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
