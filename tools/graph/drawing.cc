#include "tools/graph/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace refrain::tools {

std::string clean_text(const std::string& text) {
  using nlohmann::json;
  std::string out =
      json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return out;
}

std::vector<std::string> edge_label(const std::vector<Drawing::Part>& parts,
                                    bool count_first) {
  constexpr std::size_t kMostLines = 4;
  constexpr std::size_t kMostList = 24;
  const std::size_t whole = parts.size() > kMostLines ? kMostLines - 1 : parts.size();
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < whole; ++i) {
    std::string who = parts[i].who;
    if (who.size() > kMostList) who = who.substr(0, who.rfind(',', kMostList)) + ",...";
    lines.push_back(count_first ? fmt::format("{}x ({})", parts[i].count, who)
                                : fmt::format("{}|{}", who, parts[i].count));
  }
  if (whole == parts.size()) return lines;
  const auto [least, most] =
      std::minmax_element(parts.begin() + static_cast<std::ptrdiff_t>(whole), parts.end(),
                          [](const auto& a, const auto& b) { return a.count < b.count; });
  lines.push_back(count_first ? fmt::format("{}-{}x (others)", least->count, most->count)
                              : fmt::format("others|{}-{}", least->count, most->count));
  return lines;
}

}  // namespace refrain::tools
