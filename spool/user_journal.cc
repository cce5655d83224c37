#include "spool/user_journal.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "spool/format.h"

namespace refrain::spool {
namespace {

// The number that a text begins with, and the blank after it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ')
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

// "unit kind name" a line.
std::vector<Metric> metrics_of(std::string_view text) {
  std::vector<Metric> metrics;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t unit = line.find(' ');
    const std::size_t kind = unit == line.npos ? unit : line.find(' ', unit + 1);
    if (kind == line.npos) continue;
    metrics.push_back(
        {std::string(line.substr(0, unit)), std::string(line.substr(kind + 1))});
  }
  return metrics;
}

// "address calls ticks", in hexadecimal.
std::optional<FunctionOff> function_off(std::string_view text) {
  FunctionOff off;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t* value : {&off.address, &off.calls, &off.ticks}) {
    while (at != end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, *value, 16);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return off;
}

}  // namespace

void UserJournal::take_text(std::uint8_t key, const std::string& text) {
  if (key == kTextMetrics) metrics = metrics_of(text);
  if (key == kTextFunctions)
    if (const auto off = function_off(text)) functions_off.push_back(*off);
  std::string_view rest = text;
  if (key != kTextUserRegion && key != kTextUserParameter && key != kTextUserString) return;
  const auto number = take_number(rest);
  if (!number) return;
  if (key == kTextUserParameter) parameters[*number] = rest;
  if (key == kTextUserString) strings[*number] = rest;
  if (key != kTextUserRegion) return;
  const auto name = take_number(rest);
  const auto line = name ? take_number(rest) : std::nullopt;
  if (!line) return;
  const std::size_t end = std::min(rest.find(kTextSeparator), rest.size());
  UserRegion& region = regions[*number];
  region.name = *name;
  region.line = *line;
  region.text = rest.substr(0, end);
  region.file = rest.substr(std::min(end + 1, rest.size()));
}

UserRegion UserJournal::region(std::uint32_t number) const {
  const auto found = regions.find(number);
  UserRegion region = found == regions.end() ? UserRegion{} : found->second;
  if (region.text.empty()) region.text = "region " + std::to_string(number);
  return region;
}

std::string UserJournal::parameter(std::uint32_t number) const {
  const auto found = parameters.find(number);
  return found == parameters.end() ? "parameter " + std::to_string(number) : found->second;
}

}  // namespace refrain::spool
