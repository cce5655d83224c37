#include "tools/graph/number_list.h"

#include <charconv>

namespace refrain::tools {

std::string number_list(const std::vector<std::uint32_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(numbers[i]);
    if (last != i) out += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::optional<std::vector<NumberRange>> parse_number_list(const std::string& text) {
  std::vector<NumberRange> ranges;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& value) {
    const auto [after, error] = std::from_chars(at, end, value);
    at = after;
    return error == std::errc();
  };
  while (true) {
    NumberRange& range = ranges.emplace_back();
    if (!number(range.first)) return std::nullopt;
    range.last = range.first;
    if (at != end && *at == '-') {
      ++at;
      if (!number(range.last) || range.last < range.first) return std::nullopt;
    }
    if (at == end) return ranges;
    if (*at++ != ',') return std::nullopt;
  }
}

}  // namespace refrain::tools
