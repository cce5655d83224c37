// Lists of numbers as people write them: "0-3,7".
//
// Thread-safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace refrain::tools {

// Of ascending numbers.
std::string number_list(const std::vector<std::uint32_t>& numbers);

// First and last of each part of a list, in its order; nothing if it is none.
struct NumberRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const NumberRange&) const = default;
};
std::optional<std::vector<NumberRange>> parse_number_list(const std::string& text);

}  // namespace refrain::tools
