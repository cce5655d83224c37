#include "test/fuzz/pack.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace refrain::fuzz {
namespace {

constexpr std::size_t kBlock = 512;

[[noreturn]] void damaged(const std::string& what) {
  throw std::runtime_error("the pack of fuzz inputs is damaged: " + what);
}

// A number in octal digits, closed by a space or a zero.
std::optional<std::uint64_t> octal(std::string_view field) {
  const std::string_view digits =
      field.substr(0, field.find_first_of(std::string_view(" \0", 2)));
  if (digits.empty() || digits.find_first_not_of("01234567") != digits.npos) return {};
  std::uint64_t value = 0;
  for (const char digit : digits)
    value = value * 8 + static_cast<std::uint64_t>(digit - '0');
  return value;
}

// The sum of a header's bytes, with spaces instead of the sum itself.
std::uint64_t sum(std::string_view header) {
  std::uint64_t all = 8 * std::uint64_t{' '};
  for (std::size_t i = 0; i < header.size(); ++i)
    if (i < 148 || i >= 156) all += static_cast<unsigned char>(header[i]);
  return all;
}

bool empty(std::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char byte) { return byte == 0; });
}

}  // namespace

std::vector<std::string> read_pack(std::string_view pack) {
  std::vector<std::string> inputs;
  const auto next = [&](std::size_t bytes) {
    if (pack.size() < bytes) damaged("it ends within an input, or before its end mark");
    const std::string_view read = pack.substr(0, bytes);
    pack.remove_prefix(bytes);
    return read;
  };
  for (std::string_view header = next(kBlock); !empty(header); header = next(kBlock)) {
    if (octal(header.substr(148, 8)) != sum(header)) damaged("a header's checksum");
    const auto size = octal(header.substr(124, 12));
    if (!size || header[156] != '0') damaged("an entry that is not a plain file");
    inputs.emplace_back(next(*size));
    next((kBlock - *size % kBlock) % kBlock);
  }
  if (!empty(pack)) damaged("there is more after its end mark");
  if (inputs.empty()) damaged("it has no inputs");
  return inputs;
}

}  // namespace refrain::fuzz
